#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# doc/concepts.md says nothing that the command beside it does not: each `$ tutti ...` in it is run, and each line quoted
# under it must be a line of what it says; ` ... ` within a line stands for anything.
set -eu
top=${srcdir:-$(dirname "$0")/..}
. "$top/tests/tap.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
PATH=$PWD:$PATH
export PATH

# A file for each command: its first line the command, the others what is quoted.
awk -v dir="$dir" '/^```/ {inside = !inside; file = ""; next}
    inside && /^\$ tutti / {file = sprintf("%s/%03d", dir, ++n); print substr($0, 3) > file; next}
    inside && file != "" && $0 != "..." && $0 != "" {print > file}' "$top/doc/concepts.md"

# Is there a line like this, blanks being worth one?
quoted() {
    pattern=$(printf '%s' "$2" | sed 's/  */ /g; s/[][\.*^$]/\\&/g; s/ \\\.\\\.\\\.$/ .*/; s/\\\.\\\.\\\./.*/g')
    sed 's/  */ /g' "$1" | grep -q "^$pattern\$"
}

for file in "$dir"/[0-9]*; do
    command=$(sed -n 1p "$file")
    ok "$command succeeds" sh -c "$command > '$dir/out' 2>&1"
    sed 1d "$file" > "$dir/lines"
    while IFS= read -r line; do
        ok "$command: $line" quoted "$dir/out" "$line"
    done < "$dir/lines"
done
done_testing
