/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads under MPI_THREAD_MULTIPLE, each with a communicator of its own, or several, on which it does collectives of
 * all flavours, of all kinds of memory, as cases (cases.h): nothing of one thread's may reach another's. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/cases.h"
#include "tests/mpi/mapped.h"

enum { THREADS = 3, ROUNDS = 60, UNDER_WAY = 3 };

static struct worker {
    pthread_t thread;
    int number;
    struct group groups[2 + NTOPOLOGIES];
    struct test_case t[UNDER_WAY];
    struct region memory[UNDER_WAY][NMEMORIES][2];
} workers[THREADS];

static int choose(uint64_t *key, int n)
{
    return (int)(test_random(++*key) % (unsigned)n);
}

/* ---- one collective ---- */

struct op {
    struct test_case *t;
    struct region *send, *recv;
    MPI_Request request;
    const struct requested *by; /* NULL: blocking */
    bool persistent;
};

static void choose_case(const struct worker *w, struct test_case *t, uint64_t *key)
{
    static const int counts[] = {0, 1, 9, 400};

    t->row = &rows[choose(key, NROWS)];
    t->group = &w->groups[t->row->traits & TT_NEIGHBOURS ? 2 + choose(key, NTOPOLOGIES) : choose(key, 2)];
    t->count = counts[choose(key, 4)];
    t->kind = &kinds[choose(key, 4)]; /* those without padding */
    t->root = choose(key, t->group->size);
    t->inplace = has(t, TT_INPLACE_ALL | TT_INPLACE_ROOT) && choose(key, 3) == 0;
    t->nonsense = choose(key, 2);
    t->key = *key;
    if (case_breaks_nonblocking(t))
        choose_case(w, t, key);
}

static void start(struct op *o)
{
    const struct tt_call c = case_put(o->t, o->send, o->recv, (size_t)o->t->kind->extent);

    o->request = MPI_REQUEST_NULL;
    test_success(o->by ? o->by->ours(&c, &o->request) : o->t->row->ours(&c));
    if (o->persistent)
        test_success(MPI_Start(&o->request));
}

/* Several under way at once, in the order of the thread's random numbers, which are the same on all ranks. */
static void run_round(struct worker *w, uint64_t *key)
{
    struct op ops[UNDER_WAY];

    for (int i = 0; i < UNDER_WAY; i++) {
        struct test_case *t = &w->t[i];
        const int flavour = choose(key, 3);
        const struct pattern *pattern = &patterns[choose(key, NPATTERNS)];

        choose_case(w, t, key);
        pattern = pattern_exists(pattern) ? pattern : &patterns[0];
        ops[i] = (struct op){.t = t,
                             .send = &w->memory[i][pattern->of(t->group->rank, SEND_SIDE, t->key)][SEND_SIDE],
                             .recv = &w->memory[i][pattern->of(t->group->rank, RECV_SIDE, t->key)][RECV_SIDE],
                             .persistent = flavour == 2 && t->row->persistent.ours};
        ops[i].by = ops[i].persistent ? &t->row->persistent : flavour ? &t->row->nonblocking : NULL;
        case_arrange(t);
        case_fill(t, t->key);
        case_ask_native(t);
    }
    for (int i = 0; i < UNDER_WAY; i++) {
        test_now("thread %d: %s %s", w->number,
                 ops[i].persistent ? "persistent"
                 : ops[i].by       ? "nonblocking"
                                   : "blocking",
                 case_words(ops[i].t));
        start(&ops[i]);
    }
    for (int i = UNDER_WAY - 1; i >= 0; i--) {
        test_now("thread %d: %s %s", w->number,
                 ops[i].persistent ? "persistent"
                 : ops[i].by       ? "nonblocking"
                                   : "blocking",
                 case_words(ops[i].t));
        test_success(MPI_Wait(&ops[i].request, MPI_STATUS_IGNORE));
        case_check(ops[i].t, ops[i].send, ops[i].recv);
        if (ops[i].persistent)
            test_success(MPI_Request_free(&ops[i].request));
    }
}

static void *work(void *what)
{
    struct worker *w = what;
    uint64_t key = (uint64_t)(w->number + 1) << 32;

    if (test_gpus > 0)
        cudaSetDevice(test_rank % test_gpus);
    for (int i = 0; i < 2 + NTOPOLOGIES; i += 2)
        test_success(MPI_Barrier(w->groups[i].comm));
    for (int i = 0; i < ROUNDS; i++)
        run_round(w, &key);
    return NULL;
}

/* ---- threads ---- */

static void prepare(struct worker *w, int number)
{
    struct group all = group_make(0);

    w->number = number;
    w->groups[0] = all;
    w->groups[1] = group_make(0);
    for (int i = 0; i < NTOPOLOGIES; i++)
        w->groups[2 + i] = group_arrange(&all, i);
    for (int i = 0; i < UNDER_WAY; i++) {
        w->t[i] = case_make();
        for (int m = 0; m < NMEMORIES; m++)
            for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
                region_make(&w->memory[i][m][side], (enum memory)m, 128 << 10);
    }
}

static void end(struct worker *w)
{
    for (int i = 0; i < 2 + NTOPOLOGIES; i++)
        group_free(&w->groups[i]);
    for (int i = 0; i < UNDER_WAY; i++) {
        case_free(&w->t[i]);
        for (int m = 0; m < NMEMORIES; m++)
            for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
                region_free(&w->memory[i][m][side]);
    }
}

int main(int argc, char **argv)
{
    if (!test_begin_threads(&argc, &argv, 100)) {
        if (test_rank == 0)
            printf("skipped: this MPI has no MPI_THREAD_MULTIPLE\n");
        return test_check(true, " ") ? test_end() : 1;
    }
    for (int i = 0; i < THREADS; i++)
        prepare(&workers[i], i);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    test_check(!mapped_file("tutti-last"), "the list of what is loaded is watched, which one thread alone may do");
    for (int i = 0; i < THREADS; i++)
        end(&workers[i]);
    return test_end();
}
