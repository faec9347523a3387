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

/* Every rank's part i, from src, to rank i; but one of them (or -1) is handed none. What reaches this one goes to arrived,
 * which has room for size - 1 parts; the operands are its own part and these. */
struct tt_operands tt_hand_in(struct tt_plan *p, struct tt_loc src, int64_t n, int owners, int without,
                              struct tt_loc arrived);

/* Part i, in its place from base on, from rank i to all others; but one of them (or -1) stands aside. */
void tt_hand_out(struct tt_plan *p, struct tt_loc base, int64_t n, int owners, int aside);

/* ---- a node meets all others ----
 * Each rank has n elements of src sent by its counterparts on all other nodes: so each node sends them to every other as
 * often as that has ranks, all sharing in it. What arrives goes to arrived, which has room for N - 1 times n; the
 * operands are this node's own and these. */
struct tt_operands tt_show_nodes(struct tt_plan *p, const struct tt_levels *at, struct tt_loc src, int64_t n,
                                 struct tt_loc arrived);

/* ---- who adds up what across ----
 * A vector is cut for each node into a slice for each of its ranks, and into pieces, each of which one rank owns: it lies
 * within that one's slice, and what other nodes have of it is in the slices of one or two ranks there. Nodes with more
 * NICs own more: a node sends all of the vector once, but what it owns, and what it owns to each other node; and as much
 * comes in. So much is owned that nodes take equally long over that, or nothing, if the rest takes a node longer.
 * Where nodes are alike, so are pieces: of the j-th slice the i-th is that of the j-th rank of node i. */

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
 * segments that go through the stages one behind the other. In one round segment k is in stage 0, segment k-1 in stage 1,
 * and so on. So all levels are at work at once, and while one lane waits for the first byte of a message the others move
 * theirs. */
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

/* How long ports of a node of so many ranks are busy where each hands n bytes to each of so many others, or so many hand
 * them to all; and the NICs of a node of a class, which n bytes go through one way, if only so many ranks have any. */
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

/* Where each rank of other nodes has a counterpart on a node: how many of them has who has most; and how many go through
 * each of its NICs. */
int tt_counterparts(const struct tt_net *net, const struct tt_node_class *class);
double tt_counterparts_by_nic(const struct tt_net *net, const struct tt_node_class *class);
double tt_most_across(const struct tt_net *net); /* the same of the smallest node */

/* A pipeline's stages, for all of the vector. Their alpha, together, at most, and the last one's; how long the first, and
 * how long all of them take, one after the other, and how long the busiest port within, and across, is at work; how many
 * messages a rank posts for a segment, and others before or after it; how long its reductions and copies take, and those
 * that are made while messages of the first stage are under way; and how much of all that is not the same rank's, whose
 * lanes then wait for each other the less. */
struct tt_stages {
    double alphas, alpha, last, first;
    double all, within, across;
    double messages, hiding, later, beside;
    double local, aside;
    double apart;
};

/* So many reductions, or copies, of each segment, and of so many bytes in all. */
double tt_pipeline_adds(const struct tt_net *net, const struct tt_pipeline *pipe, double each, double n);
double tt_pipeline_copies(const struct tt_net *net, const struct tt_pipeline *pipe, double each, double n);

/* Adds so many stages that take so long if they are alone, each rank posting so many messages in each, and what they keep
 * ports busy for. */
void tt_add_within(struct tt_stages *w, const struct tt_net *net, double busy, double messages, double stages);
void tt_add_across(struct tt_stages *w, const struct tt_net *net, double alone, double busy, double messages,
                   double stages);

/* What is worse of two classes of nodes. */
void tt_stages_raise(struct tt_stages *w, const struct tt_stages *of);

/* Those of bcast_two_level.c and its mirror, for n bytes of which a segment has so many at most: the root's own port, who
 * leaves its node, who passes on, and the other nodes. So many nodes share in what crosses. */
struct tt_stages tt_rooted_stages(const struct tt_net *net, const struct tt_shape *s, const struct tt_pipeline *pipe,
                                  int sharing);

/* All segments go through all stages. What cannot overlap is the first segments' way to the busiest port and the last
 * ones' from it, and lanes that reduce at the same time wait for each other; or, with many short segments, each lane waits
 * for its own messages, or they for being posted. */
double tt_pipeline_cost(const struct tt_net *net, const struct tt_pipeline *pipe, struct tt_stages w);

/* Elements of the longest segment of n. */
double tt_segment_elements(const struct tt_pipeline *pipe, double n);

/* ---- an algorithm that serves blocks of equal and of different length alike; in the file of that name ---- */
int tt_allgather_two_level(struct tt_plan *p, const struct tt_shape *s);
double tt_allgather_two_level_cost(const struct tt_shape *s, const struct tt_net *net);

#endif
