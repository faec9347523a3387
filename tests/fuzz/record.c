/* SPDX-License-Identifier: BSD-3-Clause */
/* Record files. An input says what is changed in three good ones, a rank each: bytes, words, where they end. Whatever
 * that leaves, it is refused with words, or read; and then the doctor comes to some conclusion and can print it. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/record_image.h"
#include "tools/doctor.h"

enum { RANKS = 3, CALLS = 12, CHANGE = 8 };

const char *const fuzz_seeds[] = {"b012a345", "w1000001w2000FFFFc0010000", "b0000000b0020000w0FFF0000c2FF0000", NULL};
const char *const fuzz_words[] = {"b0", "b1", "b2",   "w0",   "w1",   "w2",   "c0",
                                  "c1", "c2", "FFFF", "0000", "8000", "7FFF", NULL};

/* A hexadecimal digit; whatever else it is, something. */
static size_t digit(uint8_t c)
{
    return c <= '9' ? c & 15 : c & 15 ? (c + 9u) & 15 : 0;
}

static size_t number(const uint8_t *at, int digits)
{
    size_t n = 0;

    for (int i = 0; i < digits; i++)
        n = n << 4 | digit(at[i]);
    return n;
}

/* What, which rank, where (in 4,096ths, and then a few bytes on), and what it becomes. */
static void change(char **images, size_t *bytes, const uint8_t *c)
{
    const size_t rank = digit(c[1]) % RANKS, at = bytes[rank] * number(c + 2, 3) / 4096 + digit(c[5]);
    const uint64_t word = (uint64_t)(int64_t)(signed char)number(c + 6, 2) << (digit(c[5]) & 7) * 8;

    if (c[0] == 'c')
        bytes[rank] = at < bytes[rank] ? at : bytes[rank];
    else if (c[0] == 'w' && at + 8 <= bytes[rank])
        memcpy(images[rank] + at, &word, sizeof word);
    else if (at < bytes[rank])
        images[rank][at] = (char)number(c + 6, 2);
}

static void judge(struct record **records, int n)
{
    struct doctor_job *job = doctor_gather(records, n);
    FILE *out = fopen("/dev/null", "w");

    if (job && out) {
        doctor_match(job);
        doctor_blame(job);
        doctor_slow(job);
        doctor_print(out, job);
        doctor_json(out, job);
        doctor_trace(out, job);
        doctor_html(out, job);
    }
    if (out)
        fclose(out);
    doctor_free(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct record *records[RANKS];
    char *images[RANKS], why[256];
    size_t bytes[RANKS];
    int n = 0;

    for (int i = 0; i < RANKS; i++) {
        struct record *r = image_rank(i, RANKS, CALLS, CALLS - (i == 1), 0);

        images[i] = image_of(r, i == 2 ? IMAGE_BACKWARDS : IMAGE_AS_NOW, &bytes[i]);
        record_free(r);
    }
    for (size_t at = 0; at + CHANGE <= size; at += CHANGE)
        change(images, bytes, data + at);
    for (int i = 0; i < RANKS; i++) {
        why[0] = '\0';
        records[n] = record_parse(images[i], bytes[i], CALLS, why, sizeof why);
        fuzz_check(records[n] || why[0], "a file is refused without a word");
        n += records[n] != NULL;
        free(images[i]);
    }
    if (n)
        judge(records, n);
    return 0;
}
