/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of another process of this user, read by the kernel. */
#ifndef TT_NODE_READ_H
#define TT_NODE_READ_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* n bytes from there, all of them: 0; or errno (ESRCH: the process has died), when some of them may have been read. */
int tt_memory_read(pid_t pid, void *to, const char *from, size_t n);

/* Who of comm may read whose memory? Collective. Of each rank, into lists of zeros: its process, or 0 if this one may
 * not read it; and whether that one may read this one's. What it returns all know alike: may all read all? */
bool tt_memory_probe(MPI_Comm comm, pid_t *pids, bool *is_read);

#endif
