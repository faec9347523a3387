#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Writes the C source of the kernel image to stdout: embed.sh [FATBIN]. Without a FATBIN the image has size 0, and one
# byte that only the simulated device takes for an image. A source rather than .incbin, so that any C compiler will do;
# a few hundred kilobytes compile in two seconds.
set -eu

cat <<'EOF'
/* Made by cuda/embed.sh. */
#include "cuda/image.h"

const unsigned char tt_image[] __attribute__((aligned(64))) = {
EOF
if [ $# -gt 0 ]; then
    od -An -v -tu1 "$1" | sed 's/  *\([0-9]\)/\1/; s/  */,/g; s/$/,/'
    echo '};'
    echo 'const size_t tt_image_size = sizeof tt_image;'
else
    echo '0};'
    echo 'const size_t tt_image_size = 0;'
fi
