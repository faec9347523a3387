/* SPDX-License-Identifier: BSD-3-Clause */
/* The flight recorder, for who else is there: a process that records is seen alive by that. */
#ifndef TT_RECORD_H
#define TT_RECORD_H

#include <stdbool.h>

/* Does this process record? Then who comes by once in a while says so. */
bool tt_record_is_on(void);
void tt_record_beat(void);

#endif
