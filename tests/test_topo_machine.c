/* SPDX-License-Identifier: BSD-3-Clause */
/* What is seen of a machine, and what is said to be wrong with it, on machines that are not there: hwloc reads them
 * from XML that is written here. The machine: two sockets of four cores; each has a bridge with a GPU and NICs behind
 * it.
 *
 *   socket 0: bridge 0000:01: GPU 0000:02:00, NIC mlx5_0 (also Ethernet eth0); bridge 0000:10: NIC mlx5_1
 *   socket 1: bridge 0000:81: GPU 0000:82:00, NICs mlx5_2 and mlx5_3
 */
#include <check.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "selector/machine_hwloc.h"
#include "tools/site.h"

/* ---- machines ---- */

static char xml[1 << 15];
static size_t used;
static int serial; /* hwloc wants each object numbered */

__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    used += (size_t)vsnprintf(xml + used, sizeof xml - used, format, args);
    va_end(args);
    ck_assert_uint_lt(used, sizeof xml);
}

static void put_object(const char *type, int number, unsigned cores, unsigned memory)
{
    put("<object type=\"%s\" os_index=\"%d\" cpuset=\"0x%x\" complete_cpuset=\"0x%x\" nodeset=\"0x%x\" "
        "complete_nodeset=\"0x%x\" gp_index=\"%d\"",
        type, number, cores, cores, memory, memory, ++serial);
}

static void put_core(int core, unsigned memory)
{
    put_object("Core", core, 1u << core, memory);
    put(">");
    put_object("PU", core, 1u << core, memory);
    put("/></object>\n");
}

static void open_bridge(int first, int last, bool host)
{
    if (host)
        put("<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" depth=\"0\" "
            "bridge_pci=\"0000:[%02x-%02x]\">\n",
            ++serial, first, last);
    else
        put("<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"1-1\" depth=\"1\" bridge_pci=\"0000:[%02x-%02x]\" "
            "pci_busid=\"0000:%02x:00.0\" pci_type=\"0604 [8086:2030] [0000:0000] 04\" pci_link_speed=\"0.000000\">\n",
            ++serial, first, last, first - 1);
}

static void close_object(void)
{
    put("</object>\n");
}

static void open_pci(int bus, const char *type)
{
    put("<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"0000:%02x:00.0\" pci_type=\"%s\" "
        "pci_link_speed=\"0.000000\">",
        ++serial, bus, type);
}

static void put_device(const char *name, int type)
{
    put("<object type=\"OSDev\" gp_index=\"%d\" name=\"%s\" osdev_type=\"%d\"/>", ++serial, name, type);
}

static void put_gpu(int bus)
{
    open_pci(bus, "0302 [10de:2330] [10de:16c1] a1");
    close_object();
}

enum { NETWORK = 2, VERBS = 3 };

/* ethernet, verbs: by what names it is known; NULL: not so. */
static void put_nic(int bus, const char *ethernet, const char *verbs)
{
    open_pci(bus, "0207 [15b3:1021] [15b3:0041] 00");
    if (ethernet)
        put_device(ethernet, NETWORK);
    if (verbs)
        put_device(verbs, VERBS);
    close_object();
}

/* What hangs from each socket. */
typedef void devices(int socket);

static void gpus_and_verbs(int socket)
{
    open_bridge(socket ? 0x80 : 0x00, socket ? 0xff : 0x7f, true);
    open_bridge(socket ? 0x81 : 0x01, socket ? 0x8f : 0x0f, false);
    put_gpu(socket ? 0x82 : 0x02);
    put_nic(socket ? 0x83 : 0x03, socket ? NULL : "eth0", socket ? "mlx5_2" : "mlx5_0");
    if (socket)
        put_nic(0x84, NULL, "mlx5_3");
    close_object();
    if (!socket) {
        open_bridge(0x10, 0x1f, false);
        put_nic(0x11, NULL, "mlx5_1");
        close_object();
    }
    close_object();
}

/* One Ethernet card, on socket 0. */
static void ethernet_on_socket_0(int socket)
{
    if (socket)
        return;
    open_bridge(0x00, 0x7f, true);
    put_nic(0x03, "eth0", NULL);
    close_object();
}

static hwloc_topology_t machine(devices *hang)
{
    hwloc_topology_t t;

    used = 0;
    serial = 0;
    put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology "
        "version=\"2.0\">\n");
    put_object("Machine", 0, 0xff, 3);
    put(" allowed_cpuset=\"0xff\" allowed_nodeset=\"0x3\">\n");
    for (int socket = 0; socket < 2; socket++) {
        put_object("Package", socket, 0xfu << 4 * socket, 1u << socket);
        put(">\n");
        put_object("NUMANode", socket, 0xfu << 4 * socket, 1u << socket);
        put(" local_memory=\"1073741824\"/>\n");
        for (int core = 4 * socket; core < 4 * socket + 4; core++)
            put_core(core, 1u << socket);
        hang(socket);
        close_object();
    }
    close_object();
    put("</topology>\n");
    ck_assert_int_eq(hwloc_topology_init(&t), 0);
    ck_assert_int_eq(hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_IMPORTANT), 0);
    ck_assert_int_eq(hwloc_topology_set_xmlbuffer(t, xml, (int)used + 1), 0);
    ck_assert_int_eq(hwloc_topology_load(t), 0);
    return t;
}

/* bus: of the GPU; 0: it has none. cores: "0-3"; NULL: not known. */
static struct tt_machine look(hwloc_topology_t t, int bus, const char *cores, int turn)
{
    const struct tt_pci gpu = {bus != 0, 0, bus, 0};
    const hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    struct tt_machine m;

    if (cores)
        hwloc_bitmap_list_sscanf(bound, cores);
    tt_machine_read(t, cores ? bound : NULL, &gpu, turn, &m);
    hwloc_bitmap_free(bound);
    return m;
}

/* ---- what is seen ---- */

static const struct {
    int bus, turn;
    const char *cores;
    int socket, gpu_socket, nic_socket;
    const char *nic;
} looks[] = {
    /* the NIC behind the GPU's own bridge, whatever the turn, wherever it is bound */
    {0x02, 0, "0-3", 0, 0, 0, "mlx5_0"},
    {0x02, 1, "0-3", 0, 0, 0, "mlx5_0"},
    {0x02, 5, "4-7", 1, 0, 0, "mlx5_0"},
    /* of two behind it, each turn the next */
    {0x82, 0, "4", 1, 1, 1, "mlx5_2"},
    {0x82, 1, "4", 1, 1, 1, "mlx5_3"},
    {0x82, 2, "4", 1, 1, 1, "mlx5_2"},
    /* no GPU: those of the socket that it is bound to */
    {0, 0, "1,3", 0, -1, 0, "mlx5_0"},
    {0, 1, "1,3", 0, -1, 0, "mlx5_1"},
    {0, 0, "4-7", 1, -1, 1, "mlx5_2"},
    {0, 3, "5", 1, -1, 1, "mlx5_3"},
    /* bound to neither socket alone: all of them in turn */
    {0, 1, "0-7", -1, -1, 0, "mlx5_1"},
    {0, 2, "3-4", -1, -1, 1, "mlx5_2"},
    {0, 7, NULL, -1, -1, 1, "mlx5_3"},
    /* a GPU that PCI does not show, as the simulated one: as if there were none */
    {0x50, 1, "4-7", 1, -1, 1, "mlx5_3"},
};

START_TEST(the_nearest_nic_is_taken_in_turn)
{
    hwloc_topology_t t = machine(gpus_and_verbs);
    const struct tt_machine m = look(t, looks[_i].bus, looks[_i].cores, looks[_i].turn);

    ck_assert_int_eq(m.sockets, 2);
    ck_assert_int_eq(m.cores, 8);
    ck_assert_int_eq(m.gpus, 2);
    ck_assert_int_eq(m.nics, 4); /* an Ethernet of a card with verbs is not another */
    ck_assert_str_eq(m.cores_bound, looks[_i].cores ? looks[_i].cores : "");
    ck_assert_int_eq(m.socket, looks[_i].socket);
    ck_assert_int_eq(m.gpu_socket, looks[_i].gpu_socket);
    ck_assert_str_eq(m.nic_name, looks[_i].nic);
    ck_assert_int_eq(m.nic, looks[_i].nic[5] - '0');
    ck_assert_int_eq(m.nic_socket, looks[_i].nic_socket);
    hwloc_topology_destroy(t);
}
END_TEST

START_TEST(an_ethernet_alone_is_the_nic)
{
    hwloc_topology_t t = machine(ethernet_on_socket_0);
    struct tt_machine m = look(t, 0, "4-7", 3);

    ck_assert_int_eq(m.nics, 1);
    ck_assert_int_eq(m.gpus, 0);
    ck_assert_int_eq(m.socket, 1);
    ck_assert_int_eq(m.nic, 0);
    ck_assert_int_eq(m.nic_socket, 0);
    ck_assert_str_eq(m.nic_name, "eth0");
    hwloc_topology_destroy(t);
}
END_TEST

START_TEST(this_machine_can_be_looked_at)
{
    struct tt_machine m;
    char why[256] = "";

    ck_assert_msg(tt_machine_look(&(struct tt_pci){0}, 0, &m, why, sizeof why) == 0, "%s", why);
    ck_assert_int_ge(m.cores, 1);
    ck_assert_str_ne(m.cores_bound, "");
    ck_assert_int_lt(m.socket, m.sockets);
}
END_TEST

/* Asked in a process of its own: hwloc says what it does when it starts, on standard error. */
START_TEST(looking_starts_no_driver_of_a_gpu)
{
    static const char *const drivers[] = {"cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"};
    FILE *said = tmpfile();
    char text[1 << 14], words[64];
    struct tt_machine m;
    size_t n;

    ck_assert(said && dup2(fileno(said), 2) == 2);
    setenv("HWLOC_COMPONENTS_VERBOSE", "1", 1);
    tt_machine_look(&(struct tt_pci){0}, 0, &m, words, sizeof words);
    rewind(said);
    n = fread(text, 1, sizeof text - 1, said);
    text[n] = '\0';
    ck_assert_ptr_nonnull(strstr(text, "Enabling discovery component `linux'"));
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
        snprintf(words, sizeof words, "Enabling discovery component `%s'", drivers[i]);
        ck_assert_msg(!strstr(text, words), "hwloc may start %s", drivers[i]);
    }
    fclose(said);
}
END_TEST

/* ---- what is said ---- */

/* Ranks on nodes of that machine. */
struct rank {
    int node, bus, devices;
    const char *cores;
    int peers, reached;
};

static struct tool_seen seen_of(hwloc_topology_t t, const struct rank *r, int turn)
{
    struct tool_seen s = {.devices = r->devices, .machine = look(t, r->bus, r->cores, turn)};

    snprintf(s.host, sizeof s.host, "node%d", r->node);
    s.gpu = (struct tt_gpu){.there = r->bus != 0, .bus = r->bus, .peers = r->peers, .reached = r->reached};
    s.gpu.uuid[0] = (unsigned char)r->bus;
    s.gpu.uuid[1] = (unsigned char)r->node;
    return s;
}

static struct tool_site site_of(hwloc_topology_t t, const struct rank *ranks, int n, struct tool_seen *seen,
                                bool open_mpi)
{
    struct tt_found found[16];
    int turns[16] = {0};

    for (int r = 0; r < n; r++) {
        seen[r] = seen_of(t, &ranks[r], turns[ranks[r].node]++);
        found[r] = (struct tt_found){.gpu = tt_gpu_id(&seen[r].gpu),
                                     .node = ranks[r].node,
                                     .socket = seen[r].machine.socket,
                                     .nic = seen[r].machine.nic,
                                     .sockets = 2,
                                     .cores = 8,
                                     .nics = seen[r].machine.nics};
    }
    return (struct tool_site){tt_topo_found(found, n), seen, "as made up", open_mpi};
}

/* Raises the count of GPUs to what is there, as tutti-mpi does. */
static void expect_warnings(devices *hang, const struct rank *ranks, int n, int gpus, bool open_mpi,
                            const char *const *expected)
{
    hwloc_topology_t t = machine(hang);
    struct tool_seen seen[16];
    struct tool_site site = site_of(t, ranks, n, seen, open_mpi);
    struct tool_warning list[TOOL_WARNINGS_MOST];
    int k;

    for (int i = 0; i < site.topo->nodes.n; i++)
        site.topo->kinds[i].gpus = gpus;
    k = tool_warn(&site, list);
    for (int i = 0; i < k; i++, expected += 3) {
        ck_assert_msg(*expected != NULL, "unexpected: %s: %s", list[i].name, list[i].what);
        ck_assert_str_eq(list[i].name, expected[0]);
        ck_assert_str_eq(list[i].what, expected[1]);
        ck_assert_str_eq(list[i].remedy, expected[2]);
    }
    ck_assert_msg(*expected == NULL, "expected also: %s", *expected);
    tool_unwarn(list, k);
    tt_topo_free(site.topo);
    hwloc_topology_destroy(t);
}

START_TEST(where_all_is_well_nothing_is_said)
{
    static const struct rank ranks[] = {{0, 0x02, 2, "0-3", 1, 1}, {0, 0x82, 2, "4-7", 1, 1}, {1, 0x02, 2, "0", 1, 1}};

    expect_warnings(gpus_and_verbs, ranks, 3, 2, false, (const char *[]){NULL});
}
END_TEST

#define BLOCKS "give each rank its block of cores, in the order of the GPUs: mpiexec "
#define AGAIN "; then run tutti topo under the same options"

START_TEST(a_rank_far_from_its_gpu)
{
    static const struct rank ranks[] = {{0, 0x02, 2, "4-7", 1, 1}, {0, 0x82, 2, "0-1", 1, 1}};
    static const char *const what = "ranks 0-1: far from the GPU: rank 0 is bound to cores 4-7 of socket 1, and its "
                                    "GPU, at 0000:02:00.0, is on socket "
                                    "0. All that goes between host and GPU crosses from socket to socket.";

    expect_warnings(gpus_and_verbs, ranks, 2, 2, false,
                    (const char *[]){"far-gpu", what, BLOCKS "-bind-to core:4 ..." AGAIN, NULL});
    expect_warnings(gpus_and_verbs, ranks, 2, 2, true,
                    (const char *[]){"far-gpu", what, BLOCKS "--map-by slot:PE=4 --bind-to core ..." AGAIN, NULL});
}
END_TEST

START_TEST(a_rank_far_from_the_nic)
{
    static const struct rank ranks[] = {{0, 0, 0, "0-3", 0, 0}, {0, 0, 0, "4-7", 0, 0}, {1, 0, 0, "0", 0, 0}};

    expect_warnings(
        ethernet_on_socket_0, ranks, 3, 0, false,
        (const char *[]){"far-nic",
                         "rank 1: far from the NIC: rank 1 is bound to cores 4-7 of socket 1, where no NIC is: "
                         "the nearest, eth0, is on socket 0. All that it sends to other nodes crosses from "
                         "socket to socket.",
                         "where there are fewer ranks than cores, keep them on socket 0: mpiexec -bind-to "
                         "user: with that socket's cores ...",
                         NULL});
    /* on one node no NIC is needed */
    expect_warnings(ethernet_on_socket_0, ranks, 2, 0, false, (const char *[]){NULL});
}
END_TEST

START_TEST(a_rank_that_is_not_bound)
{
    static const struct rank ranks[] = {{0, 0x02, 2, "0-7", 1, 1}, {0, 0x82, 2, "4-7", 1, 1}};

    expect_warnings(
        gpus_and_verbs, ranks, 2, 2, false,
        (const char *[]){"not-bound",
                         "rank 0: not bound to a socket: rank 0 may run on cores 0-7, of all 2 sockets, and its "
                         "GPU is on socket 0: it is near at times, and far at others.",
                         BLOCKS "-bind-to core:4 ..." AGAIN, NULL});
}
END_TEST

START_TEST(ranks_on_one_gpu_while_another_is_idle)
{
    static const struct rank ranks[] = {{0, 0x02, 1, "0-1", 0, 0}, {0, 0x02, 1, "2-3", 0, 0}};
    static const char *const what = "ranks 0-1: share a GPU while others are idle: ranks 0 and 1 are on one GPU, while "
                                    "1 of the 2 GPUs of node 0 is "
                                    "nobody's.";

    expect_warnings(gpus_and_verbs, ranks, 2, 2, true,
                    (const char *[]){"shared-gpu", what,
                                     "let each rank take the GPU of its number on the node, cudaSetDevice(local rank % "
                                     "GPUs), or let it see that one only: mpiexec ... sh -c "
                                     "'CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK exec ./app'",
                                     NULL});
    /* where all are in use, it is meant so */
    expect_warnings(gpus_and_verbs, ranks, 2, 1, true, (const char *[]){NULL});
}
END_TEST

START_TEST(a_gpu_with_p2p_off)
{
    static const struct rank ranks[] = {{0, 0x02, 2, "0-3", 1, 0}, {0, 0x82, 2, "4-7", 1, 1}};

    expect_warnings(
        gpus_and_verbs, ranks, 2, 2, false,
        (const char *[]){"p2p-off",
                         "rank 0: on GPUs that cannot reach each other: the GPU of rank 0, at 0000:02:00.0, "
                         "reaches 0 of 1 other GPUs directly (P2P is off): what goes between them goes through "
                         "memory of the host.",
                         "nvidia-smi topo -p2p r names the pairs; what turns P2P off is, most often, PCIe "
                         "access control (ACS) or an IOMMU, a virtual machine, or cards whose driver does not "
                         "offer it",
                         NULL});
}
END_TEST

/* ---- told ---- */

START_TEST(told_as_text)
{
    static const struct rank ranks[] = {
        {0, 0x02, 2, "0-3", 1, 1}, {0, 0x82, 2, "4-7", 1, 1}, {1, 0x82, 2, "4-7", 1, 1}};
    static const char *const expected = "3 ranks on 2 nodes, as made up\n"
                                        "\n"
                                        "node 0: 2 sockets, 8 cores, 2 GPUs joined by PCIe, 4 NICs\n"
                                        "  node 0: ranks 0-1, on node0\n"
                                        "\n"
                                        "         r0    r1      socket  GPU  NIC  GPU at        NIC's     cores\n"
                                        "  r0     X     host         0    0    0  0000:02:00.0  mlx5_0    0-3\n"
                                        "  r1     host  X            1    1    3  0000:82:00.0  mlx5_3    4-7\n"
                                        "\n"
                                        "node 1: 2 sockets, 8 cores, 1 GPU, 4 NICs\n"
                                        "  node 1: rank 2, on node1\n"
                                        "\n"
                                        "         r2      socket  GPU  NIC  GPU at        NIC's     cores\n"
                                        "  r2     X            1    0    2  0000:82:00.0  mlx5_2    4-7\n"
                                        "\n"
                                        "  level                                        alpha  bandwidth, assumed\n"
                                        "  host  PCIe, or memory of the host             1 us  8 GB/s\n"
                                        "  nic   the network                             3 us  12.5 GB/s\n"
                                        "        a reduction                             5 us  500 GB/s\n"
                                        "        a copy                                  5 us  500 GB/s\n";
    hwloc_topology_t t = machine(gpus_and_verbs);
    struct tool_seen seen[16];
    struct tool_site site = site_of(t, ranks, 3, seen, false);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    tool_topo_text(out, &site);
    fclose(out);
    ck_assert_str_eq(text, expected);
    free(text);
    tt_topo_free(site.topo);
    hwloc_topology_destroy(t);
}
END_TEST

/* A red ring for each rank of a warning, and the warning in words; the others have none. */
START_TEST(drawn_with_rings)
{
    static const struct rank ranks[] = {{0, 0x02, 2, "0-3", 1, 1}, {0, 0x82, 2, "0-3", 1, 1}};
    hwloc_topology_t t = machine(gpus_and_verbs);
    struct tool_seen seen[16];
    struct tool_site site = site_of(t, ranks, 2, seen, false);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int rings = 0;

    tool_topo_svg(out, &site);
    fclose(out);
    for (const char *at = text; (at = strstr(at, "<circle ")); at++)
        rings += strstr(at, "#c0392b") && strstr(at, "#c0392b") < strstr(at, "/>");
    ck_assert_int_eq(rings, 1);
    ck_assert_ptr_nonnull(strstr(text, ">rank 1: far from the GPU: rank 1 is bound to cores 0-3"));
    ck_assert_ptr_nonnull(strstr(text, ">82:00.0<"));
    free(text);
    tt_topo_free(site.topo);
    hwloc_topology_destroy(t);
}
END_TEST

START_TEST(numbers_that_rise_are_listed)
{
    static const int some[] = {0, 1, 2, 5, 7, 8};
    int many[400];
    char text[128];

    ck_assert_str_eq(tool_list(text, sizeof text, some, 6), "0-2,5,7-8");
    ck_assert_str_eq(tool_list(text, sizeof text, some, 1), "0");
    ck_assert_str_eq(tool_list(text, sizeof text, some, 0), "");
    for (int i = 0; i < 400; i++)
        many[i] = 2 * i;
    ck_assert_str_eq(strstr(tool_list(text, sizeof text, many, 400), ",..."), ",...");
    ck_assert_uint_lt(strlen(text), sizeof text);
}
END_TEST

#define N(array) ((int)(sizeof(array) / sizeof *(array)))

int main(void)
{
    Suite *suite = suite_create("machine");
    TCase *sees = tcase_create("sees"), *says = tcase_create("says");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(sees, the_nearest_nic_is_taken_in_turn, 0, N(looks));
    tcase_add_test(sees, an_ethernet_alone_is_the_nic);
    tcase_add_test(sees, this_machine_can_be_looked_at);
    tcase_add_test(sees, looking_starts_no_driver_of_a_gpu);
    tcase_add_test(says, where_all_is_well_nothing_is_said);
    tcase_add_test(says, a_rank_far_from_its_gpu);
    tcase_add_test(says, a_rank_far_from_the_nic);
    tcase_add_test(says, a_rank_that_is_not_bound);
    tcase_add_test(says, ranks_on_one_gpu_while_another_is_idle);
    tcase_add_test(says, a_gpu_with_p2p_off);
    tcase_add_test(says, told_as_text);
    tcase_add_test(says, drawn_with_rings);
    tcase_add_test(says, numbers_that_rise_are_listed);
    suite_add_tcase(suite, sees);
    suite_add_tcase(suite, says);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
