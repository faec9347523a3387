# SPDX-License-Identifier: BSD-3-Clause
# The tables of the scale simulation, from one file of play's lines per column, the last one Tutti's. A row that is no
# goal says whether Tutti is at least level with all others. Exit status 1 where a goal is missed.
function base(path) { sub(/.*\//, "", path); return path }

function size(bytes)
{
    if (bytes >= 1048576) return bytes / 1048576 " MiB"
    return bytes >= 1024 ? bytes / 1024 " KiB" : bytes " B"
}

function time(seconds)
{
    return seconds >= 1e-3 ? sprintf("%.3g ms", seconds * 1e3) : sprintf("%.3g us", seconds * 1e6)
}

# time / bound to be reached on one rail per GPU; elsewhere a tenth more is allowed
function goal(coll, bytes) { return (coll, bytes) in goals ? goals[coll, bytes] : 0 }

BEGIN {
    goals["allreduce", 8] = 1.6
    goals["allreduce", 65536] = 3.0
    goals["allreduce", 1048576] = 2.5
    goals["allreduce", 16777216] = 1.35
    goals["allreduce", 268435456] = 1.10
    goals["reduce_scatter", 16777216] = goals["allgather", 16777216] = 1.4
    goals["reduce_scatter", 268435456] = goals["allgather", 268435456] = 1.2
    goals["bcast", 16777216] = 2.0
    goals["bcast", 268435456] = 1.3
}

FNR == 1 {
    column[++columns] = base(FILENAME)
    slack = FILENAME ~ /scale-rails\// ? 1 : 1.1
}

/^#/ {
    name = $2
    sub(/^# [a-z_]* /, "")
    if (!(name in formula)) coll[++colls] = name
    formula[name] = $0
    next
}

{
    if (!(($1, $2) in bound)) row[$1, ++rows[$1]] = $2
    bound[$1, $2] = $6
    seconds[$1, $2, columns] = $5
    algorithm[$1, $2] = $4 > 0 ? $3 " / " size($4) : $3
}

# How it stands, in words; counts.
function standing(c, bytes,    ours, best, ratio, i)
{
    ours = seconds[c, bytes, columns]
    for (i = 1; i < columns; i++)
        if ((c, bytes, i) in seconds && (best == 0 || seconds[c, bytes, i] < best)) best = seconds[c, bytes, i]
    cells++
    if (ours <= best * 1.0001) ahead++
    ratio = ours / bound[c, bytes]
    if (!goal(c, bytes)) return ours <= best * 1.0001 ? "" : sprintf("behind: %.2f of the best", ours / best)
    asked++
    if (ratio <= goal(c, bytes) * slack && ours <= best * 1.0001) {
        met++
        return sprintf("goal %.2f", goal(c, bytes) * slack)
    }
    return sprintf("goal %.2f MISSED%s", goal(c, bytes) * slack, ours <= best * 1.0001 ? "" : ", behind")
}

END {
    for (k = 1; k <= colls; k++) {
        c = coll[k]
        printf "\n%s: time / bound; bound = %s\n%9s", c, formula[c], "size"
        for (i = 1; i <= columns; i++) printf "%10s", column[i]
        printf "  %10s  %10s  %s\n", "time", "bound", "algorithm"
        for (r = 1; r <= rows[c]; r++) {
            b = row[c, r]
            printf "%9s", size(b)
            for (i = 1; i <= columns; i++)
                printf (c, b, i) in seconds ? "%10.2f" : "%10s", (c, b, i) in seconds ? seconds[c, b, i] / bound[c, b] : "-"
            if (!((c, b, columns) in seconds)) { print "  nothing"; cells++; continue }
            printf "  %10s  %10s  %-24s %s\n", time(seconds[c, b, columns]), time(bound[c, b]), algorithm[c, b], standing(c, b)
        }
    }
    printf "\n%s is at least level with all others in %d of %d rows, and meets %d of %d goals\n\n", column[columns], ahead, cells, met, asked
    exit ahead < cells || met < asked
}
