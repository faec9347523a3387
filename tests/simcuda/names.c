/* SPDX-License-Identifier: BSD-3-Clause */
/* Words for result codes, and entry points by name. Both come from the rows; the text of an error is its own name
 * in lower case words, which says as much as the real one's sentence. cuGetExportTable is asked for by a CUDA
 * runtime that is linked into the program: it goes behind the driver API, which cannot be simulated, and the
 * person is told the way out. */
#include "tests/simcuda/sim.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { PREFIX = sizeof "CUDA_ERROR_" - 1, LONGEST = 64 };

static const struct {
    const char *name;
    CUresult value;
} constants[] = {
#define TT_DRIVER_CONST(name, value) {#name, value},
#include "cuda/driver.def"
};

static const char *name_of(CUresult error)
{
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (constants[i].value == error && strncmp(constants[i].name, "CUDA_", 5) == 0)
            return constants[i].name;
    return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **name)
{
    (void)sim_enter(NEED_NOTHING); /* words are to be had even after the end */
    if (!name)
        return sim_leave(CUDA_ERROR_INVALID_VALUE);
    *name = name_of(error);
    return sim_leave(*name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    static _Thread_local char words[LONGEST];
    const char *name = name_of(error);
    size_t i = 0;

    (void)sim_enter(NEED_NOTHING);
    if (text)
        *text = NULL;
    if (!text || !name)
        return sim_leave(CUDA_ERROR_INVALID_VALUE);
    if (strncmp(name, "CUDA_ERROR_", PREFIX) != 0)
        name = "CUDA_ERROR_NO_ERROR";
    for (; name[PREFIX + i] && i + 1 < sizeof words; i++)
        words[i] = name[PREFIX + i] == '_' ? ' ' : (char)tolower((unsigned char)name[PREFIX + i]);
    words[i] = '\0';
    *text = words;
    return sim_leave(CUDA_SUCCESS);
}

/* Under the name in the documentation, the newest form; under the symbol's, that. */
static const struct {
    const char *name, *symbol;
    void *function;
} entry_points[] = {
#define TT_DRIVER(name, symbol, need, params) {#name, #symbol, (void *)symbol},
#include "cuda/driver.def"
#define TT_DRIVER(name, symbol, need, params) {#name, #symbol, (void *)symbol},
#include "tests/simcuda/driver_more.def"
};

CUresult cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *found)
{
    enum { FOUND, NOT_FOUND };
    CUresult error = sim_enter(NEED_NOTHING);

    (void)version, (void)flags;
    if (!error && (!name || !function))
        error = CUDA_ERROR_INVALID_VALUE;
    if (error)
        return sim_leave(error);
    *function = NULL;
    for (size_t i = 0; !*function && i < sizeof entry_points / sizeof entry_points[0]; i++)
        if (strcmp(entry_points[i].name, name) == 0 || strcmp(entry_points[i].symbol, name) == 0)
            *function = entry_points[i].function;
    if (found)
        *found = *function ? FOUND : NOT_FOUND;
    return sim_leave(*function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND);
}

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    static bool said;
    const CUresult error = sim_enter(NEED_NOTHING);

    (void)id;
    if (table)
        *table = NULL;
    if (!said)
        sim_say("this program has the CUDA runtime linked inside, which only works on a real driver; "
                "link it with: nvcc -cudart shared");
    said = true;
    return sim_leave(error ? error : CUDA_ERROR_NOT_SUPPORTED);
}
