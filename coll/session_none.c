/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI without sessions. */
#include "coll/world.h"

bool tt_has_sessions(void)
{
    return false;
}

MPI_Comm tt_session_self(void)
{
    return MPI_COMM_NULL;
}

void tt_session_close(void)
{
}
