/* SPDX-License-Identifier: BSD-3-Clause */
/* What pictures share. Plain SVG 1.1: no script, no style sheet, no font but the viewer's. */
#ifndef TT_TOOLS_SVG_H
#define TT_TOOLS_SVG_H

#include <stdio.h>

#define TOOL_INK "#1d2330"   /* words, and what is important */
#define TOOL_GREY "#4a5160"  /* words beside */
#define TOOL_LINE "#8a8f98"  /* thin lines */
#define TOOL_PANEL "#eceff5" /* behind what belongs together */

/* A picture begins, of that size and title; it ends with </svg>. */
void tool_svg_begin(FILE *out, double width, double height, const char *title);

/* Words at a place; more: further attributes. */
void tool_svg_text(FILE *out, double x, double y, int size, const char *more, const char *text);

#endif
