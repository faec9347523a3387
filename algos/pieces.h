/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces that several algorithms are made of. A piece whose text is an algorithm of its own lives in that
 * algorithm's file; the rest is in pieces.c. All work in the scope in force. */
#ifndef TT_PIECES_H
#define TT_PIECES_H

#include "algos/algos.h"

/* Where part i of `parts` begins: for a collective whose shape states one vector, of the balanced cut of it; for one
 * whose shape states blocks, at the blocks of the rank, or pair of ranks, that is number i after folding. */
int64_t tt_part(const struct tt_shape *s, int parts, int i);

/* The longest block. */
int64_t tt_longest(const struct tt_shape *s);

/* Messages that one rank has under way at a time where nothing but the number of ranks would limit them. */
enum { TT_AT_ONCE = 8 };

/* True if, in place, n elements of SEND from `from` on overlap those of RECV from `to` on without being the same: then
 * no step may read the one and write the other. */
bool tt_straddles(const struct tt_shape *s, int64_t from, int64_t to, int64_t n);

/* ---- whole algorithms that serve blocks of equal and of different length alike; in the files of that name ---- */
int tt_allgather_ring(struct tt_plan *p, const struct tt_shape *s);
int tt_allgather_direct(struct tt_plan *p, const struct tt_shape *s);
int tt_allgather_bruck(struct tt_plan *p, const struct tt_shape *s);
int tt_allgather_doubling(struct tt_plan *p, const struct tt_shape *s);

/* In alltoall_pairwise.c: every rank's block for every other, with so many partners at once. */
int tt_exchange_blocks(struct tt_plan *p, const struct tt_shape *s, int at_once);

/* ---- binomial trees, rooted at rank 0 ----
 * The subtree of a rank is the ranks rank .. rank + tt_subtree() - 1. Its children are rank + 1, + 2, + 4, ... as far
 * as the subtree goes; its parent is rank & (rank - 1). */
static inline int tt_subtree(int rank, int size)
{
    const int lowest_bit = rank & -rank;

    return rank == 0 || lowest_bit > size - rank ? size - rank : lowest_bit;
}

/* In a scope rotated to root: how many blocks of child's subtree come before the wrap from the last rank to the
 * first. */
int tt_unwrapped(const struct tt_plan *p, int root, int child);

/* In reduce_binomial.c: the reduction of every SEND, in rank order, to RECV of root; RECV of others is not touched. */
void tt_reduce_binomial(struct tt_plan *p, int64_t n, int root);

/* In bcast_binomial.c: RECV of rank 0 to RECV of all. */
void tt_bcast_binomial(struct tt_plan *p, int64_t n);

/* ---- folding: how the methods that pair ranks up by bits serve any number of them ----
 * With e ranks more than a power of two, ranks 0 and 1, 2 and 3, ... 2e-2 and 2e-1 pair up; of each pair one hands
 * its part to the other and sits out. Who is left, in rank order, forms a scope of a power of two, in which part
 * i stands for one pair or rank, and parts are still in rank order. */
struct tt_fold {
    int keep;    /* this rank never sits out; -1: the odd ones stay */
    int partner; /* -1: this rank is alone */
    bool stays;
};
struct tt_fold tt_fold(const struct tt_plan *p, int keep);

/* Enters that scope, on the ranks that stay; nothing on others. 0 or ENOMEM. */
int tt_fold_enter(struct tt_plan *p, const struct tt_fold *f, struct tt_loc send, struct tt_loc recv);

/* Who sits out sends SEND, its partner adds its own, in rank order, into work; then enters the scope, in which SEND is
 * what this rank now stands for and RECV is work. */
int tt_fold_reduce(struct tt_plan *p, const struct tt_fold *f, int64_t n, struct tt_loc work);

/* After leaving that scope: who stayed hands the n elements of RECV to the partner that sat out. */
void tt_unfold(struct tt_plan *p, const struct tt_fold *f, int64_t n);

/* The number, in that scope, of a rank that stays; of one that sits out, its partner's. */
int tt_folded_rank(int rank, int size);

/* ---- the canonical tree: in which order p operands are folded by all who can afford to choose ----
 * As folding and then halving or doubling, near first, do it: the pairs first, then neighbouring parts, then
 * neighbouring twos of them, fours, and so on. So it is a function of the number of ranks alone, in rank order, and
 * balanced; and an algorithm that keeps to it, whatever the size, the root or the element's place, says .canonical,
 * which the prover holds it to. A scan or exscan folds the ranks it has for a rank as doubling does: to the left as
 * many of them as the largest power of two, to the right the rest in the same way. On powers of two the trees are the
 * same.
 *
 * The groups that become one at a level: ranks first .. middle - 1, and middle .. end - 1, which may be none. At level
 * 0 groups are ranks, from 1 on they are 1 << (level - 1) parts; at the last, 1 << level is the number of parts. */
struct tt_merge {
    int first, middle, end;
};
struct tt_merge tt_merge_at(int part, int size, int level);

/* ---- scans: groups of ranks that merge with their neighbours ----
 * At `bit`, groups of so many ranks become groups of twice as many: rank and rank ^ bit, which must be a rank, stand in
 * the same place of two of them. The sum of a group is needed only by ranks that have a rank in that place of the next
 * one above them, however large. Exchange: who needs the other group's sum, or has it to its left, gets it into
 * arrived; over when the fence is, that comes last. Merge: the sum of the two, if this rank needs it, and where it is.
 */
void tt_group_exchange(struct tt_plan *p, int bit, struct tt_loc all, struct tt_loc arrived, int64_t n);
struct tt_loc tt_group_merge(struct tt_plan *p, int bit, struct tt_loc all, struct tt_loc arrived, int64_t n);

/* ---- halving and doubling, in a scope of a power of two of ranks, over its tt_part()s ----
 * Partners are neighbours in the first exchange and furthest apart in the last, or the other way about. Near first
 * folds operands in rank order; far first leaves each rank with the part of its own number. */
enum tt_order { TT_NEAR_FIRST, TT_FAR_FIRST };

/* The bit in which partners differ when what they share is two times half parts. */
static inline int tt_partner_bit(enum tt_order order, int size, int half)
{
    return order == TT_FAR_FIRST ? half : size / 2 / half;
}

/* In reduce_scatter_halving.c: every SEND reduced, each part into its place in RECV of one rank. Returns which part
 * this rank has. What other parts of RECV hold is nobody's business. */
int tt_halve(struct tt_plan *p, const struct tt_shape *s, enum tt_order order);

/* In allgather_doubling.c: the parts that tt_halve left, passed on until all have all, by its exchanges in reverse. */
void tt_double(struct tt_plan *p, const struct tt_shape *s, enum tt_order order, int part);

/* In reduce_scatter_direct.c. What a rank folds where all send theirs to it: its own, and the others', in rank order,
 * without it. */
struct tt_operands {
    int rank, size; /* of the scope in which they were gathered */
    struct tt_loc own, arrived;
    int64_t n;
};

/* Where the operand of a rank is, or is to be put. */
struct tt_loc tt_operand_of(const struct tt_operands *o, int rank);

/* All of them folded in the canonical tree into dst, which may be exactly own. */
void tt_fold_operands(struct tt_plan *p, const struct tt_operands *o, struct tt_loc dst);

/* Part number rank, of all, reduced in rank order into dst. */
void tt_reduce_direct(struct tt_plan *p, const struct tt_shape *s, struct tt_loc dst);

#endif
