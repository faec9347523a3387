/* SPDX-License-Identifier: BSD-3-Clause */
/* forbid CALL[,CALL...] PROGRAM [ARGUMENT...]: runs it where the kernel refuses these calls (seccomp), as containers
 * do, to it and to all that it starts, the MPI included: memfd_create, process_vm_readv, membarrier, futex. Of futex
 * only what other processes can wait for: no program can do without the rest. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 64 };

static struct sock_filter filter[MOST];
static unsigned short steps;

static void add(struct sock_filter step)
{
    filter[steps++] = step;
}

static void load(size_t at)
{
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)at));
}

/* Skips the steps after it unless what is loaded is that. */
static void only_if(unsigned what, unsigned char skipped)
{
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, what, 0, skipped));
}

static void end(unsigned how)
{
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, how));
}

static void forbid(const char *name)
{
    static const struct {
        const char *name;
        long number;
    } calls[] = {{"memfd_create", SYS_memfd_create},
                 {"process_vm_readv", SYS_process_vm_readv},
                 {"membarrier", SYS_membarrier},
                 {"futex", SYS_futex}};
    size_t i = 0;

    while (i < sizeof calls / sizeof *calls && strcmp(calls[i].name, name) != 0)
        i++;
    if (i == sizeof calls / sizeof *calls || steps > MOST - 8)
        exit(2);
    load(offsetof(struct seccomp_data, nr));
    if (calls[i].number == SYS_futex) {
        only_if(SYS_futex, 3);
        load(offsetof(struct seccomp_data, args[1]));
        only_if(FUTEX_WAKE, 1);
    } else {
        only_if((unsigned)calls[i].number, 1);
    }
    end(SECCOMP_RET_ERRNO | EPERM);
}

int main(int argc, char **argv)
{
    struct sock_fprog program = {.filter = filter};

    if (argc < 3)
        return 2;
    for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ","))
        forbid(name);
    end(SECCOMP_RET_ALLOW);
    program.len = steps;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
        perror("forbid: seccomp");
        return 2;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 2;
}
