/* SPDX-License-Identifier: BSD-3-Clause */
/* Tutti as a program may or may not have it: what tutti.h has, or words that there is none. */
#ifndef TT_TOOLS_MPI_TUTTI_H
#define TT_TOOLS_MPI_TUTTI_H

#include <stdbool.h>

#include "coll/tutti.h"

/* Does it stand between this program and the MPI, and is it not switched off? */
bool tool_tutti_is_on(void);

/* tutti_set, tutti_choice, tutti_version and tutti_type; where Tutti is not there, MPI_ERR_OTHER or NULL. */
int tool_tutti_set(const char *name, const char *value);
const char *tool_tutti_choice(MPI_Comm comm, const char *collective);
const char *tool_tutti_version(void);
/* tutti_progress, likewise. */
int tool_tutti_progress(bool thread);

int tool_tutti_type(enum tutti_format format, MPI_Datatype *type);

#endif
