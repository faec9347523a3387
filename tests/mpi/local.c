/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows nothing of MPI and loads a module that does, with RTLD_LOCAL, as Python loads extensions: local
 * MODULE. The exit status is the module's. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL, *found;
    int (*run)(void);

    alarm(60);
    if (!module) {
        fprintf(stderr, "FAIL: %s\n", argc > 1 ? dlerror() : "which module?");
        return 1;
    }
    found = dlsym(module, "run_module");
    memcpy(&run, &found, sizeof run);
    return run ? run() : 1;
}
