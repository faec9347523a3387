/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of calls in streams share: streams with memory, held while all is enqueued, and what comes out. */
#ifndef LINES_H
#define LINES_H

#include "tests/mpi/harness.h"

enum { N = 3000, H2D = 1, D2H = 2, STREAMS = 2, NON_BLOCKING = 1 };

/* A stream, what goes into it and comes out of it, in pinned memory, and between them memory of the GPU. */
struct line {
    void *stream;
    int *in, *out, *from, *to;
};

static inline void line_make(struct line *l)
{
    const size_t bytes = N * sizeof(int);

    test_check(cudaStreamCreateWithFlags(&l->stream, NON_BLOCKING) == 0, "no stream");
    l->in = (int *)memory_take(PINNED, bytes);
    l->out = (int *)memory_take(PINNED, bytes);
    l->from = (int *)memory_take(DEVICE, bytes);
    l->to = (int *)memory_take(DEVICE, bytes);
}

static inline void line_free(struct line *l)
{
    memory_give(PINNED, (char *)l->in);
    memory_give(PINNED, (char *)l->out);
    memory_give(DEVICE, (char *)l->from);
    memory_give(DEVICE, (char *)l->to);
    test_check(cudaStreamDestroy(l->stream) == 0, "a stream was not destroyed");
}

static inline void bring(const struct line *l, int factor)
{
    for (int i = 0; i < N; i++) {
        l->in[i] = factor * (test_rank + 1) + i;
        l->out[i] = -1;
    }
    test_check(cudaMemcpyAsync(l->from, l->in, N * sizeof(int), H2D, l->stream) == 0, "no copy");
}

static inline void fetch(const struct line *l)
{
    test_check(cudaMemcpyAsync(l->out, l->to, N * sizeof(int), D2H, l->stream) == 0, "no copy");
}

/* All that was enqueued may run now. */
static inline void hold(void)
{
    test_check(simulator.inject && simulator.inject("hold") == 0, "the simulated device cannot be held");
}

static inline void let_go(const struct line *lines, int n)
{
    simulator.reset();
    for (int i = 0; i < n; i++)
        test_check(cudaStreamSynchronize(lines[i].stream) == 0, "a stream failed");
}

static inline int sum_of(int factor, int i)
{
    return factor * test_size * (test_size + 1) / 2 + test_size * i;
}

static inline void check_sums(const struct line *l, int factor, int n, int first)
{
    int wrong = 0;

    for (int i = 0; i < n; i++)
        wrong += l->out[i] != sum_of(factor, first + i);
    test_check(wrong == 0, "%d of %d sums are wrong: the first is %d, expected %d", wrong, n, l->out[0],
               sum_of(factor, first));
}

#endif
