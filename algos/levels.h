/* SPDX-License-Identifier: BSD-3-Clause */
/* What two-level algorithms are made of: this rank's place among nodes, exchanges in which everybody meets everybody,
 * in the scope in force, and the pipeline that keeps both levels at work at once. */
#ifndef TT_LEVELS_H
#define TT_LEVELS_H

#include "algos/costs.h"

/* ---- where this rank is ---- */
struct tt_levels {
    const struct tt_nodes *nodes;
    int node, local; /* this rank's node, and its place on it */
    int here;        /* ranks on this node */
    int rails;       /* ranks on the smallest node: rail j is the j-th ranks of all nodes */
    int *rail;       /* this rank's counterparts on all nodes, twice over: its rail, if local < rails */
};
int tt_levels_find(struct tt_levels *at, const struct tt_plan *p, const struct tt_shape *s); /* 0 or ENOMEM */
void tt_levels_end(struct tt_levels *at);

/* Ranks on a node; and the rank in a place of it. */
int tt_on_node(const struct tt_levels *at, int node);
int tt_rank_at(const struct tt_levels *at, int node, int place);

/* The counterpart of a rank on another node is who has its place there; where that node has fewer ranks, they take
 * turns, those from each node beginning elsewhere. Of the ranks on `node` whose counterpart on this one is who has that
 * place, number i; -1 after the last. */
int tt_counted_on(const struct tt_levels *at, int node, int place, int i);
int tt_counterpart_of(const struct tt_levels *at, int rank, int node);

/* Where a rank is; and whether this one is on a rail. */
int tt_level_place(const struct tt_levels *at, int rank);
static inline bool tt_on_rail(const struct tt_levels *at)
{
    return at->local < at->rails;
}

/* Scopes of the ranks of this node; of this rank's rail; and of the rail without a node, beginning behind that. False,
 * and nothing entered, if this rank is none of them. */
void tt_enter_node(struct tt_plan *p, const struct tt_levels *at);
bool tt_enter_rail(struct tt_plan *p, const struct tt_levels *at);
bool tt_enter_rail_without(struct tt_plan *p, const struct tt_levels *at, int node);

/* ---- everybody meets everybody, in the scope in force ----
 * Messages only: the caller fences. */

/* All n elements of every rank, from src, to all others. What reaches this one goes to arrived, which has room for size
 * - 1 times n; the operands are its own and these. */
struct tt_operands tt_show_all(struct tt_plan *p, struct tt_loc src, int64_t n, struct tt_loc arrived);

/* n elements are cut into `owners` balanced parts, part i being that of rank i: where it begins. So that cuts into
 * different numbers of parts can be compared without counting elements, they are made in units, of which every vector
 * has as many; unit u begins at element tt_unit_at(n, u). */
enum { TT_UNITS = 1 << 24 };

static inline int64_t tt_unit_at(int64_t n, int unit)
{
    return n / TT_UNITS * unit + n % TT_UNITS * unit / TT_UNITS;
}

static inline int64_t tt_part_at(int64_t n, int owners, int i)
{
    return tt_unit_at(n, (int)tt_cut(TT_UNITS, owners, i < owners ? i : owners));
}

/* No run of so many units has more elements; and no part. */
static inline int64_t tt_units_most(int64_t n, int units)
{
    return n > 0 ? tt_unit_at(n, units) + 1 : 0;
}

static inline int64_t tt_part_most(int64_t n, int owners)
{
    return tt_units_most(n, (int)tt_cut(TT_UNITS, owners, 1));
}

/* Every rank's part i, from src, to rank i; but one of them (or -1) is handed none. What reaches this one goes to
 * arrived, which has room for size - 1 parts; the operands are its own part and these. */
struct tt_operands tt_hand_in(struct tt_plan *p, struct tt_loc src, int64_t n, int owners, int without,
                              struct tt_loc arrived);

/* Part i, in its place from base on, from rank i to all others; but one of them (or -1) stands aside. */
void tt_hand_out(struct tt_plan *p, struct tt_loc base, int64_t n, int owners, int aside);

/* ---- a node meets all others ----
 * Each rank has n elements of src sent by its counterparts on all other nodes: so each node sends them to every other
 * as often as that has ranks, all sharing in it. What arrives goes to arrived, which has room for N - 1 times n; the
 * operands are this node's own and these. */
struct tt_operands tt_show_nodes(struct tt_plan *p, const struct tt_levels *at, struct tt_loc src, int64_t n,
                                 struct tt_loc arrived);

/* ---- who adds up what across ----
 * A vector is cut for each node into a slice for each of its ranks, and into pieces, each of which one rank owns: it
 * lies within that one's slice, and what other nodes have of it is in the slices of one or two ranks there. Nodes with
 * more NICs own more: a node sends all of the vector once, but what it owns, and what it owns to each other node; and
 * as much comes in. So much is owned that nodes take equally long over that, or nothing, if the rest takes a node
 * longer. Where nodes are alike, so are pieces: of the j-th slice the i-th is that of the j-th rank of node i. */

/* Units from .. to - 1, and who is at the other end: a rank on another node, which owns them, or has them. */
struct tt_piece {
    int from, to;
    int rank, node;
    int own; /* of what this rank owns: the piece that they are part of */
};

struct tt_pieces {
    int n, room;
    struct tt_piece *of;
};

/* In either list, pieces that have the same rank at the other end are in the order in which they have each other's. */
struct tt_owners {
    int from, to;            /* this rank's slice, in units */
    struct tt_pieces own;    /* of it, what this rank owns */
    struct tt_pieces mine;   /* what others own */
    struct tt_pieces theirs; /* of what this rank owns, what others have */
};
int tt_owners_find(struct tt_owners *o, const struct tt_levels *at); /* 0 or ENOMEM */
void tt_owners_end(struct tt_owners *o);

/* ---- the pipeline ----
 * All vectors or blocks of a call are cut alike: dealt to lanes in stretches, of which each lane cuts its own into
 * segments that go through the stages one behind the other. In one round segment k is in stage 0, segment k-1 in stage
 * 1, and so on. So all levels are at work at once, and while one lane waits for the first byte of a message the others
 * move theirs. */
struct tt_pipeline {
    int lanes, segments; /* of each lane */
    int parts;           /* that vectors are measured in: tt_cut(n, parts, i) is where part i of n elements begins */
};

/* For vectors of up to n elements in segments of about s->segment, but no more than 64 of these; of so many lanes. */
struct tt_pipeline tt_pipeline_plan(const struct tt_shape *s, int64_t n, int most_lanes);

/* No segment has more of n elements. */
int64_t tt_pipeline_most(const struct tt_pipeline *pipe, int64_t n);

/* The number of a segment in its lane, and its parts: from .. to - 1. */
struct tt_segment {
    int number, from, to;
};

/* What a stage does to a segment. */
typedef void tt_stage_fn(struct tt_plan *p, void *with, int stage, const struct tt_segment *g);

/* One lane of it. In every round each stage posts messages for its segment, and settles what they brought once all have
 * arrived: it may fence. settle may be NULL. */
void tt_pipeline_run(struct tt_plan *p, const struct tt_pipeline *pipe, int lane, int stages, tt_stage_fn *post,
                     tt_stage_fn *settle, void *with);

/* ---- what it costs ----
 * Nodes are of several classes (tt_net), and wait for each other: what takes longest in any of them counts. */

/* How long ports of a node of so many ranks are busy where each hands n bytes to each of so many others, or so many
 * hand them to all; and the NICs of a node of a class, which n bytes go through one way, if only so many ranks have
 * any. */
bool tt_one_bus(const struct tt_net *net);
double tt_bus_busy(const struct tt_net *net, int ranks, double n);
double tt_within_busy(const struct tt_net *net, int ranks, double n, int owners);
double tt_nics_busy(const struct tt_net *net, const struct tt_node_class *class, double n, int ranks);

/* A round of messages within a node, or across, in which ports are busy for so long and a rank posts so many. */
double tt_within_cost(const struct tt_net *net, double busy, double posted);
double tt_across_cost(const struct tt_net *net, double busy, double posted);

/* n bytes each in so many messages out of one rank's port, or into it, a rank posting so many of them. */
double tt_within_one(const struct tt_net *net, double n, int messages, int posted);
double tt_across_one(const struct tt_net *net, double n, int messages, int posted);

/* Fills in what nodes own of a vector, as above; so many of them in all. */
void tt_share_out(struct tt_node_class *class, int classes, int nodes);

/* Where each rank of other nodes has a counterpart on a node: how many of them has who has most; and how many go
 * through each of its NICs. */
int tt_counterparts(const struct tt_net *net, const struct tt_node_class *class);
double tt_counterparts_by_nic(const struct tt_net *net, const struct tt_node_class *class);
double tt_most_across(const struct tt_net *net); /* the same of the smallest node */

/* All ranks of a call may have the same role; or those of the root's node have one, and the others another. Of either
 * one rank stands for all: but where one has most to add up in one stage, and another in the next, both do. */
enum { TT_ROLES = 3, TT_RANKS = 3 };

/* What one of these ranks does with a segment of a stage: what it copies while messages are under way, to begin with
 * and for all of the vector; and then the operands that it folds, likewise for each reduction of two. */
struct tt_work {
    int role;
    double begin, copy;
    int operands;
    double start, add;
};

/* Through whose ports messages go: of ranks, or of the root's node. */
enum tt_port { TT_PORT_NEAR, TT_PORT_FAR_OUT, TT_PORT_FAR_IN, TT_PORT_ROOT, TT_PORT_HOME, TT_PORTS };

/* So many messages of each segment, of which a rank of that role posts so many; those of both wait for them. How long
 * the port is busy with them over all of the vector. */
struct tt_sends {
    enum tt_port port;
    int role;
    unsigned with; /* 1 << role of others that wait for them */
    double alpha, busy, messages, posts;
};

/* A round of a rank is over when all is that it has to do for any of its stages. */
enum { TT_SENDS = 3, TT_STAGES = 5 };
struct tt_stage {
    int lag; /* rounds behind the first */
    struct tt_sends sends[TT_SENDS];
    struct tt_work work[TT_RANKS];
};
struct tt_stages {
    int n, roles;
    struct tt_stage of[TT_STAGES];
};

/* Of role 0, through TT_PORT_NEAR or TT_PORT_FAR_OUT. */
struct tt_sends tt_within_sends(const struct tt_net *net, double busy, double messages);
struct tt_sends tt_across_sends(const struct tt_net *net, double busy, double messages);

/* The same messages, as those see it that they come to; or of another role, through that port, others waiting for them.
 */
struct tt_sends tt_comes_in(struct tt_sends s);
struct tt_sends tt_sends_of(struct tt_sends s, int role, enum tt_port port, unsigned with);

/* Where the root's node does other things than others, each of whose ranks hands n / rails bytes to the rest of its
 * node, or is handed it: how long their ports are busy, and NICs; and the ranks of the largest. */
struct tt_away {
    double within, nics;
    int largest;
};
struct tt_away tt_away_busy(const struct tt_net *net, const struct tt_node_class *home, double n);

/* Where all have one role: those of another class of nodes do that, their work being that of rank 0. What is worse, of
 * messages; and rank i becomes who has most to do in stage i. */
void tt_stages_raise(struct tt_stages *s, const struct tt_stages *of, const struct tt_pipeline *pipe);

/* How long all segments take to go through all stages; and the same roughly, in a tenth of the time: good enough to
 * compare lengths of segments. */
double tt_pipeline_time(const struct tt_net *net, const struct tt_pipeline *pipe, const struct tt_stages *s);
double tt_pipeline_rough(const struct tt_net *net, const struct tt_pipeline *pipe, const struct tt_stages *s);
typedef double tt_pipeline_cost_fn(const struct tt_net *net, const struct tt_pipeline *pipe, const struct tt_stages *s);

/* Elements of the longest segment of n. */
double tt_segment_elements(const struct tt_pipeline *pipe, double n);

/* ---- an algorithm that serves blocks of equal and of different length alike; in the file of that name ---- */
int tt_allgather_two_level(struct tt_plan *p, const struct tt_shape *s);
double tt_allgather_two_level_cost(const struct tt_shape *s, const struct tt_net *net);
double tt_allgather_two_level_rough(const struct tt_shape *s, const struct tt_net *net);

#endif
