/* SPDX-License-Identifier: BSD-3-Clause */
/* The board of a communicator: an anonymous file that ncclGetUniqueId makes and the id names; the others reach it
 * through /proc/PID/fd, so that nothing is left behind however they end. Once all have it mapped, it is closed. Who
 * waits sleeps on a futex in it, the bell, which everybody rings who has changed something. */
#include "tests/simcuda/nccl_sim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char magic[8] = "simnccl";

struct id {
    char magic[8];
    int pid, fd;
    uint64_t nonce;
};
_Static_assert(sizeof(struct id) <= sizeof(ncclUniqueId), "an id has 128 bytes");

static struct id read_id(const ncclUniqueId *id)
{
    struct id out;

    memcpy(&out, id, sizeof out);
    return out;
}

static uint64_t random_number(void)
{
    uint64_t n = 0;

    if (getrandom(&n, sizeof n, 0) != (ssize_t)sizeof n)
        n = (uint64_t)getpid();
    return n | 1;
}

uint64_t nccl_process(void)
{
    static _Atomic uint64_t number;
    static atomic_int pid; /* a child of fork is another process */
    uint64_t none = 0;

    if (atomic_exchange(&pid, getpid()) != getpid())
        atomic_store(&number, 0);
    if (!atomic_load(&number))
        atomic_compare_exchange_strong(&number, &none, random_number());
    return atomic_load(&number);
}

/* ---- files that this process has made and not yet closed ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct made {
    struct made *next;
    int fd, pid;
    uint64_t nonce;
} * made;

ncclResult_t nccl_board_new(ncclUniqueId *out)
{
    struct made *m = malloc(sizeof *m);
    struct id id = {.pid = getpid(), .fd = memfd_create("tutti-simulated-nccl", MFD_CLOEXEC), .nonce = random_number()};

    memcpy(id.magic, magic, sizeof magic);
    if (!m || id.fd < 0 || write(id.fd, &id.nonce, sizeof id.nonce) != (ssize_t)sizeof id.nonce) {
        free(m);
        return nccl_fail(ncclSystemError, "no file for the ranks to meet: %s", strerror(errno));
    }
    pthread_mutex_lock(&lock);
    *m = (struct made){made, id.fd, id.pid, id.nonce};
    made = m;
    pthread_mutex_unlock(&lock);
    memset(out, 0, sizeof *out);
    memcpy(out, &id, sizeof id);
    return ncclSuccess;
}

void nccl_board_forget(const ncclUniqueId *which)
{
    const struct id id = read_id(which);

    pthread_mutex_lock(&lock);
    for (struct made **link = &made; *link; link = &(*link)->next) {
        struct made *m = *link;

        if (m->nonce != id.nonce || m->pid != getpid())
            continue;
        *link = m->next;
        close(m->fd);
        free(m);
        break;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- one rank's view ---- */

static size_t seats_end(int nranks)
{
    return sizeof(struct nccl_board) + (size_t)nranks * sizeof(struct nccl_seat);
}

static ncclResult_t open_file(struct nccl_comm *comm, const struct id *id)
{
    char path[64];
    uint64_t nonce = 0;

    if (memcmp(id->magic, magic, sizeof magic) != 0)
        return nccl_report(ncclInvalidArgument, "an id that ncclGetUniqueId has not made");
    snprintf(path, sizeof path, "/proc/%d/fd/%d", id->pid, id->fd);
    comm->file = open(path, O_RDWR | O_CLOEXEC);
    if (comm->file < 0 || pread(comm->file, &nonce, sizeof nonce, 0) != (ssize_t)sizeof nonce || nonce != id->nonce)
        return nccl_fail(ncclSystemError, "whoever made the id is gone, or has made its communicator from it");
    return ncclSuccess;
}

ncclResult_t nccl_board_open(struct nccl_comm *comm, const ncclUniqueId *which)
{
    const struct id id = read_id(which);
    const size_t channels = (size_t)comm->nranks * (size_t)comm->nranks * sizeof(struct nccl_channel);
    const ncclResult_t result = open_file(comm, &id);
    void *at;

    if (result)
        return result;
    comm->board_bytes = seats_end(comm->nranks) + channels;
    if (ftruncate(comm->file, (off_t)comm->board_bytes))
        return nccl_fail(ncclSystemError, "no memory for the ranks to meet: %s", strerror(errno));
    at = mmap(NULL, comm->board_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, comm->file, 0);
    if (at == MAP_FAILED)
        return nccl_fail(ncclSystemError, "no memory for the ranks to meet: %s", strerror(errno));
    comm->board = at;
    return ncclSuccess;
}

void nccl_board_close(struct nccl_comm *comm)
{
    if (comm->board)
        munmap(comm->board, comm->board_bytes);
    if (comm->file >= 0)
        close(comm->file);
    comm->file = -1;
    comm->board = NULL;
}

struct nccl_channel *nccl_channel(struct nccl_comm *comm, int from, int to)
{
    struct nccl_channel *all = (struct nccl_channel *)((char *)comm->board + seats_end(comm->nranks));

    return &all[(size_t)from * (size_t)comm->nranks + (size_t)to];
}

/* A lock goes with the last process that has the file open as this one opened it, zombie or not. */
static struct flock byte_of(int rank)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
}

bool nccl_board_hold(struct nccl_comm *comm)
{
    struct flock byte = byte_of(comm->rank);

    return fcntl(comm->file, F_OFD_SETLK, &byte) == 0;
}

bool nccl_board_held(struct nccl_comm *comm, int rank)
{
    struct flock byte = byte_of(rank);

    return rank == comm->rank || fcntl(comm->file, F_OFD_GETLK, &byte) || byte.l_type != F_UNLCK;
}

/* ---- the bell ---- */

unsigned nccl_listen(struct nccl_board *board)
{
    return atomic_load(&board->bell);
}

void nccl_sleep(struct nccl_board *board, unsigned heard)
{
    const struct timespec while_ago = {0, 2000000};

    syscall(SYS_futex, &board->bell, FUTEX_WAIT, heard, &while_ago, NULL, 0);
}

void nccl_ring(struct nccl_board *board)
{
    atomic_fetch_add(&board->bell, 1);
    syscall(SYS_futex, &board->bell, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}
