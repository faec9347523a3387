/* SPDX-License-Identifier: BSD-3-Clause */
/* How a call's time is divided. What it takes a rank is the time in which it did nothing else. Until the last of those
 * it waits for has come, no algorithm could have ended it: that is imbalance, whatever the network did meanwhile. Of
 * the rest, what was spent on what is made once (watch.h says so to all) is set-up, and what is left is exposed
 * communication. */
#include "coll/report_sums.h"

static const double ns = 1e-9;

/* 64, 1K, 16K, ... */
static int64_t class_end(int class)
{
    return INT64_C(64) << 4 * (class - 1);
}

int tt_size_class(int64_t bytes)
{
    int c = bytes > 0;

    while (c > 0 && c < TT_NSIZES - 1 && bytes >= class_end(c))
        c++;
    return c;
}

static char *short_size(char *text, size_t size, int64_t bytes)
{
    static const char units[] = {'\0', 'K', 'M', 'G'};
    int u = 0;

    for (; bytes >= 1024; bytes /= 1024)
        u++;
    snprintf(text, size, u ? "%lld%c" : "%lld", (long long)bytes, units[u]);
    return text;
}

char *tt_size_class_print(char *text, size_t size, int class)
{
    char from[16] = "1", to[16] = "";

    if (class > 1)
        short_size(from, sizeof from, class_end(class - 1));
    if (class > 0 && class < TT_NSIZES - 1)
        short_size(to, sizeof to, class_end(class));
    snprintf(text, size, class ? "%s-%s" : "-", from, to);
    return text;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

void tt_sums_add(struct tt_sums *s, const struct tt_call_times *t)
{
    const int64_t met = clamp(t->last, t->blocked, t->freed);
    const int64_t made = clamp(t->setup, 0, clamp(t->begun, met, t->freed) - met);
    const int64_t before =
        clamp(t->blocked, t->begun, t->left) - t->begun; /* of a nonblocking one, under the program */
    const int64_t start = clamp(t->setup, 0, t->begun - t->entered);

    s->calls++;
    s->imbalance += (double)(met - t->blocked) * ns;
    s->setup += (double)made * ns;
    s->exposed += (double)(t->freed - met - made) * ns;
    if (t->blocked == t->entered)
        return;
    s->setup += (double)start * ns;
    s->exposed += (double)(t->begun - t->entered - start) * ns;
    s->overlapped += (double)(before + t->left - t->freed) * ns;
}

struct tt_rank_sums tt_report_mean(const struct tt_report *r)
{
    struct tt_rank_sums mean = {0};

    for (int i = 0; i < r->ranks; i++) {
        mean.seconds += r->rank[i].seconds / r->ranks;
        mean.overlapped += r->rank[i].overlapped / r->ranks;
        mean.calls += r->rank[i].calls / r->ranks;
        for (int p = 0; p < TT_NPARTS; p++)
            mean.part[p] += r->rank[i].part[p] / r->ranks;
    }
    return mean;
}
