/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI launchers differ in one thing that matters here: MPICH's kind hands the whole environment to every rank, Open
 * MPI's hands it to the ranks of its own node only. */
#include "tools/launch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coll/config.h"
#include "tools/paths.h"
#include "tools/tools.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool named_as_launcher(const char *path)
{
    static const char *const names[] = {"mpiexec", "mpirun", "orterun", "prterun"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(base_name(path), names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

enum tool_mpi tool_which_mpi(const char *path)
{
    char *command, line[512];
    bool open = false;
    FILE *words;

    if (!named_as_launcher(path))
        return TOOL_NO_LAUNCHER;
    if (strchr(path, '\'') || asprintf(&command, "'%s' --version 2>&1", path) < 0)
        return TOOL_OTHER_MPI;
    words = popen(command, "r");
    free(command);
    while (words && fgets(line, sizeof line, words))
        open |= strstr(line, "Open MPI") || strstr(line, "OpenRTE") || strstr(line, "open-mpi");
    if (words)
        pclose(words);
    return open ? TOOL_OPEN_MPI : TOOL_OTHER_MPI;
}

/* ---- variables ---- */

bool tool_variable_travels(const char *assignment)
{
    return strncmp(assignment, "TUTTI", 5) == 0 || strncmp(assignment, "LD_PRELOAD=", 11) == 0 ||
           strncmp(assignment, "LD_LIBRARY_PATH=", 16) == 0;
}

char **tool_forward_variables(char **command)
{
    size_t words = 1, i = 0;
    char **longer;

    while (command[words - 1])
        words++;
    for (char **e = environ; *e; e++)
        words += 2 * tool_variable_travels(*e);
    longer = calloc(words, sizeof *longer);
    if (!longer)
        abort();
    longer[i++] = *command++;
    for (char **e = environ; *e; e++)
        if (tool_variable_travels(*e)) {
            longer[i++] = "-x";
            longer[i++] = strndup(*e, strcspn(*e, "="));
        }
    while (*command)
        longer[i++] = *command++;
    return longer;
}

static const char *const settings[] = {
#define TT_CONFIG(id, name, def, values, traits, help) name,
#include "coll/config.def"
#undef TT_CONFIG
};

void tool_print_variables(FILE *out)
{
    char pin[64];

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        fprintf(out, "%s, ", settings[i]);
    for (int c = 0; c < TT_NCOLLS; c++)
        fprintf(out, "%s, ", tt_config_pin_name((enum tt_coll)c, pin, sizeof pin));
    fputs("TUTTI_SIM_... of the simulated device", out);
}

/* ---- programs ---- */

/* The runtime names its errors and asks the driver for private tables; stripping a program leaves both strings in. */
static bool marked(const char *image, size_t size)
{
    static const char error[] = "cudaErrorCudartUnloading", tables[] = "cuGetExportTable";

    return size > 4 && memcmp(image, "\177ELF", 4) == 0 && memmem(image, size, error, sizeof error - 1) &&
           memmem(image, size, tables, sizeof tables - 1);
}

/* This program, which has both strings in because it looks for them. */
static bool ourselves(const struct stat *s)
{
    struct stat own;

    return stat("/proc/self/exe", &own) == 0 && own.st_dev == s->st_dev && own.st_ino == s->st_ino;
}

bool tool_has_static_cudart(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;
    bool found = false;

    if (fd < 0)
        return false;
    if (fstat(fd, &s) == 0 && s.st_size > 0 && !ourselves(&s)) {
        void *image = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

        if (image != MAP_FAILED) {
            found = marked(image, (size_t)s.st_size);
            munmap(image, (size_t)s.st_size);
        }
    }
    close(fd);
    return found;
}
