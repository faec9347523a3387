# SPDX-License-Identifier: BSD-3-Clause
# Programs with something wrong (doctor.c), and what `tutti doctor` has to say of each in its first line: while it hangs,
# asked again and again until it does, and when it has been killed. Read by run.sh.

# of the caller's place only the function is compared; and that not where there is no addr2line to tell it
place='[a-z+0-9.:x]*\( ([a-z_]*)\)\{0,1\}'
reduce="MPI_Allreduce at $place, call"
time='[0-9.]* m\{0,1\}s'

# start RANKS FAULT: by a shell, if that is $shell, which the launcher does not see die
shell= program=doctor
start()
{
    TUTTI_TEST_RECORDS=$records timeout -k 5 "$PATIENCE" "$MPIEXEC" $oversubscribe -n "$1" $shell env LD_PRELOAD="$LIBRARY:$PROGRAMS/yield.so" \
        TUTTI_RECORD="$records" "$PROGRAMS/$program" "$2" 1 >"$output" 2>&1 &
    job=$!
}

# diagnosed PATTERN: the first line is that, and nothing more; and it takes less than 2 s of a core to say so
diagnosed()
{
    (ulimit -t 2 && exec "$BUILD/tutti" doctor "$records") >"$output.said" 2>&1
    head -1 "$output.said" | grep -qx -e "$1"
}

# moment: when the doctor looks, and since when all ranks have been where they are, by the clock of the records
moment()
{
    "$BUILD/tutti" doctor --json "$records" 2>/dev/null | tr -d '",:' | awk '$1 == "seconds" { now = $2 }
        $1 == "for_s" && (!n++ || $2 < least) { least = $2 } END { print now + 0, now - least }'
}

# becomes PATTERN: or it will be before long: a launcher may be gone before its ranks, and these come to where they hang
# when the machine lets them. Of those that have been there for 2 s no other thing may be said
becomes()
{
    tries=0 wrong=0
    while asked=$(moment) && ! diagnosed "$1"; do
        tries=$((tries + 1)) wrong=${asked% *}
        [ $tries -lt 200 ] || return 1
        sleep 0.1
    done
    asked=$(moment)
    echo "$wrong ${asked#* }" | awk '{ exit !($1 < $2 + 2) }' || fail "doctor: it was still wrong after 2 s: $wrong s, ${asked#* } s"
}

misses() { cat "$output.said"; fail "doctor, $1: expected \"$2\""; }

# hangs RANKS FAULT PATTERN [PATTERN]: what is said while it hangs, and when it has been killed
hangs()
{
    records=$(mktemp -d)
    start "$1" "$2"
    becomes "$3" || misses "$2" "$3"
    kill $job 2>/dev/null
    wait $job
    # a launcher ends one rank after another, and who is left may notice before its turn comes
    becomes "${4:-$3}\|rank 1 has made ranks\{0,1\} [0-9,-]* fail in .*: its process, [0-9]* on [^ ]*, was killed or crashed, when it was .*" ||
        misses "$2, when it is over" "${4:-$3}"
    rm -rf "$records"
    echo "doctor: $2 on $1 ranks"
}

# ends RANKS FAULT PATTERN: the job comes to its end
ends_with()
{
    records=$(mktemp -d)
    start "$1" "$2"
    wait $job
    diagnosed "$3" || misses "$2" "$3"
    echo "doctor: $2 on $1 ranks"
}

before=$(date +%s)
w="MPI_COMM_WORLD"
ended="when the job ended it was"
hangs 16 sleeps "rank 1 keeps ranks 0,2-15 waiting in $reduce 7 on $w, for $time: it is outside MPI for $time, since $reduce 6 on $w\." \
    "rank 1 keeps ranks 0,2-15 waiting in $reduce 7 on $w: $ended outside MPI, since $reduce 6 on $w\."
hangs 3 sleeps-before-wait "rank 1 keeps ranks 0,2 waiting in MPI_Iallreduce at $place, call 7 on $w, for $time: it is outside MPI for $time, since $reduce 6 on $w\." \
    "rank 1 keeps ranks 0,2 waiting in MPI_Iallreduce at $place, call 7 on $w: $ended outside MPI, since $reduce 6 on $w\."
hangs 4 skips "rank 1 skipped a call: in call 8 on $w it called MPI_Barrier at $place, where ranks 0,2-3 called MPI_Allreduce of 1000 MPI_FLOAT MPI_SUM at $place: the collective differs\."
hangs 2 skips-alike "rank 1 keeps rank 0 waiting in $reduce 6 on $w, for $time: it is in MPI_Finalize\." \
    "rank 1 keeps rank 0 waiting in $reduce 6 on $w: $ended in MPI_Finalize\."
# Open MPI's launcher has the rank go on before it ends it: what that leaves is luck
then="rank 1 keeps ranks 0,2-3 waiting in $reduce 7 on $w: $ended outside MPI, since $reduce 6 on $w\."
[ -z "$oversubscribe" ] || then='.*'
hangs 4 is-stopped "rank 1 keeps ranks 0,2-3 waiting in $reduce 7 on $w, for $time: its process, [0-9]* on [^ ]*, has been stopped by a signal or a debugger, when it was outside MPI for $time, since $reduce 6 on $w\." \
    "$then"
hangs 4 waits-outside "rank 1 keeps ranks 0,2-3 waiting in $reduce 7 on $w, for $time: it is in MPI_Recv from rank 2 with tag 7 at $place for $time\." \
    "rank 1 keeps ranks 0,2-3 waiting in $reduce 7 on $w: $ended in MPI_Recv from rank 2 with tag 7 at $place\."
hangs 4 sends-late "rank 1 keeps rank 0 waiting in MPI_Recv from rank 1 with tag 7 at $place, and so ranks 2-3 in $reduce 7 on $w, for $time: it is outside MPI for $time, since $reduce 6 on $w\." \
    "rank 1 keeps rank 0 waiting in MPI_Recv from rank 1 with tag 7 at $place, and so ranks 2-3 in $reduce 7 on $w: $ended outside MPI, since $reduce 6 on $w\."
hangs 4 waits-for-message "rank 1 keeps ranks 0,2-3 waiting in $reduce 8 on $w, for $time: it is in MPI_Wait for MPI_Irecv from rank 2 with tag 7 at $place for $time\." \
    "rank 1 keeps ranks 0,2-3 waiting in $reduce 8 on $w: $ended in MPI_Wait for MPI_Irecv from rank 2 with tag 7 at $place\."
hangs 3 tests-in-vain "rank 1 keeps ranks 0,2 waiting in MPI_Ibarrier at $place, call 7 on $w, for $time: it is outside MPI for $time, since $reduce 6 on $w\." \
    "rank 1 keeps ranks 0,2 waiting in MPI_Ibarrier at $place, call 7 on $w: $ended outside MPI, since $reduce 6 on $w\."
hangs 3 looks-in-vain "rank 1 keeps ranks 0,2 waiting in $reduce 7 on $w, for $time: it is in a loop of MPI_Iprobe from rank 2 with tag 7 at $place for $time\." \
    "rank 1 keeps ranks 0,2 waiting in $reduce 7 on $w: $ended \(in a loop of MPI_Iprobe from rank 2 with tag 7 at $place\|outside MPI, since $reduce 6 on $w\)\."
hangs 4 misses-one-of-two "rank 1 keeps ranks 0,2-3 waiting in $reduce 7 on $w, for $time: it is in MPI_Waitall for MPI_Irecv from rank 2 with tag 7 on halo at $place for $time\." \
    "rank 1 keeps ranks 0,2-3 waiting in $reduce 7 on $w: $ended in MPI_Waitall for MPI_Irecv from rank 2 with tag 7 on halo at $place\."
hangs 3 receives-from-the-finished "rank 1 keeps ranks 0,2 waiting in MPI_Finalize, for $time: it is in MPI_Recv from rank 0 (which is in MPI_Finalize) with tag 7 at $place for $time\." \
    "rank 1 keeps ranks 0,2 waiting in MPI_Finalize: $ended in MPI_Recv from rank 0 (which is in MPI_Finalize) with tag 7 at $place\."
hangs 3 skips-a-fence "rank 1 does not match: it is in $reduce 7 on $w, where ranks 0,2 are in MPI_Win_fence at $place, and they wait for one another, for $time\." \
    "rank 1 does not match: it is in $reduce 7 on $w, where ranks 0,2 are in MPI_Win_fence at $place, and they wait for one another\."
hangs 3 keeps-a-lock "rank 1 keeps rank 2 waiting in $reduce 7 on $w, for $time: it is outside MPI for $time, since $reduce 6 on $w\." \
    "rank 1 keeps rank 2 waiting in $reduce 7 on $w: $ended outside MPI, since $reduce 6 on $w\."
between="MPI_Barrier at $place, call"
hangs 3 sleeps-between-groups "rank 1 keeps ranks 0,2 waiting in $between 2 on between, for $time: it is outside MPI for $time, since $between 1 on between\." \
    "rank 1 keeps ranks 0,2 waiting in $between 2 on between: $ended outside MPI, since $between 1 on between\."
hangs 4 does-not-split "rank 1 keeps ranks 0,2-3 waiting in MPI_Comm_split at $place, for $time: it is outside MPI for $time, since $reduce 6 on $w\." \
    "rank 1 keeps ranks 0,2-3 waiting in MPI_Comm_split at $place: $ended outside MPI, since $reduce 6 on $w\."
hangs 3 receives-in-a-ring "all 3 ranks wait for one another, for $time: rank [0-2] is in MPI_Recv from rank [0-2] with tag 7 at $place\." \
    "all 3 ranks wait for one another: rank [0-2] is in MPI_Recv from rank [0-2] with tag 7 at $place\."
sum="$reduce 1 on"
hangs 4 crosses "ranks wait for one another in a circle: rank [0-3] waits for rank [0-3] in $sum [a-z]*; rank [0-3] waits for rank [0-3] in $sum [a-z]*; rank [0-3] waits for rank [0-3] in $sum [a-z]*; rank [0-3] waits for rank [0-3] in $sum [a-z]*\."
hangs 3 never-starts "rank 1 keeps ranks 0,2 waiting in $reduce 1 on $w, for $time: it is outside MPI for $time, and has made no collective call\." \
    "rank 1 keeps ranks 0,2 waiting in $reduce 1 on $w: $ended outside MPI, and has made no collective call\."
hangs 4 other-collective "rank 1 does not match: in call 7 on $w it called MPI_Barrier at $place, where ranks 0,2-3 called MPI_Bcast of 1000 MPI_FLOAT from root 0 at $place: the collective differs\."
hangs 3 other-order "rank 1 made calls on two communicators in another order than others: it waits in $reduce 2 on columns, while ranks 0,2 wait in $reduce 2 on rows\."
if [ -x "$PROGRAMS/doctor_fortran" ]; then
    program=doctor_fortran
    line=$(sed -n '/the call that hangs/=' "$(dirname "$0")/doctor_fortran.F90")
    there="MPI_Allreduce at doctor_fortran\(\.F90:$line ([A-Za-z_]*)\|+0x[0-9a-f]*\), call 3 on $w"
    hangs 3 in-fortran "rank 1 keeps ranks 0,2 waiting in $there, for $time: it is outside MPI for $time, since .*" \
        "rank 1 keeps ranks 0,2 waiting in $there: $ended outside MPI, since .*"
    program=doctor
fi
# ranks of a node notice that one has died, and their calls fail
ends_early="rank 1 \(keeps\|has made\) ranks\{0,1\} [0-9,-]* \(waiting\|fail\) in $reduce 7 on $w\(, for $time\)\{0,1\}: it ended without MPI_Finalize, when it was outside MPI\( for $time\)\{0,1\}, since $reduce 6 on $w\."
hangs 4 ends-early "$ends_early"
shell=$output.stays # as long as there is something to look at
printf '#!/bin/sh\n"$@"\nwhile [ -e "$TUTTI_TEST_RECORDS" ]; do sleep 1; done\n' >"$shell" && chmod +x "$shell"
hangs 4 is-killed "rank 1 has made ranks 0,2-3 fail in $reduce 7 on $w: its process, [0-9]* on [^ ]*, was killed or crashed, when it was outside MPI for $time, since $reduce 6 on $w\." \
    "rank 1 has made ranks 0,2-3 fail in $reduce 7 on $w: its process, [0-9]* on [^ ]*, was killed or crashed, when it was outside MPI, since $reduce 6 on $w\."
export TUTTI_NODE=off
hangs 4 is-killed "rank 1 keeps ranks 0,2-3 waiting in $reduce 7 on $w, for $time: its process, [0-9]* on [^ ]*, was killed or crashed, when it was outside MPI for $time, since $reduce 6 on $w\." \
    "rank 1 keeps ranks 0,2-3 waiting in $reduce 7 on $w: $ended outside MPI, since $reduce 6 on $w\."
unset TUTTI_NODE
shell=
differs="rank 1 does not match: in call 7 on $w it called MPI_Allreduce of"
ends_with 4 other-count "$differs 1001 MPI_FLOAT MPI_SUM at $place, where ranks 0,2-3 called MPI_Allreduce of 1000 MPI_FLOAT MPI_SUM at $place: the count differs\."
ends_with 4 other-type "$differs 1000 MPI_INT MPI_SUM at $place, where ranks 0,2-3 called MPI_Allreduce of 1000 MPI_FLOAT MPI_SUM at $place: the type differs\."
ends_with 3 other-op "$differs 1000 MPI_FLOAT MPI_MAX at $place, where ranks 0,2 called MPI_Allreduce of 1000 MPI_FLOAT MPI_SUM at $place: the op differs\."
ends_with 4 other-root "rank 1 does not match: in call 7 on $w it called MPI_Bcast of 1000 MPI_FLOAT from root 1 at $place, where ranks 0,2-3 called MPI_Bcast of 1000 MPI_FLOAT from root 0 at $place: the root differs\."
ends_with 3 aborts "rank 1 has ended the job: it is in MPI_Abort at $place\."
ends_with 4 out-of-memory "rank 1 failed in $reduce 7 on $w: cuMem.*: out of memory (CUDA_ERROR_OUT_OF_MEMORY)\."
late='of [0-9]* collectives, by up to .*; the others have waited .* for it, .* of the time\. Between two collectives it takes .*'
ends_with 3 slow "rank 1 is systematically late: in [0-9]* $late"
ends_with 3 slow-gpu "rank 1 is systematically late: in [0-9]* $late"
ends_with 3 jitter "rank 1 is sporadically late: in [0-9]* $late"
ends_with 4 routing "rank 1 has the most to move in MPI_Alltoallv on $w: it sends 3\.91 KiB and receives 10\.9 KiB a call, 1\.9 times the mean rank's 5\.66 KiB; .*"
# a directory that cannot be made costs the record, and is told of once
records=/proc/none
start 3 fine
wait $job || { cat "$output"; fail "a record that cannot be made: the job has failed"; }
says "^tutti: warning: rank 0 is not recorded, nor are 2 others: /proc/none/rank-0.* cannot be written: "
[ "$(grep -c 'is not recorded' "$output")" -eq 1 ] || { cat "$output"; fail "a record that cannot be made must be told of once"; }

# ---- the watchdog ----

# watched PATTERN: the ranks have said it, or do so before long
watched()
{
    tries=0
    until grep -q -e "$1" "$output" || [ $tries -ge 200 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    says "$1"
}

records=$(mktemp -d)
waits="has been in MPI_Allreduce (call 7 on $w, from doctor+0x[0-9a-f]*) for [0-9]* s"
export TUTTI_TIMEOUT=1 TUTTI_ALLREDUCE=doubling
start 4 sleeps
watched "^tutti: warning: rank 0 $waits: by doubling it waits for data from rank 1$"
watched "^tutti: warning: rank 3 $waits: by doubling it waits for data from rank 1$"
watched "^tutti: warning: rank 2 $waits: by doubling it waits for data from rank 0$"
kill -USR1 "$("$BUILD/tutti" doctor --json "$records" | sed -n '/"rank": 1,/,/"pid"/s/.*"pid": \([0-9]*\).*/\1/p')"
watched "^tutti: warning: rank 1 is in no call of MPI that Tutti sees"
if grep -q '^tutti: warning: rank 1 has' "$output"; then cat "$output"; fail "the watchdog warned of a rank that sleeps"; fi
kill $job
wait $job
export TUTTI_TIMEOUT_ACTION=abort
start 3 sleeps
wait $job && fail "TUTTI_TIMEOUT_ACTION=abort: exit status 0"
says "^tutti: error: rank [02] ends the job, as TUTTI_TIMEOUT_ACTION=abort says"
export TUTTI_ALLREDUCE=nccl TUTTI_UNIFORM=1 TUTTI_SIM_GPUS=3 TUTTI_EXPLAIN=1
start 3 sets-up
wait $job || { cat "$output"; fail "the watchdog took NCCL's start for a call"; }
says "all as it should be"
says ": nccl (TUTTI_ALLREDUCE"
unset TUTTI_TIMEOUT TUTTI_TIMEOUT_ACTION TUTTI_ALLREDUCE TUTTI_UNIFORM TUTTI_EXPLAIN
TUTTI_SIM_GPUS=2
rm -rf "$records"
echo "doctor: the watchdog"
rm -f "$output.said" "$output.stays"
echo "  $(($(date +%s) - before)) s"
