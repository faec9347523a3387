/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank inside a blocking call that stays the MPI's own keeps nobody from anything: foreign [CALL]. For each row of
 * coll/foreign.def, by the compiler's check, collectives are under way; one rank enters the call before it waits for
 * them, and the others wait first, which they cannot end without that rank's part. What the call makes, or moves, must
 * be right. A call that hangs is named by the watchdog; with a CALL only that one is tried. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/harness.h"

enum { NUMBERS = 3000, SHARE = 64 };

/* ---- what the calls work on ---- */

static MPI_Comm comm, made; /* all ranks; what a call made */
static MPI_Comm halves, between, grid;
static MPI_Group all_but_last;
static MPI_Win window, new_window;
static MPI_File file, new_file;
static int share[SHARE], got[SHARE]; /* in the window, and in the file */
static void *allocated;
static char path[4096];

static bool in_first_half(void)
{
    return test_rank < test_size / 2;
}

static void open_all(void)
{
    const int dims[] = {2, test_size / 2}, periodic[] = {0, 0};

    made = MPI_COMM_NULL;
    new_window = MPI_WIN_NULL;
    new_file = MPI_FILE_NULL;
    for (int i = 0; i < SHARE; i++)
        share[i] = test_rank * SHARE + i;
    test_success(PMPI_Comm_dup(MPI_COMM_WORLD, &comm));
    test_success(PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    test_success(PMPI_Comm_split(comm, in_first_half(), test_rank, &halves));
    test_success(PMPI_Intercomm_create(halves, 0, comm, in_first_half() ? test_size / 2 : 0, 9, &between));
    test_success(PMPI_Cart_create(comm, 2, dims, periodic, 0, &grid));
    test_success(PMPI_Win_create(share, sizeof share, sizeof *share, MPI_INFO_NULL, comm, &window));
    test_success(PMPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    test_success(PMPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    test_success(PMPI_File_write_at(file, test_rank * SHARE, share, SHARE, MPI_INT, MPI_STATUS_IGNORE));
    test_success(PMPI_File_sync(file));
    test_success(PMPI_Barrier(comm));
}

static void close_comm(MPI_Comm *which)
{
    if (*which != MPI_COMM_NULL)
        test_success(PMPI_Comm_free(which));
}

static void close_window(MPI_Win *which)
{
    if (*which != MPI_WIN_NULL)
        test_success(PMPI_Win_free(which));
}

static void close_file(MPI_File *which)
{
    if (*which != MPI_FILE_NULL)
        test_success(PMPI_File_close(which));
}

static void close_all(void)
{
    close_window(&window);
    close_window(&new_window);
    close_file(&file);
    close_file(&new_file);
    close_comm(&made);
    close_comm(&between);
    close_comm(&grid);
    close_comm(&halves);
    close_comm(&comm);
}

/* ---- communicators: each of all ranks, or of the number that is returned by the by ---- */

static int try_comm_dup(void)
{
    return MPI_Comm_dup(comm, &made);
}

static int try_comm_dup_with_info(void)
{
    return MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made);
}

static int try_comm_split(void)
{
    return MPI_Comm_split(comm, test_rank % 2, test_rank, &made);
}

static int try_comm_split_type(void)
{
    return MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, test_rank, MPI_INFO_NULL, &made);
}

static int try_comm_create(void)
{
    return MPI_Comm_create(comm, all_but_last, &made);
}

static int try_comm_create_group(void)
{
    return test_rank == test_size - 1 ? MPI_SUCCESS : MPI_Comm_create_group(comm, all_but_last, 7, &made);
}

static int try_comm_set_info(void)
{
    MPI_Info info;
    int error;

    PMPI_Info_create(&info);
    error = MPI_Comm_set_info(comm, info);
    PMPI_Info_free(&info);
    return error;
}

static int try_comm_set_name(void)
{
    return MPI_Comm_set_name(comm, "named");
}

static int try_cart_create(void)
{
    const int periodic = 1;

    return MPI_Cart_create(comm, 1, &test_size, &periodic, 0, &made);
}

static int try_cart_sub(void)
{
    const int keep[] = {0, 1};

    return MPI_Cart_sub(grid, keep, &made);
}

static int try_graph_create(void)
{
    int ends[64], edges[64];

    for (int i = 0; i < test_size; i++) {
        ends[i] = i + 1;
        edges[i] = (i + 1) % test_size;
    }
    return MPI_Graph_create(comm, test_size, ends, edges, 0, &made);
}

static int try_dist_graph_create(void)
{
    const int one = 1, right = (test_rank + 1) % test_size;

    return MPI_Dist_graph_create(comm, 1, &test_rank, &one, &right, no_weights(), MPI_INFO_NULL, 0, &made);
}

static int try_dist_graph_create_adjacent(void)
{
    const int left = (test_rank + test_size - 1) % test_size, right = (test_rank + 1) % test_size;

    return MPI_Dist_graph_create_adjacent(comm, 1, &left, no_weights(), 1, &right, no_weights(), MPI_INFO_NULL, 0,
                                          &made);
}

static int try_intercomm_create(void)
{
    return MPI_Intercomm_create(halves, 0, comm, in_first_half() ? test_size / 2 : 0, 8, &made);
}

static int try_intercomm_merge(void)
{
    return MPI_Intercomm_merge(between, in_first_half(), &made);
}

static int try_comm_disconnect(void)
{
    return MPI_Comm_disconnect(&between);
}

/* These take a launcher, or another program. */
#define try_comm_spawn NULL
#define try_comm_spawn_multiple NULL
#define try_comm_accept NULL
#define try_comm_connect NULL

/* ---- windows ---- */

#define TRY_WINDOWS(C)                                                                                                 \
    static int try_win_create##C(void)                                                                                 \
    {                                                                                                                  \
        return MPI_Win_create##C(got, sizeof got, 1, MPI_INFO_NULL, comm, &new_window);                                \
    }                                                                                                                  \
    static int try_win_allocate##C(void)                                                                               \
    {                                                                                                                  \
        return MPI_Win_allocate##C(SHARE, 1, MPI_INFO_NULL, comm, &allocated, &new_window);                            \
    }                                                                                                                  \
    static int try_win_allocate_shared##C(void)                                                                        \
    {                                                                                                                  \
        return MPI_Win_allocate_shared##C(SHARE, 1, MPI_INFO_NULL, comm, &allocated, &new_window);                     \
    }

static int try_win_create_dynamic(void)
{
    return MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &new_window);
}

static int try_win_set_info(void)
{
    MPI_Info info;
    int error;

    PMPI_Info_create(&info);
    error = MPI_Win_set_info(window, info);
    PMPI_Info_free(&info);
    return error;
}

static int try_win_fence(void)
{
    return MPI_Win_fence(0, window);
}

static int try_win_free(void)
{
    return MPI_Win_free(&window);
}

/* ---- files ---- */

static int try_file_open(void)
{
    return MPI_File_open(comm, path, MPI_MODE_RDWR, MPI_INFO_NULL, &new_file);
}

static int try_file_close(void)
{
    return MPI_File_close(&file);
}

static int try_file_set_size(void)
{
    return MPI_File_set_size(file, 1 << 16);
}

static int try_file_preallocate(void)
{
    return MPI_File_preallocate(file, 1 << 16);
}

static int try_file_set_info(void)
{
    MPI_Info info;
    int error;

    PMPI_Info_create(&info);
    error = MPI_File_set_info(file, info);
    PMPI_Info_free(&info);
    return error;
}

static int try_file_set_view(void)
{
    return MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
}

static int try_file_set_atomicity(void)
{
    return MPI_File_set_atomicity(file, 1);
}

static int try_file_sync(void)
{
    return MPI_File_sync(file);
}

static int try_file_seek_shared(void)
{
    return MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
}

/* What was read must be what the rank wrote there. */
static int read_right(int error)
{
    test_check(error != MPI_SUCCESS || memcmp(got, share, sizeof got) == 0, "what was read is wrong");
    return error;
}

#define WHERE (test_rank * SHARE)
#define TRY_FILES(C)                                                                                                   \
    static int try_file_read_all##C(void)                                                                              \
    {                                                                                                                  \
        PMPI_File_seek(file, WHERE, MPI_SEEK_SET);                                                                     \
        return read_right(MPI_File_read_all##C(file, got, SHARE, MPI_INT, MPI_STATUS_IGNORE));                         \
    }                                                                                                                  \
    static int try_file_read_at_all##C(void)                                                                           \
    {                                                                                                                  \
        return read_right(MPI_File_read_at_all##C(file, WHERE, got, SHARE, MPI_INT, MPI_STATUS_IGNORE));               \
    }                                                                                                                  \
    static int try_file_read_ordered##C(void)                                                                          \
    {                                                                                                                  \
        return read_right(MPI_File_read_ordered##C(file, got, SHARE, MPI_INT, MPI_STATUS_IGNORE));                     \
    }                                                                                                                  \
    static int try_file_read_all_begin##C(void)                                                                        \
    {                                                                                                                  \
        PMPI_File_seek(file, WHERE, MPI_SEEK_SET);                                                                     \
        return begun(MPI_File_read_all_begin##C(file, got, SHARE, MPI_INT), MPI_File_read_all_end, got);               \
    }                                                                                                                  \
    static int try_file_read_at_all_begin##C(void)                                                                     \
    {                                                                                                                  \
        return begun(MPI_File_read_at_all_begin##C(file, WHERE, got, SHARE, MPI_INT), MPI_File_read_at_all_end, got);  \
    }                                                                                                                  \
    static int try_file_read_ordered_begin##C(void)                                                                    \
    {                                                                                                                  \
        return begun(MPI_File_read_ordered_begin##C(file, got, SHARE, MPI_INT), MPI_File_read_ordered_end, got);       \
    }                                                                                                                  \
    static int try_file_write_all##C(void)                                                                             \
    {                                                                                                                  \
        PMPI_File_seek(file, WHERE, MPI_SEEK_SET);                                                                     \
        return MPI_File_write_all##C(file, share, SHARE, MPI_INT, MPI_STATUS_IGNORE);                                  \
    }                                                                                                                  \
    static int try_file_write_at_all##C(void)                                                                          \
    {                                                                                                                  \
        return MPI_File_write_at_all##C(file, WHERE, share, SHARE, MPI_INT, MPI_STATUS_IGNORE);                        \
    }                                                                                                                  \
    static int try_file_write_ordered##C(void)                                                                         \
    {                                                                                                                  \
        return MPI_File_write_ordered##C(file, share, SHARE, MPI_INT, MPI_STATUS_IGNORE);                              \
    }                                                                                                                  \
    static int try_file_write_all_begin##C(void)                                                                       \
    {                                                                                                                  \
        PMPI_File_seek(file, WHERE, MPI_SEEK_SET);                                                                     \
        return written(MPI_File_write_all_begin##C(file, share, SHARE, MPI_INT), MPI_File_write_all_end);              \
    }                                                                                                                  \
    static int try_file_write_at_all_begin##C(void)                                                                    \
    {                                                                                                                  \
        return written(MPI_File_write_at_all_begin##C(file, WHERE, share, SHARE, MPI_INT), MPI_File_write_at_all_end); \
    }                                                                                                                  \
    static int try_file_write_ordered_begin##C(void)                                                                   \
    {                                                                                                                  \
        return written(MPI_File_write_ordered_begin##C(file, share, SHARE, MPI_INT), MPI_File_write_ordered_end);      \
    }

static int begun(int error, int (*end)(MPI_File, void *, MPI_Status *), void *buffer)
{
    return error == MPI_SUCCESS ? read_right(end(file, buffer, MPI_STATUS_IGNORE)) : error;
}

static int written(int error, int (*end)(MPI_File, const void *, MPI_Status *))
{
    return error == MPI_SUCCESS ? end(file, share, MPI_STATUS_IGNORE) : error;
}

TRY_WINDOWS()
TRY_FILES()
#if MPI_VERSION >= 4
TRY_WINDOWS(_c)
TRY_FILES(_c)
#endif

/* ---- all of them ---- */

static const struct foreign {
    const char *name;
    int (*call)(void);
    bool makes; /* a communicator */
} calls[] = {
#define MAKES_MADE(c) true
#define MAKES_MADE_WITH(c, info) true
#define MAKES_HINTED(c, info) false
#define MAKES_NAMED(c) false
#define MAKES_NO_COMM false
#define TT_FOREIGN(id, Name, who, made, ...) {"MPI_" #Name, try_##id, MAKES_##made},
#include "coll/foreign.def"
#undef TT_FOREIGN
#if MPI_VERSION >= 4
#define TT_FOREIGN(...)
#define TT_FOREIGN_LARGE(id, Name, who, made, ...) {"MPI_" #Name "_c", try_##id##_c, MAKES_##made},
#define TT_FOREIGN_BUFFERS TT_FOREIGN_LARGE
#include "coll/foreign.def"
#endif
};

/* A communicator must do. */
static void check_made(const struct foreign *f)
{
    int one = 1, sum = 0, size = 0, inter = 0;
    MPI_Request request;

    if (!f->makes || made == MPI_COMM_NULL)
        return;
    PMPI_Comm_test_inter(made, &inter);
    (inter ? PMPI_Comm_remote_size : PMPI_Comm_size)(made, &size);
    test_success(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made, &request));
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    test_check(sum == size, "expected the sum of %d ones on the new communicator, got %d", size, sum);
}

static void try_call(const struct foreign *f, int early)
{
    static double mine[NUMBERS], sums[NUMBERS], passed[NUMBERS];
    MPI_Request requests[2];
    int wrong = 0;

    open_all();
    test_now("%s before rank %d waits for what the others wait for first", f->name, early);
    for (int i = 0; i < NUMBERS; i++) {
        mine[i] = test_rank + i;
        passed[i] = test_rank == early ? i : -1;
    }
    test_success(MPI_Iallreduce(mine, sums, NUMBERS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]));
    test_success(MPI_Ibcast(passed, NUMBERS, MPI_DOUBLE, early, MPI_COMM_WORLD, &requests[1]));
    if (test_rank == early)
        test_success(f->call());
    test_success(MPI_Waitall(2, requests, no_statuses));
    if (test_rank != early)
        test_success(f->call());
    for (int i = 0; i < NUMBERS; i++)
        wrong += sums[i] != test_size * (test_size - 1) / 2 + test_size * (double)i || passed[i] != i;
    test_check(wrong == 0, "%d of %d numbers are wrong", wrong, NUMBERS);
    check_made(f);
    close_all();
}

/* ---- MPI_Win_wait: for one who comes after he has waited for the sum ---- */

static void try_win_wait(int early)
{
    static double mine[NUMBERS], sums[NUMBERS];
    const int other = (early + 1) % test_size, number = 77;
    MPI_Group world, one;
    MPI_Request request;

    open_all();
    test_now("MPI_Win_wait before rank %d waits for what the others wait for first", early);
    PMPI_Comm_group(comm, &world);
    PMPI_Group_incl(world, 1, test_rank == early ? &other : &early, &one);
    test_success(MPI_Iallreduce(mine, sums, NUMBERS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request));
    if (test_rank == early) {
        test_success(MPI_Win_post(one, 0, window));
        test_success(MPI_Win_wait(window));
        test_check(share[0] == number, "expected %d to have been put, seen %d", number, share[0]);
    }
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (test_rank == other) {
        test_success(MPI_Win_start(one, 0, window));
        test_success(MPI_Put(&number, 1, MPI_INT, early, 0, 1, MPI_INT, window));
        test_success(MPI_Win_complete(window));
    }
    PMPI_Group_free(&one);
    PMPI_Group_free(&world);
    close_all();
}

/* ---- handles that are none are the MPI's to complain of ---- */

static void compare(int ours, int theirs)
{
    PMPI_Error_class(ours, &ours);
    PMPI_Error_class(theirs, &theirs);
    test_check(ours == theirs, "expected error class %d, got %d", theirs, ours);
}

static void try_null(void)
{
    const MPI_Win nowhere = MPI_WIN_NULL;
    const MPI_File nothing = MPI_FILE_NULL;

    test_now("null handles");
    compare(MPI_Comm_dup(MPI_COMM_NULL, &made), PMPI_Comm_dup(MPI_COMM_NULL, &made));
    compare(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 0, &made),
            PMPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 0, &made));
    compare(MPI_Intercomm_create(MPI_COMM_NULL, 0, MPI_COMM_WORLD, 0, 1, &made),
            PMPI_Intercomm_create(MPI_COMM_NULL, 0, MPI_COMM_WORLD, 0, 1, &made));
    compare(MPI_Win_fence(0, nowhere), PMPI_Win_fence(0, nowhere));
    compare(MPI_File_sync(nothing), PMPI_File_sync(nothing));
}

/* ---- the whole ---- */

static void make_file(void)
{
    const char *dir = getenv("TMPDIR");

    snprintf(path, sizeof path, "%s/foreign.XXXXXX", dir ? dir : "/tmp");
    if (test_rank == 0)
        close(mkstemp(path));
    PMPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    MPI_Group world;

    test_begin(&argc, &argv, only ? 20 : 200);
    make_file();
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_excl(world, 1, &(int){test_size - 1}, &all_but_last);
    PMPI_Group_free(&world);
    test_set("TUTTI_CHUNK", "1K"); /* many messages, so that much is left to do */
    test_pin("allreduce", "ring");
    test_pin("bcast", "chain");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].call && (!only || strcmp(only, calls[i].name) == 0)) {
            try_call(&calls[i], (int)i % test_size);
            try_call(&calls[i], ((int)i + 2) % test_size);
        }
    if (!only || strcmp(only, "MPI_Win_wait") == 0)
        try_win_wait(1);
    if (!only)
        try_null();
    PMPI_Group_free(&all_but_last);
    if (test_rank == 0)
        unlink(path);
    return test_end();
}
