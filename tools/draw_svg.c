/* SPDX-License-Identifier: BSD-3-Clause */
/* A score as a picture. Ranks are staves from top to bottom; between two rounds each shows its buffer as a row of cells,
 * one colour to an element, filled as high as the share of contributions that has arrived; arrows are messages. So
 * one sees blocks travel, fill up and settle. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/draw.h"
#include "tools/svg.h"
#include "tools/tools.h"

enum { HEAD = 118, LEFT = 92, RIGHT = 36, FOOT = 96, STAFF = 96, CELL_HEIGHT = 34, GAP = 176, MAX_CELLS = 64 };

struct picture {
    FILE *out;
    struct tt_stage stage;
    const struct tt_score *score;
    enum tt_buf first[TOOL_MAX_DRAWN]; /* per rank: the buffer whose cells are drawn before the first round */
    enum tt_buf shown[TOOL_MAX_DRAWN]; /* and after each round */
    double cell, strip;                /* widths of a cell, and of the widest row of cells */
    int busiest;                       /* messages of the busiest round */
    double width, height;
};

/* ---- places ---- */

/* The row of cells after round k begins here. */
static double strip_x(const struct picture *p, int round)
{
    return LEFT + round * (p->strip + GAP);
}

static double staff_y(int rank)
{
    return HEAD + STAFF * (rank + 0.5);
}

static int64_t cells_of(const struct picture *p, int rank, enum tt_buf buf)
{
    const int64_t n = p->stage.length[rank][buf];

    return n < MAX_CELLS ? n : MAX_CELLS;
}

static bool empty(const struct picture *p, int rank, enum tt_buf buf)
{
    for (int64_t i = 0; i < p->stage.length[rank][buf]; i++)
        if (p->stage.notes[rank][buf][i].who)
            return false;
    return true;
}

/* What a rank shows: its result if it has one, else what it collects in, else what it gives; and first of all what
 * it brings along, while there is nothing else. Asked once the steps before the first round are done. */
static void choose_buffers(struct picture *p)
{
    for (int r = 0; r < p->score->shape.size; r++) {
        const int64_t *length = p->stage.length[r];

        p->shown[r] = length[RECV] ? RECV : length[TMP] ? TMP : SEND;
        p->first[r] = empty(p, r, p->shown[r]) && length[SEND] ? SEND : p->shown[r];
    }
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void lay_out(struct picture *p)
{
    const struct tt_score *score = p->score;
    int64_t most = 1;
    int in_round = 0;

    for (int r = 0; r < score->shape.size; r++)
        most = larger(most, larger(cells_of(p, r, p->first[r]), cells_of(p, r, p->shown[r])));
    p->cell = most <= 4 ? 28 : most <= 8 ? 22 : most <= 16 ? 16 : 320.0 / (double)most;
    p->strip = p->cell * (double)most;
    p->width = strip_x(p, score->rounds) + p->strip + RIGHT;
    p->width = p->width < 860 ? 860 : p->width;
    p->height = HEAD + STAFF * score->shape.size + FOOT;
    for (int i = 0; i < score->nevents; i++) {
        in_round = i && score->events[i].round == score->events[i - 1].round ? in_round : 0;
        in_round += score->events[i].recv != NULL;
        p->busiest = in_round > p->busiest ? in_round : p->busiest;
    }
}

/* ---- colours ---- */

/* One channel of a colour of that hue in degrees, at even lightness. */
static int channel(double hue, double shift, double lightness)
{
    const double t = fmod(hue / 30 + shift, 12), a = 0.52 * (lightness < 0.5 ? lightness : 1 - lightness);
    const double u = fmin(fmin(t - 3, 9 - t), 1);

    return (int)(255 * (lightness - a * fmax(u, -1)) + 0.5);
}

/* What a cell is called and coloured by: the number of its element, or the rank it comes from. */
static int64_t cell_name(const struct picture *p, int64_t what)
{
    int from, to;

    if (!tt_score_in_pairs(&p->score->shape))
        return what;
    tt_score_pair(&p->score->shape, what, &from, &to);
    return from;
}

/* "#rrggbb" for element `what` of the whole. */
static const char *colour(const struct picture *p, int64_t what, double lightness, char *text)
{
    const struct tt_shape *s = &p->score->shape;
    const int64_t group = cell_name(p, what), groups = tt_score_in_pairs(s) ? s->size : tt_score_whole(s);
    const double hue = fmod(212 + 360.0 * (double)group / (double)(groups ? groups : 1), 360);

    snprintf(text, 8, "#%02x%02x%02x", channel(hue, 0, lightness), channel(hue, 8, lightness), channel(hue, 4, lightness));
    return text;
}

/* ---- words ---- */

static void write_text(const struct picture *p, double x, double y, int size, const char *more, const char *text)
{
    tool_svg_text(p->out, x, y, size, more, text);
}

/* The short name of what a message carries: "2", "0-3", "1>2"; contributions are left to the fill. */
static void label_of(const struct picture *p, const struct tt_event *e, char *text, size_t size)
{
    char *bracket, *comma;

    tool_contents(text, size, &p->stage, e->rank, e->step->a, e->step->n);
    bracket = strstr(text, " (");
    if (bracket && !strchr(text, ','))
        *bracket = '\0';
    comma = strchr(text, ',');
    if (comma && strlen(text) > 12)
        snprintf(text, size, "%" PRId64 " el.", e->step->n);
    if (p->score->shape.coll == TT_COLL_barrier)
        text[0] = '\0';
}

/* ---- pieces ---- */

static void draw_cell(const struct picture *p, double x, double y, const struct tt_note *note)
{
    const bool reduces = tool_reduces(p->score->shape.coll);
    const double share = !note->who ? 0 : reduces ? (double)__builtin_popcountll(note->who) / p->score->shape.size : 1;
    const double filled = CELL_HEIGHT * share;
    char strong[8], number[24];

    fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"#ffffff\"/>\n", x, y, p->cell,
            CELL_HEIGHT);
    if (note->who)
        fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x,
                y + CELL_HEIGHT - filled, p->cell, filled, colour(p, note->what, share < 1 ? 0.76 : 0.58, strong));
    fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"none\" stroke=\"#8a8f98\" "
                    "stroke-width=\"%s\"/>\n", x, y, p->cell, CELL_HEIGHT, p->cell < 10 ? "0.3" : "0.8");
    if (!note->who || p->cell < 15)
        return;
    snprintf(number, sizeof number, "%" PRId64, cell_name(p, note->what));
    write_text(p, x + p->cell / 2, y + CELL_HEIGHT / 2.0 + 4, p->cell < 20 ? 9 : 11,
               "text-anchor=\"middle\" fill=\"#1d2330\"", number);
}

static enum tt_buf buf_at(const struct picture *p, int rank, int round)
{
    return round == 0 ? p->first[rank] : p->shown[rank];
}

static void draw_strips(const struct picture *p, int round)
{
    for (int r = 0; r < p->score->shape.size; r++)
        for (int64_t i = 0; i < cells_of(p, r, buf_at(p, r, round)); i++)
            draw_cell(p, strip_x(p, round) + p->cell * (double)i, staff_y(r) - CELL_HEIGHT / 2.0,
                      tt_stage_at(&p->stage, r, tt_at(buf_at(p, r, round), i)));
}

static double strip_end(const struct picture *p, int rank, int round)
{
    return strip_x(p, round) + p->cell * (double)cells_of(p, rank, buf_at(p, rank, round));
}

/* The slot among those that share an end, as a shift up or down, so that arrows do not lie on each other. */
static double spread(int i, int n)
{
    return n < 2 ? 0 : ((double)i / (n - 1) - 0.5) * fmin(26, 7.0 * n);
}

/* How many messages of e's round leave (or reach) its rank, and which of them e is. */
static double end_shift(const struct picture *p, const struct tt_event *e, bool target)
{
    const struct tt_event *first = e, *all = p->score->events;
    int n = 0, mine = 0;

    while (first > all && first[-1].round == e->round && first[-1].recv)
        first--;
    for (const struct tt_event *o = first; o < all + p->score->nevents && o->round == e->round && o->recv; o++) {
        mine = o == e ? n : mine;
        n += target ? o->step->peer == e->step->peer : o->rank == e->rank;
    }
    return spread(mine, n);
}

static void draw_label(const struct picture *p, double x, double y, const char *text, const char *strong)
{
    const double width = 10 + 6.6 * (double)strlen(text);

    fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\" rx=\"8\" fill=\"#ffffff\" stroke=\"%s\"/>\n",
            x - width / 2, y - 8, width, strong);
    write_text(p, x, y + 4, 11, "text-anchor=\"middle\" fill=\"#1d2330\"", text);
}

/* An arrow from the sender's cells before the round to the receiver's after it; the label sits near its tail. */
static void draw_message(const struct picture *p, const struct tt_event *e)
{
    static const char *const dashes[TT_MAX_LANES] = {"", "stroke-dasharray=\"7 4\"", "stroke-dasharray=\"2 4\"",
                                                     "stroke-dasharray=\"9 3 2 3\""};
    const double x0 = strip_end(p, e->rank, e->round - 1) + 3, x1 = strip_x(p, e->round) - 40;
    const double y0 = staff_y(e->rank) + end_shift(p, e, false), y1 = staff_y(e->step->peer) + end_shift(p, e, true);
    const double bend = (x1 - x0) * 0.42, t = 0.24 + 0.12 * e->lane, u = 1 - t;
    const struct tt_note *note = tt_stage_at(&p->stage, e->rank, e->step->a);
    char strong[8], label[64];

    colour(p, note->what, 0.42, strong);
    fprintf(p->out, "<path d=\"M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f\" fill=\"none\" stroke=\"%s\" "
                    "stroke-width=\"1.8\" %s/>\n", x0, y0, x0 + bend, y0, x1 - bend, y1, x1, y1, strong, dashes[e->lane]);
    fprintf(p->out, "<path d=\"M%.1f %.1f l-9 -4.5 l0 9 z\" fill=\"%s\"/>\n", x1 + 7, y1, strong);
    label_of(p, e, label, sizeof label);
    if (label[0] && p->busiest <= 3 * p->score->shape.size)
        draw_label(p, u * u * u * x0 + 3 * u * u * t * (x0 + bend) + 3 * u * t * t * (x1 - bend) + t * t * t * x1,
                   u * u * u * y0 + 3 * u * u * t * y0 + 3 * u * t * t * y1 + t * t * t * y1, label, strong);
}

/* One mark for all reductions (or copies) of a rank after a round. */
static void draw_mark(const struct picture *p, enum tt_verb verb, double x, double y, int n)
{
    char text[16];

    if (verb == TT_REDUCE)
        fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"9\" fill=\"#1d2330\"/>\n"
                        "<path d=\"M%.1f %.1f h10 m-5 -5 v10\" stroke=\"#ffffff\" stroke-width=\"2\"/>\n",
                x, y, x - 5, y);
    else
        fprintf(p->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" fill=\"#ffffff\" stroke=\"#1d2330\"/>\n"
                        "<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" fill=\"#ffffff\" stroke=\"#1d2330\"/>\n",
                x - 7, y - 7, x - 3, y - 3);
    snprintf(text, sizeof text, "%d", n);
    if (n > 1)
        write_text(p, x + 8, y - 9, 10, "text-anchor=\"middle\" fill=\"#1d2330\"", text);
}

/* The marks of a round, from its first local event on. */
static void draw_marks(const struct picture *p, const struct tt_event *first, int n)
{
    for (int r = 0; r < p->score->shape.size; r++) {
        int count[TT_NVERBS] = {0};

        for (int i = 0; i < n; i++)
            if (first[i].rank == r)
                count[first[i].step->verb]++;
        if (count[TT_REDUCE])
            draw_mark(p, TT_REDUCE, strip_x(p, first->round) - 18, staff_y(r), count[TT_REDUCE]);
        if (count[TT_COPY])
            draw_mark(p, TT_COPY, strip_x(p, first->round) - 18, staff_y(r) + (count[TT_REDUCE] ? 24 : 0), count[TT_COPY]);
    }
}

/* ---- the frame ---- */

static void draw_head(const struct picture *p)
{
    const struct tt_score *s = p->score;
    char text[160];

    snprintf(text, sizeof text, "%s %s on %d ranks", tt_coll_name(s->shape.coll), s->alg->name, s->shape.size);
    if (s->shape.nodes && s->shape.nodes->n > 1)
        snprintf(text + strlen(text), sizeof text - strlen(text), " of %d nodes", s->shape.nodes->n);
    tool_svg_begin(p->out, p->width, p->height, text);
    write_text(p, 24, 36, 21, "font-weight=\"bold\" fill=\"#1d2330\"", text);
    write_text(p, 24, 58, 13, "fill=\"#4a5160\"", s->alg->summary);
    snprintf(text, sizeof text, "%d round%s%s; per rank at most %d message%s sent, %" PRId64 " elements sent, %" PRId64
             " reduced", s->rounds, s->rounds == 1 ? "" : "s", s->shape.inplace ? ", in place" : "", s->most.messages,
             s->most.messages == 1 ? "" : "s", s->most.sent, s->most.reduced);
    write_text(p, 24, 78, 12, "fill=\"#4a5160\"", text);
}

static void draw_frame(const struct picture *p)
{
    const struct tt_nodes *nodes = p->score->shape.nodes;
    char text[32];

    for (int r = 0; r < p->score->shape.size; r++) {
        const int shade = nodes && nodes->n > 1 ? nodes->of[r] : r;

        fprintf(p->out, "<rect x=\"12\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"8\" fill=\"%s\"/>\n",
                staff_y(r) - STAFF / 2.0 + 3, p->width - 24, STAFF - 6, shade % 2 ? "#f3f5f9" : "#eceff5");
        snprintf(text, sizeof text, "rank %d", r);
        write_text(p, 24, staff_y(r) + 5, 13, "font-weight=\"bold\" fill=\"#1d2330\"", text);
        write_text(p, strip_x(p, 0), staff_y(r) + CELL_HEIGHT / 2.0 + 14, 10, "fill=\"#4a5160\"", tt_buf_name(p->first[r]));
        if (p->score->rounds > 0)
            write_text(p, strip_x(p, 1), staff_y(r) + CELL_HEIGHT / 2.0 + 14, 10, "fill=\"#4a5160\"",
                       tt_buf_name(p->shown[r]));
    }
    for (int k = 1; k <= p->score->rounds; k++) {
        const double x = strip_x(p, k - 1) + p->strip + (GAP - 20) / 2.0;

        snprintf(text, sizeof text, "round %d", k);
        write_text(p, x, HEAD - 10, 12, "text-anchor=\"middle\" fill=\"#4a5160\"", text);
    }
}

static double legend_entry(const struct picture *p, double x, double y, const char *text)
{
    write_text(p, x, y + 4, 12, "fill=\"#1d2330\"", text);
    return x + 7.0 * (double)strlen(text) + 40;
}

static void draw_legend(const struct picture *p)
{
    const double y = HEAD + STAFF * p->score->shape.size + 34;
    const bool reduces = tool_reduces(p->score->shape.coll);
    double x = 40;

    fprintf(p->out, "<path d=\"M%.1f %.1f h22\" stroke=\"#38507a\" stroke-width=\"1.8\"/>\n"
                    "<path d=\"M%.1f %.1f l-9 -4.5 l0 9 z\" fill=\"#38507a\"/>\n", x - 14, y, x + 15, y);
    x = legend_entry(p, x + 22, y, "message, with the elements it carries");
    if (reduces) {
        draw_mark(p, TT_REDUCE, x, y, 1);
        x = legend_entry(p, x + 16, y, "reduction");
    }
    draw_mark(p, TT_COPY, x, y, 1);
    legend_entry(p, x + 16, y, "copy within a rank");
    write_text(p, 26, y + 36, 12, "fill=\"#1d2330\"",
               reduces ? "A cell is one element, one colour each: empty, filled as far as contributions have come, "
                         "strong when all are in."
               : tt_score_in_pairs(&p->score->shape)
                   ? "A cell is one element, coloured and numbered by the rank it comes from; empty until it has come."
                   : "A cell is one element, one colour each: empty until it has come.");
    if (p->score->nlanes > 1)
        write_text(p, 26, y + 54, 12, "fill=\"#1d2330\"", "Lanes run independently: solid, dashed, dotted lines.");
}

static void play_until(struct picture *p, int round)
{
    while (p->stage.next < p->score->nevents && p->score->events[p->stage.next].round <= round)
        tt_stage_play(&p->stage);
}

/* All of one round: messages in the state before it, then what they and the local steps have made. */
static void draw_round(struct picture *p, int round)
{
    const struct tt_score *s = p->score;
    const struct tt_event *e = s->events + p->stage.next, *first_local;
    int locals = 0;

    for (; e < s->events + s->nevents && e->round == round && e->recv; e++)
        draw_message(p, e);
    first_local = e;
    for (; e < s->events + s->nevents && e->round == round; e++)
        locals++;
    play_until(p, round);
    if (locals && round > 0)
        draw_marks(p, first_local, locals);
    draw_strips(p, round);
}

int tool_draw_svg(FILE *out, const struct tt_score *score)
{
    struct picture p = {.out = out, .score = score};

    if (tt_stage_open(&p.stage, score))
        return -1;
    play_until(&p, 0);
    choose_buffers(&p);
    lay_out(&p);
    draw_head(&p);
    draw_frame(&p);
    for (int k = 0; k <= score->rounds; k++)
        draw_round(&p, k);
    draw_legend(&p);
    fputs("</svg>\n", out);
    tt_stage_close(&p.stage);
    return 0;
}
