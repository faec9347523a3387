/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that pass through shared memory cross between two cores twice: when they are written over what the other has
 * read, and when he reads them. Read by process_vm_readv from where they are, they cross once, for the price of a
 * system call, and of a look at each page. */
#include "coll/node_read.h"

#include <errno.h>
#include <stdint.h>
#include <sys/uio.h>

int tt_memory_read(pid_t pid, void *to, const char *from, size_t n)
{
    size_t had = 0;

    while (had < n) {
        const struct iovec here = {(char *)to + had, n - had}, there = {(void *)(uintptr_t)(from + had), n - had};
        const ssize_t more = process_vm_readv(pid, &here, 1, &there, 1, 0);

        if (more <= 0)
            return more < 0 ? errno : EFAULT;
        had += (size_t)more;
    }
    return 0;
}
