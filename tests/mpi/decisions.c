/* SPDX-License-Identifier: BSD-3-Clause */
/* Who decides, and by what. `facts`: no decision depends on what ranks do not share. Every rank has its buffers in
 * another kind of memory, datatypes of its own with the signature of the others', and, where lengths are local, blocks
 * of its own lengths; under rules that decide by everything that rules may ask for, all ranks must have chosen the
 * same, for the same reason. `hints`: the info keys of a communicator, which count on it alone, are the same on all
 * ranks or an error on all, and are stronger than variables, which are stronger than a rules file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/cases.h"

/* ---- a rules file, of which all ranks have the same ---- */

static char file[64];

static void write_file(const char *text)
{
    FILE *out;

    if (test_rank == 0) {
        snprintf(file, sizeof file, "/tmp/tutti-decisions-%ld", (long)getpid());
        out = fopen(file, "w");
        if (!out || fputs(text, out) < 0 || fclose(out))
            exit(1);
    }
    PMPI_Bcast(file, sizeof file, MPI_CHAR, 0, MPI_COMM_WORLD);
    test_set("TUTTI_RULES", file);
}

static void drop_file(void)
{
    test_set("TUTTI_RULES", NULL);
    PMPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 0)
        unlink(file);
}

/* ---- facts ---- */

/* Three ints each, in other places: MPI's signature of all of them is the same. */
enum { NFORMS = 5 };
static struct kind forms[NFORMS];

static MPI_Datatype form(int which)
{
    static const int starts[] = {4, 1, 2};
    MPI_Datatype made, inner;

    if (which == 0)
        PMPI_Type_contiguous(3, MPI_INT, &made);
    else if (which == 1)
        PMPI_Type_vector(3, 1, 2, MPI_INT, &made);
    else if (which == 2)
        PMPI_Type_create_indexed_block(3, 1, starts, MPI_INT, &made);
    else {
        PMPI_Type_contiguous(3, MPI_INT, &inner);
        PMPI_Type_create_resized(inner, which == 3 ? 0 : -4, which == 3 ? 16 : 20, &made);
        PMPI_Type_free(&inner);
    }
    PMPI_Type_commit(&made);
    return made;
}

static void make_forms(void)
{
    for (int i = 0; i < NFORMS; i++) {
        MPI_Aint lb;

        forms[i] = (struct kind){.name = "three ints", .op_name = "every rank its own form", .type = form(i)};
        PMPI_Type_get_extent(forms[i].type, &lb, &forms[i].extent);
        PMPI_Type_get_true_extent(forms[i].type, &forms[i].lb, &forms[i].span);
        forms[i].payload = forms[i].extent;
    }
}

static void free_forms(void)
{
    for (int i = 0; i < NFORMS; i++)
        PMPI_Type_free(&forms[i].type);
}

static const struct kind *form_of(const struct test_case *t, enum side_name side, int sender, int receiver)
{
    const int peer = has(t, TT_TYPES) ? side == SEND_SIDE ? receiver : sender : 0;

    return has(t, TT_REDUCES)
               ? &kinds[0]
               : &forms[test_random(t->key + (uint64_t)(test_rank * 2 + (int)side + peer * 64)) % NFORMS];
}

static bool lengths_are_local(unsigned traits)
{
    return traits & TT_SEND_COUNTS || (traits & TT_RECV_COUNTS && traits & (TT_ROOTED | TT_NEIGHBOURS));
}

/* A rule for each of a row's own algorithms in turn, a size each, and by everything else that may be asked for. */
static size_t add_rules(const struct row *row, char *text, size_t size)
{
    const bool sized = !(row->traits & TT_NO_BUFFER) && !lengths_are_local(row->traits);
    const char *const more = row->traits & TT_REDUCES ? "commutes yes level gpu- " : "ranks_per_node 1- ";
    const char *algorithm;
    size_t used = 0;
    int low = 0;

    for (int a = 0; (algorithm = test_algorithm(row->id, a)); a++) {
        if (strcmp(algorithm, "native") == 0)
            continue;
        if (sized)
            used += (size_t)snprintf(text + used, size - used, "%s bytes %d-%d ranks 2- %s-> %s\n", row->id, low,
                                     low ? 3 * low : 30, more, algorithm);
        else
            used +=
                (size_t)snprintf(text + used, size - used, "%s ranks %d nodes 1- -> %s\n", row->id, a + 2, algorithm);
        low = low ? 3 * low + 1 : 31;
    }
    return used;
}

static void write_rules_for_all(void)
{
    static char text[16384];
    size_t used = 0;

    for (int r = 0; r < NROWS; r++)
        used += add_rules(&rows[r], text + used, sizeof text - used);
    write_file(text);
}

/* All ranks' choices, compared; on rank 0 the reason is remembered, to see that there was something to choose. */
static int reasons;
static char last_reason[320];

static void compare(const struct test_case *t)
{
    static char all[MAX_RANKS][320];
    char ours[320];

    snprintf(ours, sizeof ours, "%s", test_choice(t->group->comm, t->row->id));
    PMPI_Allgather(ours, sizeof ours, MPI_CHAR, all, sizeof ours, MPI_CHAR, t->group->comm);
    test_check(ours[0], "nothing is known of the choice");
    for (int r = 0; r < t->group->size; r++)
        test_check(strcmp(ours, all[r]) == 0, "this rank chose %s, rank %d %s", ours, r, all[r]);
    if (strcmp(last_reason, ours) != 0)
        reasons++;
    memcpy(last_reason, ours, sizeof ours);
}

static void try(struct test_case *t)
{
    const enum memory from = test_gpus > 1 ? patterns[3].of(t->group->rank, SEND_SIDE, t->key) : HOST;
    const enum memory to = test_gpus > 1 ? patterns[3].of(t->group->rank, RECV_SIDE, t->key) : HOST;
    struct region *send = &regions[from][SEND_SIDE], *recv = &regions[to][RECV_SIDE];
    struct tt_call c;

    case_arrange(t);
    case_fill(t, t->key);
    case_ask_native(t);
    c = case_put(t, send, recv, 0);
    test_now("%s, from %s to %s memory", case_words(t), memory_names[from], memory_names[to]);
    test_success(t->row->ours(&c));
    case_check(t, send, recv);
    compare(t);
}

static void run_row(struct test_case *t)
{
    static const int counts[] = {1, 3, 20, 100, 700};
    static uint64_t key = 1 << 20;
    const int before = reasons;

    for (int i = 0; i < 5; i++)
        for (int again = 0; again < 4; again++) {
            t->key = ++key;
            t->count = counts[i];
            t->root = (int)(test_random(key) % (unsigned)t->group->size);
            t->inplace = has(t, TT_INPLACE_ALL | TT_INPLACE_ROOT) && test_random(key) >> 8 & 1;
            try(t);
        }
    if (lengths_are_local(t->row->traits))
        return;
    test_now("%s", t->row->id);
    test_check(!test_algorithm(t->row->id, 2) || reasons > before + 1, "expected choices to depend on the size");
}

static void test_facts(void)
{
    struct test_case t = case_make();
    struct group g = group_make(0);

    regions_make();
    make_forms();
    write_rules_for_all();
    t.group = &g;
    t.kind = &kinds[0];
    t.kind_of = form_of;
    for (int r = 0; r < NROWS; r++) {
        t.row = &rows[r];
        t.kind = has(&t, TT_REDUCES) ? &kinds[0] : &forms[0];
        if (!has(&t, TT_NEIGHBOURS | TT_NO_BUFFER))
            run_row(&t);
    }
    drop_file();
    free_forms();
    group_free(&g);
    regions_free();
    case_free(&t);
}

/* ---- hints ---- */

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;

    PMPI_Info_create(&info);
    if (key)
        PMPI_Info_set(info, key, value);
    return info;
}

static int set_hint(MPI_Comm comm, const char *key, const char *value)
{
    MPI_Info info = info_of(key, value);
    const int error = MPI_Comm_set_info(comm, info);

    PMPI_Info_free(&info);
    return error;
}

/* What decides on an allreduce of so many ints. */
static void expect(MPI_Comm comm, int n, const char *choice)
{
    int *in = calloc((size_t)n, sizeof *in), *out = calloc((size_t)n, sizeof *out);

    test_success(MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm));
    test_check(strstr(test_choice(comm, "allreduce"), choice) != NULL, "%d ints: expected \"%s\", got \"%s\"", n,
               choice, test_choice(comm, "allreduce"));
    free(in);
    free(out);
}

static void expect_hint(MPI_Comm comm, const char *key, const char *value)
{
    char got[256] = "";
    MPI_Info info;
    int found = 0;

    if (!test_success(MPI_Comm_get_info(comm, &info)))
        return;
    PMPI_Info_get(info, key, sizeof got - 1, got, &found);
    test_check(found ? value && strcmp(got, value) == 0 : !value, "MPI_Comm_get_info: expected %s to be %s, got %s",
               key, value ? value : "absent", found ? got : "none");
    PMPI_Info_free(&info);
}

static MPI_Comm a_communicator(void)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

static void test_strength(void)
{
    MPI_Comm comm = a_communicator();

    test_now("info key over variable over rules file over default");
    write_file("# by hand\nallreduce bytes 0-1K -> direct\nallreduce bytes 0-64K commutes yes -> halving\n");
    expect(comm, 8, "direct (/tmp/tutti-decisions-");
    expect(comm, 8, ":2)");
    expect(comm, 1000, "halving (/tmp/tutti-decisions-");
    expect(comm, 20000, "model: ");
    test_set("TUTTI_ALLREDUCE", "tree:0-100;ring:2K-8K");
    expect(comm, 8, "tree (TUTTI_ALLREDUCE, 0-100)");
    expect(comm, 100, ":2)");
    expect(comm, 1000, "ring (TUTTI_ALLREDUCE, 2K-8K)");
    test_success(set_hint(comm, "tutti_allreduce", "doubling:16-32"));
    expect(comm, 8, "doubling (info key tutti_allreduce, 16-32)");
    expect(comm, 9, "tree (TUTTI_ALLREDUCE, 0-100)");
    expect(MPI_COMM_WORLD, 8, "tree (TUTTI_ALLREDUCE, 0-100)");
    test_set("TUTTI_ALLREDUCE", NULL);
    drop_file();
    expect(comm, 9, "model: ");
    MPI_Comm_free(&comm);
}

static void test_lifetime(void)
{
    MPI_Comm comm = a_communicator(), twin;
    MPI_Info info = info_of("tutti_allreduce", "tree");

    test_now("hints live as long as their communicator says");
    test_success(set_hint(comm, "tutti_bcast", "chain/8K"));
    expect(comm, 8, "model: ");
    test_success(set_hint(comm, "tutti_allreduce", "ring"));
    expect(comm, 8, "ring (info key tutti_allreduce)");
    expect_hint(comm, "tutti_allreduce", "ring");
    expect_hint(comm, "tutti_bcast", "chain/8K");
    expect_hint(comm, "tutti_reduce", NULL);
    test_success(MPI_Comm_dup(comm, &twin));
    expect(twin, 8, "model: ");
    expect_hint(twin, "tutti_allreduce", NULL);
    MPI_Comm_free(&twin);
    test_success(MPI_Comm_dup_with_info(comm, info, &twin));
    expect(twin, 8, "tree (info key tutti_allreduce)");
    expect_hint(twin, "tutti_bcast", NULL);
    MPI_Comm_free(&twin);
    test_success(set_hint(comm, "tutti_allreduce", "none"));
    expect(comm, 8, "model: ");
    expect_hint(comm, "tutti_bcast", "chain/8K");
    PMPI_Info_free(&info);
    MPI_Comm_free(&comm);
}

/* The error must come on every rank, and say something. */
static void refused(int error, const char *words)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (!test_check(error != MPI_SUCCESS, "expected an error"))
        return;
    PMPI_Error_string(error, text, &length);
    test_check(strstr(text, words) != NULL, "expected \"%s\" in: %s", words, text);
}

static void test_refusals(void)
{
    const int last = test_size - 1;
    MPI_Comm comm = a_communicator(), twin = MPI_COMM_WORLD;
    MPI_Info info = info_of("tutti_allreduce", "rign");
    char words[64];

    test_now("hints that differ, or mean nothing");
    test_success(set_hint(comm, "tutti_allreduce", "ring"));
    snprintf(words, sizeof words, "rank %d's differs from rank 0's", last);
    refused(set_hint(comm, "tutti_allreduce", test_rank == last ? "tree" : "direct"), words);
    refused(set_hint(comm, test_rank == last ? NULL : "tutti_allreduce", "direct"), words);
    refused(set_hint(comm, test_rank == last ? "tutti_bcast" : NULL, "binomial"), "info key tutti_bcast must be equal");
    refused(set_hint(comm, "tutti_allreduce", test_rank == last ? "rign" : "ring"), words);
    refused(set_hint(comm, "tutti_allreduce", "rign"), "rign is not an algorithm of allreduce (did you mean ring?)");
    refused(set_hint(comm, "tutti_barrier", "dissemination:8"), "barrier, which moves no bytes");
    refused(MPI_Comm_dup_with_info(comm, info, &twin), "rign is not an algorithm");
    test_check(twin == MPI_COMM_NULL, "a communicator was made whose hints were refused");
    expect(comm, 8, "ring (info key tutti_allreduce)");
    expect_hint(comm, "tutti_barrier", NULL);
    test_success(set_hint(comm, "unheard_of", "whatever"));
    PMPI_Info_free(&info);
    MPI_Comm_free(&comm);
}

/* What is under way when hints are set goes on as it was begun. */
static void test_under_way(void)
{
    MPI_Comm comm = a_communicator();
    int one = 1, sum = 0;
    MPI_Request request;

    test_now("hints set while a call is under way");
    expect(comm, 1, "model: ");
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    test_success(set_hint(comm, "tutti_allreduce", "ring"));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    test_check(sum == test_size, "expected the sum %d, got %d", test_size, sum);
    expect(comm, 1, "ring");
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 300);
    test_facts();
    test_strength();
    test_lifetime();
    test_refusals();
    test_under_way();
    return test_end();
}
