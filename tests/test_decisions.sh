#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# doc/decisions.md is what tests/decisions prints today. Run from the build tree.
set -u
. "${srcdir:-.}/tests/tap.sh"

same "doc/decisions.md is up to date (make decisions-page writes it anew: is every change of it meant?)" \
    "$(tests/decisions)" "$(cat "${srcdir:-.}/doc/decisions.md")"
done_testing
