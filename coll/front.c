/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI's profiling interface has room for one: a tool that is loaded, or linked, in front of Tutti has the calls first,
 * and hands them on as PMPI_, which is the MPI's own: Tutti never hears of them. It can neither be seen from the calls,
 * nor mended from behind; but the loader knows. Costs a look-up of each name, once. */
#include "coll/front.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "coll/call.h"
#include "coll/config.h"

/* Where a program takes the address of a function, the loader knows a place in the program as the function's: that is
 * nobody's own one. */
const char *tt_in_front(const char *function)
{
    void *found = dlsym(RTLD_DEFAULT, function);
    const ElfW(Sym) *symbol = NULL;
    Dl_info theirs, ours;

    if (!found || !dladdr1(found, &theirs, (void **)&symbol, RTLD_DL_SYMENT) || !dladdr(&tt_config, &ours))
        return NULL;
    if (theirs.dli_fbase == ours.dli_fbase || (symbol && symbol->st_shndx == SHN_UNDEF))
        return NULL;
    return theirs.dli_fname;
}

void tt_point_out_front(void)
{
    for (int i = 0; i < TT_NCOLLS; i++) {
        const char *file = tt_in_front(tt_rows[i].name);

        if (!file)
            continue;
        tt_log(
            TT_WARN,
            "%s has %s before Tutti: if it passes that on as P%s, as tools do, Tutti does not see the call, nor serves "
            "GPU memory in it. For Tutti to have it, libtutti.so comes first in LD_PRELOAD, or when linking",
            file, tt_rows[i].name, tt_rows[i].name);
        return;
    }
}
