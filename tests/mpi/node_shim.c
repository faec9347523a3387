/* SPDX-License-Identifier: BSD-3-Clause */
/* A preload in which memory is not to be shared, as in containers: TUTTI_TEST_NODE has the words
 *   memfd   memfd_create is forbidden
 *   proc    other processes' files cannot be opened
 *   shm     neither can /dev/shm
 *   small   and there is room for 20 KiB only in that
 *   wake    the kernel has no fence for other processes' sake (membarrier)
 *   read    other processes' memory cannot be read
 *   odd     more than a few bytes of it cannot, in every other call
 *   other   what ranks of odd number open at first is another process's of that number, in a container of its own
 * A rank's number is what its launcher says. The MPI, which shares memory too, has it as it is. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* For a call that returns to that address. */
static int is_set(const char *word, const void *caller)
{
    const char *words = getenv("TUTTI_TEST_NODE");
    Dl_info from;

    return words && strstr(words, word) && dladdr(caller, &from) && strstr(from.dli_fname, "libtutti");
}

static int is_odd(void)
{
    const char *rank = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");

    return rank && atoi(rank) % 2;
}

static int refuse(int error)
{
    errno = error;
    return -1;
}

int memfd_create(const char *name, unsigned flags)
{
    int (*real)(const char *, unsigned);

    *(void **)&real = dlsym(RTLD_NEXT, "memfd_create");
    return is_set("memfd", __builtin_return_address(0)) ? refuse(EPERM) : real(name, flags);
}

/* As long, and empty. */
static int open_other(int fd)
{
    const off_t size = lseek(fd, 0, SEEK_END);
    const int other = memfd_create("other", 0);

    close(fd);
    return ftruncate(other, size) ? -1 : other;
}

int open(const char *path, int flags, ...)
{
    static int opened;
    int (*real)(const char *, int, int);
    va_list more;
    int mode, fd;

    va_start(more, flags);
    mode = flags & O_CREAT ? va_arg(more, int) : 0;
    va_end(more);
    *(void **)&real = dlsym(RTLD_NEXT, "open");
    if (strncmp(path, "/proc/", 6) != 0 || !strstr(path, "/fd/"))
        return real(path, flags, mode);
    if (is_set("proc", __builtin_return_address(0)))
        return refuse(EACCES);
    fd = real(path, flags, mode);
    return is_set("other", __builtin_return_address(0)) && is_odd() && opened++ == 0 ? open_other(fd) : fd;
}

int shm_open(const char *name, int flags, mode_t mode)
{
    static int opened;
    int (*real)(const char *, int, mode_t);

    *(void **)&real = dlsym(RTLD_NEXT, "shm_open");
    if (is_set("shm", __builtin_return_address(0)) ||
        (is_set("other", __builtin_return_address(0)) && is_odd() && opened++ == 0))
        return refuse(ENOENT);
    return real(name, flags, mode);
}

int posix_fallocate(int fd, off_t from, off_t size)
{
    int (*real)(int, off_t, off_t);

    *(void **)&real = dlsym(RTLD_NEXT, "posix_fallocate");
    return is_set("small", __builtin_return_address(0)) && size > 20 << 10 ? ENOSPC : real(fd, from, size);
}

/* For numbers of calls that libtutti has; their arguments are six words at most. */
long syscall(long number, ...)
{
    long (*real)(long, ...);
    long a[6];
    va_list more;

    va_start(more, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(more, long);
    va_end(more);
    *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_membarrier && is_set("wake", __builtin_return_address(0)))
        return refuse(EPERM);
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long nto, const struct iovec *from,
                         unsigned long nfrom, unsigned long flags)
{
    static unsigned calls;
    ssize_t (*real)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long, unsigned long);

    *(void **)&real = dlsym(RTLD_NEXT, "process_vm_readv");
    if (is_set("read", __builtin_return_address(0)))
        return refuse(EPERM);
    if (is_set("odd", __builtin_return_address(0)) && to->iov_len > 64 && calls++ % 2 == 0)
        return refuse(EFAULT);
    return real(pid, to, nto, from, nfrom, flags);
}
