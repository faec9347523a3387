/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures made by gnuplot, which most people who plot have. */
#ifndef TT_TOOLS_GNUPLOT_H
#define TT_TOOLS_GNUPLOT_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

bool tool_gnuplot_is_there(void);

/* Says that a picture was not made because it is not. Returns an exit status. */
int tool_gnuplot_missing(const struct argp_state *state, const char *file);

/* A script to be written into, or exit; and the SVG file that gnuplot makes of it: 0, or -1, having said why not. */
FILE *tool_gnuplot_begin(const struct argp_state *state);
int tool_gnuplot_end(const struct argp_state *state, FILE *script, const char *file);

/* For scripts: the picture's kind and size; a word in quotes; and what tells the i-th line from others. */
void tool_gnuplot_size(FILE *script, int width, int height);
void tool_gnuplot_word(FILE *script, const char *text);
const char *tool_gnuplot_colour(int i);
int tool_gnuplot_dash(int i);

#endif
