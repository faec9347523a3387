/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/mpi_progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "coll/sizes.h"

enum { LINE_EVERY = 5 }; /* seconds */

static void draw_bar(int done, int left, const char *what, const char *time)
{
    const int width = 30, full = width * done / (done + left);

    fprintf(stderr, "\r[");
    for (int i = 0; i < width; i++)
        fputc(i < full ? '#' : '.', stderr);
    fprintf(stderr, "] %d of %d, %s left: %-28s", done, done + left, time, what);
}

void tool_progress(const char *command, int done, int left, double seconds_left, const char *what)
{
    static time_t last;
    const time_t now = time(NULL);
    const bool terminal = isatty(STDERR_FILENO);
    char text[32];

    if (!terminal && now - last < LINE_EVERY && left > 0)
        return;
    last = now;
    tt_time_print(text, sizeof text, (double)(int)(seconds_left + 0.5));
    if (terminal)
        draw_bar(done, left, what, text);
    else
        fprintf(stderr, "%s: %d of %d measured, about %s left (%s)\n", command, done, done + left, text, what);
}

void tool_progress_end(void)
{
    if (isatty(STDERR_FILENO))
        fputc('\n', stderr);
}

void tool_progress_clear(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}
