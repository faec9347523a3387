/* SPDX-License-Identifier: BSD-3-Clause */
/* The two ways of drawing a score. */
#ifndef TT_DRAW_H
#define TT_DRAW_H

#include <stdio.h>

#include "tools/score.h"

enum { TOOL_MAX_DRAWN = 64 }; /* ranks: contributions are kept as bits */

/* Every rank, round by round. Returns 0, or -1 with errno. */
int tool_draw_text(FILE *out, const struct tt_score *score);

/* One rank's plan, step by step with its fences. */
void tool_draw_part(FILE *out, const struct tt_score *score, int rank);

/* A picture: ranks from top to bottom, rounds from left to right. */
int tool_draw_svg(FILE *out, const struct tt_score *score);

/* What n elements from loc on hold, as words: "x2", "x0-3 (0+1)", "x1>2". The text is cut to fit. Returns text. */
char *tool_contents(char *text, size_t size, const struct tt_stage *stage, int rank, struct tt_loc loc, int64_t n);

#endif
