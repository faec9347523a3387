/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire that every MPI has: nonblocking point-to-point on the private communicator. Completion is polled, never
 * waited for inside MPI: MPICH's blocking calls spin, and with more ranks than cores a spinning rank keeps the core
 * from the one it waits for (8 bytes on 4 ranks and 2 cores: 7 ms against a few microseconds). */
#include "coll/wire.h"

static int p2p_send(MPI_Comm comm, int peer, int tag, const void *buf, size_t bytes, MPI_Request *request)
{
    return PMPI_Isend(buf, (int)bytes, MPI_BYTE, peer, tag, comm, request);
}

static int p2p_recv(MPI_Comm comm, int peer, int tag, void *buf, size_t bytes, MPI_Request *request)
{
    return PMPI_Irecv(buf, (int)bytes, MPI_BYTE, peer, tag, comm, request);
}

static int p2p_test(int n, MPI_Request *requests, MPI_Status *statuses, bool *done)
{
    int flag = 0;
    int error = PMPI_Testall(n, requests, &flag, statuses);

    *done = flag;
    return error;
}

static size_t p2p_length(const MPI_Status *status)
{
    int bytes = 0;

    PMPI_Get_count(status, MPI_BYTE, &bytes);
    return bytes < 0 ? 0 : (size_t)bytes;
}

const struct tt_wire tt_wire_p2p = {
    .name = "p2p", .send = p2p_send, .recv = p2p_recv, .test = p2p_test, .length = p2p_length};
