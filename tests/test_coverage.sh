#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# doc/coverage.md is what tests/coverage prints today. Run from the build tree.
set -u
. "${srcdir:-.}/tests/tap.sh"

same "doc/coverage.md is up to date (make coverage-page writes it anew)" "$(tests/coverage)" \
    "$(cat "${srcdir:-.}/doc/coverage.md")"
for id in $(sed -n 's/^TT_COLLECTIVE[A-Z_]*(\([a-z_]*\), .*/\1/p' "${srcdir:-.}/coll/collectives.def"); do
    ok "doc/coverage.md has a row for $id" grep -qi "^| MPI_$id | [a-z]" "${srcdir:-.}/doc/coverage.md"
done
done_testing
