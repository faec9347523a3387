#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# NVIDIA's NCCL, where there is one on this machine: it is opened, and says its version; without a GPU its errors are
# clean. Skipped where there is none; nothing is downloaded. TEST_NCCL says where one is, if it is anywhere else.
set -eu

unset LD_LIBRARY_PATH # the simulated device must not be found
ASAN_OPTIONS=detect_leaks=0
export ASAN_OPTIONS # what NCCL leaks is NCCL's

in_python()
{
    python3 -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0])' 2>/dev/null || :
}

toolkit=${CUDA_HOME:-/usr/local/cuda}
for library in "${TEST_NCCL:-}" "$toolkit/lib64/libnccl.so.2" "$toolkit/lib/libnccl.so.2" /usr/lib/*-linux-gnu/libnccl.so.2 /usr/lib64/libnccl.so.2 "$(in_python)/lib/libnccl.so.2"; do
    [ -n "$library" ] && [ -f "$library" ] || continue
    echo "$library"
    if tests/nccl_real "$library"; then
        echo "100%: Checks: 1, Failures: 0, Errors: 0"
        exit 0
    fi
    echo "0%: Checks: 1, Failures: 1, Errors: 0"
    exit 1
done
echo "no libnccl.so.2: skipped"
exit 77
