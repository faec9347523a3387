/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings, ranks and communicators for programs; and the timeline in the format of Chrome's trace viewer, which
 * Perfetto reads: each rank a process, its collectives slices with what precedes and what follows the last arrival in
 * them. */
#include <jansson.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/doctor.h"

static json_t *ranks_of(const struct doctor_set *s)
{
    json_t *list = json_array();

    for (int i = 0; i < s->size; i++)
        if (s->has[i])
            json_array_append_new(list, json_integer(i));
    return list;
}

/* Texts of files may be anything. */
static json_t *text(const char *s)
{
    json_t *t = json_string(s);

    return t ? t : json_string("(not UTF-8)");
}

static json_t *finding(const struct doctor_finding *f)
{
    static const char *const kinds[] = {
        [DOCTOR_FAULT] = "fault", [DOCTOR_MISMATCH] = "mismatch", [DOCTOR_SLOW] = "slow", [DOCTOR_REMARK] = "remark"};

    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "kind", kinds[f->kind], "what", f->what, "ranks", ranks_of(&f->blame),
                     "call", text(f->call), "text", text(f->text));
}

static json_t *rank_in_json(struct doctor_job *job, int i)
{
    static const char *const lives[] = {
        [DOCTOR_UNKNOWN] = "unknown", [DOCTOR_LIVES] = "lives", [DOCTOR_STOPPED] = "stopped",
        [DOCTOR_IS_GONE] = "gone",    [DOCTOR_ENDED] = "ended", [DOCTOR_FINALIZED] = "finalized"};
    const struct doctor_rank *rank = &job->ranks[i];

    if (!rank->r)
        return json_pack("{s:i, s:b}", "rank", i, "recorded", 0);
    return json_pack("{s:i, s:b, s:o, s:i, s:s, s:o, s:f, s:I}", "rank", i, "recorded", 1, "host",
                     text(rank->r->head.host), "pid", rank->r->head.pid, "process", lives[rank->life], "where",
                     text(doctor_where(job, rank, true)), "for_s", (double)(job->now - doctor_since(rank)) / 1e9,
                     "records", (json_int_t)rank->r->head.written);
}

static json_t *comm_in_json(const struct doctor_comm *c)
{
    json_t *members = json_array();

    for (int m = 0; m < c->size; m++)
        json_array_append_new(members, json_pack("{s:i, s:I, s:I}", "rank", c->members[m].world, "entered",
                                                 (json_int_t)doctor_calls(&c->members[m]), "left",
                                                 (json_int_t)(c->members[m].entry ? c->members[m].entry->done : 0)));
    return json_pack("{s:o, s:i, s:o}", "name", text(c->name), "size", c->size, "members", members);
}

int doctor_json(FILE *out, struct doctor_job *job)
{
    json_t *all = json_object(), *findings = json_array(), *ranks = json_array(), *comms = json_array(),
           *remarks = json_array();
    char id[24];

    for (int i = 0; i < job->nfindings; i++)
        json_array_append_new(findings, finding(&job->findings[i]));
    for (int i = 0; i < job->size; i++)
        json_array_append_new(ranks, rank_in_json(job, i));
    for (int i = 0; i < job->ncomms; i++)
        json_array_append_new(comms, comm_in_json(&job->comms[i]));
    for (int i = 0; i < job->nremarks; i++)
        json_array_append_new(remarks, text(job->remarks[i]));
    snprintf(id, sizeof id, "%016" PRIx64, job->id);
    json_object_set_new(all, "job", json_string(id));
    json_object_set_new(all, "ranks_in_all", json_integer(job->size));
    json_object_set_new(all, "running", json_boolean(job->lives));
    json_object_set_new(all, "seconds", json_real((double)(job->now - job->begun) / 1e9));
    json_object_set_new(all, "findings", findings);
    json_object_set_new(all, "ranks", ranks);
    json_object_set_new(all, "communicators", comms);
    json_object_set_new(all, "remarks", remarks);
    json_dumpf(all, out, JSON_INDENT(1));
    fputc('\n', out);
    json_decref(all);
    return 0;
}
