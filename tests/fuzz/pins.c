/* SPDX-License-Identifier: BSD-3-Clause */
/* Pins: the values of TUTTI_ALLREDUCE and so on, and of info keys. The first byte chooses the collective. */
#include <stdlib.h>
#include <string.h>

#include "coll/plan.h"
#include "selector/rules.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "\001ring", "\001doubling:0-16K;ring:16K-", "\003chain/64K:1M-;binomial", "\x16native", "\x0fpairwise", NULL};
const char *const fuzz_words[] = {"ring", "doubling", "chain", "/64K",    ":",      ";",  "0-16K", "16K-",
                                  "-8",   "native",   " ",     "halving", "tree:1", ";;", NULL};

/* A pin that was read holds for what it names, and for no other collective. */
static void hold(const struct tt_rules *pin, enum tt_coll coll)
{
    for (int i = 0; i < pin->n; i++) {
        fuzz_check(pin->rules[i].colls == UINT64_C(1) << coll, "a pin is for other collectives, too");
        fuzz_check(tt_rule_algorithm(&pin->rules[i], coll) != NULL, "a pin names an algorithm that there is not");
        fuzz_check(pin->rules[i].line == i + 1, "pins are not counted from 1");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const enum tt_coll coll = (enum tt_coll)(size ? data[0] % TT_NCOLLS : 0);
    char *text = fuzz_string(size ? data + 1 : data, size ? size - 1 : 0), why[1024] = "";
    struct tt_rules *pin = tt_pin_parse("P", coll, text, why, sizeof why);

    fuzz_check(pin || strncmp(why, "P=", 2) == 0, "a refusal does not say of what");
    if (pin)
        hold(pin, coll);
    tt_rules_free(pin);
    free(text);
    return 0;
}
