#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The README's table of variables against the rows of coll/config.def: names, defaults and values must be the same. And what
# it tells the reader to type must exist.
set -eu
top=${srcdir:-$(dirname "$0")/..}
. "$top/tests/tap.sh"

rows=$(sed -n 's/^TT_CONFIG([a-z_]*, "\([A-Z_]*\)", "\([^"]*\)", "\([^"]*\)".*/\1 \2 \3/p' "$top/coll/config.def" | sort)
table=$(sed -n 's/^| `\(TUTTI[A-Z_]*\)` | `\([^`]*\)` | \(.*\) | .*/\1 \2 \3/p' "$top/README.md" |
    sed 's/`//g; s/ or /|/g; s/, /|/g; s/a size/size/; s/a file/file/; s/a number/number/; s/a directory/directory/' | sort)

ok "config.def has rows" test -n "$rows"
same "the table of variables in README.md is that of coll/config.def" "$rows" "$table"
own=$(tr '\n' ' ' <"$top/coll/config.def" | grep -o 'TT_CONFIG([a-z_0-9]*, "[A-Z_0-9]*", "[^"]*", "[^"]*", [A-Z0-9 |]*' |
    grep -v SHARED | cut -d'"' -f2 | sort)
told=$(tr '\n' ' ' <"$top/README.md" | sed 's/.*Ranks may differ in \([^.]*\)\..*/\1/' | grep -o 'TUTTI_[A-Z_0-9]*' | sort)
same "README.md tells in which variables ranks may differ" "$own" "$told"
for command in $(sed -n 's/^.*`tutti \([a-z][a-z]*\)[ `].*/\1/p' "$top/README.md" | sort -u); do
    ok "README.md names tutti $command, which is in tools/commands.def" grep -q "^TT_COMMAND($command," "$top/tools/commands.def"
done
for action in build demo check; do
    ok "README.md tells of ./bootstrap $action" grep -q "bootstrap $action" "$top/README.md"
    ok "bootstrap knows $action" grep -q "^  $action  " "$top/bootstrap"
done
done_testing
