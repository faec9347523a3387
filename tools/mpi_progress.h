/* SPDX-License-Identifier: BSD-3-Clause */
/* How far long work is, on standard error: a bar on a terminal, else a line now and then. */
#ifndef TT_TOOLS_MPI_PROGRESS_H
#define TT_TOOLS_MPI_PROGRESS_H

/* `done` sizes are measured, `left` are not, which will take so long; what: the last one. */
void tool_progress(const char *command, int done, int left, double seconds_left, const char *what);

/* Nothing more will come: the next words begin a line. */
void tool_progress_end(void);

/* The bar goes, for other words to stand there. */
void tool_progress_clear(void);

#endif
