/* SPDX-License-Identifier: BSD-3-Clause */
/* The last failure in this thread, as words: kept where it happened, said where somebody can be told. */
#include <stdio.h>

#include "cuda/inside.h"

static _Thread_local char fault[384];

int tt_fault_vset(const char *format, va_list words)
{
    vsnprintf(fault, sizeof fault, format, words);
    return -1;
}

int tt_fault_set(const char *format, ...)
{
    va_list words;

    va_start(words, format);
    tt_fault_vset(format, words);
    va_end(words);
    return -1;
}

const char *tt_fault(void)
{
    return fault;
}
