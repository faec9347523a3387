/* SPDX-License-Identifier: BSD-3-Clause */
/* Four steps, each polled, so that all that is under way on other communicators moves on meanwhile:
 *   cards   an allgather of what each rank has: its GPU's UUID, its NCCL's version, and whether anything is amiss. All
 *           judge these alike: ranks that share a GPU are found here, where inside of NCCL they would hang or fail late
 *   id      rank 0's unique id, and its number for the group, or why it has none
 *   init    NCCL's own: no message of ours is under way while a rank is in it, and each polls it. Who fails tells the
 * others at once, who else would wait for it until they are late verdict an allreduce, which comes in any case: has
 * every rank succeeded? If not, all abort theirs
 *
 * Init may take three quarters of TUTTI_NCCL_TIMEOUT; what is left is for ranks that began later to say that they were
 * late. If the verdict, or anything before, is not there when all of it is over, a rank is gone, or as good as that:
 * this one tells that it goes too, and leaves with an error. So that the collective operations on the communicator stay
 * in step, it begins all that are due before it leaves. */
#include "coll/nccl_making.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/pause.h"
#include "coll/nccl_notice.h"
#include "coll/request.h"
#include "coll/world.h"

enum { WORDS = 116 };

/* What a rank has. Of the same layout on all. */
struct card {
    unsigned char gpu[16];
    int32_t version;
    int32_t may_share; /* its GPU with other ranks: NCCL lets it, and the user says so */
    int32_t rank;
    int32_t room;      /* for one more; else a later try may find some */
    char amiss[WORDS]; /* empty: nothing */
};

struct opening {
    ncclUniqueId id;
    uint32_t generation;
    char amiss[WORDS];
};

/* The worst comes first. */
enum verdict { AWAY, FAILED, MADE };

enum step { CARDS, ID, INIT, VERDICT, OVER };

struct tt_nccl_making {
    struct tt_nccl_group *group; /* NULL once it is somebody else's */
    const int *members;          /* its */
    MPI_Comm comm;
    enum step step;
    MPI_Request request; /* of the step; MPI_REQUEST_NULL in init */
    double begun;
    struct card card;
    struct opening opening;
    int verdict, worst; /* this rank's, and of all */
    char why[256];      /* why not: of cards and id, alike on all ranks; of init, this rank's */
    bool entered;       /* the place */
    bool known;         /* the group, to others */
    bool late, again;   /* no verdict in time; another try may be worth it */
    struct card cards[];
};

/* ---- memory ---- */

static bool translate(const struct tt_comm *c, int *members)
{
    MPI_Group ours, world;
    bool all = true;

    if (c->size == 1)
        return PMPI_Comm_rank(tt_world(), members) == MPI_SUCCESS;
    PMPI_Comm_group(c->wire_comm, &ours);
    PMPI_Comm_group(tt_world(), &world);
    for (int r = 0; r < c->size && all; r++) {
        PMPI_Group_translate_ranks(ours, 1, &r, world, &members[r]);
        all = members[r] != MPI_UNDEFINED;
    }
    PMPI_Group_free(&ours);
    PMPI_Group_free(&world);
    return all;
}

struct tt_nccl_making *tt_nccl_making_new(const struct tt_comm *c)
{
    struct tt_nccl_making *m = calloc(1, sizeof *m + (size_t)c->size * sizeof *m->cards);
    int *members = malloc((size_t)c->size * sizeof *members);

    if (m && members && translate(c, members))
        m->group = tt_nccl_group_new(members, c->size, c->rank);
    if (!m || !m->group) {
        free(members);
        free(m);
        return NULL;
    }
    m->members = members;
    m->comm = c->size == 1 ? tt_quiet_self() : c->wire_comm;
    m->request = MPI_REQUEST_NULL;
    return m;
}

const int *tt_nccl_making_members(const struct tt_nccl_making *m)
{
    return m->members;
}

void tt_nccl_making_free(struct tt_nccl_making *m)
{
    if (!m || m->late)
        return;
    tt_nccl_group_free(m->group);
    free(m);
}

/* ---- cards ---- */

static bool may_share(int version)
{
    const char *said = getenv("NCCL_MULTI_RANK_GPU_ENABLE");

    return version >= 23000 && said && strcmp(said, "1") == 0;
}

/* Also enters the place, for all that follows. */
static void fill_card(struct tt_nccl_making *m)
{
    struct tt_nccl_use *use = &m->group->use;
    struct card *card = &m->card;
    struct tt_gpu gpu;

    tt_gpu_here(&gpu);
    memcpy(card->gpu, gpu.uuid, sizeof card->gpu);
    card->rank = m->group->rank;
    card->room = tt_nccl_group_has_room();
    use->nccl = tt_nccl_open();
    use->place = tt_place_here();
    m->entered = use->nccl && use->place && use->place->dev->enter(use->place) == 0;
    if (!m->entered || tt_place_stream(use->place, TT_NCCL_QUEUE, &use->stream)) {
        snprintf(card->amiss, sizeof card->amiss, "%.*s", WORDS - 1, tt_fault());
        return;
    }
    card->version = use->nccl->version;
    card->may_share = may_share(card->version);
}

static void disagree(struct tt_nccl_making *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void disagree(struct tt_nccl_making *m, const char *format, ...)
{
    va_list words;

    if (m->why[0])
        return;
    va_start(words, format);
    vsnprintf(m->why, sizeof m->why, format, words);
    va_end(words);
}

static void write_version(char *text, size_t size, int version)
{
    snprintf(text, size, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

static void compare_versions(struct tt_nccl_making *m)
{
    char first[32], other[32];

    write_version(first, sizeof first, m->cards[0].version);
    for (int r = 1; r < m->group->size; r++)
        if (m->cards[r].version != m->cards[0].version) {
            write_version(other, sizeof other, m->cards[r].version);
            disagree(m, "rank 0 has NCCL %s, and rank %d has %s", first, r, other);
        }
}

static int by_gpu(const void *a, const void *b)
{
    const struct card *x = a, *y = b;
    const int order = memcmp(x->gpu, y->gpu, sizeof x->gpu);

    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Sorts the cards: their order means nothing afterwards. */
static void find_shared(struct tt_nccl_making *m)
{
    const int n = m->group->size;
    const struct card *first = NULL;

    qsort(m->cards, (size_t)n, sizeof *m->cards, by_gpu);
    for (struct card *card = m->cards; card + 1 < m->cards + n; card++)
        if (memcmp(card[0].gpu, card[1].gpu, sizeof card->gpu) == 0 && (!first || card->rank < first->rank))
            first = card;
    if (first)
        disagree(m, "ranks %d and %d share a GPU%s", first[0].rank, first[1].rank,
                 first->version >= 23000 ? ", and NCCL_MULTI_RANK_GPU_ENABLE=1 is not set on all ranks" : "");
}

/* The same on all ranks: it depends on the cards alone. */
static void judge(struct tt_nccl_making *m)
{
    bool may_share = true, room = true;

    for (int r = 0; r < m->group->size; r++) {
        if (m->cards[r].amiss[0])
            disagree(m, "rank %d: %.*s", r, WORDS, m->cards[r].amiss);
        may_share &= m->cards[r].may_share != 0;
        room &= m->cards[r].room != 0;
    }
    if (!m->why[0])
        compare_versions(m);
    if (!m->why[0] && !may_share)
        find_shared(m);
    m->again = !m->why[0] && !room;
}

/* ---- steps ---- */

static void begin_cards(struct tt_nccl_making *m)
{
    fill_card(m);
    if (PMPI_Iallgather(&m->card, sizeof m->card, MPI_BYTE, m->cards, sizeof m->card, MPI_BYTE, m->comm, &m->request) !=
        MPI_SUCCESS)
        m->late = true;
}

/* Rank 0 gives the group its number, and never the same again. */
static void fill_opening(struct tt_nccl_making *m)
{
    static uint32_t generations;
    const struct tt_nccl *n = m->group->use.nccl;

    m->opening.generation = ++generations;
    if (m->why[0] || m->again)
        snprintf(m->opening.amiss, sizeof m->opening.amiss, "none");
    else if (tt_nccl_error(n, NULL, n->GetUniqueId(&m->opening.id), "ncclGetUniqueId"))
        snprintf(m->opening.amiss, sizeof m->opening.amiss, "%.*s", WORDS - 1, tt_fault());
}

static void begin_id(struct tt_nccl_making *m)
{
    m->step = ID;
    if (m->group->rank == 0)
        fill_opening(m);
    if (PMPI_Ibcast(&m->opening, sizeof m->opening, MPI_BYTE, 0, m->comm, &m->request) != MPI_SUCCESS)
        m->late = true;
}

static void begin_verdict(struct tt_nccl_making *m)
{
    m->step = VERDICT;
    m->verdict = m->late ? AWAY : m->why[0] || m->again ? FAILED : MADE;
    if (PMPI_Iallreduce(&m->verdict, &m->worst, 1, MPI_INT, MPI_MIN, m->comm, &m->request) != MPI_SUCCESS)
        m->late = true;
}

/* From here on others may tell of it; and who tells must not find that there is no such group. */
static void begin_init(struct tt_nccl_making *m)
{
    struct tt_nccl_group *g = m->group;
    ncclConfig_t config = tt_nccl_config(false);

    m->step = INIT;
    tt_nccl_group_make_room();
    g->generation = m->opening.generation;
    tt_nccl_group_hold(g);
    tt_nccl_group_add(g);
    m->known = true;
    if (tt_nccl_error(g->use.nccl, NULL,
                      g->use.nccl->CommInitRankConfig(&g->use.comm, g->size, m->opening.id, g->rank, &config),
                      "ncclCommInitRankConfig"))
        disagree(m, "%s", tt_fault());
}

static void poll_init(struct tt_nccl_making *m)
{
    const struct tt_nccl_group *g = m->group;
    ncclResult_t state = ncclSuccess, asked = ncclSuccess;

    if (!m->why[0])
        asked = g->use.nccl->CommGetAsyncError(g->use.comm, &state);
    if (g->failed)
        disagree(m, "%s", g->why);
    else if (tt_nccl_error(g->use.nccl, g->use.comm, asked, "ncclCommGetAsyncError") ||
             tt_nccl_error(g->use.nccl, g->use.comm, state, "ncclCommInitRankConfig"))
        disagree(m, "%s", tt_fault());
    else if (state == ncclInProgress && tt_nccl_now() > m->begun + 0.75 * (double)tt_config.nccl_timeout)
        disagree(m, "NCCL could not be set up within TUTTI_NCCL_TIMEOUT=%d seconds", (int)tt_config.nccl_timeout);
    if (!m->why[0] && state == ncclInProgress)
        return;
    if (m->why[0])
        tt_nccl_notice_tell(m->group, m->why, false);
    begin_verdict(m);
}

/* The message of a step is there. */
static void go_on(struct tt_nccl_making *m)
{
    switch (m->step) {
    case CARDS:
        judge(m);
        begin_id(m);
        break;
    case ID:
        if (m->opening.amiss[0] && !m->again)
            disagree(m, "rank 0: %.*s", WORDS, m->opening.amiss);
        if (m->why[0] || m->again)
            begin_verdict(m);
        else
            begin_init(m);
        break;
    default:
        tt_nccl_notice_hear();
        m->late = m->worst == AWAY || m->group->away;
        m->step = OVER;
    }
}

static void poll_message(struct tt_nccl_making *m)
{
    int came = 0;

    if (PMPI_Test(&m->request, &came, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        m->late = true;
    else if (came)
        go_on(m);
    else if (tt_nccl_now() > m->begun + (double)tt_config.nccl_timeout)
        m->late = true;
}

static bool is_over(void *making)
{
    struct tt_nccl_making *m = making;

    tt_progress();
    tt_nccl_lock();
    if (m->step >= INIT)
        tt_nccl_notice_hear();
    if (m->step == INIT)
        poll_init(m);
    else
        poll_message(m);
    tt_nccl_unlock();
    return m->late || m->step == OVER;
}

/* ---- the end ---- */

/* What is due on the communicator is begun, so that what follows there is not taken for it. Whoever waits for this
 * rank's verdict gets it by that; whoever has it already, by a notice. */
static void go_away(struct tt_nccl_making *m)
{
    m->why[0] = '\0';
    disagree(m, "NCCL could not be set up: not all ranks were heard of within TUTTI_NCCL_TIMEOUT=%d seconds",
             (int)tt_config.nccl_timeout);
    tt_nccl_notice_tell(m->group, m->why, true);
    if (m->step < ID)
        begin_id(m);
    if (m->step < VERDICT)
        begin_verdict(m);
}

static void say_why_not(const struct tt_nccl_making *m)
{
    static bool said;

    if (m->group->rank == 0)
        tt_log(said ? TT_INFO : TT_WARN, "no NCCL on a communicator of %d ranks: %s", m->group->size, m->why);
    said = true;
}

/* It is known, and there may be nothing of it any more, once begin_init has added it. */
static void give_up(struct tt_nccl_making *m)
{
    struct tt_nccl_group *g = m->group;

    if (m->step == OVER && m->why[0])
        say_why_not(m);
    if (!m->known)
        return;
    g->failed = true;
    tt_nccl_group_abort(g);
    tt_nccl_group_drop(g);
    m->group = NULL;
}

static int conclude(struct tt_nccl_making *m)
{
    if (m->late) {
        go_away(m);
        return -1;
    }
    if (m->worst == MADE)
        return 0;
    if (!m->again)
        disagree(m, "NCCL could not be set up on another rank");
    return TT_NCCL_NOT_MADE;
}

int tt_nccl_making_run(struct tt_nccl_making *m, struct tt_nccl_group **made, char *why, size_t size)
{
    struct tt_place *place;
    int result;

    m->begun = tt_nccl_now();
    tt_nccl_lock();
    begin_cards(m);
    place = m->group->use.place;
    tt_nccl_unlock();
    tt_wait(is_over, m);
    tt_nccl_lock();
    result = conclude(m);
    *made = m->group;
    snprintf(why, size, "%s", m->why);
    if (result)
        give_up(m);
    else
        m->group = NULL;
    tt_nccl_unlock();
    if (m->entered)
        place->dev->leave(place);
    return result;
}
