/* SPDX-License-Identifier: BSD-3-Clause */
/* What costs people most, and what to do about it: a row each, of a question about one rank, words about the first that
 * it is true of, and a remedy in the options of the MPI at hand. Of a file only what it says can be wrong: it knows no
 * cores and no buses. */
#include <stdlib.h>
#include <string.h>

#include "tools/site.h"

/* ---- facts ---- */

static const struct tool_seen *seen_by(const struct tool_site *site, int rank)
{
    return site->seen ? &site->seen[rank] : NULL;
}

static int gpus_used(const struct tool_site *site, int node)
{
    const int *ranks, n = tool_ranks_of(site, node, &ranks);
    int used = 0;

    for (int i = 0; i < n; i++)
        used = site->topo->seats[ranks[i]].gpu >= used ? site->topo->seats[ranks[i]].gpu + 1 : used;
    return used;
}

/* Another rank of the node on the same GPU; -1. */
static int partner(const struct tool_site *site, int rank)
{
    const struct tt_seat *seats = site->topo->seats;
    const int *ranks, n = tool_ranks_of(site, seats[rank].node, &ranks);

    for (int i = 0; i < n && seats[rank].gpu >= 0; i++)
        if (ranks[i] != rank && seats[ranks[i]].gpu == seats[rank].gpu)
            return ranks[i];
    return -1;
}

/* Cores that each rank of a node may have of its own; 0: nobody knows. */
static int cores_each(const struct tool_site *site, int rank)
{
    const int node = site->topo->seats[rank].node, *ranks, n = tool_ranks_of(site, node, &ranks);

    return site->topo->kinds[node].cores / n;
}

/* Cores in blocks, as GPUs and NICs are spread over the sockets of nearly every machine. */
static void bind_in_blocks(const struct tool_site *site, int rank, char *text, size_t size)
{
    const int each = cores_each(site, rank);

    if (each < 1)
        snprintf(text, size, "give each rank cores of the right socket: options of mpiexec for binding, or numactl");
    else if (site->open_mpi)
        snprintf(text, size,
                 "give each rank its block of cores, in the order of the GPUs: mpiexec --map-by slot:PE=%d "
                 "--bind-to core ...; then run tutti topo under the same options",
                 each);
    else
        snprintf(text, size,
                 "give each rank its block of cores, in the order of the GPUs: mpiexec -bind-to core:%d ...; "
                 "then run tutti topo under the same options",
                 each);
}

/* ---- a rank far from its GPU ---- */

static bool far_from_gpu(const struct tool_site *site, int rank)
{
    const struct tool_seen *s = seen_by(site, rank);

    return s && s->machine.socket >= 0 && s->machine.gpu_socket >= 0 && s->machine.socket != s->machine.gpu_socket;
}

static void say_far_from_gpu(const struct tool_site *site, int rank, char *text, size_t size)
{
    const struct tool_seen *s = seen_by(site, rank);
    char at[32];

    snprintf(text, size,
             "rank %d is bound to cores %s of socket %d, and its GPU, at %s, is on socket %d. All that goes "
             "between host and GPU crosses from socket to socket",
             rank, s->machine.cores_bound, s->machine.socket, tool_gpu_at(at, sizeof at, &s->gpu),
             s->machine.gpu_socket);
}

/* ---- a rank far from its NIC, which is the nearest to its GPU if it has one ---- */

static bool far_from_nic(const struct tool_site *site, int rank)
{
    const struct tool_seen *s = seen_by(site, rank);
    const int home = !s ? -1 : s->machine.gpu_socket >= 0 ? s->machine.gpu_socket : s->machine.socket;

    return s && site->topo->nodes.n > 1 && home >= 0 && s->machine.nic_socket >= 0 && home != s->machine.nic_socket;
}

static void say_far_from_nic(const struct tool_site *site, int rank, char *text, size_t size)
{
    const struct tt_machine *m = &seen_by(site, rank)->machine;

    if (m->gpu_socket >= 0)
        snprintf(text, size,
                 "the GPU of rank %d is on socket %d, where no NIC is: the nearest, %s, is on socket %d. All "
                 "that goes to other nodes crosses from socket to socket",
                 rank, m->gpu_socket, m->nic_name, m->nic_socket);
    else
        snprintf(text, size,
                 "rank %d is bound to cores %s of socket %d, where no NIC is: the nearest, %s, is on socket %d. "
                 "All that it sends to other nodes crosses from socket to socket",
                 rank, m->cores_bound, m->socket, m->nic_name, m->nic_socket);
}

static void remedy_far_from_nic(const struct tool_site *site, int rank, char *text, size_t size)
{
    const struct tt_machine *m = &seen_by(site, rank)->machine;

    if (m->gpu_socket >= 0)
        snprintf(text, size,
                 "use the GPUs on the NIC's socket first, where there are more than ranks (CUDA_VISIBLE_DEVICES); "
                 "two-level algorithms send the least from the others");
    else
        snprintf(text, size, "where there are fewer ranks than cores, keep them on socket %d: mpiexec %s",
                 m->nic_socket,
                 site->open_mpi ? "--map-by socket --cpu-set with that socket's cores ..."
                                : "-bind-to user: with that socket's cores ...");
}

/* ---- a rank that the system may move from socket to socket ---- */

static bool roams(const struct tool_site *site, int rank)
{
    const struct tool_seen *s = seen_by(site, rank);

    return s && s->machine.sockets > 1 && s->machine.socket < 0 && *s->machine.cores_bound &&
           (s->machine.gpu_socket >= 0 || s->machine.nic_socket >= 0);
}

static void say_roams(const struct tool_site *site, int rank, char *text, size_t size)
{
    const struct tt_machine *m = &seen_by(site, rank)->machine;

    snprintf(text, size,
             "rank %d may run on cores %s, of all %d sockets, and its %s is on socket %d: it is near at times, "
             "and far at others",
             rank, m->cores_bound, m->sockets, m->gpu_socket >= 0 ? "GPU" : "NIC",
             m->gpu_socket >= 0 ? m->gpu_socket : m->nic_socket);
}

/* ---- ranks that share a GPU ---- */

static bool shares(const struct tool_site *site, int rank)
{
    const int node = site->topo->seats[rank].node;

    return partner(site, rank) >= 0 && gpus_used(site, node) < site->topo->kinds[node].gpus;
}

static void say_shares(const struct tool_site *site, int rank, char *text, size_t size)
{
    const int node = site->topo->seats[rank].node, gpus = site->topo->kinds[node].gpus;

    snprintf(text, size, "ranks %d and %d are on one GPU, while %d of the %d GPUs of node %d %s nobody's", rank,
             partner(site, rank), gpus - gpus_used(site, node), gpus, node,
             gpus - gpus_used(site, node) == 1 ? "is" : "are");
}

static void remedy_shares(const struct tool_site *site, int rank, char *text, size_t size)
{
    (void)rank;
    snprintf(text, size,
             "let each rank take the GPU of its number on the node, cudaSetDevice(local rank %% GPUs), or let it "
             "see that one only: mpiexec ... sh -c 'CUDA_VISIBLE_DEVICES=$%s exec ./app'",
             site->open_mpi ? "OMPI_COMM_WORLD_LOCAL_RANK" : "MPI_LOCALRANKID");
}

/* ---- GPUs that cannot reach each other ---- */

static bool cut_off(const struct tool_site *site, int rank)
{
    const struct tool_seen *s = seen_by(site, rank);

    return s && s->gpu.there && s->gpu.reached < s->gpu.peers;
}

static void say_cut_off(const struct tool_site *site, int rank, char *text, size_t size)
{
    const struct tool_seen *s = seen_by(site, rank);
    char at[32];

    snprintf(text, size,
             "the GPU of rank %d, at %s, reaches %d of %d other GPUs directly (P2P is off): what goes between "
             "them goes through memory of the host",
             rank, tool_gpu_at(at, sizeof at, &s->gpu), s->gpu.reached, s->gpu.peers);
}

static void remedy_cut_off(const struct tool_site *site, int rank, char *text, size_t size)
{
    (void)site;
    (void)rank;
    snprintf(text, size,
             "nvidia-smi topo -p2p r names the pairs; what turns P2P off is, most often, PCIe access control "
             "(ACS) or an IOMMU, a virtual machine, or cards whose driver does not offer it");
}

/* ---- the rows ---- */

static const struct {
    const char *name, *words;
    bool (*hits)(const struct tool_site *site, int rank);
    void (*say)(const struct tool_site *site, int rank, char *text, size_t size);
    void (*remedy)(const struct tool_site *site, int rank, char *text, size_t size);
} rows[] = {
    {"far-gpu", "far from the GPU", far_from_gpu, say_far_from_gpu, bind_in_blocks},
    {"far-nic", "far from the NIC", far_from_nic, say_far_from_nic, remedy_far_from_nic},
    {"not-bound", "not bound to a socket", roams, say_roams, bind_in_blocks},
    {"shared-gpu", "share a GPU while others are idle", shares, say_shares, remedy_shares},
    {"p2p-off", "on GPUs that cannot reach each other", cut_off, say_cut_off, remedy_cut_off},
};
_Static_assert(sizeof rows / sizeof *rows <= TOOL_WARNINGS_MOST, "room for each");

static int gather(const struct tool_site *site, size_t row, int *ranks)
{
    int n = 0;

    for (int r = 0; r < site->topo->size; r++)
        if (rows[row].hits(site, r))
            ranks[n++] = r;
    return n;
}

int tool_warn(const struct tool_site *site, struct tool_warning list[TOOL_WARNINGS_MOST])
{
    char which[128], example[400];
    int n = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tool_warning *w = &list[n];

        w->name = rows[i].name;
        w->ranks = malloc((size_t)site->topo->size * sizeof *w->ranks);
        w->n = w->ranks ? gather(site, i, w->ranks) : 0;
        if (w->n == 0) {
            free(w->ranks);
            continue;
        }
        rows[i].say(site, w->ranks[0], example, sizeof example);
        rows[i].remedy(site, w->ranks[0], w->remedy, sizeof w->remedy);
        snprintf(w->what, sizeof w->what, "rank%s %s: %s: %s.", w->n == 1 ? "" : "s",
                 tool_list(which, sizeof which, w->ranks, w->n), rows[i].words, example);
        n++;
    }
    return n;
}

void tool_unwarn(struct tool_warning *list, int n)
{
    for (int i = 0; i < n; i++)
        free(list[i].ranks);
}
