/* SPDX-License-Identifier: BSD-3-Clause */
/* Words in XML, and how a picture begins. */
#include "tools/svg.h"

static void write_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        default:
            fputc(*text, out);
        }
}

void tool_svg_text(FILE *out, double x, double y, int size, const char *more, const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" %s>", x, y, size, more);
    write_escaped(out, text);
    fputs("</text>\n", out);
}

void tool_svg_begin(FILE *out, double width, double height, const char *title)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n<title>",
            width, height, width, height);
    write_escaped(out, title);
    fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", out);
}
