# SPDX-License-Identifier: BSD-3-Clause
# To be read by scripts: simulate FOLDER SELECTOR ARGUMENTS... runs play with ARGUMENTS on FOLDER/platform.xml, a rank for
# each line of FOLDER/hosts, and prints its lines.
#
# What would distort is switched off: computation and its clock, TCP's windows, cross traffic, SMPI's own factors of
# latency and bandwidth. Messages up to $EAGER bytes are eager: they start when they are sent, not only
# when both ends are there. BUILD is the build tree.
# SMPI is slow with many eager messages, since it keeps them in a list that it walks through for each.
EAGER=${EAGER:-65536}

simulate()
{
    _folder=$1 _selector=$2
    shift 2
    smpirun -np "$(wc -l <"$_folder/hosts")" -platform "$_folder/platform.xml" -hostfile "$_folder/hosts" \
        --cfg=smpi/coll-selector:"$_selector" \
        --cfg=smpi/simulate-computation:no --cfg=smpi/wtime:0 --cfg=smpi/test:0 \
        --cfg=smpi/bw-factor:0:1 --cfg=smpi/lat-factor:0:1 \
        --cfg=smpi/async-small-thresh:"$EAGER" --cfg=smpi/send-is-detached-thresh:"$EAGER" \
        --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:1e18 --cfg=network/weight-S:0 --log=root.thresh:error \
        "$BUILD/bench/scale/play" "$@" 2>>"$_folder/said" | sed -un '/^#/p; /^[a-z_]* [0-9]* [a-z]/p'
}
