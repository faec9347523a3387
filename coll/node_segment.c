/* SPDX-License-Identifier: BSD-3-Clause */
/* One member makes the segment, the others open it. It has no name: memfd_create gives a file that is gone when its
 * last process is, whatever ended it, and the others find it through /proc. Where that is forbidden, a name in /dev/shm
 * lives for as long as it takes them to open it.
 *
 * Whether they have opened the same memory is not concluded from names of hosts, or what the MPI says: containers
 * share these and not the memory, and have processes and files of equal names. The maker writes a random number into
 * the segment, and tells it by message. Who finds another one, or nothing, is elsewhere, and tries with the others that
 * are.
 *
 * Only pages that are written to take memory, where their writer runs. In /dev/shm, which may be small, all are asked
 * for at once, since to write to one that cannot be had would end the process. */
#include "coll/node_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    MOST_BYTES = 128 << 20, /* of all pieces together */
    MOST_PIECE = 1 << 20,
    LEAST_PIECE = 2 << 10,
    PAGE = 4096,
    LINE = 64,
    MOST_GROUPS = 16 /* of ranks that are of one node and share no memory: the rest stays alone */
};

/* How a file without, or soon without, a name is made. */
enum way { BY_MEMFD, BY_NAME, WAYS };

/* What the maker tells the others. */
struct offer {
    int made; /* 0, or what was wrong is in error */
    int error;
    int fd;
    long pid;
    uint64_t pair, size, mark[2];
    char name[48];
};

/* ---- the maker ---- */

static uint64_t piece_for(int n)
{
    const uint64_t pairs = (uint64_t)n * (uint64_t)(n - 1);
    const uint64_t fair = MOST_BYTES / pairs;

    return fair > MOST_PIECE ? MOST_PIECE : fair >= PAGE ? fair / PAGE * PAGE : fair / LINE * LINE;
}

/* The mark, and a line for each rank. */
static uint64_t head_for(int n)
{
    return ((uint64_t)(1 + n) * LINE + PAGE - 1) / PAGE * PAGE;
}

static int make_file(enum way way, struct offer *o)
{
    if (way == BY_MEMFD)
        return memfd_create("tutti", MFD_CLOEXEC);
    snprintf(o->name, sizeof o->name, "/tutti-%ld-%016llx", o->pid, (unsigned long long)o->mark[0]);
    return shm_open(o->name, O_RDWR | O_CREAT | O_EXCL, 0600);
}

/* Longer than a limit on files, and the kernel would send a signal. */
static bool is_allowed(uint64_t size)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

/* 0, or errno. */
static int try_length(int fd, enum way way, uint64_t size)
{
    if (!is_allowed(size))
        return EFBIG;
    if (ftruncate(fd, (off_t)size))
        return errno;
    return way == BY_NAME ? posix_fallocate(fd, 0, (off_t)size) : 0;
}

/* The longest pieces that there is room for. 0, or errno. */
static int give_length(int fd, enum way way, int n, struct offer *o)
{
    int error = ENOSPC;

    for (o->pair = piece_for(n); o->pair >= LEAST_PIECE; o->pair /= 2) {
        o->size = head_for(n) + o->pair * (uint64_t)n * (uint64_t)(n - 1);
        error = try_length(fd, way, o->size);
        if (error == 0)
            return 0;
    }
    return error;
}

static struct offer make_offer(enum way way, int n)
{
    struct offer o = {.pid = getpid(), .fd = -1};

    if (getentropy(o.mark, sizeof o.mark) || (o.fd = make_file(way, &o)) < 0)
        o.error = errno;
    else
        o.error = give_length(o.fd, way, n, &o);
    if (o.error == 0 && pwrite(o.fd, o.mark, sizeof o.mark, 0) != sizeof o.mark)
        o.error = errno;
    o.made = o.error == 0;
    return o;
}

/* ---- the others ---- */

static int open_file(enum way way, const struct offer *o)
{
    char path[64];

    if (way == BY_NAME)
        return shm_open(o->name, O_RDWR, 0);
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", o->pid, o->fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

/* The memory behind the file, if it is what was offered; or NULL. */
static char *map(int fd, const struct offer *o)
{
    char *memory;

    if (lseek(fd, 0, SEEK_END) != (off_t)o->size)
        return NULL;
    memory = mmap(NULL, o->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (memcmp(memory, o->mark, sizeof o->mark) == 0)
        return memory;
    munmap(memory, o->size);
    return NULL;
}

/* ---- together ---- */

/* One way tried: what this rank has of it, and how many have it. */
struct attempt {
    char *memory;
    struct offer offer;
    int have;
};

static struct attempt attempt(MPI_Comm comm, int rank, int n, enum way way)
{
    struct attempt a = {NULL};
    int fd = -1, mine;

    if (rank == 0) {
        a.offer = make_offer(way, n);
        fd = a.offer.fd;
    }
    PMPI_Bcast(&a.offer, sizeof a.offer, MPI_BYTE, 0, comm);
    if (a.offer.made && rank != 0)
        fd = open_file(way, &a.offer);
    if (a.offer.made && fd >= 0)
        a.memory = map(fd, &a.offer);
    mine = a.memory != NULL;
    PMPI_Allreduce(&mine, &a.have, 1, MPI_INT, MPI_SUM, comm);
    if (rank == 0 && a.offer.name[0])
        shm_unlink(a.offer.name);
    if (fd >= 0)
        close(fd);
    return a;
}

static void drop(struct attempt *a)
{
    if (a->memory)
        munmap(a->memory, a->offer.size);
}

/* The way that serves more of them. */
static struct attempt best_attempt(MPI_Comm comm, int rank, int n)
{
    struct attempt first = attempt(comm, rank, n, BY_MEMFD), second;

    if (first.have == n)
        return first;
    second = attempt(comm, rank, n, BY_NAME);
    drop(second.have > first.have ? &first : &second);
    return second.have > first.have ? second : first;
}

static void explain(const struct attempt *a, char *why, size_t size)
{
    if (a->offer.made)
        snprintf(why, size, "not all ranks of the node can open the memory that one of them made (other containers?)");
    else
        snprintf(why, size, "neither memfd_create nor /dev/shm gives memory to share (%s)", strerror(a->offer.error));
}

/* Of the ranks of comm, of which there are at least two. *rest: those that are to try again, if this rank is among
 * them. */
static struct tt_segment try_group(MPI_Comm comm, MPI_Comm *rest, char *why, size_t size)
{
    struct tt_segment s = {.members = MPI_COMM_NULL};
    struct attempt a;
    int rank, n;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &n);
    a = best_attempt(comm, rank, n);
    if (a.have < n)
        explain(&a, why, size);
    PMPI_Comm_split(comm, a.have == 0 ? MPI_UNDEFINED : a.memory != NULL, 0, a.memory ? &s.members : rest);
    s.memory = a.memory;
    s.size = a.offer.size;
    s.pair = a.offer.pair;
    return s;
}

struct tt_segment tt_segment_open(MPI_Comm comm, char *why, size_t size)
{
    struct tt_segment s = {.members = MPI_COMM_NULL};
    MPI_Comm group = comm, rest;
    int n;

    why[0] = '\0';
    for (int i = 0; i < MOST_GROUPS && group != MPI_COMM_NULL; i++) {
        rest = MPI_COMM_NULL;
        PMPI_Comm_size(group, &n);
        if (n > 1 && piece_for(n) >= LEAST_PIECE)
            s = try_group(group, &rest, why, size);
        else if (n > 1)
            snprintf(why, size, "%d ranks on one node are too many for memory between each two", n);
        if (group != comm)
            PMPI_Comm_free(&group);
        group = rest;
    }
    if (group != MPI_COMM_NULL && group != comm)
        PMPI_Comm_free(&group);
    return s;
}

void tt_segment_close(struct tt_segment *s)
{
    if (s->memory)
        munmap(s->memory, s->size);
    s->memory = NULL;
}

void *tt_segment_piece(const struct tt_segment *s, int n, int from, int to)
{
    return s->memory + head_for(n) + s->pair * ((size_t)from * (size_t)(n - 1) + (size_t)(to - (to > from)));
}

void *tt_segment_line(const struct tt_segment *s, int rank)
{
    return s->memory + (1 + (size_t)rank) * LINE;
}
