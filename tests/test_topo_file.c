/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies from files: every error says where it is and what may be there, ranks sit where the format says, and what
 * is shipped is good. Each error is the good text below with one thing changed, so that nothing else can be what is
 * refused. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selector/topo.h"

static char file[] = "/tmp/tutti-topo-XXXXXX";
static char why[512];

static const char good[] =
    "{\"about\": \"two kinds\",\n"
    " \"nodes\": [{\"count\": 2, \"sockets\": 2, \"cores\": 16, \"gpus\": 4, \"nics\": 2, \"links\": \"nvlink\", "
    "\"ranks\": 4},\n"
    "             {\"count\": 1, \"sockets\": 1, \"cores\": 8, \"gpus\": 2, \"nics\": 1, \"links\": \"pcie\", "
    "\"ranks\": 3}],\n"
    " \"place\": \"block\",\n"
    " \"speeds\": {\"gpu\": {\"alpha\": \"2us\", \"bandwidth\": \"1500GB/s\"},\n"
    "              \"link\": {\"alpha\": \"3us\", \"bandwidth\": \"450GB/s\"},\n"
    "              \"host\": {\"alpha\": \"5us\", \"bandwidth\": \"25GB/s\", \"shared\": true},\n"
    "              \"nic\": {\"alpha\": \"6us\", \"bandwidth\": \"400Gbit/s\"},\n"
    "              \"nccl\": {\"alpha\": \"9us\", \"bandwidth\": \"200GB/s\"},\n"
    "              \"reduce\": \"1TB/s\", \"copy\": \"2TB/s\", \"launch\": \"5us\", \"overhead\": \"0.5us\"}}\n";

static void write_file(const char *text)
{
    FILE *out = fopen(file, "w");

    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

/* The good text with the first `from` made `to`. */
static void write_changed(const char *from, const char *to)
{
    const char *at = strstr(good, from);
    char text[4096];

    ck_assert_msg(at != NULL, "\"%s\" is not in the good text", from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    write_file(text);
}

static struct tt_topo *read_as(const char *name, int n, int nodes, const char *place)
{
    struct tt_topo *t = NULL;
    const int error = tt_topo_read(name, n, nodes, place, &t, why, sizeof why);

    ck_assert_msg(error == 0 && t, "%s", why);
    return t;
}

static void expect_refused(const char *name, int n, int nodes, const char *place, const char *words)
{
    struct tt_topo *t = (struct tt_topo *)&why;

    why[0] = '\0';
    ck_assert_int_eq(tt_topo_read(name, n, nodes, place, &t, why, sizeof why), -1);
    ck_assert_ptr_null(t);
    ck_assert_msg(strstr(why, words), "expected \"%s\" in \"%s\"", words, why);
}

static void expect_seats(const struct tt_topo *t, const char *expected)
{
    char seats[1024] = "";

    for (int r = 0; r < t->size; r++)
        sprintf(seats + strlen(seats), "%d:%d/%d/%d ", t->seats[r].node, t->seats[r].socket, t->seats[r].gpu,
                t->seats[r].nic);
    ck_assert_str_eq(seats, expected);
}

/* ---- what is read ---- */

START_TEST(everything_is_read)
{
    struct tt_topo *t;

    write_file(good);
    t = read_as(file, 0, 0, NULL);
    ck_assert_str_eq(t->about, "two kinds");
    ck_assert_int_eq(t->nodes.n, 3);
    ck_assert(t->kinds[0].linked && t->kinds[1].linked && !t->kinds[2].linked);
    ck_assert_int_eq(t->kinds[0].cores, 16);
    ck_assert_int_eq(t->kinds[2].cores, 8);
    ck_assert(t->speed[TT_LEVEL_GPU].alpha == 2e-6 && t->speed[TT_LEVEL_GPU].beta == 1 / 1500e9);
    ck_assert(t->speed[TT_LEVEL_LINK].alpha == 3e-6 && t->speed[TT_LEVEL_LINK].beta == 1 / 450e9);
    ck_assert(t->speed[TT_LEVEL_HOST].alpha == 5e-6 && t->speed[TT_LEVEL_HOST].beta == 1 / 25e9);
    ck_assert(t->speed[TT_LEVEL_NIC].alpha == 6e-6 && t->speed[TT_LEVEL_NIC].beta == 1 / 50e9);
    ck_assert(t->nccl.alpha == 9e-6 && t->nccl.beta == 1 / 200e9);
    ck_assert(t->host_shared && !t->measured);
    ck_assert(t->gamma == 1 / 1e12 && t->copy == 1 / 2e12 && t->launch == 5e-6 && t->overhead == 0.5e-6);
    expect_seats(t, "0:0/0/0 0:0/1/0 0:1/2/1 0:1/3/1 1:0/0/0 1:0/1/0 1:1/2/1 1:1/3/1 2:0/0/0 2:0/1/0 2:0/0/0 ");
    ck_assert(tt_topo_level(t, 0, 1) == TT_LEVEL_LINK && tt_topo_level(t, 0, 4) == TT_LEVEL_NIC);
    ck_assert(tt_topo_level(t, 8, 9) == TT_LEVEL_HOST && tt_topo_level(t, 8, 10) == TT_LEVEL_GPU);
    tt_topo_free(t);
}
END_TEST

START_TEST(what_costs_nothing_may_be_left_out)
{
    struct tt_topo *t;

    write_changed(
        ",\n              \"reduce\": \"1TB/s\", \"copy\": \"2TB/s\", \"launch\": \"5us\", \"overhead\": \"0.5us\"",
        "");
    t = read_as(file, 0, 0, NULL);
    ck_assert(t->gamma == 0 && t->copy == 0 && t->launch == 0 && t->overhead == 0);
    tt_topo_free(t);
    write_changed("\"about\"", "\"measured\": true, \"about\"");
    t = read_as(file, 0, 0, NULL);
    ck_assert(t->measured);
    tt_topo_free(t);
}
END_TEST

/* ---- placement ---- */

static const struct {
    int n, nodes;
    const char *place, *seats;
} placements[] = {
    {5, 0, NULL, "0:0/0/0 0:0/1/0 0:1/2/1 0:1/3/1 1:0/0/0 "},
    {5, 0, "round-robin", "0:0/0/0 1:0/0/0 2:0/0/0 0:0/1/0 1:0/1/0 "},
    {0, 1, NULL, "0:0/0/0 0:0/1/0 0:1/2/1 0:1/3/1 "},
    {6, 2, "round-robin", "0:0/0/0 1:0/0/0 0:0/1/0 1:0/1/0 0:1/2/1 1:1/2/1 "},
    /* node 2 is full after three */
    {0, 0, "round-robin", "0:0/0/0 1:0/0/0 2:0/0/0 0:0/1/0 1:0/1/0 2:0/1/0 0:1/2/1 1:1/2/1 2:0/0/0 0:1/3/1 1:1/3/1 "},
    /* beyond those listed the list begins anew */
    {12, 0, "block",
     "0:0/0/0 0:0/1/0 0:1/2/1 0:1/3/1 1:0/0/0 1:0/1/0 1:1/2/1 1:1/3/1 2:0/0/0 2:0/1/0 2:0/0/0 3:0/0/0 "},
};

START_TEST(ranks_are_placed)
{
    struct tt_topo *t;

    write_file(good);
    t = read_as(file, placements[_i].n, placements[_i].nodes, placements[_i].place);
    expect_seats(t, placements[_i].seats);
    tt_topo_free(t);
}
END_TEST

/* Nodes are numbered by their lowest ranks, whatever the file calls them, and their kinds come along. */
START_TEST(a_list_places_each_rank)
{
    struct tt_topo *t;

    write_changed("\"block\"", "[2, 0, 2, 0]");
    t = read_as(file, 0, 0, NULL);
    expect_seats(t, "0:0/0/0 1:0/0/0 0:0/1/0 1:0/1/0 ");
    ck_assert_int_eq(t->nodes.n, 2);
    ck_assert_int_eq(t->kinds[0].cores, 8);
    ck_assert_int_eq(t->kinds[1].cores, 16);
    ck_assert_int_eq(t->nodes.ranks[t->nodes.first[1]], 1);
    tt_topo_free(t);
    t = read_as(file, 3, 0, NULL);
    expect_seats(t, "0:0/0/0 1:0/0/0 0:0/1/0 ");
    tt_topo_free(t);
    t = read_as(file, 5, 0, "block");
    expect_seats(t, "0:0/0/0 0:0/1/0 0:1/2/1 0:1/3/1 1:0/0/0 ");
    tt_topo_free(t);
}
END_TEST

START_TEST(a_part_keeps_its_seats)
{
    static const int ranks[] = {9, 1, 8, 6};
    struct tt_topo *t, *part;

    write_file(good);
    t = read_as(file, 0, 0, NULL);
    part = tt_topo_part(t, ranks, 4);
    ck_assert_ptr_nonnull(part);
    expect_seats(part, "0:0/1/0 1:0/1/0 0:0/0/0 2:1/2/1 ");
    ck_assert_int_eq(part->nodes.n, 3);
    ck_assert(!part->kinds[0].linked && part->kinds[1].linked && part->kinds[2].linked);
    ck_assert(part->speed[TT_LEVEL_NIC].alpha == 6e-6 && part->host_shared);
    tt_topo_free(t);
    ck_assert_int_eq(part->nodes.of[2], 0);
    tt_topo_free(part);
}
END_TEST

/* ---- errors ---- */

static const struct {
    const char *from, *to, *words;
} errors[] = {
    {"\"nodes\":", "\"nodes\"", ":2: "},
    {"{\"about\"", "[\"about\"", ":1: "},
    {"{\"about\": \"two kinds\",", "{\"about\": \"two kinds\", \"about\": \"x\",", "duplicate"},
    {"\"about\": \"two kinds\",", "", "the key \"about\" is missing"},
    {"\"two kinds\"", "7", "about: wants words, not 7"},
    {"\"about\"", "\"abuot\"", "there is no key \"abuot\" here; known are: about, gpu, measured, nodes, place, speeds"},
    {"\"about\"", "\"measured\": 1, \"about\"", "measured: wants true or false, not 1"},
    {"\"count\": 2", "\"count\": 0", "nodes[0].count: wants a whole number from 1 to 65536, not 0"},
    {"\"count\": 2", "\"count\": 65536", "nodes: there are 65537, and at most 65536"},
    {"\"count\": 2", "\"count\": 2.5", "nodes[0].count: wants a whole number from 1 to 65536, not 2.5"},
    {"\"count\": 2", "\"count\": \"2\"", "nodes[0].count: wants a whole number from 1 to 65536, not \"2\""},
    {"\"count\": 2", "\"count\": 99999999999", "not 99999999999"},
    {"\"sockets\": 2", "\"sockets\": 0", "nodes[0].sockets"},
    {"\"cores\": 8", "\"cores\": -8", "nodes[1].cores: wants a whole number from 1 to 4096, not -8"},
    {"\"gpus\": 2", "\"gpus\": 65", "nodes[1].gpus: wants a whole number from 0 to 64, not 65"},
    {"\"gpus\": 2", "\"gpus\": null", "nodes[1].gpus: wants a whole number from 0 to 64, not null"},
    {"\"gpus\": 2", "\"gpus\": [2]", "not a list"},
    {"\"gpus\": 2, ", "", "nodes[1]: the key \"gpus\" is missing"},
    {"\"gpus\": 2", "\"gpus\": 0", "nodes[1]: there are no GPUs for \"links\" to link"},
    {"\"links\": \"pcie\", ", "", "nodes[1]: there are GPUs, so the key \"links\" is missing"},
    {"\"pcie\"", "\"PCIe\"", "nodes[1].links: wants \"nvlink\" or \"pcie\", not \"PCIe\""},
    {"\"pcie\"", "true", "nodes[1].links: wants \"nvlink\" or \"pcie\", not true"},
    {"\"nics\": 1", "\"nics\": 0", "nodes: there are 3, and one has no NIC"},
    {"\"nics\": 1", "\"nic\": 1",
     "nodes[1]: there is no key \"nic\" here; known are: count, sockets, cores, gpus, nics, ranks, links"},
    {"\"ranks\": 3", "\"ranks\": 4097", "nodes[1].ranks: wants a whole number from 1 to 4096"},
    {"\"block\"", "\"blocks\"",
     "place: wants \"block\", \"round-robin\", or a list of each rank's node, not \"blocks\""},
    {"\"block\"", "[]", "place: wants \"block\", \"round-robin\", or a list of each rank's node, not an empty one"},
    {"\"block\"", "{}", "not an object"},
    {"\"block\"", "[0, 1, 3]", "place[2]: there is no node 3, they are 0 to 2"},
    {"\"block\"", "[0, -1]", "place[1]: wants a whole number from 0 to 65535, not -1"},
    {"\"block\"", "[0, \"1\"]", "place[1]: wants a whole number"},
    {"\"block\"", "[2, 2, 2, 0, 2]", "place[4]: node 2 has room for 3 ranks only"},
    {"\"2us\"", "2", "speeds.gpu.alpha: wants a time such as \"2us\" (s, ms, us, ns), not 2"},
    {"\"2us\"", "\"2GB/s\"", "speeds.gpu.alpha: wants a time"},
    {"\"450GB/s\"", "\"450GB\"",
     "speeds.link.bandwidth: wants a rate such as \"25GB/s\" or \"200Gbit/s\", not \"450GB\""},
    {"\"450GB/s\"", "450", "speeds.link.bandwidth: wants a rate"},
    {"\"shared\": true", "\"shared\": \"yes\"", "speeds.host.shared: wants true or false, not \"yes\""},
    {"\"400Gbit/s\"", "\"400Gbit/s\", \"shared\": true",
     "speeds.nic: there is no key \"shared\" here; known are: alpha, bandwidth"},
    {"\"alpha\": \"6us\", ", "", "speeds.nic: the key \"alpha\" is missing"},
    {"{\"alpha\": \"6us\", \"bandwidth\": \"400Gbit/s\"}", "\"6us\"",
     "speeds.nic: wants an object with the keys alpha, bandwidth, not \"6us\""},
    {"\"gpu\": {\"alpha\": \"2us\", \"bandwidth\": \"1500GB/s\"},", "",
     "speeds: the key \"gpu\" is missing: ranks can meet there"},
    {"\"link\": {\"alpha\": \"3us\", \"bandwidth\": \"450GB/s\"},", "", "speeds: the key \"link\" is missing"},
    {"\"nic\": {\"alpha\": \"6us\", \"bandwidth\": \"400Gbit/s\"},", "", "speeds: the key \"nic\" is missing"},
    {"\"1TB/s\"", "\"0TB/s\"", "speeds.reduce: wants a rate"},
    {"\"copy\": \"2TB/s\"", "\"copy\": \"2us\"", "speeds.copy: wants a rate"},
    {"\"launch\": \"5us\"", "\"launch\": \"-5us\"", "speeds.launch: wants a time"},
    {"\"overhead\": \"0.5us\"", "\"overhead\": \"\"", "speeds.overhead: wants a time"},
    {"\"0.5us\"}}", "\"0.5us\"}} x", "end of file expected"},
};

START_TEST(errors_say_where_and_what_may_be_there)
{
    write_changed(errors[_i].from, errors[_i].to);
    expect_refused(file, 0, 0, NULL, errors[_i].words);
    ck_assert_msg(strncmp(why, file, strlen(file)) == 0, "\"%s\" does not begin with the file's name", why);
}
END_TEST

START_TEST(lists_must_be_lists)
{
    write_file("{\"about\": \"\", \"nodes\": [], \"speeds\": {}}");
    expect_refused(file, 0, 0, NULL, "nodes: wants a list of kinds of nodes, one at least");
    write_file("{\"about\": \"\", \"nodes\": {}, \"speeds\": {}}");
    expect_refused(file, 0, 0, NULL, "nodes: wants a list of kinds of nodes, one at least");
    write_file("{\"about\": \"\", \"nodes\": [7], \"speeds\": {}}");
    expect_refused(file, 0, 0, NULL, "nodes[0]: wants an object with the keys count, sockets");
    write_file("");
    expect_refused(file, 0, 0, NULL, ":1: ");
}
END_TEST

START_TEST(wishes_must_fit)
{
    write_file(good);
    expect_refused(file, 9, 2, NULL, "9 ranks do not fit: there are 2 nodes with room for 8");
    expect_refused(file, 2000000, 0, NULL, "are more than the");
    expect_refused(file, 0, 100000, NULL, "are more than the");
    expect_refused(file, 0, 0, "cyclic", "there is no placement \"cyclic\"; known are: block, round-robin");
    expect_refused(file, 0, 0, "list", "there is no placement \"list\"");
    write_changed("\"block\"", "[2, 0, 2, 0]");
    expect_refused(file, 5, 0, NULL, "place: there are the nodes of 4 ranks, not of 5");
    expect_refused(file, 0, 2, NULL, "place[0]: there is no node 2, they are 0 to 1");
    expect_refused("/no/such/file", 0, 0, NULL, "No such file or directory");
    expect_refused("quux", 0, 0, NULL, "h100x8");
}
END_TEST

/* The longest words there can be are cut, not overrun. */
START_TEST(errors_fit_where_they_go)
{
    struct tt_topo *t;
    char little[24];

    write_changed("\"2us\"", "\"2 parsecs, which is a distance, and a long one at that, and no time at all\"");
    memset(little, 'x', sizeof little);
    ck_assert_int_eq(tt_topo_read(file, 0, 0, NULL, &t, little, 16), -1);
    ck_assert_uint_eq(strlen(little), 15);
    ck_assert_int_eq(little[16], 'x');
}
END_TEST

/* ---- what is shipped ---- */

static const struct {
    const char *name;
    int ranks, nodes;
} files[] = {
    {"h100x8", 64, 8},        {"a100x8", 64, 8},     {"a100x4", 16, 4},     {"cpu2x32", 256, 4},          {"scale-rails", 64, 8},
    {"scale-one-nic", 64, 8}, {"scale-pcie", 32, 8}, {"scale-round-robin", 64, 8}, {"scale-uneven", 52, 8},
};

START_TEST(shipped_files_are_good)
{
    struct tt_topo *t = read_as(files[_i].name, 0, 0, NULL);

    ck_assert_int_eq(t->size, files[_i].ranks);
    ck_assert_int_eq(t->nodes.n, files[_i].nodes);
    ck_assert(!t->measured);
    for (int r = 0; r < t->size; r++)
        ck_assert_int_ge(t->seats[r].nic, 0);
    tt_topo_free(t);
}
END_TEST

START_TEST(shipped_files_grow)
{
    struct tt_topo *t = read_as("h100x8", 4096, 0, NULL);

    ck_assert_int_eq(t->nodes.n, 512);
    ck_assert_int_eq(t->seats[4095].gpu, 7);
    tt_topo_free(t);
}
END_TEST

#define N(array) ((int)(sizeof(array) / sizeof *(array)))

int main(void)
{
    Suite *suite = suite_create("topo file");
    TCase *all = tcase_create("topo file");
    SRunner *runner = srunner_create(suite);
    int failed;

    close(mkstemp(file));
    tcase_add_test(all, everything_is_read);
    tcase_add_test(all, what_costs_nothing_may_be_left_out);
    tcase_add_loop_test(all, ranks_are_placed, 0, N(placements));
    tcase_add_test(all, a_list_places_each_rank);
    tcase_add_test(all, a_part_keeps_its_seats);
    tcase_add_loop_test(all, errors_say_where_and_what_may_be_there, 0, N(errors));
    tcase_add_test(all, lists_must_be_lists);
    tcase_add_test(all, wishes_must_fit);
    tcase_add_test(all, errors_fit_where_they_go);
    tcase_add_loop_test(all, shipped_files_are_good, 0, N(files));
    tcase_add_test(all, shipped_files_grow);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    unlink(file);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
