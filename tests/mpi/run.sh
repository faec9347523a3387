#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the MPI test programs: run.sh [NAME...], all of them without a NAME. A launch costs up to a second where ranks
# outnumber cores, so there are few, with many checks in each. The environment says where things are:
#   MPIEXEC   of the MPI that everything was built with
#   BUILD     the top of the build tree ["."]: libtutti.so in .libs, the programs in tests/mpi
#   RUNTIME   of the sanitizer that everything was built with, which has to be the first that is preloaded [none]
#   SIM       the directory of the simulated libcuda.so.1 and libcudart.so [$BUILD/tests/simcuda/.libs]
# Exit status 0: all passed. A launch that does not end is ended, and said so.
set -u

: "${MPIEXEC:=mpiexec}" "${BUILD:=.}"
BUILD=$(cd "$BUILD" && pwd)
: "${SIM:=$BUILD/tests/simcuda/.libs}"
LIBRARY=${RUNTIME:+$RUNTIME:}$BUILD/.libs/libtutti.so
PROGRAMS=$BUILD/tests/mpi
PATIENCE=$((240 + ${TUTTI_TEST_CYCLES:-0} / 8))

# Open MPI refuses root and more ranks than cores unless told
oversubscribe=
case $("$MPIEXEC" --version 2>/dev/null) in
*"Open MPI"* | *OpenRTE*)
    oversubscribe=--oversubscribe
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    ;;
esac

# staging is what is tested, unless a launch says otherwise; and no variable of the user's
for name in $(env | sed -n 's/^\(TUTTI_[A-Z_]*\)=.*/\1/p'); do
    case $name in TUTTI_TEST_*) ;; *) unset "$name" ;; esac
done
unset TUTTI
export TUTTI_SIM_GPUS=2 TUTTI_MPI_CUDA=no
export LD_LIBRARY_PATH="$SIM${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

failed=0
parts= # that failed
first= # preloaded before Tutti
front= # what each rank is started by
output=$(mktemp)
trap 'rm -f "$output"' EXIT

fail()
{
    failed=$((failed + 1))
    echo "FAIL $*"
}

# launch RANKS PRELOAD PROGRAM [ARGUMENT...]: its output goes to $output, its status to $status
launch()
{
    ranks=$1 preload=$first$LIBRARY:$PROGRAMS/yield.so${2:+:$PROGRAMS/$2} program=$PROGRAMS/$3
    shift 3
    timeout -k 5 "$PATIENCE" "$MPIEXEC" $oversubscribe -n "$ranks" $front env LD_PRELOAD="$preload" "$program" "$@" \
        >"$output" 2>&1
    status=$?
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then
        echo "  ended after $PATIENCE s, or by its own watchdog"
    fi
}

# passes RANKS PRELOAD PROGRAM [ARGUMENT...]
passes()
{
    before=$(date +%s)
    words="$*"
    launch "$@"
    # errors that Tutti reports are what some programs provoke: shown only if they fail
    if [ $status -eq 0 ] && grep -q 'Failures: 0' "$output"; then
        grep -v '^tutti: \|^$' "$output"
    else
        head -60 "$output"
        fail "$words: exit status $status"
    fi
    echo "  $(($(date +%s) - before)) s"
}

# says PATTERN: the launch must have said it
says()
{
    grep -q -e "$1" "$output" || { cat "$output"; fail "expected \"$1\""; }
}

# refuses NAME=VALUE PATTERN: MPI_Init must fail
refuses()
{
    export "$1"
    launch 2 "" nocuda
    unset "${1%%=*}"
    [ $status -ne 0 ] || fail "$1: expected MPI_Init to fail"
    says "$2"
}

run_collectives()
{
    passes 7 "" collectives
    cat >"$output.json" <<'EOT'
{"about": "uneven nodes", "place": "round-robin",
 "nodes": [{"count": 1, "sockets": 1, "cores": 4, "gpus": 0, "nics": 1, "ranks": 3},
           {"count": 2, "sockets": 1, "cores": 4, "gpus": 0, "nics": 1, "ranks": 1}],
 "speeds": {"host": {"alpha": "1us", "bandwidth": "8GB/s"}, "nic": {"alpha": "3us", "bandwidth": "12GB/s"}}}
EOT
    export TUTTI_TOPO="$output.json"
    passes 5 "" collectives two_level
    unset TUTTI_TOPO
    rm -f "$output.json"
}
run_requests()
{
    passes 4 "" requests rules
    passes 3 "" requests progress
    export TUTTI_PROGRESS=thread
    passes 3 "" requests progress
    unset TUTTI_PROGRESS
}
run_check()
{
    export TUTTI_CHECK=1 TUTTI_CHECK_TIMEOUT=1
    passes 4 "" check timeout
    unset TUTTI_CHECK_TIMEOUT
    passes 4 send_shim.so check
    unset TUTTI_CHECK
}
# reported CONDITION: of the last report; g("compute_s") is the first number of that name in it
reported()
{
    sed 's/[][{}":,]/ /g' "$output.json" | awk 'function g(key) { return value[key] + 0 }
        { for (i = 1; i < NF; i++) if (!($i in value) && $(i + 1) ~ /^[0-9]/) value[$i] = $(i + 1) }
        END { exit !('"$1"') }' || { cat "$output.json"; fail "report: expected $1"; }
}
# a stand-in of a profiler, where there are NVTX's headers: every collective is a range that has its name, and ends
nvtx_ranges()
{
    [ -e "$PROGRAMS/nvtx_injection.so" ] || return 0
    export NVTX_INJECTION64_PATH="$PROGRAMS/nvtx_injection.so" TUTTI_ALLREDUCE="doubling:0-64;ring:64-"
    passes 4 "" report many
    says '^nvtx Tutti: 150 x MPI_Allreduce doubling 4 B$'
    says '^nvtx Tutti: 150 x MPI_Allreduce ring 3.9 KiB$'
    says '^nvtx Tutti: 310 ranges, 0 not ended$'
    passes 4 "" report overlapped
    says '^nvtx Tutti: 20 x MPI_Allreduce doubling 4 B$'
    says '^nvtx Tutti: 20 ranges, 0 not ended$'
    unset NVTX_INJECTION64_PATH TUTTI_ALLREDUCE
}
run_report()
{
    export TUTTI_REPORT="$output.json"
    for what in late late_root many overlapped turns; do
        passes 4 "" report $what
        reported 'g("ranks") == 4 && g("seconds") > 0'
        reported 'g("compute_s") + g("exposed_s") + g("imbalance_s") + g("bubble_s") + g("setup_s") < 1.02 * g("seconds")'
        reported 'g("compute_s") + g("exposed_s") + g("imbalance_s") + g("bubble_s") + g("setup_s") > 0.98 * g("seconds")'
        # what was slept: 20 times 20 ms, or somebody else's part of it
        case $what in
        late*) reported 'g("calls_per_rank") == 20 && g("imbalance_s") > 0.02 && g("bubble_s") == 0' ;;
        many) reported 'g("calls_per_rank") == 310 && g("calls") == 150' ;;
        overlapped) reported 'g("calls_per_rank") == 20 && g("overlapped_s") > 0.1' ;;
        turns) reported 'g("calls_per_rank") == 0 && g("bubble_s") > 0.02 && g("imbalance_s") == 0' ;;
        esac
    done
    rm -f "$output.json"
    unset TUTTI_REPORT
    nvtx_ranges
    export TUTTI_REPORT=/nowhere/report.json TUTTI_CHECK=1
    passes 3 "" report many
    says 'TUTTI_REPORT=/nowhere/report.json cannot be written; the report is here'
    says '^allreduce  *1K-16K  *150 '
    says 'Arrivals were not compared, since TUTTI_CHECK=1'
    unset TUTTI_REPORT TUTTI_CHECK
}
run_threads() { passes 3 "" threads; }
run_flavours()
{
    passes 7 "" flavours
    export TUTTI_PROGRESS=thread
    passes 4 "" flavours 8
    unset TUTTI_PROGRESS
}
run_cells() { passes 4 "" cells; }
run_p2p()
{
    passes 2 "" p2p
    passes 2 "" p2p_requests
    passes 2 "" p2p_requests wait
    passes 2 aware_shim.so p2p_requests direct
}
run_reduce_local() { passes 1 "" reduce_local; }
run_types() { passes 5 "" types; }
run_errors() { passes 2 "" errors; }
run_faults()
{
    passes 3 "" faults memory
    passes 3 "" faults sticky
    passes 3 "" faults lost
}
# what passes between nodes: within one, nothing of it is staged (tests/mpi/ipc.c has what that costs)
run_costs()
{
    export TUTTI_NODE=off
    passes 3 "" costs staged
    passes 4 "" costs staged
    TUTTI_MPI_CUDA=probe
    passes 3 aware_shim.so costs direct
    TUTTI_MPI_CUDA=no
    unset TUTTI_NODE
}
run_decisions()
{
    passes 3 "" decisions
    passes 4 "" decisions
}
run_nccl()
{
    TUTTI_SIM_GPUS=4
    for part in cases mixes cells costs; do
        passes 4 "" nccl $part
    done
    TUTTI_SIM_GPUS=2
}
# what the stand-in for NCCL was misused in, also after MPI_Finalize
life()
{
    passes "$1" "" nccl_life "$2"
    if grep 'simulated NCCL:' "$output"; then fail "nccl_life $2"; fi
}
run_nccl_life()
{
    TUTTI_SIM_GPUS=4
    for part in share loop progress old other none lost gone; do
        life 4 $part
        case $part in
        old | none) says "rank . has none: libnccl.so.2" ;;
        esac
    done
    export TUTTI_NCCL_TIMEOUT=4
    for part in init absent late async late-notice; do
        life 4 $part
    done
    # a rank that ends without MPI_Finalize is taken by most for the end of all
    if [ -z "$oversubscribe" ]; then
        oversubscribe=-disable-auto-cleanup
        launch 4 "" nccl_life exit
        oversubscribe=
        for rank in 0 2 3; do
            says "rank $rank got an error in time"
            says "rank $rank then got an error"
        done
    fi
    unset TUTTI_NCCL_TIMEOUT
    export TUTTI_NCCL_COMMS=2
    life 4 cap
    export TUTTI_UNIFORM=1
    life 4 keep
    unset TUTTI_NCCL_COMMS TUTTI_UNIFORM
    # ranks share GPUs: only the newest NCCL may let them, if it is told to
    TUTTI_SIM_GPUS=2
    life 4 without
    [ "$(grep -c 'ranks 0 and 2 share a GPU' "$output")" -eq 1 ] || fail "expected to be told once that ranks share a GPU"
    export TUTTI_SIM_NCCL_VERSION=23004
    life 4 without
    export NCCL_MULTI_RANK_GPU_ENABLE=1
    life 4 shared-gpu
    unset TUTTI_SIM_NCCL_VERSION NCCL_MULTI_RANK_GPU_ENABLE
}
run_enqueue()
{
    passes 2 "" enqueue refused
    export TUTTI_PROGRESS=thread
    passes 3 "" enqueue
    passes 2 "" enqueue functions
    TUTTI_SIM_GPUS=3
    passes 3 "" enqueue_nccl
    if grep 'simulated NCCL:' "$output"; then fail "enqueue_nccl"; fi
    TUTTI_SIM_GPUS=2
    unset TUTTI_PROGRESS
}
run_buckets()
{
    passes 3 "" buckets
    export TUTTI_PROGRESS=thread
    passes 2 "" buckets host
    unset TUTTI_PROGRESS
}
run_ipc()
{
    passes 3 "" ipc counts
    passes 3 "" ipc mixes
    passes 4 "" ipc half
    passes 3 "" ipc refused
    # GPUs that do not reach each other, and of which each rank sees its own alone: said once by each rank that meets it
    export TUTTI_SIM_LINKS=none TUTTI_LOG=info
    passes 2 "" ipc apart
    unset TUTTI_SIM_LINKS
    told_once 2
    set --
    for gpu in 0 1; do
        set -- "$@" ${1:+:} -n 1 env CUDA_VISIBLE_DEVICES=$gpu LD_PRELOAD="$LIBRARY:$PROGRAMS/yield.so" "$PROGRAMS/ipc" apart
    done
    timeout -k 5 "$PATIENCE" "$MPIEXEC" $oversubscribe "$@" >"$output" 2>&1
    grep -q 'Failures: 0' "$output" || { head -60 "$output"; fail "ipc apart, with a GPU for each rank"; }
    told_once 2
    unset TUTTI_LOG
}
# told_once RANKS: so many ranks have said why GPU memory of others cannot be opened, once each
told_once()
{
    [ "$(grep -c 'GPU memory of rank . cannot be opened here (cuIpcOpenMemHandle' "$output")" -eq "$1" ] ||
        { cat "$output"; fail "expected to be told once by each of $1 ranks why GPU memory cannot be opened"; }
}
run_reproducible()
{
    passes 7 "" reproducible
    passes 4 "" reproducible
}
run_user_ops() { passes 7 "" user_ops; }
run_gaps()
{
    # what is packed and copied is counted as where messages go by the MPI below
    export TUTTI_NODE=off
    passes 3 "" gaps
    passes 4 "" gaps
    unset TUTTI_NODE
    TUTTI_SIM_GPUS=0
    passes 3 "" gaps
    TUTTI_SIM_GPUS=2
}
run_foreign() { passes 4 "" foreign; }
run_worlds()
{
    passes 3 "" worlds cycles
    passes 2 "" worlds spawn
}
# shares WORDS RANKS GROUPS WAY: with what the words forbid (node_shim.c), so many groups share memory, made in that way
shares()
{
    export TUTTI_TEST_NODE="$1" TUTTI_LOG=info
    passes "$2" node_shim.so node "$3" "$4"
    if [ "$3" -ne 1 ] && [ "$(grep -c 'such ranks pass messages by MPI' "$output")" -ne 1 ]; then
        fail "node $*: expected to be told once what is in the way"
    fi
    unset TUTTI_TEST_NODE TUTTI_LOG
}
run_node()
{
    shares none 3 1 memfd:tutti
    shares memfd 2 1 /dev/shm/tutti-
    shares proc 2 1 /dev/shm/tutti-
    shares memfd,small 2 1 /dev/shm/tutti-
    shares memfd,shm 2 0 none
    shares memfd,small 4 0 none
    shares other 4 2 memfd:tutti
    export TUTTI_TEST_NODE=other TUTTI_LOG=debug
    launch 4 node_shim.so node 2 memfd:tutti
    says "topology of 4 ranks on 2 nodes"
    unset TUTTI_TEST_NODE TUTTI_LOG
    shares odd 3 1 memfd:tutti
    export TUTTI_NODE=read
    shares none 3 1 memfd:tutti
    shares read 3 1 memfd:tutti
    if [ "$(grep -c "may read each other's memory" "$output")" -ne 1 ]; then
        fail "memory that may not be read: expected to be told once"
    fi
    passes 3 "" collectives allreduce alltoall
    export TUTTI_NODE=off
    passes 2 "" node 0 none
    passes 2 "" errors
    passes 3 "" requests rules
    unset TUTTI_NODE
    for wait in spin yield; do
        export TUTTI_WAIT=$wait
        passes 2 "" node 1 memfd:tutti
        launch 3 "" node late
        [ $wait = spin ] && how="was busy" || how=slept
        for rank in 0 1; do
            says "rank $rank $how"
        done
        unset TUTTI_WAIT
    done
    # refused by the kernel, to the MPI too, which has to be told that it cannot read others' memory (by UCX's tcp instead,
    # MPICH's MPI_Finalize hangs where ranks outnumber cores)
    front="$PROGRAMS/forbid memfd_create,futex"
    shares none 2 1 /dev/shm/tutti-
    says "may wake each other"
    front="env UCX_TLS=posix,self OMPI_MCA_btl_vader_single_copy_mechanism=none $PROGRAMS/forbid membarrier,process_vm_readv"
    export TUTTI_NODE=read
    shares none 3 1 memfd:tutti
    says "may wake each other"
    says "may read each other's memory"
    unset TUTTI_NODE
    front=
    launch 3 "" node late
    for rank in 0 1 2; do
        says "rank $rank slept"
    done
    shares wake 3 1 memfd:tutti
    if [ "$(grep -c "may wake each other" "$output")" -ne 1 ]; then
        fail "ranks that cannot wake each other: expected to be told once"
    fi
    launch 3 "" node kill
    [ $status -ne 0 ] || fail "a rank that was killed: expected the others to be ended"
    # where the launcher lets the others be, they find out themselves
    if [ -z "$oversubscribe" ]; then
        oversubscribe=-disable-auto-cleanup
        for how in leave leave-long leave-test; do
            for forbidden in none memfd; do
                export TUTTI_TEST_NODE=$forbidden
                launch 3 node_shim.so node $how
                for rank in 0 1; do
                    says "rank $rank got an error in time"
                done
                says "rank [01]: MPI_Allreduce: rank 2 is gone: its process has ended"
            done
        done
        unset TUTTI_TEST_NODE
        oversubscribe=
    fi
    for left in /dev/shm/tutti-*; do
        [ ! -e "$left" ] || fail "$left was left behind"
    done
}
# what `counted:` has said of one call: instructions, clock readings, system calls, lines of the cache
figures() { sed -n 's/^counted: //p' "$output" | tr -cd '0-9 \n'; }
# a record adds so much to a call and no more: in time, 60 ns (bench/interpose measures it, where nothing else runs)
run_record_cost()
{
    export TUTTI_ALLREDUCE=native
    launch 1 "" record_cost
    [ $status -eq 0 ] || { cat "$output"; fail "record_cost: exit status $status"; }
    without=$(figures)
    TUTTI_RECORD=$(mktemp -d)
    export TUTTI_RECORD
    launch 1 "" record_cost
    [ $status -eq 0 ] || { cat "$output"; fail "record_cost: exit status $status"; }
    [ -z "$without" ] || echo "$without $(figures)" | awk 'NF == 8 {
        printf "a record adds %d instructions, %d clock readings, %d system calls, %d cache lines\n", $5 - $1, $6 - $2, $7 - $3, $8
        exit !($5 - $1 <= 680 && $6 - $2 <= 3 && $7 == $3 && $8 > 0 && $8 <= 4) }' ||
        fail "a record costs more than it may"
    rm -rf "$TUTTI_RECORD"
    unset TUTTI_RECORD TUTTI_ALLREDUCE
}
# small calls within a node, in one breath: right whatever is in the way, and made of few instructions
run_brief()
{
    for ranks in 2 3 5; do
        passes $ranks "" brief
    done
    export TUTTI_NODE=off
    passes 2 "" brief
    unset TUTTI_NODE
    TUTTI_SIM_GPUS=0
    TUTTI_RECORD=$(mktemp -d)
    export TUTTI_RECORD TUTTI_WAIT=spin TUTTI_REPORT=1
    passes 2 "" brief
    rm -rf "$TUTTI_RECORD"
    unset TUTTI_RECORD TUTTI_WAIT TUTTI_REPORT
    # by a request they are 2000 and more; the other rank waits, and is not to be woken
    export TUTTI_WAIT=spin
    for collective in reduce bcast allreduce allgather barrier; do
        launch 2 "" record_cost $collective
        figures | awk -v what=$collective 'NF == 4 {
            printf "a small %s takes %d instructions\n", what, $1
            exit !($1 <= (what == "reduce" || what == "bcast" ? 600 : 750) && $2 == 0 && $3 == 0) }' ||
            fail "a small $collective costs more than it may"
    done
    unset TUTTI_WAIT
    TUTTI_SIM_GPUS=2
}
run_doctor() { . "$(dirname "$0")/doctor.sh"; }
run_nocuda()
{
    passes 2 "" nocuda
    TUTTI_SIM_GPUS=0
    passes 3 "" types
    TUTTI_SIM_GPUS=2
}

# ends MODE: exit status 0, and nothing but what should be said
ends()
{
    before=$(date +%s)
    launch 2 "" ends "$1"
    echo "ends $1: exit status $status, $(($(date +%s) - before)) s"
    [ $status -eq 0 ] || { head -40 "$output"; fail "ends $1"; }
    says "all as it should be"
}

# as_without MODE: the exit status that there is without Tutti, and no signal that is not there then. MPICH's mpiexec tells
# of a rank that left without MPI_Finalize now as of one that was hung up on, now not at all (1 in 40 times, without
# Tutti): so it has three tries to say the same of both.
as_without()
{
    for _ in 1 2 3; do
        timeout -k 5 60 "$MPIEXEC" $oversubscribe -n 2 "$PROGRAMS/ends" "$1" >"$output" 2>&1
        plain=$?
        signals=$(grep -ci -e signal -e segmentation "$output")
        launch 2 "" ends "$1"
        echo "ends $1: exit status $status, without Tutti $plain"
        [ $status -eq $plain ] && [ "$(grep -ci -e signal -e segmentation "$output")" -eq "$signals" ] && return
    done
    head -40 "$output"
    fail "ends $1 in another way than without Tutti"
}

# a tool is in front of Tutti, for MPI_Init and for a collective: right results, and it is said what Tutti cannot do
behind_a_tool()
{
    first=$PROGRAMS/front_shim.so:
    export TUTTI_RECORD="$output.record"
    ends fork
    says "front_shim.so has MPI_Init before Tutti"
    says "TUTTI_RECORD has no effect: MPI_Init did not come to Tutti"
    says "front_shim.so has MPI_Exscan before Tutti"
    unset TUTTI_RECORD
    first=$PROGRAMS/corrupt.so:
    launch 2 "" ends exit
    says "corrupt.so has MPI_Allreduce before Tutti"
    first=
}

in_sessions()
{
    for mode in alone both outlive; do
        launch 2 "" sessions $mode
        [ $status -eq 0 ] || { head -40 "$output"; fail "sessions $mode: exit status $status"; }
        says "all as it should be"
    done
}

run_ends()
{
    ends reset
    ends callbacks
    ends fork
    as_without exit
    as_without exit3
    behind_a_tool
    [ ! -x "$PROGRAMS/sessions" ] || in_sessions
    launch 2 "" local "$PROGRAMS/module.so"
    [ $status -eq 0 ] || { head -40 "$output"; fail "a module that uses MPI: exit status $status"; }
    timeout -k 5 60 "$MPIEXEC" $oversubscribe -n 2 "$PROGRAMS/local" "$PROGRAMS/module_linked.so" >"$output" 2>&1 ||
        { head -40 "$output"; fail "a module that is linked with Tutti"; }
    says "all as it should be"
}

# topo RANKS [ARGUMENT...]: `tutti topo`, which is no program of the tests'
topo()
{
    ranks=$1
    shift
    timeout -k 5 60 "$MPIEXEC" $oversubscribe -n "$ranks" "$BUILD/tutti" topo "$@" >"$output" 2>&1
    status=$?
}

# one_each MODE: four ranks, of which each sees one of the two GPUs
one_each()
{
    mode=$1
    set --
    for gpu in 0 1 0 1; do
        set -- "$@" ${1:+:} -n 1 env CUDA_VISIBLE_DEVICES=$gpu LD_PRELOAD="$LIBRARY:$PROGRAMS/yield.so" \
            "$PROGRAMS/topology" "$mode" 2
    done
    timeout -k 5 "$PATIENCE" "$MPIEXEC" $oversubscribe "$@" >"$output" 2>&1
    status=$?
    [ $status -eq 0 ] && grep -q 'Failures: 0' "$output" ||
        { head -60 "$output"; fail "topology $mode, with a GPU for each rank: exit status $status"; }
}

run_topology()
{
    passes 4 "" topology linked
    one_each linked
    # the other GPUs are hidden from NVML too: active links are all there is to know
    export TUTTI_SIM_NVML=own
    one_each linked
    # nobody knows
    TUTTI_SIM_NVML=none
    one_each apart
    unset TUTTI_SIM_NVML
    export TUTTI_SIM_LINKS=pcie
    passes 3 "" topology apart
    one_each apart
    export TUTTI_SIM_NVML=own
    one_each apart
    unset TUTTI_SIM_NVML
    cat >"$output.json" <<'EOT'
{"about": "two nodes", "nodes": [{"count": 2, "sockets": 2, "cores": 8, "gpus": 2, "nics": 1, "links": "nvlink", "ranks": 2}],
 "place": "round-robin", "speeds": {"gpu": {"alpha": "2us", "bandwidth": "400GB/s"}, "link": {"alpha": "3us", "bandwidth":
 "100GB/s"}, "host": {"alpha": "1us", "bandwidth": "8GB/s"}, "nic": {"alpha": "3us", "bandwidth": "12GB/s"}}}
EOT
    export TUTTI_TOPO="$output.json"
    launch 4 "" topology told
    [ $status -eq 0 ] || fail "topology told: exit status $status"
    topo 4
    says "^4 ranks on 2 nodes, as TUTTI_TOPO=.* says"
    says "node 1: ranks 1,3"
    unset TUTTI_TOPO
    export TUTTI_SIM_LINKS=none
    topo 3
    [ $status -eq 0 ] || fail "tutti topo: exit status $status"
    says "^3 ranks on 1 node, as found; .*SIMULATED"
    says "  r0     X     host  gpu "
    says "^warning: ranks 0-2: on GPUs that cannot reach each other"
    unset TUTTI_SIM_LINKS
    topo 2 --json
    says '"between": \['
    says '"link"'
    topo 2 --no-such-option
    [ $status -ne 0 ] || fail "tutti topo --no-such-option: exit status 0"
    [ "$(grep -c unrecognized "$output")" -eq 1 ] || { cat "$output"; fail "a wrong option must be said once"; }
    # two ranks that take the same of two GPUs
    timeout -k 5 60 "$MPIEXEC" $oversubscribe -n 1 env CUDA_VISIBLE_DEVICES=0,1 "$BUILD/tutti" topo : \
        -n 1 env CUDA_VISIBLE_DEVICES=1,0 "$BUILD/tutti" topo >"$output" 2>&1
    says "^warning: ranks 0-1: share a GPU while others are idle: ranks 0 and 1 are on one GPU, while 1 of the 2"
    # and which are shown no other
    export CUDA_VISIBLE_DEVICES=1
    topo 2
    says "^node 0: .* 2 GPUs joined by NVLink"
    says "^warning: ranks 0-1: share a GPU while others are idle: ranks 0 and 1 are on one GPU, while 1 of the 2"
    export TUTTI_SIM_LINKS=none
    topo 2
    says "^warning: ranks 0-1: on GPUs that cannot reach each other"
    unset CUDA_VISIBLE_DEVICES TUTTI_SIM_LINKS
    rm -f "$output.json"
}

# together WORDS VARIABLE=VALUE VARIABLE=VALUE: MPI_Init of two ranks, each with its setting, must fail and say WORDS
together()
{
    timeout -k 5 60 "$MPIEXEC" $oversubscribe -n 1 env "$2" LD_PRELOAD="$LIBRARY" "$PROGRAMS/nocuda" : \
        -n 1 env "$3" LD_PRELOAD="$LIBRARY" "$PROGRAMS/nocuda" >"$output" 2>&1 &&
        fail "expected MPI_Init to fail with $2 on rank 0 and $3 on rank 1"
    says "$1"
}

settings_of_rules()
{
    rules=$(mktemp -d)
    echo 'allreduce bytes 0-16K -> doubling # and so on' >"$rules/a"
    printf '# the same\n\nallreduce   bytes -16384 -> doubling\n' >"$rules/b"
    echo 'allreduce bytes 0-8K -> doubling' >"$rules/c"
    printf '\nallreduce byts 8 -> ring\n' >"$rules/d"
    refuses "TUTTI_RULES=$rules/d" "TUTTI_RULES: $rules/d:2: byts is not a condition (did you mean bytes?)"
    refuses "TUTTI_RULES=$rules/none" "$rules/none cannot be read"
    together "TUTTI_RULES must be equal on all ranks: rank 1 has $rules/c" TUTTI_RULES="$rules/a" TUTTI_RULES="$rules/c"
    together "rank 1: TUTTI_RULES: $rules/d:2: byts" TUTTI_RULES="$rules/a" TUTTI_RULES="$rules/d"
    together "rank 1: TUTTI_ALLREDUCE=rign: rign is not" TUTTI_ALLREDUCE=ring TUTTI_ALLREDUCE=rign
    timeout -k 5 60 "$MPIEXEC" $oversubscribe -n 1 env TUTTI_RULES="$rules/a" LD_PRELOAD="$LIBRARY" "$PROGRAMS/nocuda" : \
        -n 1 env TUTTI_RULES="$rules/b" LD_PRELOAD="$LIBRARY" "$PROGRAMS/nocuda" >"$output" 2>&1 ||
        { cat "$output"; fail "two files that say the same must do"; }
    export TUTTI_RULES="$rules/a" TUTTI_EXPLAIN=1
    launch 2 "" nocuda
    unset TUTTI_RULES TUTTI_EXPLAIN
    says "MPI_Allreduce.*doubling ($rules/a:1)"
    rm -r "$rules"
}

# On a machine where only alpha counts a ring of 12 takes 11 times as long as sending to all at once.
settings_of_explain()
{
    cat >"$output.json" <<'EOT'
{"about": "alpha", "nodes": [{"count": 1, "sockets": 1, "cores": 12, "gpus": 0, "nics": 1, "ranks": 12}],
 "speeds": {"host": {"alpha": "1us", "bandwidth": "1TB/s"}, "nic": {"alpha": "1us", "bandwidth": "1TB/s"}}}
EOT
    export TUTTI_TOPO="$output.json" TUTTI_ALLGATHER=ring TUTTI_EXPLAIN=all
    launch 12 "" nocuda
    [ $status -eq 0 ] || fail "a slow pin: exit status $status"
    says "warning: MPI_Allgather on 12 ranks: ring (TUTTI_ALLGATHER; slow: the model expects 11 times what direct takes)"
    [ "$(grep -c 'warning: .*slow:' "$output")" -eq 1 ] || { cat "$output"; fail "a slow pin must be warned of once"; }
    says "^tutti: MPI_Allgather, 8 B a block, 12 ranks: ring (TUTTI_ALLGATHER; slow: "
    says "^tutti:   ring is expected to take 11 us"
    says "^tutti:   direct is expected to take 1 us"
    says "^tutti:   two_level cannot serve this: it needs several nodes"
    says "^tutti:   native could serve it"
    unset TUTTI_ALLGATHER TUTTI_EXPLAIN
    launch 12 "" nocuda
    ! grep -q "slow:" "$output" || { cat "$output"; fail "nobody pinned anything"; }
    unset TUTTI_TOPO
    rm -f "$output.json"
}

run_settings()
{
    echo "settings: errors at MPI_Init, not hangs later"
    refuses TUTTI_ALLREDUCE=rnig "there are .*ring"
    refuses TUTTI_CHUNK=lots "TUTTI_CHUNK=lots is not a size"
    export TUTTI_ALREDUCE=ring TUTTI_TEST_WORD=1
    launch 2 "" nocuda
    unset TUTTI_ALREDUCE TUTTI_TEST_WORD
    [ $status -eq 0 ] || fail "a variable that nobody reads must be pointed out, not refused"
    says "TUTTI_ALREDUCE is set but nothing reads it"
    ! grep -q "TUTTI_TEST_WORD is set" "$output" || fail "the tests' own variables are no mistakes"
    timeout -k 5 60 "$MPIEXEC" $oversubscribe -n 1 env TUTTI_ALLREDUCE=ring LD_PRELOAD="$LIBRARY" "$PROGRAMS/nocuda" : \
        -n 1 env TUTTI_ALLREDUCE=tree LD_PRELOAD="$LIBRARY" "$PROGRAMS/nocuda" >"$output" 2>&1 &&
        fail "expected MPI_Init to fail where TUTTI_ALLREDUCE differs between ranks"
    says "TUTTI_ALLREDUCE must be equal on all ranks"
    refuses "TUTTI_ALLREDUCE=tree:0-4K;ring:2K-3K" "pin 2 can never be reached"
    settings_of_rules
    settings_of_explain
    export TUTTI=off TUTTI_ALLREDUCE=rnig TUTTI_RULES=/none/such
    launch 2 "" nocuda
    unset TUTTI TUTTI_ALLREDUCE TUTTI_RULES
    [ $status -eq 0 ] || fail "TUTTI=off: exit status $status"
}

run_fortran()
{
    if [ ! -x "$PROGRAMS/fortran_f08" ]; then
        echo "fortran: not tested: configure found no Fortran compiler for this MPI"
        return
    fi
    fortran_names
    first=$PROGRAMS/fortran_counts.so:
    passes 3 "" fortran_mpif
    passes 3 "" fortran_mpi
    passes 3 "" fortran_f08
    first=
}

# symbols FILE [OPTION]: the names of its dynamic symbols
symbols()
{
    nm -D ${2:-} "$1" | sed 's/@.*//; s/.* //'
}

# Every C function that the library replaces is replaced for Fortran, too, where the MPI's Fortran goes past it.
fortran_names()
{
    echo "fortran: nothing goes past Tutti"
    for theirs in $(ldd "$PROGRAMS/fortran_f08" | sed -n 's/.* => \(.*lib\(mpichfort\|mpi_mpifh\|mpi_usempif08\).so[^ ]*\).*/\1/p'); do
        symbols "$theirs" >"$output.theirs"
        symbols "$BUILD/.libs/libtutti.so" --defined-only >"$output.ours"
        [ -s "$output.theirs" ] && grep -q '^MPI_Wait$' "$output.ours" || fail "nm tells no names"
        for call in $(sed -n 's/^MPI_//p' "$output.ours"); do
            id=$(echo "$call" | tr '[:upper:]' '[:lower:]') names=
            case $call in *_c) large=large_ ;; *) large= ;; esac
            case $theirs in
            *mpichfort*) grep -q "^PMPI_$call\$" "$output.theirs" && names=mpi_${id%_c}_f08_$large ;;
            *mpifh*) grep -q "^mpi_${id}_\$" "$output.theirs" && names="mpi_${id}_ ompi_${id}_f" ;;
            *f08*) grep -q "^pmpi_${id}_\$" "$output.theirs" && names=mpi_${id}_f08_ ;;
            esac
            for name in $names; do
                grep -q "^$name\$" "$output.ours" || fail "MPI_$call has no $name: coll/fortran.def or foreign.def lacks a row"
            done
        done
    done
    rm -f "$output.theirs" "$output.ours"
}

# tune RANKS [ARGUMENT...]
tune()
{
    ranks=$1
    shift
    timeout -k 5 120 "$MPIEXEC" $oversubscribe -n "$ranks" "$BUILD/tutti" tune "$@" >"$output" 2>&1
    status=$?
}

# A machine is tuned for a few seconds; what is written is read, followed, judged, and gone on with.
run_tune()
{
    echo "tune: rules and a profile that are read and followed"
    dir=$(mktemp -d)
    TUTTI_SIM_GPUS=0
    tune 2 allreduce barrier --budget 3s --min 8 --max 4K -o "$dir"
    [ $status -eq 0 ] || { cat "$output"; fail "tune: exit status $status"; }
    "$BUILD/tutti" rules "$dir/tutti.rules" >"$output" 2>&1 || { cat "$output"; fail "tune: its rules are refused"; }
    "$BUILD/tutti" topo "$dir/tutti.profile.json" >"$output" 2>&1 || { cat "$output"; fail "tune: its profile is refused"; }
    says "measured"
    grep -q '^#: allreduce 8 native [0-9.]* us +- [0-9.]* us, [0-9]* times' "$dir/tutti.rules" || fail "no figure of native"
    grep -q '^barrier ranks 2 nodes 1 ranks_per_node 2 -> ' "$dir/tutti.rules" || fail "no rule for barrier"
    tuned_is_followed
    tune 2 --regret "$dir/tutti.rules" barrier --budget 1s
    says "^barrier .*($dir/tutti.rules:[0-9]*)"
    says "^1 sizes: slower than native"
    tuning_goes_on
    TUTTI_SIM_GPUS=2
    tuned_on_gpus
    rm -rf "$dir"
}

# GPU memory where there are GPUs, NCCL a candidate; its times are in the profile, by which the model weighs it
tuned_on_gpus()
{
    tune 2 bcast --budget 4s --max 64 -o "$dir/gpu.rules"
    says "of a SIMULATED device"
    grep -q "SIMULATED: these are no figures of a GPU" "$dir/gpu.rules" || fail "the head of rules must say that the device is simulated"
    grep -q "^#: bcast 8 nccl " "$dir/gpu.rules" || fail "tune on GPUs: NCCL is no candidate"
    grep -q '"nccl": {' "$dir/gpu.profile.json" || fail "the profile does not say what NCCL takes"
    "$BUILD/tutti" topo "$dir/gpu.profile.json" >"$output" 2>&1 || { cat "$output"; fail "a profile with NCCL is refused"; }
    tune 2 bcast --budget 4s --max 8 -m host -o "$dir/host.rules"
    grep -q "^#: bcast 8 native " "$dir/host.rules" && ! grep -q "nccl" "$dir/host.rules" ||
        fail "tune on the host: NCCL is a candidate, or nothing is"
    printf 'allreduce memory device bytes 1K- -> nccl\nallreduce -> native\n' >"$dir/both.rules"
    export TUTTI_RULES="$dir/both.rules" TUTTI_PROFILE="$dir/gpu.profile.json"
    bench 2 allreduce -b 64 -e 4K -f 64 --time 5ms --algorithms native,chosen
    unset TUTTI_RULES TUTTI_PROFILE
    says "64 B *chosen native"
    says "4 KiB *chosen nccl"
}

tuned_is_followed()
{
    export TUTTI_RULES="$dir/tutti.rules" TUTTI_PROFILE="$dir/tutti.profile.json" TUTTI_EXPLAIN=1 TUTTI_LOG=debug
    launch 2 "" nocuda
    unset TUTTI_RULES TUTTI_PROFILE TUTTI_EXPLAIN TUTTI_LOG
    [ $status -eq 0 ] || { head -40 "$output"; fail "a program with tuned rules: exit status $status"; }
    says "MPI_Allreduce.*($dir/tutti.rules:[0-9]*"
    says "topology of 2 ranks .* speeds measured"
    export TUTTI_PROFILE="$dir/tutti.rules"
    launch 2 "" nocuda
    unset TUTTI_PROFILE
    [ $status -ne 0 ] || fail "a profile that is none must be refused"
}

# Out of budget at once, then again: from the journal, of which nothing is left when all is done.
tuning_goes_on()
{
    tune 2 reduce --budget 1us --max 64 -o "$dir/on.rules"
    says "not all was measured"
    known=$(grep -c '^#\.' "$dir/on.journal")
    tune 2 reduce --budget 6s --max 64 -o "$dir/on.rules"
    [ "$known" -eq 0 ] || says "$known sizes are known from"
    [ ! -e "$dir/on.journal" ] || fail "a journal is left of what was done"
    [ "$(grep -c '^#: reduce .* native' "$dir/on.rules")" -ge 3 ] || fail "sizes are missing after going on"
}

# bench RANKS [ARGUMENT...]: `tutti bench`, with what $first names preloaded
bench()
{
    ranks=$1
    shift
    timeout -k 5 240 "$MPIEXEC" $oversubscribe -n "$ranks" ${first:+env LD_PRELOAD="${first%:}"} "$BUILD/tutti" bench "$@" \
        >"$output" 2>&1
    status=$?
}

# good RANKS [ARGUMENT...]: every path must give right results
good()
{
    bench "$@" --time 1us -n 3 -w 1
    [ $status -eq 0 ] || { head -40 "$output"; fail "bench $*: exit status $status"; }
    says " native "
    says " chosen "
}

# All paths on the simulated device and on the host, in every form; what is found wrong is told; loops of others agree.
run_bench()
{
    echo "bench: all paths, checked; wrong results found; the MPI alone, as a loop of OSU's has it"
    dir=$(mktemp -d)
    good 2 allreduce barrier -e 4K -f 64 --json "$dir/all.json"
    says "SIMULATED device memory"
    says "The GPUs are SIMULATED"
    says " own    ring "
    says " nccl   nccl "
    grep -q '"nccl": "2' "$dir/all.json" || fail "bench: its JSON must say which NCCL"
    says "left out: two_level.*: it needs several nodes"
    bench 1 allreduce -m host -e 8 --algorithms two_level
    says "nothing was measured"
    [ "$status" -eq 1 ] || fail "bench that measures nothing: exit status $status"
    grep -q '"simulated": true' "$dir/all.json" || fail "bench: its JSON must say that GPUs are simulated"
    good 3 bcast reduce gather scatter alltoall reduce_scatter exscan alltoallw -r 2 -m host -t int -b 4 -e 64 -f 16
    good 2 allreduce allgather alltoall --in-place -m managed -e 4K -f 512
    good 2 allreduce bcast --nonblocking -m host -e 4K -f 512
    says "overlap"
    good 2 allreduce --overlap -m host -e 4K -f 512
    says " thread *[a-z]"
    says " free *[a-z]"
    says "as many threads on [0-9]* cores"
    good 2 barrier allreduce --bare -m host -b 8 -e 1M -f 131072 --algorithms chosen,native
    says "^ *8 B  bare   bare "
    says "^# bound: the vector of each of 2 ranks is read, and one written, at [0-9.]* GB/s"
    says "^ *8 B  *[0-9.]*  *[0-9.]*  *[0-9.]*  *-  *-$"
    says "^ *1 MiB  *[0-9.]*  *[0-9.]*  *-  *[0-9.]*  *[0-9]* %$"
    good 2 allreduce --skew 50us@1 -t half -e 16 -m host --algorithms chosen,native,ring
    says "skew of 50 us of rank 1"
    bench_persistent
    bench_refuses
    first=$PROGRAMS/corrupt.so:
    bench 2 allreduce -m host -e 4K -f 512 --time 1us -n 3 --json "$dir/wrong.json"
    first=
    [ $status -eq 1 ] || fail "bench: results are wrong, and the exit status is $status"
    says "rank 1: allreduce of 4096 bytes by doubling: 1 elements wrong, the first is number 1023"
    says "WRONG results in 9 of 20 rows"
    bench_plain
    bench_settles
    bench_ends
    rm -rf "$dir"
}

bench_persistent()
{
    bench 2 allreduce --persistent -m host -e 4K -f 512 --time 1us -n 3
    [ $status -eq 0 ] || grep -q "this MPI has no persistent collectives" "$output" ||
        { head -40 "$output"; fail "bench --persistent: exit status $status"; }
}

# Said once, before anything is measured.
bench_refuses()
{
    for arguments in "-r 2" "-e 100T" "--skew 1us@2"; do
        bench 2 allreduce $arguments
        [ $status -ne 0 ] || fail "bench $arguments: exit status 0"
        [ "$(grep -c '^tutti bench: ' "$output")" -eq 1 ] || { cat "$output"; fail "bench $arguments: must be refused once"; }
        [ "$arguments" = "-e 100T" ] || says "there are ranks 0 to 1"
    done
    export TUTTI_SIM_MEMORY=1G
    bench 2 allreduce -e 1G -m device
    unset TUTTI_SIM_MEMORY
    says "do not fit"
}

# Without the library there is one path; a loop of another's text agrees, as far as it agrees with itself from run to run.
bench_plain()
{
    bench 2 allreduce --plain -e 64 --json "$dir/plain.json" --time 1us
    [ $status -eq 0 ] || { cat "$output"; fail "bench --plain: exit status $status"; }
    says "Tutti is not there"
    ! grep -q '"path": "[oc]' "$dir/plain.json" || fail "bench --plain: there is no Tutti"
    for bytes in 8 65536; do
        bench_agrees $bytes 400
    done
}

# More ranks than cores are kept on one each, so that a run is like the next; where there is one core for two, here.
bench_settles()
{
    command -v taskset >/dev/null || return 0
    timeout -k 5 120 taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')" "$MPIEXEC" $oversubscribe -n 2 \
        "$BUILD/tutti" bench allreduce -m host -e 8 --time 1us -n 3 >"$output" 2>&1
    says "2 ranks outnumber the cores here: each is kept on one"
    bench 1 allreduce -m host -e 8 --time 1us -n 3
    ! grep -q outnumber "$output" || fail "bench: one rank does not outnumber cores"
}

bench_agrees()
{
    for _ in 1 2 3 4 5; do
        timeout -k 5 120 "$MPIEXEC" $oversubscribe -n 2 "$PROGRAMS/osu_loop" "$1" "$2" | sed 's/^/loop /' >>"$dir/agree.$1"
        bench 2 allreduce --plain -b "$1" -e "$1" -n "$2" --time 1us --format osu -w 40
        sed -n "s/^$1 /bench $1 /p" "$output" >>"$dir/agree.$1"
    done
    awk -v bytes="$1" '
        function note(name, x) { if (!(name in least) || x < least[name]) least[name] = x; if (x > most[name]) most[name] = x; n[name]++ }
        { note($1, $3) }
        END {
            printf "  %d bytes: OSU-style loop %.2f to %.2f us, bench %.2f to %.2f us\n", bytes, least["loop"], most["loop"],
                least["bench"], most["bench"]
            exit n["bench"] != 5 || n["loop"] != 5 || least["bench"] > 1.25 * most["loop"] || most["bench"] < least["loop"] / 1.25
        }' "$dir/agree.$1" || fail "bench and an OSU-style loop of $1 bytes do not agree"
}

# ^C: what has been measured is told. Open MPI's mpiexec ends its ranks at once.
bench_ends()
{
    [ -z "$oversubscribe" ] || return 0
    : >"$output"
    timeout -k 5 120 sh -c '"$@" & pid=$!
        until grep -q " measured, about " "$0"; do kill -0 $pid || exit; sleep 0.2; done
        kill -INT $pid; wait $pid' "$output" \
        "$MPIEXEC" $oversubscribe -n 2 "$BUILD/tutti" bench allreduce -m host -e 256M --time 200ms \
        --progress --json "$dir/ended.json" >"$output" 2>&1
    says " 8 B  chosen "
    says "ended before all was measured"
    says "of 130 visits, 5 of each size, are done"
    grep -q '"stopped": true' "$dir/ended.json" && grep -q '"path": "chosen"' "$dir/ended.json" ||
        fail "bench: what was measured before ^C must be in its JSON"
}

# The library may be preloaded into anything.
run_harmless()
{
    echo "harmless: in what is no MPI program"
    for command in "ls /" "bash -c true" "$MPIEXEC --version"; do
        $command >"$output" 2>&1
        plain=$(cat "$output")
        LD_PRELOAD=$LIBRARY $command >"$output" 2>&1 || fail "LD_PRELOAD=libtutti.so $command: exit status $?"
        [ "$plain" = "$(cat "$output")" ] || fail "LD_PRELOAD=libtutti.so $command prints something else"
    done
}

# a part is what has a function here; what it sets is its own
for name in ${*:-$(sed -n 's/^run_\([a-z0-9_]*\)().*/\1/p' "$0")}; do
    ("run_$name"; [ $failed -eq 0 ]) || parts="$parts $name"
done
[ -z "$parts" ] && exit 0
echo "failed:$parts"
exit 1
