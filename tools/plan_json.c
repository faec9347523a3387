/* SPDX-License-Identifier: BSD-3-Clause */
/* The same for machines: bytes, seconds, and numbers a second. */
#include <jansson.h>

#include "coll/plan.h"
#include "tools/plan.h"

static json_t *json_of_layout(const struct tt_layout *l)
{
    char name[128];

    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:i, s:b}", "name",
                     tt_layout_print(l, name, sizeof name), "tensor", l->tensor, "context", l->context, "pipeline",
                     l->pipeline, "data", l->data, "expert", l->expert, "zero", l->zero, "microbatch", l->micro,
                     "schedule", l->pipeline > 1 && l->schedule >= 0 ? tt_schedule_names[l->schedule] : "none",
                     "pieces", l->pieces, "sequence_parallel", l->sequence);
}

static json_t *json_of_flow(const struct tt_flow *f)
{
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:i, s:f, s:f, s:f, s:f, s:s}", "kind", tt_flow_names[f->kind],
                     "what", f->what, "collective", f->coll == TT_NCOLLS ? "send" : tt_coll_name(f->coll), "ranks",
                     f->group.size, "stride", f->group.stride, "level", tt_level_name((enum tt_level)f->about.level),
                     "nodes", f->about.nodes, "sharing", f->about.sharing, "bytes", f->bytes, "times", f->times,
                     "seconds_each", f->seconds, "algorithm", f->algorithm);
}

static json_t *json_of_memory(const struct tt_memory *y)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "weights", y->weights, "gradients", y->gradients,
                     "optimizer", y->optimizer, "activations", y->activations, "output", y->output, "total", y->total,
                     "fits", y->fits);
}

static json_t *json_of_step(const struct tt_iteration *s)
{
    json_t *flows = json_array(), *exposed = json_object();
    char reason[160];

    for (int i = 0; i < s->nflows; i++)
        json_array_append_new(flows, json_of_flow(&s->flows[i]));
    for (int kind = 0; kind < TT_NFLOWS; kind++)
        json_object_set_new(exposed, tt_flow_names[kind], json_real(s->exposed[kind]));
    return json_pack("{s:o, s:f, s:i, s:f, s:f, s:o, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:s}", "layout",
                     json_of_layout(&s->layout), "seconds", s->seconds, "microbatches", s->microbatches,
                     "microbatch_seconds", s->micro, "compute_seconds", s->compute, "exposed_seconds", exposed,
                     "imbalance_seconds", s->imbalance, "bubble_seconds", s->bubble, "optimizer_seconds", s->optimizer,
                     "tokens_per_second", s->tokens, "flops_per_gpu", s->flops, "memory_bytes",
                     json_of_memory(&s->memory), "communication", flows, "lost_most_by",
                     tt_iteration_reason(s, reason, sizeof reason));
}

static json_t *json_of_refusals(const struct tt_search *s)
{
    json_t *list = json_array();

    for (int i = 0; i < s->nrefusals; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:i, s:o}", "why", s->refusals[i].why, "layouts", s->refusals[i].count,
                                        "example", json_of_layout(&s->refusals[i].example)));
    return list;
}

static json_t *json_of_changes(const struct argp_state *state, const struct tool_plan *p,
                               const struct tool_prospect *prospect)
{
    struct tool_plan_change changes[TOOL_MAX_PLAN_CHANGES];
    const int n = tt_search_best(&prospect->search) && !p->explain ? tool_plan_changes(state, p, prospect, changes) : 0;
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:f, s:s, s:o}", "what", tool_knob_name(changes[i].knob), "from",
                                              changes[i].value, "way", changes[i].down ? "down" : "up", "layout",
                                              changes[i].none ? json_null() : json_of_layout(&changes[i].to)));
    return list;
}

void tool_plan_json(const struct argp_state *state, const struct tool_plan *p, const struct tool_prospect *prospect)
{
    const struct tt_search *s = &prospect->search;
    json_t *ranked = json_array(), *all;

    for (int i = 0; i < s->n; i++)
        json_array_append_new(ranked, json_of_step(&s->ranked[i].step));
    all =
        json_pack("{s:s, s:f, s:i, s:i, s:s, s:f, s:f, s:f, s:i, s:i, s:o, s:o, s:o}", "model", prospect->m.about,
                  "parameters", tt_parameters(&prospect->m), "gpus", prospect->topo->size, "nodes",
                  prospect->topo->nodes.n, "gpu", p->gpu->name, "efficiency", prospect->with.efficiency, "memory_bytes",
                  prospect->with.memory, "nic_bytes_per_second", 1 / prospect->topo->speed[TT_LEVEL_NIC].beta,
                  "worked_out", s->worked_out, "fitting", s->fitting, "layouts", ranked, "impossible",
                  json_of_refusals(s), "changes", json_of_changes(state, p, prospect));
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    putchar('\n');
    json_decref(all);
}
