/* SPDX-License-Identifier: BSD-3-Clause */
/* Models' files, and layouts' names: the same bytes as either. What is refused is refused in words; what is read can be
 * calculated with, and written down again. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "planner/layout.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "{\"about\": \"small\", \"layers\": 4, \"hidden\": 64, \"heads\": 8, \"kv_heads\": 4, \"ffn\": 256, "
    "\"vocabulary\": "
    "1000, \"sequence\": 128, \"batch\": 16, \"experts\": 4, \"top_k\": 2, \"gated\": true, \"precision\": \"bf16\", "
    "\"gradients\": \"fp32\", \"optimizer\": \"adam\", \"recompute\": \"none\"}",
    "{\"about\": \"\",\n\"parameters\": 1e5, \"layers\": 1, \"hidden\": 1, \"heads\": 1, \"ffn\": 1}",
    "tp8,pp12,dp4,mb1,1f1b", "tp2,cp4,pp4,dp8,ep2,zero1,mb2,v2,interleaved,sp", NULL};
const char *const fuzz_words[] = {"\"layers\": ",
                                  "\"hidden\": ",
                                  "\"heads\": ",
                                  "\"ffn\": ",
                                  "\"experts\": ",
                                  "\"top_k\": ",
                                  "\"parameters\": ",
                                  "1073741824",
                                  "-1",
                                  "1e99",
                                  "true",
                                  "null",
                                  "{",
                                  "}",
                                  "[",
                                  ",",
                                  "\\u0000",
                                  "tp",
                                  "cp",
                                  "pp",
                                  "dp",
                                  "ep",
                                  "zero",
                                  "mb",
                                  "v",
                                  "nosp",
                                  "gpipe",
                                  "2147483647",
                                  NULL};

static void look(const struct tt_transformer *m)
{
    fuzz_check(m->hidden % m->heads == 0 && m->heads % m->kv_heads == 0, "heads do not fit");
    fuzz_check(tt_parameters(m) > 0 && isfinite(tt_parameters(m)), "parameters are no number");
    fuzz_check(tt_active_parameters(m) <= tt_parameters(m), "a token meets more than there is");
    fuzz_check(isfinite(tt_step_work(m, m->batch)) && tt_step_work(m, m->batch) > 0, "work is no number");
    fuzz_check(tt_layer_keeps(m, 1, 1, false) > 0, "a layer keeps nothing");
}

static void look_at_layout(const char *text)
{
    struct tt_layout l, again;
    char why[512] = "", name[256];

    if (tt_layout_parse(text, &l, why, sizeof why)) {
        fuzz_check(why[0], "a refusal without words");
        return;
    }
    fuzz_check(tt_layout_is(&l, &l), "a layout is not what it is");
    tt_layout_print(&l, name, sizeof name);
    fuzz_check(tt_layout_parse(name, &again, why, sizeof why) == 0, "what was written cannot be read");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("model", MFD_CLOEXEC);
    char name[64], why[1024] = "", *text = fuzz_string(data, size);
    struct tt_transformer m;

    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        exit(1);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (tt_transformer_read(name, &m, why, sizeof why) == 0)
        look(&m);
    else
        fuzz_check(why[0], "a refusal without words");
    look_at_layout(text);
    free(text);
    close(fd);
    return 0;
}
