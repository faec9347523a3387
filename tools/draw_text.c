/* SPDX-License-Identifier: BSD-3-Clause */
/* A score as text: one line for each thing that happens, so that it can be searched, compared and read aloud. */
#include "tools/draw.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "tools/tools.h"

/* ---- words ---- */

/* Appends to text, cutting what does not fit. */
static void append(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
    const size_t length = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + length, size - length, format, args);
    va_end(args);
}

/* " (0+1+2)": whose contributions, runs of four and more cut short; " (all)" of p ranks. */
static void append_ranks(char *text, size_t size, uint64_t who, int p)
{
    const char *plus = " (";

    if (p > 1 && __builtin_popcountll(who) == p) {
        append(text, size, " (all)");
        return;
    }
    for (int r = 0; r < 64; r++) {
        int end = r;

        if (!(who >> r & 1))
            continue;
        while (end < 63 && who >> (end + 1) & 1)
            end++;
        append(text, size, "%s%d", plus, r);
        plus = "+";
        if (end - r >= 3) {
            append(text, size, "+..+%d", end);
            r = end;
        }
    }
    append(text, size, ")");
}

/* How many notes from first on are a run: consecutive elements with the same contributions. */
static int64_t run_length(const struct tt_note *first, int64_t n, bool reduces)
{
    int64_t i = 1;

    while (i < n && first[i].what == first[0].what + i && (first[i].who == first[0].who || (!reduces && first[i].who)))
        i++;
    return i;
}

/* How many notes from first on are of the block that rank `from` has for rank `to`. */
static int64_t block_length(const struct tt_shape *s, const struct tt_note *first, int64_t n)
{
    int from[2], to[2];
    int64_t i = 1;

    tt_score_pair(s, first->what, &from[0], &to[0]);
    for (; i < n && first[i].who; i++) {
        tt_score_pair(s, first[i].what, &from[1], &to[1]);
        if (from[0] != from[1] || to[0] != to[1])
            break;
    }
    return i;
}

/* One run of elements. Of an alltoall, "x1>2" is what rank 1 has for rank 2. */
static void append_run(char *text, size_t size, const struct tt_shape *s, const struct tt_note *note, int64_t n)
{
    const int64_t last = note->what + n - 1;
    int from, to;

    if (note->who && tt_score_in_pairs(s))
        tt_score_pair(s, note->what, &from, &to);
    if (note->who == 0)
        append(text, size, "nothing");
    else if (tt_score_in_pairs(s))
        append(text, size, "x%d>%d", from, to);
    else if (n == 1)
        append(text, size, "x%" PRId64, note->what);
    else
        append(text, size, "x%" PRId64 "-%" PRId64, note->what, last);
    if (note->who && tool_reduces(s->coll))
        append_ranks(text, size, note->who, s->size);
}

char *tool_contents(char *text, size_t size, const struct tt_stage *stage, int rank, struct tt_loc loc, int64_t n)
{
    const struct tt_shape *s = &stage->score->shape;
    const struct tt_note *notes = tt_stage_at(stage, rank, loc);
    const bool pairs = tt_score_in_pairs(s);

    text[0] = '\0';
    for (int64_t i = 0, length; i < n && s->coll != TT_COLL_barrier; i += length) {
        length = notes[i].who == 0 ? 1
                 : pairs           ? block_length(s, notes + i, n - i)
                                   : run_length(notes + i, n - i, tool_reduces(s->coll));
        while (notes[i].who == 0 && i + length < n && notes[i + length].who == 0)
            length++;
        append(text, size, "%s", i ? ", " : "");
        append_run(text, size, s, &notes[i], length);
    }
    if (s->coll == TT_COLL_barrier)
        append(text, size, "a token");
    return text;
}

/* "RECV[4-7]". */
static char *place(char *text, size_t size, struct tt_loc loc, int64_t n)
{
    if (n == 1)
        snprintf(text, size, "%s[%" PRId64 "]", tt_buf_name(loc.buf), loc.at);
    else
        snprintf(text, size, "%s[%" PRId64 "-%" PRId64 "]", tt_buf_name(loc.buf), loc.at, loc.at + n - 1);
    return text;
}

/* ---- the head and the end ---- */

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void print_whole(FILE *out, const struct tt_shape *s)
{
    const int64_t whole = tt_score_whole(s);

    if (whole == 0)
        return;
    if (tt_score_in_pairs(s))
        fprintf(out, "  x1>2 is the block that rank 1 has for rank 2");
    else
        fprintf(out, "  x0 to x%" PRId64 " are the elements of %s", whole - 1,
                s->coll == TT_COLL_bcast ? "the root's vector"
                : tool_in_blocks(s->coll) ? "all blocks in rank order" : "a vector");
    if (tool_reduces(s->coll))
        fprintf(out, "; x1 (0+2) is element 1 with the parts of ranks 0 and 2 in it, + being the op");
    fputs(".\n", out);
}

/* "blocks of 2, 1, 3, 2 elements": the lengths that differ, of the first ranks. */
static void print_lengths(FILE *out, const struct tt_shape *s)
{
    enum { TOLD = 16 };

    if (!s->counts)
        return;
    fputs(tt_score_in_pairs(s) ? "  rank 0 has blocks of" : "  blocks of", out);
    for (int r = 0; r < s->size && r < TOLD; r++)
        fprintf(out, "%s %" PRId64, r ? "," : "", s->counts[r]);
    fprintf(out, "%s element%s%s\n", s->size > TOLD ? ", ..." : "", s->size == 1 ? plural(s->counts[0]) : "s",
            tt_score_in_pairs(s) ? " for the ranks in order; the next rank begins with the next of these" : "");
}

/* Nodes and their ranks, where there are several. */
static void print_nodes(FILE *out, const struct tt_shape *s)
{
    const struct tt_nodes *nodes = s->nodes;

    for (int i = 0; nodes && nodes->n > 1 && i < nodes->n; i++) {
        fprintf(out, "%s node %d:", i ? ";" : " ", i);
        for (int j = nodes->first[i]; j < nodes->first[i + 1]; j++)
            fprintf(out, " %d", nodes->ranks[j]);
    }
    if (nodes && nodes->n > 1)
        fputc('\n', out);
}

static void print_head(FILE *out, const struct tt_score *score)
{
    const struct tt_shape *s = &score->shape;

    fprintf(out, "%s %s on %d rank%s", tt_coll_name(s->coll), score->alg->name, s->size, plural(s->size));
    if (tool_rooted(s->coll))
        fprintf(out, ", root %d", s->root);
    fprintf(out, "%s: %d round%s, %" PRId64 " message%s", s->inplace ? ", in place" : "", score->rounds,
            plural(score->rounds), score->all_messages, plural(score->all_messages));
    if (score->nlanes > 1)
        fprintf(out, ", in %d lanes that run independently", score->nlanes);
    fprintf(out, "\n  %s\n", score->alg->summary);
    print_nodes(out, s);
    print_lengths(out, s);
    print_whole(out, s);
}

static void print_end(FILE *out, const struct tt_stage *stage)
{
    const struct tt_shape *s = &stage->score->shape;
    char text[200];

    if (s->coll == TT_COLL_barrier)
        return;
    fputs("\nat the end\n", out);
    for (int r = 0; r < s->size; r++) {
        const enum tt_buf buf = s->coll == TT_COLL_scatter && s->inplace && r == s->root ? SEND : RECV;

        if (stage->length[r][buf] > 0)
            fprintf(out, "  rank %-3d %s holds %s\n", r, tt_buf_name(buf),
                    tool_contents(text, sizeof text, stage, r, tt_at(buf, 0), stage->length[r][buf]));
    }
}

/* ---- the events ---- */

static void print_message(FILE *out, const struct tt_stage *stage, const struct tt_event *e)
{
    char from[48], to[48], what[120];

    fprintf(out, "  %2d -> %-2d  %-16s %-11s to %s\n", e->rank, e->step->peer,
            tool_contents(what, sizeof what, stage, e->rank, e->step->a, e->step->n),
            place(from, sizeof from, e->step->a, e->step->n), place(to, sizeof to, e->recv->dst, e->recv->n));
}

static void print_step(FILE *out, const struct tt_step *s)
{
    char dst[48], a[48], b[48];

    place(dst, sizeof dst, s->dst, s->n);
    place(a, sizeof a, s->a, s->n);
    if (s->verb == TT_REDUCE)
        fprintf(out, "%s = %s + %s\n", dst, a, place(b, sizeof b, s->b, s->n));
    else
        fprintf(out, "%s = %s\n", dst, a);
}

/* After it was played, so that what it made can be told. */
static void print_local(FILE *out, const struct tt_stage *stage, const struct tt_event *e)
{
    char what[120];

    fprintf(out, "  %2d %-6s %-16s ", e->rank, tt_verb_name(e->step->verb),
            tool_contents(what, sizeof what, stage, e->rank, e->step->dst, e->step->n));
    print_step(out, e->step);
}

static void print_event(FILE *out, struct tt_stage *stage)
{
    const struct tt_score *score = stage->score;
    const struct tt_event *e = &score->events[stage->next], *before = stage->next ? e - 1 : NULL;
    const bool new_round = !before || before->round != e->round;

    if (new_round && e->round == 0)
        fputs("\nbefore the first round\n", out);
    else if (new_round)
        fprintf(out, "\nround %d\n", e->round);
    else if (!e->recv && before->recv)
        fputs("  then\n", out);
    if (score->nlanes > 1 && (new_round || !e->recv != !before->recv || e->lane != before->lane))
        fprintf(out, "  lane %d\n", e->lane + 1);
    if (e->recv)
        print_message(out, stage, e);
    tt_stage_play(stage);
    if (!e->recv)
        print_local(out, stage, e);
}

int tool_draw_text(FILE *out, const struct tt_score *score)
{
    struct tt_stage stage;

    if (tt_stage_open(&stage, score))
        return -1;
    print_head(out, score);
    while (stage.next < score->nevents)
        print_event(out, &stage);
    print_end(out, &stage);
    tt_stage_close(&stage);
    return 0;
}

/* ---- one rank ---- */

static void print_own_step(FILE *out, const struct tt_step *s)
{
    char text[48];

    fprintf(out, "  %-6s ", tt_verb_name(s->verb));
    if (s->verb == TT_SEND)
        fprintf(out, "%s to %d\n", place(text, sizeof text, s->a, s->n), s->peer);
    else if (s->verb == TT_RECV)
        fprintf(out, "%s from %d\n", place(text, sizeof text, s->dst, s->n), s->peer);
    else if (s->verb == TT_FENCE)
        fputs("-----\n", out);
    else
        print_step(out, s);
}

void tool_draw_part(FILE *out, const struct tt_score *score, int rank)
{
    const struct tt_plan *p = score->plans[rank];

    print_head(out, score);
    fprintf(out, "\nthe part of rank %d; what lies between two fences runs at once\n", rank);
    for (int l = 0; l < p->nlanes; l++) {
        if (p->nlanes > 1)
            fprintf(out, "lane %d\n", l + 1);
        for (int i = p->lanes[l].first; i < p->lanes[l].first + p->lanes[l].count; i++)
            print_own_step(out, &p->steps[i]);
    }
    if (p->tmp > 0)
        fprintf(out, "scratch: TMP of %" PRId64 " element%s\n", p->tmp, plural(p->tmp));
}
