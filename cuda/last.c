/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared object that objects.c keeps at the end of the loader's list. It has nothing in it. */
extern const char tt_last;
__attribute__((visibility("default"))) const char tt_last = 0;
