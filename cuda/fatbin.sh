#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Builds the device kernels: fatbin.sh OUT. Machine code for those of the GPUs below that this nvcc knows, and PTX of
# the last of them for GPUs that are newer. A fused multiply-add would round differently from the host: -fmad=false.
# Costs about a minute of one core, and 650 KB. Environment: NVCC, srcdir.
set -eu

NVCC=${NVCC:-nvcc}
srcdir=${srcdir:-.}
known=$("$NVCC" --list-gpu-code)
targets=
last=
for arch in 75 80 86 89 90 100 120; do
    case "$known" in
    *sm_$arch*)
        targets="$targets -gencode arch=compute_$arch,code=sm_$arch"
        last=$arch
        ;;
    esac
done
[ -n "$last" ] || { echo "$NVCC builds for none of the GPUs that Tutti knows" >&2; exit 1; }

# shellcheck disable=SC2086
exec "$NVCC" -I"$srcdir" -fatbin --threads 2 -fmad=false $targets -gencode "arch=compute_$last,code=compute_$last" \
    --fatbin-options -compress-all "$srcdir/cuda/kernels.cu" -o "$1"
