#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Writes the table of algorithms from the names of their files: registry.sh algos/allreduce_ring.c ... > registry.c
set -eu
echo '/* Made by algos/registry.sh from the list in Makefile.am. */'
echo '#include "algos/algos.h"'
for file; do echo "extern const struct tt_alg tt_alg_$(basename "$file" .c);"; done
echo 'const struct tt_alg *const tt_algs[] = {'
for file; do echo "    &tt_alg_$(basename "$file" .c),"; done
echo '    NULL};'
