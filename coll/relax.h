/* SPDX-License-Identifier: BSD-3-Clause */
/* Between two looks at a word that another core is about to write: tells the processor so. Looks that follow one
 * another without it are made ahead of time, and thrown away when the word changes, which delays what comes then. */
#ifndef TT_RELAX_H
#define TT_RELAX_H

#if defined(__x86_64__)
static inline void tt_relax(void)
{
    __builtin_ia32_pause();
}
#elif defined(__aarch64__)
static inline void tt_relax(void)
{
    __asm__ volatile("yield");
}
#else
static inline void tt_relax(void)
{
}
#endif

#endif
