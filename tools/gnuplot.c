/* SPDX-License-Identifier: BSD-3-Clause */
/* gnuplot is a program of its own: it is given a script on its standard input, and its standard output is the picture.
 */
#include "tools/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/paths.h"
#include "tools/tools.h"

/* Of the lines; beyond them the same again, dashed. */
static const char *const colours[] = {"#2f6fde", "#d9480f", "#2b8a3e", "#862e9c",
                                      "#0b7285", "#a67c00", "#c2255c", "#5c5f66"};
enum { NCOLOURS = sizeof colours / sizeof *colours };
extern char **environ;

const char *tool_gnuplot_colour(int i)
{
    return colours[i % NCOLOURS];
}

int tool_gnuplot_dash(int i)
{
    return i / NCOLOURS + 1;
}

void tool_gnuplot_size(FILE *script, int width, int height)
{
    fprintf(script, "set terminal svg noenhanced size %d,%d font 'DejaVu Sans,12' background '#ffffff'\n", width,
            height);
}

void tool_gnuplot_word(FILE *script, const char *text)
{
    fputc('\'', script);
    for (; *text; text++) {
        if (*text == '\'')
            fputc('\'', script);
        fputc((unsigned char)*text < ' ' ? ' ' : *text, script);
    }
    fputc('\'', script);
}

bool tool_gnuplot_is_there(void)
{
    char path[TOOL_PATH_MAX];

    return tool_find_command("gnuplot", path, sizeof path);
}

int tool_gnuplot_missing(const struct argp_state *state, const char *file)
{
    fprintf(stderr, "%s: there is no gnuplot on the PATH (apt install gnuplot-nox): %s was not written\n", state->name,
            file);
    return TOOL_FAILED;
}

FILE *tool_gnuplot_begin(const struct argp_state *state)
{
    FILE *script = tmpfile();

    if (!script)
        tool_die(state, TOOL_FAILED, "cannot make a temporary file: %s", strerror(errno));
    return script;
}

/* Its standard input and output being these. Its exit status, or -1 with errno. */
static int run_gnuplot(FILE *script, FILE *picture)
{
    posix_spawn_file_actions_t files;
    char path[TOOL_PATH_MAX];
    int status = -1, error;
    pid_t child;

    if (!tool_find_command("gnuplot", path, sizeof path))
        return -1;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, fileno(picture), STDOUT_FILENO);
    error = posix_spawn(&child, path, &files, NULL, (char *[]){"gnuplot", NULL}, environ);
    posix_spawn_file_actions_destroy(&files);
    errno = error;
    if (error)
        return -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int tool_gnuplot_end(const struct argp_state *state, FILE *script, const char *file)
{
    FILE *picture = fopen(file, "w");
    int status = -1;

    if (!picture) {
        fprintf(stderr, "%s: cannot write %s: %s\n", state->name, file, strerror(errno));
        fclose(script);
        return -1;
    }
    rewind(script);
    status = run_gnuplot(script, picture);
    fclose(script);
    if (fclose(picture) == 0 && status == 0)
        return 0;
    fprintf(stderr, "%s: gnuplot could not make %s (its exit status was %d)\n", state->name, file, status);
    return -1;
}
