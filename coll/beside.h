/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the other files of Tutti are: installed in $(libdir)/tutti; in a build tree, about the library. */
#ifndef TT_BESIDE_H
#define TT_BESIDE_H

#include <stddef.h>

/* The path of a file, given as it lies when installed and as it lies in a build tree, both as seen from the directory
 * of this library. 0, or -1 if it is in neither place. */
int tt_find_beside(const char *installed, const char *built, char *path, size_t size);

#endif
