/* SPDX-License-Identifier: BSD-3-Clause */
/* The `tutti` command as its user meets it: run it, read what it says, look at its exit status. It is ./tutti, or what
 * TEST_TUTTI names. */
#include <check.h>
#include <ctype.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char said[1 << 20]; /* standard output and error of the last command */
static char last[1024];
static char scratch[] = "/tmp/tutti-test-XXXXXX"; /* a directory for what tests write: it goes when all have run */

/* Runs the shell command in which each @ stands for tutti; returns its exit status and leaves its words in said. */
static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int run(const char *format, ...)
{
    const char *tutti = getenv("TEST_TUTTI") ? getenv("TEST_TUTTI") : "./tutti";
    char line[512], *to = last;
    size_t got;
    va_list args;
    FILE *out;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    to += sprintf(to, "{ ");
    for (const char *c = line; *c; c++)
        to += *c == '@' ? sprintf(to, "%s", tutti) : sprintf(to, "%c", *c);
    sprintf(to, "; } 2>&1");
    out = popen(last, "r");
    ck_assert_ptr_nonnull(out);
    got = fread(said, 1, sizeof said - 1, out);
    said[got] = '\0';
    return WEXITSTATUS(pclose(out));
}

static int count(const char *words)
{
    int n = 0;

    for (const char *at = said; (at = strstr(at, words)); at += strlen(words))
        n++;
    return n;
}

#define expect_status(expected, ...)                                                                                   \
    do {                                                                                                               \
        const int status_ = run(__VA_ARGS__);                                                                          \
        ck_assert_msg(status_ == (expected), "%s\nexit status %d, expected %d; it said:\n%s", last, status_, expected, said); \
    } while (0)

#define expect_said(words) ck_assert_msg(strstr(said, words), "%s\nexpected \"%s\" in:\n%s", last, words, said)

#define expect_count(words, n)                                                                                         \
    ck_assert_msg(count(words) == (n), "%s\nexpected \"%s\" %d times, seen %d times in:\n%s", last, words, n,          \
                  count(words), said)

/* ---- draw ---- */

START_TEST(ring_of_four_has_six_rounds)
{
    expect_status(0, "@ draw allreduce ring -n 4");
    expect_said("6 rounds, 24 messages");
    for (int k = 1; k <= 6; k++) {
        char round[32];

        snprintf(round, sizeof round, "\nround %d\n", k);
        expect_count(round, 1);
    }
    expect_count(" -> ", 24);
    expect_count(" reduce ", 12);
    expect_count("RECV holds x0-3 (all)", 4);
}
END_TEST

START_TEST(contributions_add_up)
{
    expect_status(0, "@ draw allreduce ring -n 3");
    expect_count("(0+1)", 2); /* made at rank 1 in round 1, sent on in round 2 */
    expect_status(0, "@ draw allgather ring -n 5 --count 2");
    expect_count("RECV holds x0-9\n", 5);
    expect_status(0, "@ draw alltoall pairwise -n 3");
    expect_said("rank 2   RECV holds x0>2, x1>2, x2>2");
}
END_TEST

/* Blocks differ in length, and what a rank has at the end is named by where it came from. */
START_TEST(uneven_blocks_are_drawn)
{
    expect_status(0, "@ draw alltoallv pairwise -n 4");
    expect_said("rank 0 has blocks of 1, 2, 3, 1 elements");
    expect_said("x3>1             SEND[1-2]   to RECV[6-7]");
    expect_said("rank 2   RECV holds x0>2, x1>2, x2>2, x3>2");
    expect_status(0, "@ draw gatherv linear -n 4 --root 1 --count 10");
    expect_said("blocks of 20, 10, 30, 20 elements");
    expect_count("RECV holds", 1);
    expect_said("rank 1   RECV holds x0-79");
    expect_status(0, "@ draw exscan doubling -n 3");
    expect_count("RECV holds", 2);
    expect_said("rank 2   RECV holds x0-2 (0+1)");
}
END_TEST

START_TEST(in_place_reads_no_send_buffer)
{
    expect_status(0, "@ draw allreduce ring -n 4 --in-place");
    expect_count("SEND", 0);
    expect_count("RECV holds x0-3 (all)", 4);
}
END_TEST

START_TEST(one_rank_shows_its_fences)
{
    expect_status(0, "@ draw allreduce ring -n 4 --rank 0");
    expect_count("\n  send ", 6);
    expect_count("\n  recv ", 6);
    expect_count("\n  reduce ", 3);
    expect_count("\n  fence ", 8);
}
END_TEST

START_TEST(a_rotated_tree_starts_at_its_root)
{
    expect_status(0, "@ draw bcast binomial -n 8 --root 5");
    expect_said("3 rounds, 7 messages");
    expect_said("root 5");
    expect_said("round 1\n   5 -> ");
}
END_TEST

static const char *const collectives[] = {"allreduce", "reduce", "bcast", "allgather", "reduce_scatter",
                                          "reduce_scatter_block", "alltoall", "gather", "scatter", "barrier", "scan", "exscan",
                                          "allgatherv", "gatherv", "scatterv", "alltoallv", "alltoallw"};

/* The names behind a collective in what `tutti info` said, cut apart in place. Returns how many. */
static int algorithms_of(const char *collective, char *line, size_t size, char **names, int max)
{
    char key[64];
    const char *at;
    int n = 0;

    snprintf(key, sizeof key, "\n  %s ", collective);
    expect_status(0, "@ info");
    at = strstr(said, key);
    ck_assert_ptr_nonnull(at);
    snprintf(line, size, "%.*s", (int)strcspn(at + 1, "\n") - (int)strlen(key) + 1, at + strlen(key));
    for (char *name = strtok(line, ", "); name && n < max; name = strtok(NULL, ", "))
        names[n++] = name;
    return n;
}

/* No message may carry what its sender does not have, whatever the algorithm and the number of ranks. */
START_TEST(every_algorithm_can_be_drawn)
{
    char line[512], *names[32];
    const int n = algorithms_of(collectives[_i], line, sizeof line, names, 32);

    ck_assert_int_ge(n, 1);
    expect_status(0, "@ help %s", collectives[_i]);
    expect_count("(null)", 0);
    for (int i = 0; i < n; i++)
        for (int p = strstr(names[i], "two_level") ? 3 : 1; p <= 8 && strcmp(names[i], "native") && strcmp(names[i], "nccl"); p++) {
            expect_status(0, "@ draw %s %s -n %d", collectives[_i], names[i], p);
            expect_count("nothing", 0);
            expect_status(0, "@ draw %s %s -n %d --in-place --count 5 -o /dev/null", collectives[_i], names[i], p);
        }
}
END_TEST

/* ---- SVG ---- */

/* Reads one tag from just after its '<'; NULL when it is not well formed. Keeps the names of open elements in stack. */
static const char *read_tag(const char *at, char stack[][16], int *depth)
{
    const bool closes = *at == '/';
    char name[16] = "";
    int n = 0;
    bool quoted = false;

    for (at += closes; isalnum((unsigned char)*at) && n < 15; at++)
        name[n++] = *at;
    for (; *at && (quoted || *at != '>'); at++) {
        quoted ^= *at == '"';
        if (*at == '<' || *at == '&')
            return NULL;
    }
    if (n == 0 || *at != '>' || (closes && (*depth == 0 || strcmp(stack[*depth - 1], name))))
        return NULL;
    if (closes)
        --*depth;
    else if (at[-1] != '/')
        strcpy(stack[(*depth)++], name);
    return at + 1;
}

/* What must hold of any XML of our kind: tags nest, attributes are quoted, no stray < or &. */
static bool well_formed(const char *at)
{
    char stack[16][16];
    int depth = 0;

    while (at && *at && depth < 15) {
        if (*at == '<')
            at = read_tag(at + 1, stack, &depth);
        else if (*at == '&' && strncmp(at, "&lt;", 4) && strncmp(at, "&gt;", 4) && strncmp(at, "&amp;", 5))
            return false;
        else
            at++;
    }
    return at && depth == 0;
}

static const char *const pictures[] = {
    "allreduce ring -n 4", "allreduce ring -n 1", "alltoall pairwise -n 5", "bcast binomial -n 7 --root 3",
    "barrier dissemination -n 4", "allgather direct -n 16", "reduce_scatter ring -n 3 --in-place",
    "alltoallv pairwise -n 4", "gatherv linear -n 5 --root 2", "exscan doubling -n 5 --in-place",
};

START_TEST(pictures_are_well_formed)
{
    expect_status(0, "@ draw %s --svg -", pictures[_i]);
    ck_assert_msg(strncmp(said, "<svg ", 5) == 0, "%s\nexpected <svg first, seen:\n%.200s", last, said);
    ck_assert_msg(well_formed(said), "%s\nis not well-formed XML:\n%s", last, said);
}
END_TEST

START_TEST(the_picture_of_a_ring_has_its_arrows)
{
    expect_status(0, "@ draw allreduce ring -n 4 --svg -");
    expect_count("<path d=\"M", 6 * 4 * 2 + 12 + 1 + 2); /* shaft and head; a plus in each reduction; the legend's */
    expect_count("<circle ", 12 + 1);
    expect_said(">round 6<");
    expect_said(">rank 3<");
}
END_TEST

START_TEST(a_picture_goes_to_its_file)
{
    expect_status(0, "@ draw allreduce ring -n 4 -o %s/ring.svg && cat %s/ring.svg", scratch, scratch);
    expect_said("</svg>");
    expect_status(1, "@ draw allreduce ring -o /no/such/directory/x.svg");
    expect_said("cannot write /no/such/directory/x.svg: No such file or directory");
}
END_TEST

/* ---- explain ---- */

static json_t *explain(const char *args)
{
    json_error_t error;
    json_t *all;

    expect_status(0, "@ explain %s --json", args);
    all = json_loads(said, 0, &error);
    ck_assert_msg(all != NULL, "%s\nis not JSON: line %d, %s\n%s", last, error.line, error.text, said);
    return all;
}

static json_t *row(json_t *all, const char *algorithm)
{
    size_t i;
    json_t *row;

    json_array_foreach(json_object_get(all, "algorithms"), i, row)
        if (strcmp(json_string_value(json_object_get(row, "name")), algorithm) == 0)
            return row;
    ck_abort_msg("%s\nhas no row for %s", last, algorithm);
    return NULL;
}

static long long figure(json_t *row, const char *key)
{
    ck_assert_msg(json_is_integer(json_object_get(row, key)), "no figure %s", key);
    return json_integer_value(json_object_get(row, key));
}

/* Costs by the textbook: 2(p-1) rounds, 2(p-1)/p n bytes sent, (p-1)/p n reduced. */
START_TEST(ring_costs_what_the_textbook_says)
{
    static const int sizes[] = {1, 2, 4, 8, 64, 512};
    const int p = sizes[_i];
    const long long n = 1 << 20;
    char args[64];
    json_t *all, *ring;

    snprintf(args, sizeof args, "allreduce -n %d --bytes 1M", p);
    all = explain(args);
    ring = row(all, "ring");
    ck_assert_int_eq(figure(ring, "rounds"), 2 * (p - 1));
    ck_assert_int_eq(figure(ring, "messages_per_rank"), 2 * (p - 1));
    ck_assert_int_eq(figure(ring, "bytes_sent_per_rank"), 2 * (p - 1) * n / p);
    ck_assert_int_eq(figure(ring, "bytes_received_per_rank"), 2 * (p - 1) * n / p);
    ck_assert_int_eq(figure(ring, "bytes_reduced_per_rank"), (p - 1) * n / p);
    json_decref(all);
}
END_TEST

START_TEST(what_cannot_serve_says_why)
{
    json_t *all = explain("allreduce -n 4 --non-commutative");
    json_t *ring = row(all, "ring");

    ck_assert(json_is_false(json_object_get(ring, "feasible")));
    ck_assert_str_eq(json_string_value(json_object_get(ring, "why_not")),
                     "it folds operands out of rank order and the op does not commute");
    ck_assert_str_ne(json_string_value(json_object_get(json_object_get(all, "chosen"), "name")), "ring");
    json_decref(all);
}
END_TEST

/* Rings stand aside, and what runs instead says that the result is reproducible. */
START_TEST(reproducible_is_said)
{
    json_t *all;

    expect_status(0, "TUTTI_REPRODUCIBLE=1 @ explain allreduce -n 4 --bytes 64M");
    expect_said("on 4 ranks, reproducible\n");
    expect_said("ring               cannot serve this: it folds in an order that depends on the size or place, and "
                "TUTTI_REPRODUCIBLE=1");
    expect_said("* direct");
    expect_said("; reproducible); TUTTI_ALLREDUCE=NAME pins another");
    expect_status(0, "TUTTI_REPRODUCIBLE=1 TUTTI_ALLREDUCE=ring @ explain allreduce -n 6 --bytes 64M");
    expect_said("* direct");
    expect_said("; TUTTI_ALLREDUCE passed over, because ring is not feasible: it folds in an order");
    all = explain("allreduce -n 4");
    ck_assert(json_is_false(json_object_get(all, "reproducible")));
    json_decref(all);
    expect_status(0, "TUTTI_REPRODUCIBLE=1 @ explain allgather -n 4 --bytes 64M");
    expect_said("* direct");
    expect_count("reproducible", 0);
}
END_TEST

START_TEST(the_choice_is_marked_and_can_be_pinned)
{
    expect_status(0, "TUTTI_ALLREDUCE=native @ explain allreduce");
    expect_said("* native");
    expect_said("TUTTI_ALLREDUCE=NAME");
    expect_status(0, "@ explain allreduce --bytes 64M");
    expect_count("\n* ", 2); /* the row, and what the mark means */
    ck_assert_msg(!strstr(said, "* native"), "nothing pins native, yet:\n%s", said);
}
END_TEST

START_TEST(sizes_mean_what_people_mean)
{
    json_t *all = explain("bcast --bytes 64KB");

    ck_assert_int_eq(figure(all, "bytes"), 64000);
    json_decref(all);
    all = explain("allreduce --bytes 64K --type double");
    ck_assert_int_eq(figure(all, "count"), 8192);
    json_decref(all);
}
END_TEST

/* ---- topo ---- */

START_TEST(a_topology_is_told_in_columns)
{
    expect_status(0, "@ topo a100x4 -n 10 --nodes 3");
    ck_assert_str_eq(said,
                     "10 ranks on 3 nodes, as a100x4 says\n"
                     "  4 nodes of 4 A100 on PCIe and one 200 Gbit/s NIC; speeds assumed\n"
                     "\n"
                     "nodes 0-1, the same: 2 sockets, 64 cores, 4 GPUs joined by PCIe, 1 NIC\n"
                     "  node 0: ranks 0-3\n"
                     "  node 1: ranks 4-7\n"
                     "\n"
                     "         r0    r1    r2    r3      socket  GPU  NIC\n"
                     "  r0     X     host  host  host         0    0    0\n"
                     "  r1     host  X     host  host         0    1    0\n"
                     "  r2     host  host  X     host         1    2    0\n"
                     "  r3     host  host  host  X            1    3    0\n"
                     "\n"
                     "node 2: 2 sockets, 64 cores, 4 GPUs joined by PCIe, 1 NIC\n"
                     "  node 2: ranks 8-9\n"
                     "\n"
                     "         r8    r9      socket  GPU  NIC\n"
                     "  r8     X     host         0    0    0\n"
                     "  r9     host  X            0    1    0\n"
                     "\n"
                     "  level                                        alpha  bandwidth, assumed\n"
                     "  host  PCIe, or memory of the host             4 us  22 GB/s\n"
                     "  nic   the network                             6 us  25 GB/s\n"
                     "        a reduction                             3 us  600 GB/s\n"
                     "        a copy                                  3 us  700 GB/s\n");
}
END_TEST

/* A node with more ranks than a table has room for, and more nodes than a list. */
START_TEST(what_is_large_is_folded)
{
    expect_status(0, "@ topo cpu2x32 --nodes 1000 -n 64000");
    expect_said("64000 ranks on 1000 nodes");
    expect_said("nodes 0-999, the same: 2 sockets, 64 cores, 1 NIC\n");
    expect_said("\n  node 5: ranks 320-383\n  ...\n  node 999: ranks 63936-63999\n");
    expect_count("\n  r", 16);
    expect_said("\n  ... and 48 more ranks\n");
    expect_said("100 GB/s, shared by the node\n");
    expect_status(0, "@ topo h100x8 --place round-robin");
    expect_said("  node 0: ranks 0,8,16,24,32,40,48,56\n");
    expect_said("nodes 0-7, the same");
}
END_TEST

START_TEST(a_topology_for_machines)
{
    json_t *all, *seat, *nic;

    expect_status(0, "@ topo h100x8 --json");
    all = json_loads(said, 0, NULL);
    ck_assert_msg(all != NULL, "%s\nis not JSON:\n%s", last, said);
    ck_assert_int_eq(figure(all, "ranks"), 64);
    ck_assert_uint_eq(json_array_size(json_object_get(all, "nodes")), 8);
    ck_assert_uint_eq(json_array_size(json_object_get(all, "seats")), 64);
    ck_assert_uint_eq(json_array_size(json_object_get(all, "warnings")), 0);
    seat = json_array_get(json_object_get(all, "seats"), 13);
    ck_assert_int_eq(figure(seat, "node"), 1);
    ck_assert_int_eq(figure(seat, "socket"), 1);
    ck_assert_int_eq(figure(seat, "gpu"), 5);
    ck_assert_int_eq(figure(seat, "nic"), 5);
    nic = json_object_get(json_object_get(all, "levels"), "nic");
    ck_assert_double_eq_tol(json_real_value(json_object_get(nic, "alpha")), 6e-6, 1e-12);
    ck_assert_double_eq_tol(json_real_value(json_object_get(nic, "bandwidth")), 50e9, 1);
    seat = json_array_get(json_object_get(all, "between"), 0);
    ck_assert(json_is_null(json_array_get(seat, 0)));
    ck_assert_str_eq(json_string_value(json_array_get(seat, 7)), "link");
    ck_assert_str_eq(json_string_value(json_array_get(seat, 8)), "nic");
    json_decref(all);
}
END_TEST

static const struct {
    const char *arguments;
    int circles, words; /* ranks drawn; "GPU" and "NIC" boxes, and sockets */
} topologies[] = {
    {"h100x8", 8, 8 + 8 + 2},          {"a100x4 -n 6", 6, 2 * (4 + 1 + 2)}, {"cpu2x32", 16, 1 + 2},
    {"scale-uneven", 25, 2 * 25 + 8},  {"h100x8 -n 9", 9, 2 * (8 + 8 + 2)},
};

START_TEST(a_topology_as_a_picture)
{
    expect_status(0, "@ topo %s --svg -", topologies[_i].arguments);
    ck_assert_msg(strncmp(said, "<svg ", 5) == 0 && well_formed(said), "%s\nis no picture:\n%.2000s", last, said);
    expect_count("<circle ", topologies[_i].circles);
    ck_assert_msg(count(">GPU") + count(">NIC ") + count(">socket ") == topologies[_i].words,
                  "%s\n%d GPUs, %d NICs, %d sockets", last, count(">GPU"), count(">NIC "), count(">socket "));
    expect_said(">the network<");
    expect_count("c0392b", 0);
}
END_TEST

/* The one that the README shows; `make topology-picture` draws it anew. */
START_TEST(the_picture_of_the_manual_is_that)
{
    expect_status(0, "@ topo h100x8 --svg - | cmp - %s/doc/topology.svg", getenv("srcdir") ? getenv("srcdir") : "..");
}
END_TEST

/* A file of the user's: what it says is told, also where XML has its own use for a letter; what is wrong is refused. */
START_TEST(a_topology_of_a_file)
{
    static const char *const text =
        "{\"about\": \"a <test> & more\", \"nodes\": [{\"count\": 1, \"sockets\": 1, \"cores\": 8, \"gpus\": 0, "
        "\"nics\": 0, \"ranks\": 3}], \"speeds\": {\"host\": {\"alpha\": \"1us\", \"bandwidth\": \"1GB/s\"}, "
        "\"nic\": {\"alpha\": \"1us\", \"bandwidth\": \"1GB/s\"}}}";

    expect_status(0, "echo '%s' >%s/topo.json && @ topo %s/topo.json --svg %s/topo.svg && cat %s/topo.svg", text, scratch,
                  scratch, scratch, scratch);
    ck_assert_msg(well_formed(said), "%s\nis no picture:\n%.2000s", last, said);
    expect_said(">a &lt;test&gt; &amp; more<");
    expect_count("<circle ", 3);
    expect_count(">the network<", 0);
    expect_status(0, "@ topo %s/topo.json", scratch);
    expect_said("  a <test> & more\n");
    expect_status(1, "echo '%s,' >%s/topo.json; @ topo %s/topo.json", "{\n", scratch, scratch);
    expect_said("/topo.json:");
    expect_count("ranks on", 0);
}
END_TEST

/* ---- explain: times, what would change the choice, plots ---- */

static const char *chosen(json_t *all)
{
    return json_string_value(json_object_get(json_object_get(all, "chosen"), "name"));
}

static const char *const asked[] = {
    "allreduce -n 8",
    "allreduce --topo h100x8",
    "allreduce --topo h100x8 --place round-robin --type double",
    "reduce --topo a100x4 --bytes 300K",
    "bcast --topo cpu2x32 --root 3",
    "allgather --topo scale-rails --bytes 64K",
    "reduce_scatter --topo scale-pcie --bytes 256K",
    "scan --topo scale-one-nic -n 33",
    "alltoall --topo scale-round-robin --bytes 128",
    "allreduce --topo scale-uneven --type half --non-commutative",
};

static double seconds_of(json_t *row)
{
    return json_real_value(json_object_get(row, "predicted_seconds"));
}

/* The fastest runs; they are told in the order of their times. */
START_TEST(the_fastest_is_chosen)
{
    json_t *all = explain(asked[_i]), *rows = json_object_get(all, "algorithms");
    double before = 0;

    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *seconds = json_object_get(json_array_get(rows, i), "predicted_seconds");

        ck_assert(!seconds || json_is_true(json_object_get(json_array_get(rows, i), "feasible")));
        ck_assert(!seconds || json_real_value(seconds) >= before);
        before = seconds ? json_real_value(seconds) : before;
        if (seconds) {
            const double latency =
                json_real_value(json_object_get(json_array_get(rows, i), "latency_seconds"));

            ck_assert(latency > 0 && latency <= before * (1 + 1e-9));
        }
    }
    /* others may take the same time, to a millionth */
    ck_assert_double_le(seconds_of(row(all, chosen(all))), seconds_of(json_array_get(rows, 0)) * (1 + 2e-6));
    json_decref(all);
}
END_TEST

static void expect_chosen(const char *args, long long bytes, const char *name)
{
    char more[256];
    json_t *all;

    snprintf(more, sizeof more, "%s --bytes %lld", args, bytes);
    all = explain(more);
    ck_assert_msg(strcmp(chosen(all), name) == 0, "%s\nchose %s, not %s", last, chosen(all), name);
    json_decref(all);
}

/* On the two sides of where it changes, to the element, what is said of them runs. */
static void check_change(json_t *all, const char *args, const char *side, int direction)
{
    json_t *change = json_object_get(all, side);
    const long long unit = figure(all, "bytes") / figure(all, "count");
    const char *const now = chosen(all);

    if (json_is_null(change))
        return;
    ck_assert_str_ne(json_string_value(json_object_get(change, "name")), now);
    ck_assert_int_gt(direction * (figure(change, "bytes") - figure(all, "bytes")), 0);
    expect_chosen(args, figure(change, "bytes"), json_string_value(json_object_get(change, "name")));
    expect_chosen(args, figure(change, "bytes") - direction * unit, now);
}

START_TEST(where_the_choice_changes_it_does)
{
    json_t *all = explain(asked[_i]);

    check_change(all, asked[_i], "below", -1);
    check_change(all, asked[_i], "above", 1);
    json_decref(all);
}
END_TEST

/* What `tutti tune` wrote beside the rules is told, if they are rules for such a call. */
START_TEST(measured_times_are_told)
{
    json_t *all;
    char args[64] = "allreduce -n 4 --bytes 64K";

    expect_status(0, "printf 'allreduce ranks 4 -> ring\\n#: allreduce 64K ring 12.5 us +- 0.4 us, 9 times\\n"
                     "#: allreduce 64K native 20 us +- 1 us, 9 times\\n#.\\n' >%s/tuned", scratch);
    expect_status(0, "TUTTI_RULES=%s/tuned @ explain %s", scratch, args);
    expect_said(" measured ");
    expect_said("12.5 us");
    expect_said("20 us");
    expect_status(0, "TUTTI_RULES=%s/tuned @ explain %s --json", scratch, args);
    all = json_loads(said, 0, NULL);
    ck_assert_ptr_nonnull(all);
    ck_assert_double_eq_tol(json_real_value(json_object_get(row(all, "ring"), "measured_seconds")), 12.5e-6, 1e-12);
    ck_assert_ptr_null(json_object_get(row(all, "tree"), "measured_seconds"));
    json_decref(all);
    expect_status(0, "TUTTI_RULES=%s/tuned @ explain allreduce -n 5 --bytes 64K", scratch);
    expect_count("measured", 0);
    expect_status(0, "TUTTI_RULES=%s/tuned @ explain allreduce -n 4 --bytes 32K", scratch);
    expect_count("measured", 0);
}
END_TEST

/* As in a run. */
START_TEST(the_variables_topology_counts)
{
    expect_status(0, "TUTTI_TOPO=%s/../no/such @ explain bcast; true", scratch);
    expect_said("cannot be read");
    expect_status(0, "cp ${srcdir:-..}/selector/topologies/a100x4.json %s/a.json", scratch);
    expect_status(0, "TUTTI_TOPO=%s/a.json @ explain bcast", scratch);
    expect_said("bcast of 1 MiB on 16 ranks of 4 nodes");
    expect_status(0, "TUTTI_TOPO=%s/a.json @ explain bcast --topo h100x8", scratch);
    expect_said("on 64 ranks of 8 nodes");
    expect_status(0, "sed 's/\"place\"/\"measured\": true, \"place\"/' <%s/a.json >%s/m.json", scratch, scratch);
    expect_status(0, "TUTTI_PROFILE=%s/m.json @ explain bcast -n 4", scratch);
    expect_said("by speeds measured");
    expect_said("on 4 ranks, root 0");
}
END_TEST

START_TEST(other_cases_are_told)
{
    json_t *all, *cases;

    expect_status(0, "TUTTI_ALLREDUCE=tree @ explain allreduce -n 8 --bytes 64M");
    expect_said("What would change that:\n");
    expect_said("\n  without TUTTI_ALLREDUCE ");
    expect_status(0, "TUTTI_ALLREDUCE=tree:0-1M @ explain allreduce -n 8 --bytes 1000K");
    expect_said("\n  from 1.0 MiB up ");
    expect_status(0, "TUTTI_ALLREDUCE=native @ explain allreduce -n 2 --bytes 8");
    expect_count("\n  on ", 0);
    /* a single rank is never asked about; of what is told, each is another algorithm */
    all = explain("allreduce --topo h100x8 --bytes 16K");
    cases = json_object_get(all, "otherwise");
    for (size_t i = 0; i < json_array_size(cases); i++)
        ck_assert_str_ne(json_string_value(json_object_get(json_array_get(cases, i), "name")), chosen(all));
    json_decref(all);
}
END_TEST

START_TEST(sizes_are_told_as_they_were_given)
{
    expect_status(0, "@ explain allreduce -n 8 --bytes 64MB");
    expect_said("allreduce of 64 MB (16000000 float, sum) on 8 ranks");
    expect_said("112 MB");
    expect_count("iB", 0);
    expect_status(0, "@ explain allreduce -n 8 --bytes 64MiB");
    expect_said("allreduce of 64 MiB ");
}
END_TEST

/* Between what NCCL alone takes and what it takes with the vote lies another algorithm, which then runs: the table is
 * to show why. */
START_TEST(the_vote_is_explained)
{
    expect_status(0, "@ explain allreduce --topo h100x8 --bytes 1M --memory device");
    expect_said("* two_level ");
    expect_said("\nnccl: 39 us of it for the ranks to agree on it; TUTTI_UNIFORM=1 spares that.\n");
    ck_assert(strstr(said, "* two_level") < strstr(said, "  nccl "));
    expect_status(0, "@ explain allreduce --topo h100x8 --bytes 1M --memory device --json");
    expect_said("\"vote_seconds\": 3.9");
    expect_status(0, "TUTTI_UNIFORM=1 @ explain allreduce --topo h100x8 --bytes 1M --memory device");
    expect_said("* nccl ");
    expect_count("to agree", 0);
}
END_TEST

START_TEST(too_many_segments_are_not_counted)
{
    expect_status(0, "TUTTI_BCAST=chain/8 @ explain bcast --bytes 1G");
    expect_said("* would run (TUTTI_BCAST; slow: ");
}
END_TEST

START_TEST(many_ranks_are_explained_at_once)
{
    expect_status(0, "timeout 20 @ explain %s -n 4096 --topo scale-rails --bytes 64K", _i ? "alltoall" : "allreduce");
    expect_said("on 4096 ranks of 512 nodes");
    expect_said("a few stand for all");
}
END_TEST

START_TEST(a_chart_marks_what_is_chosen)
{
    json_t *all = explain("allreduce --topo h100x8 --bytes 8");
    char from[64];

    snprintf(from, sizeof from, " %-18s from 8 B to ", chosen(all));
    json_decref(all);
    expect_status(0, "@ explain allreduce --topo h100x8 --plot - --max 64M");
    expect_count(" |", 20);
    expect_said(from);
    expect_said("    chosen  ");
    expect_said("64 MiB\n");
}
END_TEST

/* gnuplot makes it, where there is one. */
START_TEST(a_plot_is_a_picture)
{
    const bool gnuplot = run("gnuplot --version") == 0;

    expect_status(gnuplot ? 0 : 1, "@ explain allreduce --topo h100x8 --plot %s/plot.svg", scratch);
    if (!gnuplot)
        return;
    expect_said("/plot.svg shows the expected time");
    expect_status(0, "sed -n '/<svg/,$p' %s/plot.svg", scratch);
    ck_assert_msg(strncmp(said, "<svg", 4) == 0, "no picture: %.200s", said);
    ck_assert_msg(well_formed(said), "not well-formed XML:\n%.2000s", said);
    expect_said("bidirectional_ring");
    expect_said("from 8 B: ");
    expect_said("8 H100 with NVSwitch");
    expect_status(1, "@ explain allreduce --plot /no/such/directory/x.svg");
    expect_said("cannot write /no/such/directory/x.svg: No such file or directory");
}
END_TEST

START_TEST(without_gnuplot_there_is_a_chart)
{
    expect_status(1, "PATH=/no/such/directory @ explain bcast -n 8 --plot %s/none.svg", scratch);
    expect_count(" |", 20);
    expect_said("there is no gnuplot on the PATH");
    expect_status(2, "ls %s/none.svg", scratch);
}
END_TEST

/* ---- bench, of what was measured before ---- */

/* A file as --json writes it: native and ring at two sizes, ring `percent` of 10 and 40 us. */
static void write_results(const char *name, int percent)
{
    static const char row[] =
        "%s{\"collective\": \"allreduce\", \"bytes\": %d, \"type\": \"float\", \"op\": \"sum\", \"ranks\": 4, "
        "\"memory\": \"host\", \"path\": \"%s\", \"algorithm\": \"%s\", \"median_us\": %g, \"min_us\": %g, \"p99_us\": "
        "%g, "
        "\"noise_us\": 0.1, \"mean_us\": 12.5, \"mean_least_us\": 11.5, \"mean_most_us\": 13.5, \"calls\": 99, "
        "\"wrong\": 0}";
    char path[128];
    FILE *out;

    snprintf(path, sizeof path, "%s/%s", scratch, name);
    out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fputs("{\"machine\": {\"host\": \"here\", \"nodes\": 1, \"simulated\": true, \"memory\": \"host memory\"}, "
          "\"versions\": "
          "{\"mpi\": \"an MPI\"}, \"settings\": {\"form\": \"blocking\"}, \"results\": [\n",
          out);
    fprintf(out, row, "", 1024, "native", "native", 10.0, 9.0, 20.0);
    fprintf(out, row, ",\n", 1024, "own", "ring", 10 * percent / 100.0, 5.0, 20.0);
    fprintf(out, row, ",\n", 1 << 20, "native", "native", 20.0, 15.0, 90.0);
    fprintf(out, row, ",\n", 1 << 20, "own", "ring", 40 * percent / 100.0, 30.0, 90.0);
    fputs("]}\n", out);
    fclose(out);
}

START_TEST(runs_are_compared)
{
    write_results("a.json", 100);
    write_results("b.json", 50);
    expect_status(0, "@ bench --compare %s/a.json %s/b.json", scratch, scratch);
    expect_said("10.00       5.00   0.500");
    expect_said("40.00      20.00   0.500");
    expect_count("  faster\n", 2);
    expect_count("  slower\n", 0);
    expect_said("native     2 rows, geometric mean of after/before 1.000; beyond noise 0 faster, 0 slower");
    expect_said("own        2 rows, geometric mean of after/before 0.500; beyond noise 2 faster, 0 slower");
    expect_said("all        4 rows, geometric mean of after/before 0.707;");
    expect_said("SIMULATED");
    expect_status(0, "@ bench --compare %s/b.json %s/a.json", scratch, scratch);
    expect_count("  slower\n", 2);
}
END_TEST

START_TEST(results_take_the_columns_of_others)
{
    write_results("a.json", 100);
    expect_status(0, "@ bench --from %s/a.json --format nccl-tests", scratch);
    expect_count("#        size         count      type   redop    root     time   algbw   busbw #wrong", 2);
    expect_said("     1048576        262144     float     sum      -1    40.00   26.21   39.32      0      N/A");
    expect_said("SIMULATED");
    expect_status(0, "@ bench --from %s/a.json --format osu", scratch);
    expect_count("# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations", 2);
    expect_count("\n1048576                12.50             11.50             13.50          99\n", 2);
    expect_status(0, "@ bench --from %s/a.json", scratch);
    expect_said("own    ring               *");
    expect_status(0, "@ bench --from %s/a.json --json - | tail -n +1", scratch);
    expect_said("\"busbw_GBs\": 39.3216");
    expect_status(1, "@ bench --from /no/such/file.json");
}
END_TEST

START_TEST(results_are_plotted_with_their_crossings)
{
    write_results("a.json", 50);
    expect_status(0, "@ bench --from %s/a.json --format osu --plot -", scratch);
    expect_count(" |", 20);
    expect_said("b ring               fastest from 1 KiB\n");
    if (run("gnuplot --version"))
        return;
    expect_status(0, "@ bench --from %s/a.json --plot %s/bench.svg", scratch, scratch);
    expect_status(0, "sed -n '/<svg/,$p' %s/bench.svg", scratch);
    ck_assert_msg(well_formed(said), "not well-formed XML:\n%.2000s", said);
    expect_said("at 1 KiB: ring");
    expect_said("bus bandwidth");
    expect_said("no GPU");
}
END_TEST

/* ---- errors ---- */

static const struct {
    const char *command;
    int status;
    const char *words[3];
} errors[] = {
    {"@ sing", 2, {"there is no command \"sing\"", "explain", "draw"}},
    {"@", 2, {"Usage: tutti COMMAND"}},
    {"@ draw allreduse ring", 2, {"there is no collective \"allreduse\"", "allreduce, reduce, bcast", "barrier"}},
    {"@ draw allreduce rign", 2, {"there is no algorithm \"rign\" for allreduce", "ring", "native"}},
    {"@ draw", 2, {"say which collective; there are: allreduce, "}},
    {"@ draw allreduce native", 1, {"native is not drawn"}},
    {"@ draw allreduce ring -n 0", 2, {"-n wants a positive number, not \"0\""}},
    {"@ draw allreduce ring -n 65", 2, {"up to 64 ranks"}},
    {"@ draw allreduce ring --root 1", 2, {"allreduce has no root"}},
    {"@ draw bcast binomial --root 4", 2, {"root 4 is not among 4 ranks"}},
    {"@ draw allreduce ring --rank 4", 2, {"rank 4 is not among 4 ranks"}},
    {"@ draw allreduce ring --op-noncommutative", 1, {"because it folds operands out of rank order"}},
    {"@ explain allreduce --bytes lots", 2, {"--bytes wants a size such as", "not \"lots\""}},
    {"@ explain allreduce --bytes 3", 2, {"3 bytes are no whole number of float"}},
    {"@ explain allreduce --type quux", 2, {"there is no type \"quux\"", "double"}},
    {"@ explain allreduce --op quux", 2, {"there is no op \"quux\"", "sum, prod"}},
    {"@ explain allreduce --op maxloc", 2, {"maxloc has no meaning for float"}},
    {"@ cost", 2, {"say which collective; there are: allreduce, "}},
    {"@ cost allreduce", 2, {"wants --alpha TIME and --bandwidth RATE, or --topo FILE"}},
    {"@ cost allreduce --alpha 5 --bandwidth 1GB/s", 2, {"--alpha wants a time such as 20us", "not \"5\""}},
    {"@ cost allreduce --alpha 5us --bandwidth 1GB", 2, {"--bandwidth wants a rate such as 25GB/s", "not \"1GB\""}},
    {"@ cost allreduce --alpha 5us --topo h100x8", 2, {"give one or the other"}},
    {"@ cost allreduce --alpha 0 --bandwidth 1GB/s --nodes 2", 2, {"--nodes and --place are for a topology"}},
    {"@ cost allreduce rign --alpha 0 --bandwidth 1GB/s", 2, {"there is no algorithm \"rign\"", "ring"}},
    {"@ cost allreduce native --alpha 0 --bandwidth 1GB/s", 2, {"native has no formula"}},
    {"@ cost p2p ring --alpha 0 --bandwidth 1GB/s", 2, {"p2p has no algorithms"}},
    {"@ cost bcast binomial --root 4 --alpha 0 --bandwidth 1GB/s", 2, {"root 4 is not among 4 ranks"}},
    {"@ cost pipeline", 2, {"tutti cost pipeline: wants --stages P and --microbatches M"}},
    {"@ cost pipeline --stages none", 2, {"--stages wants a positive number, not \"none\""}},
    {"@ cost pipeline allreduce", 2, {"pipeline takes options only; \"allreduce\" is one too many"}},
    {"@ plan", 2, {"wants a model"}},
    {"@ plan gpt3-175b", 2, {"wants --topo FILE", "tutti tune"}},
    {"@ plan gpt3-175b llama2-7b --topo h100x8", 2, {"\"llama2-7b\" is one too many"}},
    {"@ plan gpt5 --topo h100x8", 1, {"gpt5: No such file", "models known by name: gpt3-175b, llama2-70b"}},
    {"@ plan gpt3 --topo h100x8", 1, {"did you mean \"gpt3-175b\"?"}},
    {"@ plan gpt3-175b --topo h100x9",
     1,
     {"h100x9: No such file", "topologies known by name: a100x4", "did you mean \"h100x8\"?"}},
    {"@ plan gpt3-175b --topo cpu2x32", 2, {"cpu2x32 does not say what its GPUs are: --gpu KIND"}},
    {"@ plan gpt3-175b --topo h100x8 --gpu h10", 2, {"h10 is not a GPU that is known (did you mean h100?)"}},
    {"@ plan gpt3-175b --topo h100x8 --efficiency 1.5", 2, {"a GPU does not reach more than its peak"}},
    {"@ plan gpt3-175b --topo h100x8 --efficiency high",
     2,
     {"--efficiency wants a number above 0, such as 0.58 or 58%"}},
    {"@ plan gpt3-175b --topo h100x8 --skew 0.5", 2, {"the busiest expert gets no less than the average one"}},
    {"@ plan gpt3-175b --topo h100x8 --recompute some", 2, {"some is not a way to recompute", "none, selective, full"}},
    {"@ plan gpt3-175b --topo h100x8 --only tq8", 2, {"tq8 is not a part of a layout", "tp8,pp4,dp2,zero1"}},
    {"@ plan gpt3-175b --topo h100x8 --explain tp8,pp7",
     1,
     {"there is no layout with tp8,pp7 on 64 GPUs", "tp x cp x pp x dp = 64"}},
    {"@ plan gpt3-175b --topo h100x8 --explain tp64", 1, {"96 heads are not divisible by tensor parallel 64"}},
    {"@ plan gpt3-175b --topo h100x8 --sweep cpus=1..8", 2, {"--sweep wants WHAT=A..B", "gpus batch nic memory"}},
    {"@ plan gpt3-175b --topo h100x8 --sweep gpus=64..8", 2, {"--sweep gpus wants two values, the smaller first"}},
    {"@ plan gpt3-175b --topo h100x8 --weak", 2, {"--weak is for --sweep gpus"}},
    {"@ plan gpt3-175b --topo h100x8 --measured a.json", 2, {"--measured is for --explain"}},
    {"@ plan gpt3-175b --topo h100x8 -n 100000", 2, {"counts up to 65536 GPUs, not 100000"}},
    {"@ topo no-such-topology", 1, {"tutti topo: no-such-topology: No such file", "h100x8"}},
    {"@ topo h100x8 -n 65 --nodes 8", 1, {"65 ranks do not fit"}},
    {"@ topo h100x8 a100x4", 2, {"wants one file; \"a100x4\" is one too many"}},
    {"@ topo h100x8 --place anywhere", 1, {"there is no placement \"anywhere\"", "round-robin"}},
    {"@ topo -n 4", 2, {"-n, --nodes and --place are for a FILE", "mpiexec"}},
    {"@ topo h100x8 --svg - --json", 2, {"ask for one"}},
    {"@ topo h100x8 --svg /no/such/directory/x.svg", 1, {"cannot write /no/such/directory/x.svg: No such file"}},
    {"@ tune gatherv", 2, {"gatherv cannot be tuned: it has no size that all ranks know"}},
    {"@ tune alreduce", 2, {"there is no collective \"alreduce\"", "allreduce, reduce"}},
    {"@ tune --budget soon", 2, {"--budget wants a time such as 60s or 10min, not \"soon\""}},
    {"@ tune --memory everywhere", 2, {"--memory may be host or device, not \"everywhere\""}},
    {"@ tune --min 4K --max 1K", 2, {"--min and --max want sizes from 1 to 1G, the first no larger"}},
    {"@ tune --factor 0.5", 2, {"--factor wants a number from 1 up"}},
    {"@ tune --regret a.rules -o b.rules", 2, {"--regret writes nothing"}},
    {"@ bench alreduce", 2, {"there is no collective \"alreduce\"", "allreduce, reduce"}},
    {"@ bench neighbor_alltoall", 2, {"neighbor_alltoall is not measured: it needs a communicator with a topology"}},
    {"@ bench -b 1M -e 1K", 2, {"the smallest size is no larger than the largest"}},
    {"@ bench -e lots", 2, {"-e wants a size such as 4096, 64K or 4MB, not \"lots\""}},
    {"@ bench -f 1", 2, {"-f wants a whole number from 2 up"}},
    {"@ bench -t flaot", 2, {"there is no type \"flaot\"", "float, double"}},
    {"@ bench -o sun", 2, {"there is no op \"sun\"", "sum, prod"}},
    {"@ bench -o band", 2, {"band has no meaning for float"}},
    {"@ bench bcast -t f64_int", 2, {"elements of f64_int have padding"}},
    {"@ bench bcast --in-place", 2, {"bcast has no MPI_IN_PLACE"}},
    {"@ bench -m nowhere", 2, {"-m may be host, device or managed, not \"nowhere\""}},
    {"@ bench --format csv", 2, {"--format may be table, osu or nccl-tests, not \"csv\""}},
    {"@ bench --algorithms native,rign", 2, {"--algorithms: there is no \"rign\"", "ring"}},
    {"@ bench --nonblocking --persistent", 2, {"--nonblocking and --persistent are two runs"}},
    {"@ bench --time soon", 2, {"--time wants a time such as 100ms or 2s, not \"soon\""}},
    {"@ bench --json - --plot -", 2, {"give one of them a file"}},
    {"@ bench --compare a.json", 2, {"--compare wants two files that --json wrote"}},
    {"@ bench --compare a.json b.json c.json", 2, {"\"c.json\" is one too many"}},
    {"@ bench --compare /no/such/a.json /no/such/b.json", 1, {"bench: /no/such/a.json cannot be read: No such file"}},
    {"@ bench --from /no/such/a.json", 1, {"bench: /no/such/a.json cannot be read: No such file"}},
    {"@ scaling /no/such/a.json /no/such/b.json", 1, {"/no/such/a.json cannot be read: No such file"}},
    {"@ bench -b 3", 2, {"-b 3: 3 bytes are no whole number, from 1 up, of float, of 4 bytes each"}},
    {"@ bench -b 0", 2, {"-b 0: 0 bytes are no whole number, from 1 up, of float"}},
    {"@ bench -e 8 -t c64", 2, {"-e 8 is less than the smallest size, 16 bytes"}},
    {"@ explain", 2, {"say which collective; there are: allreduce, "}},
    {"TUTTI_ALLREDUCE=rign @ explain allreduce", 1, {"rign", "ring"}},
    {"@ explain allreduce --nodes 2", 2, {"--nodes is of a topology: say which one by --topo"}},
    {"@ explain allreduce --topo h100x8 --place anywhere", 1, {"no placement \"anywhere\"", "block, round-robin"}},
    {"@ explain allreduce --topo nowhere", 1, {"nowhere", "h100x8"}},
    {"@ explain allreduce --topo h100x8 --nodes 1 -n 9", 1, {"9 ranks do not fit"}},
    {"@ explain neighbor_allgather --plot -", 1, {"knows no time of any"}},
    {"@ explain barrier --plot -", 2, {"does not depend on a size"}},
    {"@ explain bcast --plot - --min 1M --max 1M", 2, {"--min and --max"}},
    {"@ explain bcast --plot - --json", 2, {"give the plot a file"}},
    {"@ help quux", 2, {"neither a command nor a collective", "allreduce", "explain"}},
    {"@ run", 2, {"there is no command"}},
    {"@ run true", 2, {"put -- before the command"}},
    {"@ run --sim-gpus none -- true", 2, {"--sim-gpus wants a positive number, not \"none\""}},
    {"@ run --sim-gpus 65 -- true", 2, {"--sim-gpus 65", "up to 64 GPUs per node"}},
    {"@ run --set quux=1 -- true", 2, {"there is no variable TUTTI_QUUX", "TUTTI_EXPLAIN", "TUTTI_ALLREDUCE"}},
    {"@ run --set allreduce -- true", 2, {"--set wants NAME=VALUE"}},
    {"@ run --set allreduce=rign -- true", 2, {"rign", "ring"}},
    {"@ run -- no-such-program", 127, {"there is no program no-such-program on the PATH"}},
    {"@ run -- ./no-such-program", 127, {"there is no program ./no-such-program: No such file"}},
    {"@ run -- /etc/passwd", 126, {"/etc/passwd is there, but is not executable"}},
    {"@ run -- /etc/passwd/app", 127, {"there is no program /etc/passwd/app"}},
    {"@ run -- /usr", 126, {"/usr is a directory"}},
};

START_TEST(errors_say_what_and_what_to_do)
{
    const int status = run("%s", errors[_i].command);

    ck_assert_msg(status == errors[_i].status, "%s\nexit status %d, expected %d; it said:\n%s", last, status,
                  errors[_i].status, said);
    for (int w = 0; w < 3 && errors[_i].words[w]; w++)
        expect_said(errors[_i].words[w]);
}
END_TEST

/* ---- cost ---- */

START_TEST(a_message_is_worked_out)
{
    expect_status(0, "@ cost p2p --bytes 100MB --alpha 20us --bandwidth 25GB/s");
    expect_said("100 MB from one rank to another: alpha + n beta");
    expect_said("1 x 20 us = 20 us");
    expect_said("100 MB / 25 GB/s = 4 ms");
    expect_said("= 4.02 ms, or 24.88 GB/s");
    expect_status(0, "@ cost p2p --bytes 1M --alpha 0 --bandwidth 1GiB/s --overhead 1us");
    expect_said("1 MiB from one rank");
    expect_said("1 x 1 us = 1 us");
    expect_said("= 978 us");
}
END_TEST

START_TEST(a_ring_is_worked_out)
{
    expect_status(0, "@ cost allreduce ring -n 8 --bytes 1GB --alpha 0 --bandwidth 50GB/s");
    expect_said("14 x 0 s = 0 s");
    expect_said("1.75 GB / 50 GB/s = 35 ms");
    expect_said("sent per rank: 1.75 GB at most");
    expect_said("2(p-1) alpha + 2(p-1)/p n beta");
    expect_count("35 ms", 3); /* the term, the total, and the plans' price */
    expect_status(0, "@ cost allreduce ring -n 4 --bytes 4MB --alpha 10us --bandwidth 1GB/s --reduce 2GB/s --launch 3us");
    expect_said("6 x 10 us = 60 us");
    expect_said("6 MB / 1 GB/s = 6 ms");
    expect_said("3 MB / 2 GB/s = 1.5 ms");
    expect_said("3 x 3 us = 9 us");
    expect_count("7.57 ms", 2);
}
END_TEST

START_TEST(all_algorithms_side_by_side)
{
    expect_status(0, "@ cost allreduce -n 16 --bytes 64M --alpha 5us --bandwidth 20GB/s");
    expect_count("\n* ", 2); /* the least, and what that means */
    expect_said("doubling ");
    expect_said("20 us"); /* four messages */
    expect_status(0, "@ cost barrier -n 100 --alpha 2us --bandwidth 20GB/s");
    expect_said("14 us");
    expect_said(" -\n"); /* plans of so many ranks are not priced */
}
END_TEST

START_TEST(levels_are_told_apart)
{
    expect_status(0, "@ cost p2p --bytes 1GB --topo h100x8");
    expect_said("over NVLink or NVSwitch, GPU to GPU:");
    expect_said("1 GB / 400 GB/s");
    expect_said("over the network:");
    expect_said("1 GB / 50 GB/s");
    expect_status(0, "@ cost allreduce halving --bytes 64M -n 64 --topo h100x8");
    expect_said("64 ranks, 8 nodes");
    expect_said("link ");
    expect_said("nic ");
    expect_status(0, "@ cost bcast chain --bytes 64M -n 8 --nodes 2 --place block --topo a100x4");
    expect_said("segments of ");
    expect_said("8 ranks, root 0, 2 nodes: 4 nodes of 4 A100");
}
END_TEST

START_TEST(the_arithmetic_for_machines)
{
    json_error_t error;
    json_t *all, *row, *terms;

    expect_status(0, "@ cost allreduce ring -n 8 --bytes 1GB --alpha 1us --bandwidth 50GB/s --json");
    all = json_loads(said, 0, &error);
    ck_assert_msg(all != NULL, "%s", error.text);
    row = json_array_get(json_object_get(all, "algorithms"), 0);
    terms = json_object_get(row, "terms");
    ck_assert_double_eq_tol(json_real_value(json_object_get(row, "seconds")), 0.035014, 1e-9);
    ck_assert_double_eq_tol(json_real_value(json_object_get(row, "priced_seconds")), 0.035014, 1e-9);
    ck_assert_int_eq(json_integer_value(json_object_get(row, "bytes_sent_per_rank")), 1750000000);
    ck_assert_double_eq_tol(json_real_value(json_object_get(json_array_get(terms, 0), "times")), 14, 1e-6);
    ck_assert_double_eq_tol(json_real_value(json_object_get(json_array_get(terms, 1), "bytes")), 1.75e9, 1);
    json_decref(all);
    expect_status(0, "@ cost p2p --bytes 100MB --alpha 20us --bandwidth 25GB/s --json");
    all = json_loads(said, 0, &error);
    ck_assert_msg(all != NULL, "%s", error.text);
    row = json_array_get(json_object_get(all, "levels"), 0);
    ck_assert_double_eq_tol(json_real_value(json_object_get(row, "seconds")), 0.00402, 1e-12);
    json_decref(all);
}
END_TEST

START_TEST(a_bubble_is_worked_out)
{
    expect_status(0, "@ cost pipeline --stages 4 --microbatches 8");
    expect_said("efficiency                   72.7 %, 8 / 11");
    expect_status(0, "@ cost pipeline --stages 4 --microbatches 32");
    expect_said("efficiency                   91.4 %, 32 / 35");
    expect_status(0, "@ cost pipeline --stages 4 --microbatches 8 --json");
    expect_said("\"efficiency\": 0.727272727273");
}
END_TEST

/* ---- plan ---- */

static json_t *plan(const char *args)
{
    json_error_t error;
    json_t *all;

    expect_status(0, "@ plan %s --json", args);
    all = json_loads(said, 0, &error);
    ck_assert_msg(all != NULL, "%s\nis not JSON: line %d, %s\n%s", last, error.line, error.text, said);
    return all;
}

static double number(const json_t *of, const char *key)
{
    ck_assert_msg(json_is_number(json_object_get(of, key)), "no number %s", key);
    return json_number_value(json_object_get(of, key));
}

START_TEST(layouts_are_ranked_with_reasons)
{
    expect_status(0, "@ plan gpt3-175b --topo h100x8 -n 64");
    expect_said("175 G parameters, 96 layers; a step: 1536 sequences of 2048 tokens, fp16");
    expect_said("on 64 GPUs (h100) of 8 nodes");
    expect_said("\n* tp");
    expect_said("\nCannot be, ");
    expect_said("\nWhat would make other sizes the best:\n");
    expect_said("  on 32 GPUs                                                 nothing fits");
    expect_status(0, "@ plan gpt3-175b --topo h100x8 -n 64 --only tp16,pp4");
    expect_said("tensor parallel 16 crosses the network: ");
    expect_status(0, "@ plan gpt3-175b --topo h100x8 -n 8");
    expect_said("Nothing fits.");
    expect_said("at least: ");
}
END_TEST

/* What tune writes says of each rank where it sits: then there are no more GPUs to look at, which is no error. */
START_TEST(plan_takes_listed_places)
{
    expect_status(
        0,
        "sed 's/\"place\": *[^,]*,/\"place\": [0, 0, 0, 0],/; s/\"count\": *[0-9]*/\"count\": 1/' "
        "${srcdir:-..}/selector/topologies/h100x8.json >%s/listed.json && @ plan llama2-7b --topo %s/listed.json",
        scratch, scratch);
    expect_said("on 4 GPUs (h100) of 1 node");
    expect_said("Times are the cost model's");
    expect_status(1, "@ plan llama2-7b --topo %s/listed.json -n 9", scratch);
    expect_said("9 ranks do not fit: there is 1 node with room for 8, and it says where each rank sits: --place block");
}
END_TEST

/* Every line's result is there once more in the sum, to the last figure that is printed. */
START_TEST(a_layout_is_worked_out_line_by_line)
{
    expect_status(0, "@ plan gpt3-175b --topo a100x8 -n 384 --explain tp8,pp12,1f1b,mb1,zero0,nosp");
    expect_said("at 0.58 x 312 TFLOP/s = 181 TFLOP/s a GPU; forward once, backward twice, recomputed once");
    expect_said("2048 tokens x 8 layers x 4 times x 3.62 GFLOP / tp 8 / 181 TFLOP/s");
    expect_said("1536 sequences / 4 data parallel / 1 = 384");
    expect_said("(12 stages - 1) / 1 piece x ");
    expect_said("97.2 % of the pipeline works");
    expect_said("(1.89 G + 0 of experts) x 12 bytes");
    expect_said("it fits");
    expect_count("tutti bench allreduce -m device -b 50331648 -e 50331648", 1);
    expect_status(0, "@ plan llama2-7b --topo cpu2x32 --gpu a100 -n 2 --explain tp2,mb1,nosp");
    expect_count("tutti bench allreduce -b 33554432 -e 33554432", 1);
}
END_TEST

START_TEST(a_plan_for_machines_adds_up)
{
    json_t *all = plan("mixtral-8x7b --topo h100x8 -n 16 --skew 1.5"), *layout, *exposed, *value;
    const char *key;
    size_t i;

    json_array_foreach(json_object_get(all, "layouts"), i, layout)
    {
        double sum = number(layout, "compute_seconds") + number(layout, "imbalance_seconds") +
                     number(layout, "bubble_seconds") + number(layout, "optimizer_seconds");

        exposed = json_object_get(layout, "exposed_seconds");
        json_object_foreach(exposed, key, value) sum += json_number_value(value);
        ck_assert_double_eq_tol(sum, number(layout, "seconds"), 1e-6);
    }
    ck_assert_int_ge((int)i, 4);
    ck_assert(json_array_size(json_object_get(all, "changes")) > 0);
    json_decref(all);
}
END_TEST

/* The batch stays, or the reader is warned. */
START_TEST(sweeps_warn_of_another_problem)
{
    json_t *all, *points;

    expect_status(0, "@ plan llama2-70b --topo h100x8 --sweep gpus=16..128");
    expect_said("nothing fits; the least is ");
    expect_said("The global batch stays");
    expect_status(0, "@ plan llama2-70b --topo h100x8 --sweep gpus=64..128 --weak");
    expect_said("Warning: the global batch grows with the GPUs. That is another optimisation problem");
    all = plan("llama2-70b --topo h100x8 --sweep gpus=64..256 --weak");
    points = json_object_get(all, "points");
    ck_assert_int_eq((int)json_array_size(points), 3);
    ck_assert_double_eq_tol(number(json_array_get(points, 2), "sequences"), 4 * 1024, 1e-9);
    json_decref(all);
    all = plan("gpt3-175b --topo h100x8 --sweep nic=10GB/s..40GB/s");
    points = json_object_get(all, "points");
    ck_assert_double_eq_tol(number(json_array_get(points, 8), "nic"), 40e9, 1);
    ck_assert(number(json_array_get(points, 8), "seconds") <= number(json_array_get(points, 0), "seconds"));
    json_decref(all);
}
END_TEST

START_TEST(what_a_step_is_made_of_is_drawn)
{
    const bool gnuplot = run("command -v gnuplot") == 0;

    expect_status(0, "@ plan gpt3-175b --topo h100x8 -n 64 --plot -");
    expect_said("\nWhat a step is made of\n  tp");
    expect_said("# computing, t tensor parallel");
    expect_status(gnuplot ? 0 : 1, "@ plan gpt3-175b --topo h100x8 --sweep gpus=64..256 --plot %s/plan.svg", scratch);
    expect_said(gnuplot ? "plan.svg shows what a step is made of" : "there is no gnuplot");
}
END_TEST

/* What would make another layout the best does, and a little less of it does not. */
START_TEST(where_the_best_changes_it_does)
{
    json_t *all = plan("gpt3-175b --topo h100x8 -n 64"), *change, *again;
    const char *best, *then;
    bool found = false;
    size_t i;
    char args[160];

    best = json_string_value(
        json_object_get(json_object_get(json_array_get(json_object_get(all, "layouts"), 0), "layout"), "name"));
    json_array_foreach(json_object_get(all, "changes"), i, change)
    {
        const double nic = number(change, "from");

        if (strcmp(json_string_value(json_object_get(change, "what")), "nic") != 0)
            continue;
        found = true;
        snprintf(args, sizeof args, "gpt3-175b --topo h100x8 -n 64 --nic %.9gGB/s", nic / 1e9);
        again = plan(args);
        then = json_string_value(
            json_object_get(json_object_get(json_array_get(json_object_get(again, "layouts"), 0), "layout"), "name"));
        ck_assert_str_ne(then, best);
        ck_assert_str_eq(then, json_string_value(json_object_get(json_object_get(change, "layout"), "name")));
        json_decref(again);
    }
    ck_assert(found);
    json_decref(all);
}
END_TEST

/* Results of tutti bench stand beside what was predicted. */
START_TEST(measured_calls_stand_beside_predicted_ones)
{
    char name[64];
    FILE *out;

    snprintf(name, sizeof name, "%s/call.json", scratch);
    out = fopen(name, "w");
    ck_assert_ptr_nonnull(out);
    fputs("{\"machine\": {\"host\": \"here\"}, \"results\": [{\"collective\": \"allreduce\", \"path\": \"chosen\", "
          "\"algorithm\": \"ring\", \"memory\": \"device\", \"type\": \"f32\", \"op\": \"sum\", \"ranks\": 8, "
          "\"bytes\": 50331648, \"calls\": 10, \"median_us\": 772.0}]}\n",
          out);
    fclose(out);
    expect_status(0, "@ plan gpt3-175b --topo a100x8 -n 384 --explain tp8,pp12,1f1b,mb1,zero0,nosp --measured %s", name);
    expect_said("Predicted, and measured by tutti bench:");
    expect_said("772 us ring ");
    expect_said("  here, device");
    expect_said("1 of 3 calls measured");
}
END_TEST

/* ---- rules ---- */

/* Writes a rules file into the scratch directory. */
static void write_rules(const char *text)
{
    char name[64];
    FILE *out;

    snprintf(name, sizeof name, "%s/rules", scratch);
    out = fopen(name, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

START_TEST(rules_are_told_line_by_line)
{
    write_rules("# mine\nallreduce -> ring\nallreduce bytes -16384 -> doubling\n");
    expect_status(0, "@ rules %s/rules", scratch);
    expect_said("rules: 2 rules\n    2  allreduce -> ring\n    3  allreduce bytes 0-16K -> doubling\n");
    expect_said("only what the algorithm of line 2 cannot serve is left to it");
    write_rules("allreduce -> tree\nallreduce bytes 8 -> doubling\n");
    expect_status(1, "@ rules %s/rules", scratch);
    expect_said("rules:2: line 2 can never be reached: line 1 before it takes all of its calls");
    expect_status(2, "@ rules a b");
    expect_said("\"b\" is one too many");
}
END_TEST

/* What is shown as an example is a rules file. */
START_TEST(the_grammar_is_a_rules_file)
{
    expect_status(0, "@ rules | tee %s/grammar", scratch);
    expect_said("ranks_per_node");
    expect_status(0, "@ rules %s/grammar", scratch);
    expect_said("grammar: 3 rules");
}
END_TEST

START_TEST(rules_and_pins_decide_and_are_named)
{
    write_rules("allreduce bytes 0-1M commutes no -> tree\nallreduce bytes 0-1M -> direct\nbcast -> chain/8K\n");
    expect_status(0, "TUTTI_RULES=%s/rules @ explain allreduce --bytes 8", scratch);
    expect_said("* direct");
    expect_said("rules:2); TUTTI_ALLREDUCE=NAME pins another");
    expect_status(0, "TUTTI_RULES=%s/rules @ explain allreduce --bytes 8 --non-commutative", scratch);
    expect_said("* tree");
    expect_status(0, "TUTTI_RULES=%s/rules @ explain allreduce --bytes 2M", scratch);
    expect_said("(model: ");
    expect_status(0, "TUTTI_RULES=%s/rules TUTTI_ALLREDUCE='ring:4;doubling:5-' @ explain allreduce --bytes 8", scratch);
    expect_said("* would run (TUTTI_ALLREDUCE, 5-)");
    expect_status(0, "TUTTI_RULES=%s/rules TUTTI_ALLREDUCE=ring @ explain allreduce --bytes 8 --non-commutative", scratch);
    expect_said("rules:1; TUTTI_ALLREDUCE passed over, because ring is not feasible: it folds operands out of rank order");
    expect_status(0, "TUTTI_RULES=%s/rules @ explain bcast -n 3 --bytes 64K", scratch);
    expect_said("* chain");
    expect_status(0, "TUTTI_RULES=%s/rules @ explain bcast -n 3 --bytes 64K --json", scratch);
    expect_said("\"segment_bytes\": 8192");
    expect_status(1, "TUTTI_RULES=%s/none @ explain bcast", scratch);
    expect_said("/none cannot be read: No such file");
}
END_TEST

/* ---- run ---- */

START_TEST(run_passes_the_exit_status_on)
{
    expect_status(0, "@ run -- true");
    expect_status(7, "@ run -- sh -c 'exit 7'");
}
END_TEST

START_TEST(run_sets_the_environment)
{
    expect_status(0, "LD_PRELOAD=libm.so.6 @ run --explain --set allreduce=ring -- env");
    expect_said("\nTUTTI_EXPLAIN=1\n");
    expect_said("\nTUTTI_ALLREDUCE=ring\n");
    expect_said("/libtutti.so:libm.so.6\n");
    expect_status(0, "@ run -- sh -c 'echo \"$1\"' - 'two  words'");
    expect_said("two  words\n");
    expect_status(0, "TUTTI_EXPLAIN=0 @ run --explain -- env | grep ^TUTTI_EXPLAIN=1");
    expect_status(0, "TUTTI_EXPLAIN=2 @ run --explain -- env | grep ^TUTTI_EXPLAIN=2");
}
END_TEST

START_TEST(simulated_is_said)
{
    expect_status(0, "@ run --sim-gpus 3 -- env");
    expect_said("tutti run: 3 GPUs per node, SIMULATED on the CPU");
    expect_said("\nTUTTI_SIM_GPUS=3\n");
    expect_said("\nLD_LIBRARY_PATH=/");
}
END_TEST

/* The command and the simulated device must agree on how many there may be. */
START_TEST(as_many_are_simulated_as_may_be_asked_for)
{
    expect_status(0, "@ run --sim-gpus 64 -- @ info");
    expect_said("simulated, 64 devices");
}
END_TEST

/* A launcher that says it is Open MPI's is one, for all that run can know. */
static void write_launcher(const char *version)
{
    expect_status(0, "printf '#!/bin/sh\\n[ \"$1\" = --version ] && echo \"%s\" && exit\\necho \"$*\"\\n' "
                     ">%s/mpiexec && chmod +x %s/mpiexec", version, scratch, scratch);
}

START_TEST(launchers_are_told_apart)
{
    bool ours_is_open;

    expect_status(0, "@ info");
    ours_is_open = strstr(said, "Open MPI (") != NULL;
    write_launcher("mpiexec (OpenRTE) 4.1.4");
    run("TUTTI_EXPLAIN=1 @ run -- %s/mpiexec -n 4 ./app", scratch);
    if (ours_is_open)
        expect_said("-x TUTTI_EXPLAIN");
    else
        expect_said("program, mpiexec and Tutti must have the same MPI");
    write_launcher("HYDRA build details:");
    run("TUTTI_EXPLAIN=1 @ run -- %s/mpiexec -n 4 ./app", scratch);
    if (ours_is_open)
        expect_said("program, mpiexec and Tutti must have the same MPI");
    else
        expect_said("-n 4 ./app\n");
}
END_TEST

START_TEST(a_runtime_inside_the_program_is_pointed_out)
{
    expect_status(0, "{ cat /bin/true; echo cudaErrorCudartUnloading cuGetExportTable; } >%s/app; chmod +x %s/app", scratch,
                  scratch);
    expect_status(0, "@ run --sim-gpus 1 -- %s/app", scratch);
    expect_said("has the CUDA runtime linked in");
    expect_said("-cudart shared");
    expect_status(0, "@ run --sim-gpus 1 -- true");
    expect_count("linked in", 0);
    expect_status(0, "@ run --sim-gpus 1 -- @ info"); /* which knows the same words */
    expect_count("linked in", 0);
}
END_TEST

/* ---- info, help ---- */

START_TEST(every_collective_is_taught)
{
    expect_status(0, "@ help %s", collectives[_i]);
    ck_assert_msg(!strstr(said, "(null)"), "a lesson is missing:\n%s", said);
    expect_said("native");
    expect_said("tutti explain");
    expect_status(0, "@ info");
    expect_said(collectives[_i]);
}
END_TEST

START_TEST(info_tells_variables_and_what_was_found)
{
    expect_status(0, "TUTTI_EXPLAIN=1 TUTTI_BCAST=native @ info");
    expect_said("TUTTI_EXPLAIN ");
    expect_said("now 1");
    expect_said("TUTTI_BCAST     now native");
    expect_said("CUDA driver");
    expect_said("GPU kernels");
    expect_said("/tutti-mpi\n");
}
END_TEST

START_TEST(info_tells_which_nccl_it_is)
{
    expect_status(0, "TUTTI_SIM_NCCL_VERSION=22703 @ run --sim-gpus 1 -- @ info");
    expect_said("NCCL         2.27.3, simulated\n");
    expect_status(0, "TUTTI_SIM_NCCL_VERSION=21701 @ run --sim-gpus 1 -- @ info");
    expect_said("NCCL         not used (libnccl.so.2 is NCCL 2.17.1, and 2.18 is the oldest that serves)\n");
}
END_TEST

START_TEST(help_and_version)
{
    expect_status(0, "@ --version");
    expect_said("tutti 0.");
    expect_status(0, "@ --help");
    expect_said("tutti run -- mpiexec");
    expect_status(0, "@ help draw");
    expect_said("Usage: tutti draw");
    expect_status(0, "@ run --help");
    expect_said("--sim-gpus");
}
END_TEST

#define N(array) ((int)(sizeof(array) / sizeof *(array)))

static TCase *draw_case(void)
{
    TCase *all = tcase_create("draw");

    tcase_add_test(all, ring_of_four_has_six_rounds);
    tcase_add_test(all, contributions_add_up);
    tcase_add_test(all, uneven_blocks_are_drawn);
    tcase_add_test(all, in_place_reads_no_send_buffer);
    tcase_add_test(all, one_rank_shows_its_fences);
    tcase_add_test(all, a_rotated_tree_starts_at_its_root);
    tcase_add_loop_test(all, every_algorithm_can_be_drawn, 0, N(collectives));
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, pictures_are_well_formed, 0, N(pictures));
    tcase_add_test(all, the_picture_of_a_ring_has_its_arrows);
    tcase_add_test(all, a_picture_goes_to_its_file);
    return all;
}

static TCase *explain_case(void)
{
    TCase *all = tcase_create("explain");

    tcase_add_loop_test(all, ring_costs_what_the_textbook_says, 0, 6);
    tcase_add_test(all, what_cannot_serve_says_why);
    tcase_add_test(all, reproducible_is_said);
    tcase_add_test(all, the_choice_is_marked_and_can_be_pinned);
    tcase_add_test(all, rules_are_told_line_by_line);
    tcase_add_test(all, the_grammar_is_a_rules_file);
    tcase_add_test(all, rules_and_pins_decide_and_are_named);
    tcase_add_test(all, sizes_mean_what_people_mean);
    tcase_add_loop_test(all, the_fastest_is_chosen, 0, N(asked));
    tcase_add_loop_test(all, where_the_choice_changes_it_does, 0, N(asked));
    tcase_add_test(all, other_cases_are_told);
    tcase_add_test(all, measured_times_are_told);
    tcase_add_test(all, the_variables_topology_counts);
    tcase_add_test(all, sizes_are_told_as_they_were_given);
    tcase_add_test(all, the_vote_is_explained);
    tcase_add_test(all, too_many_segments_are_not_counted);
    tcase_add_loop_test(all, many_ranks_are_explained_at_once, 0, 2);
    tcase_add_test(all, a_chart_marks_what_is_chosen);
    tcase_add_test(all, a_plot_is_a_picture);
    tcase_add_test(all, without_gnuplot_there_is_a_chart);
    tcase_set_timeout(all, 60);
    return all;
}

static TCase *bench_case(void)
{
    TCase *all = tcase_create("bench");

    tcase_add_test(all, runs_are_compared);
    tcase_add_test(all, results_take_the_columns_of_others);
    tcase_add_test(all, results_are_plotted_with_their_crossings);
    tcase_set_timeout(all, 60);
    return all;
}

static TCase *topo_case(void)
{
    TCase *all = tcase_create("topo");

    tcase_add_test(all, a_topology_is_told_in_columns);
    tcase_add_test(all, what_is_large_is_folded);
    tcase_add_test(all, a_topology_for_machines);
    tcase_add_loop_test(all, a_topology_as_a_picture, 0, N(topologies));
    tcase_add_test(all, the_picture_of_the_manual_is_that);
    tcase_add_test(all, a_topology_of_a_file);
    return all;
}

static TCase *cost_case(void)
{
    TCase *all = tcase_create("cost");

    tcase_add_test(all, a_message_is_worked_out);
    tcase_add_test(all, a_ring_is_worked_out);
    tcase_add_test(all, all_algorithms_side_by_side);
    tcase_add_test(all, levels_are_told_apart);
    tcase_add_test(all, the_arithmetic_for_machines);
    tcase_add_test(all, a_bubble_is_worked_out);
    return all;
}

static TCase *plan_case(void)
{
    TCase *all = tcase_create("plan");

    tcase_set_timeout(all, 120);
    tcase_add_test(all, layouts_are_ranked_with_reasons);
    tcase_add_test(all, plan_takes_listed_places);
    tcase_add_test(all, a_layout_is_worked_out_line_by_line);
    tcase_add_test(all, a_plan_for_machines_adds_up);
    tcase_add_test(all, sweeps_warn_of_another_problem);
    tcase_add_test(all, what_a_step_is_made_of_is_drawn);
    tcase_add_test(all, where_the_best_changes_it_does);
    tcase_add_test(all, measured_calls_stand_beside_predicted_ones);
    return all;
}

static TCase *run_case(void)
{
    TCase *all = tcase_create("run");

    tcase_add_test(all, run_passes_the_exit_status_on);
    tcase_add_test(all, run_sets_the_environment);
    tcase_add_test(all, simulated_is_said);
    tcase_add_test(all, as_many_are_simulated_as_may_be_asked_for);
    tcase_add_test(all, launchers_are_told_apart);
    tcase_add_test(all, a_runtime_inside_the_program_is_pointed_out);
    tcase_add_test(all, info_tells_which_nccl_it_is);
    return all;
}

static TCase *words_case(void)
{
    TCase *all = tcase_create("words");

    tcase_add_loop_test(all, errors_say_what_and_what_to_do, 0, N(errors));
    tcase_add_loop_test(all, every_collective_is_taught, 0, N(collectives));
    tcase_add_test(all, info_tells_variables_and_what_was_found);
    tcase_add_test(all, help_and_version);
    return all;
}

int main(void)
{
    Suite *suite = suite_create("tutti command");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (!mkdtemp(scratch)) {
        perror(scratch);
        return EXIT_FAILURE;
    }
    suite_add_tcase(suite, draw_case());
    suite_add_tcase(suite, explain_case());
    suite_add_tcase(suite, topo_case());
    suite_add_tcase(suite, bench_case());
    suite_add_tcase(suite, cost_case());
    suite_add_tcase(suite, plan_case());
    /* a sanitized library cannot be preloaded into programs that are not */
    if (!getenv("TEST_SANITIZED"))
        suite_add_tcase(suite, run_case());
    suite_add_tcase(suite, words_case());
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    snprintf(last, sizeof last, "rm -r %s", scratch);
    return system(last) || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
