/* SPDX-License-Identifier: BSD-3-Clause */
/* The answer as people read it. */
#include <inttypes.h>
#include <stdio.h>

#include "coll/config.h"
#include "coll/sizes.h"
#include "tools/explain.h"

static void print_call(const struct tool_ask *a)
{
    const struct tt_shape *s = &a->shape;
    char size[32];

    printf("%s", tt_coll_name(a->coll));
    if (s->coll != TT_COLL_barrier)
        printf(" of %s%s", tool_ask_size(a, size, sizeof size, a->bytes), tool_in_blocks(s->coll) ? " a block" : "");
    if (tool_reduces(a->coll))
        printf(" (%" PRId64 " %s, %s%s)", s->count, a->type_name, a->op, s->commutes ? "" : ", not commutative");
    printf(" on %d rank%s", s->size, s->size == 1 ? "" : "s");
    if (s->nodes->n > 1)
        printf(" of %d nodes", s->nodes->n);
    if (tool_rooted(a->coll))
        printf(", root %d", s->root);
    printf("%s%s\n", s->inplace ? ", in place" : "", s->reproducible ? ", reproducible" : "");
    if (a->seats.file)
        printf("  %s\n", a->topo->about);
}

static void print_figures(const struct tool_figures *f, const struct tool_ask *a, bool chosen, bool measured)
{
    const int64_t unit = (int64_t)a->shape.unit;
    char time[32] = "-", latency[32] = "-", sent[32], reduced[32];

    printf("%c %-18s ", chosen ? '*' : ' ', f->alg->name);
    if (f->why_not) {
        printf("cannot serve this: %s\n", f->why_not);
        return;
    }
    if (f->timed) {
        tt_time_print(time, sizeof time, f->seconds);
        snprintf(latency, sizeof latency, "%.0f %%", f->seconds > 0 ? 100 * f->latency / f->seconds : 0);
    }
    printf("%8s %7s ", time, latency);
    if (measured)
        printf("%8s ", f->tuned ? tt_time_print(time, sizeof time, f->measured) : "-");
    if (!f->planned)
        printf("%6s %8s %10s %11s  %s\n", "-", "-", "-", "-", f->alg->summary);
    else
        printf("%6d %8d %10s %11s  %s\n", f->rounds, f->most.messages,
               tool_ask_size(a, sent, sizeof sent, f->most.sent * unit),
               tool_reduces(a->coll) ? tool_ask_size(a, reduced, sizeof reduced, f->most.reduced * unit) : "-",
               f->alg->summary);
}

static void print_table(const struct tool_ask *a, const struct tool_answer *answer)
{
    bool measured = false;

    for (int i = 0; i < answer->nrows; i++)
        measured |= answer->rows[i].tuned;
    printf("\n  %-18s %8s %7s %s%6s %8s %10s %11s\n", "", "expected", "of it", measured ? "measured " : "", "",
           "messages", "bytes", "bytes");
    printf("  %-18s %8s %7s %s%6s %8s %10s %11s\n", "algorithm", "time", "latency", measured ? "    time " : "",
           "rounds", "per rank", "sent", "reduced");
    for (int i = 0; i < answer->nrows; i++)
        print_figures(&answer->rows[i], a, answer->rows[i].alg == answer->choice.alg, measured);
}

static void print_votes(const struct tool_answer *answer)
{
    char time[32];

    for (int i = 0; i < answer->nrows; i++)
        if (answer->rows[i].vote > 0)
            printf("%s: %s of it for the ranks to agree on it; TUTTI_UNIFORM=1 spares that.\n",
                   answer->rows[i].alg->name, tt_time_print(time, sizeof time, answer->rows[i].vote));
}

static void print_changes(const struct tool_ask *a, const struct tool_answer *answer)
{
    char when[64], size[32];

    if (!answer->has_below && !answer->has_above && answer->ncases == 0) {
        puts("Nothing near would change that: neither another size, nor other ranks.");
        return;
    }
    puts("What would change that:");
    if (answer->has_below) {
        snprintf(when, sizeof when, "from %s down", tool_ask_size(a, size, sizeof size, answer->below.bytes));
        printf("  %-28s %s\n", when, answer->below.to->name);
    }
    if (answer->has_above) {
        snprintf(when, sizeof when, "from %s up", tool_ask_size(a, size, sizeof size, answer->above.bytes));
        printf("  %-28s %s\n", when, answer->above.to->name);
    }
    for (int i = 0; i < answer->ncases; i++)
        printf("  %-28s %s\n", answer->cases[i].when, answer->cases[i].choice.alg->name);
}

void tool_explain_text(const struct tool_ask *a, const struct tool_answer *answer)
{
    char name[64];

    print_call(a);
    print_table(a, answer);
    printf("\n* would run (%s); %s=NAME pins another.\n", answer->choice.why,
           tt_config_pin_name(a->coll, name, sizeof name));
    print_votes(answer);
    print_changes(a, answer);
    printf("Times are the cost model's, by speeds %s; other figures are those of the busiest rank.\n",
           a->topo->measured ? "measured" : "assumed");
    if (tt_coll_lengths_local(a->shape.coll))
        puts("No rank knows the others' lengths, so the choice is made, and times are told, as if nothing were sent.");
    if (a->shape.size > TOOL_ALL_RANKS)
        puts("With so many ranks, a few stand for all: rounds are those of the longest part among them.");
}
