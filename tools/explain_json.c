/* SPDX-License-Identifier: BSD-3-Clause */
/* The answer for machines: all figures in bytes and seconds. */
#include <inttypes.h>
#include <jansson.h>

#include "tools/explain.h"

static json_t *row_of(const struct tool_figures *f, const struct tool_ask *a)
{
    const json_int_t unit = (json_int_t)a->shape.unit;
    json_t *row =
        json_pack("{s:s, s:s, s:b}", "name", f->alg->name, "summary", f->alg->summary, "feasible", !f->why_not);

    if (f->why_not)
        json_object_set_new(row, "why_not", json_string(f->why_not));
    if (f->timed)
        json_object_update_new(row,
                               json_pack("{s:f, s:f}", "predicted_seconds", f->seconds, "latency_seconds", f->latency));
    if (f->vote > 0)
        json_object_set_new(row, "vote_seconds", json_real(f->vote));
    if (f->tuned)
        json_object_set_new(row, "measured_seconds", json_real(f->measured));
    if (f->segment)
        json_object_set_new(row, "segment_bytes", json_integer(f->segment));
    if (f->planned)
        json_object_update_new(row,
                               json_pack("{s:i, s:i, s:i, s:I, s:I, s:I, s:I}", "rounds", f->rounds,
                                         "messages_per_rank", f->most.messages, "reductions_per_rank",
                                         f->most.reductions, "bytes_sent_per_rank", f->most.sent * unit,
                                         "bytes_received_per_rank", f->most.received * unit, "bytes_copied_per_rank",
                                         f->most.copied * unit, "bytes_reduced_per_rank", f->most.reduced * unit));
    return row;
}

static json_t *change_of(bool there_is, const struct tool_change *change)
{
    return there_is ? json_pack("{s:I, s:s}", "bytes", (json_int_t)change->bytes, "name", change->to->name)
                    : json_null();
}

/* The lists: algorithms, and what would change the choice. */
static void add_lists(json_t *all, const struct tool_ask *a, const struct tool_answer *answer)
{
    json_t *rows = json_array(), *cases = json_array();

    for (int i = 0; i < answer->nrows; i++)
        json_array_append_new(rows, row_of(&answer->rows[i], a));
    for (int i = 0; i < answer->ncases; i++)
        json_array_append_new(cases, json_pack("{s:s, s:s, s:s}", "when", answer->cases[i].when, "name",
                                               answer->cases[i].choice.alg->name, "why", answer->cases[i].choice.why));
    json_object_set_new(all, "algorithms", rows);
    json_object_set_new(all, "below", change_of(answer->has_below, &answer->below));
    json_object_set_new(all, "above", change_of(answer->has_above, &answer->above));
    json_object_set_new(all, "otherwise", cases);
}

void tool_explain_json(const struct tool_ask *a, const struct tool_answer *answer)
{
    json_t *all = json_pack("{s:s, s:i, s:i, s:I, s:I, s:i, s:b, s:b, s:b, s:b, s:{s:s, s:s}}", "collective",
                            tt_coll_name(a->coll), "ranks", a->shape.size, "nodes", a->shape.nodes->n, "bytes",
                            (json_int_t)a->bytes, "count", (json_int_t)a->shape.count, "root", a->shape.root,
                            "commutes", a->shape.commutes, "reproducible", a->shape.reproducible, "speeds_measured",
                            a->topo->measured, "all_ranks_counted", a->shape.size <= TOOL_ALL_RANKS, "chosen", "name",
                            answer->choice.alg->name, "why", answer->choice.why);

    add_lists(all, a, answer);
    if (tool_reduces(a->coll))
        json_object_update_new(all, json_pack("{s:s, s:s}", "type", a->type_name, "op", a->op));
    if (a->seats.file)
        json_object_set_new(all, "topology", json_string(a->topo->about));
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}
