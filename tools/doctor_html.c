/* SPDX-License-Identifier: BSD-3-Clause */
/* One page that needs nothing else: the findings, where ranks are, a timeline that can be zoomed, and a map of who came
 * how late to which call. The figures are in the page, as JSON, for the few lines of script below that draw them; of
 * large jobs the last calls and, evenly spread, some of the ranks, so that a browser can hold it. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tools/doctor.h"

enum { MOST_RANKS = 256, MOST_LINES = 1 << 17, MOST_CALLS = 2000 };

static const char *const head =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>tutti doctor</title><style>\n"
    "body{font:14px/1.5 system-ui,sans-serif;margin:2em;max-width:1200px;color:#222;background:#fff}\n"
    "h1{font-size:1.25em}h2{font-size:1em;margin:1.5em 0 .3em}p{margin:.3em 0}.first{font-size:1.1em;font-weight:600}\n"
    "canvas{width:100%;border:1px solid #ccc;display:block}#tip{min-height:1.5em;color:#555}td{padding:0 1em 0 0;"
    "vertical-align:top}\n</style></head><body>\n<h1>tutti doctor</h1>\n";

/* Wheel zooms, dragging moves, hovering tells. Blue is in a collective before the last rank has come, green after it.
 */
static const char *const script =
    "const T=document.getElementById('time'),H=document.getElementById('late'),tip=document.getElementById('tip');\n"
    "const row=Math.max(6,Math.min(22,Math.floor(600/D.ranks.length)));let from=D.from,to=D.to;\n"
    "function size(c,h){c.style.height=h+'px';c.width=c.clientWidth*devicePixelRatio;c.height=h*devicePixelRatio;\n"
    " const g=c.getContext('2d');g.setTransform(devicePixelRatio,0,0,devicePixelRatio,0,0);return g}\n"
    "function x(t,w){return 40+(t-from)/(to-from)*(w-40)}\n"
    "function draw(){const g=size(T,row*D.ranks.length+20),w=T.clientWidth;g.clearRect(0,0,w,1e4);g.font='11px "
    "sans-serif';\n"
    " D.ranks.forEach((r,i)=>{g.fillStyle='#555';if(row>9||i%4==0)g.fillText(r.rank,4,i*row+row-2);\n"
    "  for(const l of r.lines){const a=x(l[0],w),b=x(l[1],w);if(b<40||a>w)continue;\n"
    "   const m=Math.min(b,Math.max(a,x(l[4],w)));\n"
    "   g.fillStyle=l[5]?'#c33':'#79b';g.fillRect(Math.max(40,a),i*row+1,Math.max(.5,m-Math.max(40,a)),row-2);\n"
    "   "
    "if(m<b){g.fillStyle=l[5]?'#c33':'#5a5';g.fillRect(Math.max(40,m),i*row+1,Math.max(.5,b-Math.max(40,m)),row-2)}}});"
    "\n"
    " g.fillStyle='#555';for(let k=0;k<6;k++){const t=from+(to-from)*k/6;g.fillText((t/1e3).toFixed(3)+' "
    "ms',x(t,w),row*D.ranks.length+14)}}\n"
    "function find(e){const "
    "b=T.getBoundingClientRect(),i=Math.floor((e.clientY-b.top)/row),r=D.ranks[i];if(!r)return;\n"
    " const t=from+(e.clientX-b.left-40)/(b.width-40)*(to-from);return [r,r.lines.find(l=>l[0]<=t&&t<=l[1])]}\n"
    "T.onmousemove=e=>{if(e.buttons){const d=e.movementX/(T.clientWidth-40)*(to-from);from-=d;to-=d;draw()}\n"
    " const f=find(e);tip.textContent=f?'rank '+f[0].rank+': '+(f[1]?D.names[f[1][2]]+', call '+f[1][3]+', '+\n"
    "  (f[1][1]-f[1][0]).toFixed(1)+' us'+(f[1][5]?', not over':''):'outside'):''};\n"
    "T.onwheel=e=>{e.preventDefault();const "
    "b=T.getBoundingClientRect(),p=from+(e.clientX-b.left-40)/(b.width-40)*(to-from);\n"
    " const z=e.deltaY>0?1.25:.8;from=p-(p-from)*z;to=p+(to-p)*z;draw()};\n"
    "function heat(){const n=D.late.length;if(!n)return;const "
    "g=size(H,row*D.ranks.length),w=H.clientWidth,c=(w-40)/n;\n"
    " const top=Math.max(1,...D.late.map(l=>Math.max(...l.map(v=>v??0))));g.font='11px sans-serif';\n"
    " D.ranks.forEach((r,i)=>{g.fillStyle='#555';if(row>9||i%4==0)g.fillText(r.rank,4,i*row+row-2);\n"
    "  D.late.forEach((l,k)=>{const v=l[i];if(v==null)return;const s=Math.sqrt(Math.max(0,v)/top);\n"
    "   g.fillStyle=`rgb(${255-20*s},${250-200*s},${235-210*s})`;g.fillRect(40+k*c,i*row,Math.max(1,c),row-1)})});\n"
    " H.onmousemove=e=>{const b=H.getBoundingClientRect(),k=Math.floor((e.clientX-b.left-40)/c),\n"
    "  i=Math.floor((e.clientY-b.top)/row),l=D.late[k];\n"
    "  tip.textContent=l&&D.ranks[i]&&l[i]!=null?'rank '+D.ranks[i].rank+' came '+l[i].toFixed(1)+\n"
    "   ' us after the median rank to call '+(D.first+k):''}}\n"
    "draw();heat();onresize=()=>{draw();heat()};\n";

static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            fputc(*text, out);
        }
}

/* ---- the figures ---- */

/* Which ranks are shown: all, or some. */
static int step_of(const struct doctor_job *job)
{
    return (job->size + MOST_RANKS - 1) / MOST_RANKS;
}

static double us(const struct doctor_job *job, int64_t ns)
{
    return (double)(ns - job->begun) / 1e3;
}

/* When the last rank came to a call; 0: not known. */
static int64_t last_arrival(const struct doctor_comm *c, uint64_t number)
{
    int64_t last = 0;

    for (int m = 0; c && m < c->size; m++) {
        const struct tt_record_line *l = doctor_line(&c->members[m], number);

        if (!l)
            return 0;
        last = (int64_t)l->entered > last ? (int64_t)l->entered : last;
    }
    return last;
}

static int name_number(json_t *names, const char *name)
{
    size_t i;
    json_t *n;

    json_array_foreach(names, i, n) if (strcmp(json_string_value(n), name) == 0) return (int)i;
    n = json_string(name);
    json_array_append_new(names, n ? n : json_string("?"));
    return (int)json_array_size(names) - 1;
}

/* From, to, name, number, when the last one came, and whether it is not over. */
static json_t *line_in_json(struct doctor_job *job, const struct doctor_rank *rank, const struct tt_record_line *l,
                            json_t *names)
{
    const int64_t last = last_arrival(doctor_comm_of(job, rank, l->comm), l->number);
    const int64_t end = l->left ? (int64_t)l->left : job->now;

    return json_pack("[f, f, i, I, f, i]", us(job, (int64_t)l->entered), us(job, end),
                     name_number(names, record_name(rank->r, l->collective)), (json_int_t)l->number + 1,
                     us(job, last ? last : end), l->left == 0);
}

static json_t *ranks_in_json(struct doctor_job *job, json_t *names)
{
    const int step = step_of(job), shown = (job->size + step - 1) / step;
    json_t *ranks = json_array();

    for (int i = 0; i < job->size; i += step) {
        const struct record *r = job->ranks[i].r;
        const uint32_t n = r ? r->nlines : 0, most = (uint32_t)(MOST_LINES / shown);
        json_t *lines = json_array();

        for (uint32_t k = n > most ? n - most : 0; k < n; k++)
            json_array_append_new(lines, line_in_json(job, &job->ranks[i], &r->lines[k], names));
        json_array_append_new(ranks, json_pack("{s:i, s:o}", "rank", i, "lines", lines));
    }
    return ranks;
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* How much later than the median each rank shown came to one call; null where that is not known. */
static json_t *lateness(const struct doctor_job *job, const struct doctor_comm *c, uint64_t number, int64_t *room)
{
    json_t *late = json_array();
    int n = 0;

    for (int m = 0; m < c->size; m++) {
        const struct tt_record_line *l = doctor_line(&c->members[m], number);

        if (l)
            room[n++] = (int64_t)l->entered;
    }
    qsort(room, (size_t)n, sizeof *room, compare);
    for (int m = 0; m < c->size; m += step_of(job)) {
        const struct tt_record_line *l = doctor_line(&c->members[m], number);

        json_array_append_new(late,
                              l ? json_real((double)((int64_t)l->entered - room[(n - 1) / 2]) / 1e3) : json_null());
    }
    return late;
}

/* Of MPI_COMM_WORLD, the last calls. */
static json_t *lateness_in_json(struct doctor_job *job, uint64_t *first)
{
    const struct doctor_comm *c = NULL;
    json_t *late = json_array();
    int64_t *room = calloc((size_t)job->size, sizeof *room);
    uint64_t end;

    for (int i = 0; i < job->ncomms; i++)
        c = job->comms[i].id == job->id && job->comms[i].size == job->size ? &job->comms[i] : c;
    *first = 1;
    if (c && room) {
        end = c->members[0].first + c->members[0].n;
        *first = end - c->members[0].first > MOST_CALLS ? end - MOST_CALLS : c->members[0].first;
        for (uint64_t i = *first; i < end; i++)
            json_array_append_new(late, lateness(job, c, i, room));
        ++*first;
    }
    free(room);
    return late;
}

static void put_figures(FILE *out, struct doctor_job *job)
{
    uint64_t first;
    json_t *names = json_array(), *ranks = ranks_in_json(job, names), *late = lateness_in_json(job, &first);
    json_t *all = json_pack("{s:o, s:o, s:o, s:I, s:f, s:f}", "names", names, "ranks", ranks, "late", late, "first",
                            (json_int_t)first, "from", 0.0, "to", us(job, job->now));

    json_dumpf(all, out, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ESCAPE_SLASH | JSON_REAL_PRECISION(10));
    json_decref(all);
}

/* ---- the page ---- */

static void put_findings(FILE *out, struct doctor_job *job)
{
    fputs("<p class=\"first\">", out);
    put_text(out, job->nfindings ? job->findings[0].text : "Nothing is wrong");
    fputs(".</p>\n", out);
    for (int i = 1; i < job->nfindings; i++) {
        fputs("<p>Also: ", out);
        put_text(out, job->findings[i].text);
        fputs(".</p>\n", out);
    }
}

static void put_places(FILE *out, struct doctor_job *job)
{
    const int step = step_of(job);

    fputs("<h2>Where ranks are</h2><table>\n", out);
    for (int i = 0; i < job->size; i += step) {
        fprintf(out, "<tr><td>%d</td><td>", i);
        put_text(out, doctor_where(job, &job->ranks[i], job->lives));
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

void doctor_html(FILE *out, struct doctor_job *job)
{
    fputs(head, out);
    put_findings(out, job);
    fprintf(out, "<p>%d ranks, job %016" PRIx64 "</p>\n", job->size, job->id);
    fputs("<h2>Timeline: blue waits for the last rank to come, green moves data, red is not over; wheel and mouse zoom "
          "and "
          "move</h2>\n<canvas id=\"time\"></canvas><p id=\"tip\"></p>\n"
          "<h2>Who came late to which call on MPI_COMM_WORLD: the darker, the later</h2>\n<canvas "
          "id=\"late\"></canvas>\n",
          out);
    put_places(out, job);
    fputs("<script>\nconst D=", out);
    put_figures(out, job);
    fputs(";\n", out);
    fputs(script, out);
    fputs("</script></body></html>\n", out);
}
