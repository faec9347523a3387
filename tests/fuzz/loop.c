/* SPDX-License-Identifier: BSD-3-Clause */
/* Feeds a target where there is no libFuzzer: inputs made from its seeds and words by a few mutations each, from a
 * fixed seed, so that the same inputs come each time, for as long as TUTTI_TEST_FUZZ_SECONDS says (5). It does not know what
 * it has reached, as libFuzzer does; words of the grammar make up for some of that. An input that ends the process, or
 * takes more than PATIENCE seconds, is written to PROGRAM.crash; `PROGRAM FILE` feeds that file alone, and `PROGRAM
 * --seeds DIR` hands seeds and words to libFuzzer. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

enum { ROOM = 4096, PATIENCE = 20 };

static uint64_t state = 20261130;
static uint8_t input[ROOM];
static volatile size_t length;
static char crash[512];

/* splitmix64, by Sebastiano Vigna. */
static uint64_t draw(uint64_t below)
{
    uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);

    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (z ^ z >> 31) % below;
}

static const char *draw_from(const char *const *list)
{
    size_t n = 0;

    while (list[n])
        n++;
    return list[draw(n)];
}

/* ---- mutations ---- */

static void cut(size_t at, size_t n)
{
    n = n < length - at ? n : length - at;
    memmove(input + at, input + at + n, length - at - n);
    length -= n;
}

static void put(size_t at, const void *what, size_t n)
{
    if (length + n > ROOM)
        return;
    memmove(input + at + n, input + at, length - at);
    memcpy(input + at, what, n);
    length += n;
}

static void mutate(void)
{
    const size_t at = draw(length + 1), n = 1 + draw(12);
    const char *word = draw_from(fuzz_words);
    const uint8_t any = (uint8_t)draw(256);
    uint8_t piece[12];

    switch (draw(7)) {
    case 0:
        cut(at, n);
        break;
    case 1:
        put(at, &any, 1);
        break;
    case 2:
        if (at < length)
            input[at] = any;
        break;
    case 3: /* again, elsewhere */
        if (at + n <= length) {
            memcpy(piece, input + at, n);
            put(draw(length + 1), piece, n);
        }
        break;
    case 4: /* a word in place of as much */
        cut(at, strlen(word));
        put(at, word, strlen(word));
        break;
    default:
        put(at, word, strlen(word));
    }
}

static void make_input(void)
{
    length = 0;
    for (uint64_t i = draw(3); i < 3; i++) {
        const char *seed = draw_from(fuzz_seeds);

        put(length, seed, strlen(seed));
    }
    for (uint64_t i = 1 + draw(12); i > 0; i--)
        mutate();
}

/* ---- what goes wrong ---- */

static void keep_input(int signal)
{
    const int fd = open(crash, O_WRONLY | O_CREAT | O_TRUNC, 0666);

    if (fd >= 0 && write(fd, input, length) == (ssize_t)length && write(2, "the input is in ", 16) > 0 &&
        write(2, crash, strlen(crash)) > 0 && write(2, "\n", 1) > 0)
        close(fd);
    _exit(128 + signal);
}

static void watch(const char *program)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM};

    snprintf(crash, sizeof crash, "%s.crash", program);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], keep_input);
}

/* For libFuzzer: seeds as files in a directory, and words as its dictionary on standard output. */
static int hand_over(const char *directory)
{
    char name[512];

    for (int i = 0; fuzz_seeds[i]; i++) {
        FILE *out;

        snprintf(name, sizeof name, "%s/seed-%d", directory, i);
        out = fopen(name, "w");
        if (!out || fputs(fuzz_seeds[i], out) < 0 || fclose(out))
            return EXIT_FAILURE;
    }
    for (int i = 0; fuzz_words[i]; i++) {
        putchar('"');
        for (const char *c = fuzz_words[i]; *c; c++)
            printf("\\x%02X", (unsigned char)*c);
        puts("\"");
    }
    return EXIT_SUCCESS;
}

static int feed_file(const char *name)
{
    FILE *in = fopen(name, "r");

    if (!in) {
        perror(name);
        return EXIT_FAILURE;
    }
    length = fread(input, 1, ROOM, in);
    fclose(in);
    LLVMFuzzerTestOneInput(input, length);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *seconds = getenv("TUTTI_TEST_FUZZ_SECONDS");
    const time_t end = time(NULL) + (seconds ? atoi(seconds) : 5);
    long n = 0;

    if (argc > 1)
        return strcmp(argv[1], "--seeds") == 0 && argc > 2 ? hand_over(argv[2]) : feed_file(argv[1]);
    watch(argv[0]);
    for (int i = 0; fuzz_seeds[i]; i++)
        LLVMFuzzerTestOneInput((const uint8_t *)fuzz_seeds[i], strlen(fuzz_seeds[i]));
    for (; n % 256 || time(NULL) < end; n++) {
        if (n % 256 == 0)
            alarm(PATIENCE);
        make_input();
        LLVMFuzzerTestOneInput(input, length);
    }
    printf("%ld inputs\n100%%: Checks: 1, Failures: 0, Errors: 0\n", n);
    return EXIT_SUCCESS;
}
