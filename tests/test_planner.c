/* SPDX-License-Identifier: BSD-3-Clause */
/* The planner against what can be done by hand, and against what was published: parameters and floating-point
 * operations by the formulas of Narayanan et al. (SC'21, arXiv:2104.04473), activations by those of Korthikanti et al.
 * (arXiv:2205.05198), the time of an iteration by the former's tables. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coll/plan.h"
#include "planner/search.h"
#include "selector/model.h"
#include "selector/nccl.h"
#include "selector/net.h"

#define N(list) ((int)(sizeof(list) / sizeof *(list)))

static char file[] = "/tmp/tutti-model-XXXXXX";
static char why[1024];

static void expect_near(double seen, double expected, double within)
{
    ck_assert_msg(fabs(seen - expected) <= within * fabs(expected), "%.12g, expected %.12g", seen, expected);
}

static struct tt_transformer read_model(const char *name)
{
    struct tt_transformer m;

    ck_assert_msg(tt_transformer_read(name, &m, why, sizeof why) == 0, "%s", why);
    return m;
}

/* A model, GPUs, and all that layouts are judged by. */
struct scene {
    struct tt_transformer m;
    struct tt_topo *t;
    struct tt_setting with;
    struct tt_search s;
};

static void open_scene(struct scene *e, const char *model, const char *topology, int gpus)
{
    e->m = read_model(model);
    ck_assert_msg(tt_topo_read(topology, gpus, 0, NULL, &e->t, why, sizeof why) == 0, "%s", why);
    e->with = (struct tt_setting){.m = &e->m,
                                  .gpu = tt_gpu_kind_find(*e->t->gpu ? e->t->gpu : "a100", why, sizeof why),
                                  .efficiency = 0.58,
                                  .skew = 1,
                                  .overlap = true,
                                  .place = tt_placement_make(e->t)};
    ck_assert_ptr_nonnull(e->with.gpu);
    ck_assert_ptr_nonnull(e->with.place);
    e->with.memory = 0.9 * e->with.gpu->memory;
}

static void close_scene(struct scene *e)
{
    tt_search_free(&e->s);
    tt_placement_free(e->with.place);
    tt_topo_free(e->t);
}

static void look(struct scene *e, const char *layout)
{
    struct tt_layout wish;

    ck_assert_msg(tt_layout_parse(layout, &wish, why, sizeof why) == 0, "%s", why);
    tt_search_free(&e->s);
    ck_assert_int_eq(tt_search_run(&e->s, &wish, &e->with), 0);
}

/* The one layout that there is. */
static const struct tt_iteration *only(struct scene *e, const char *layout)
{
    look(e, layout);
    ck_assert_msg(e->s.n == 1, "%d sizes with %s, of which %d refused: %s", e->s.n, layout, e->s.refused,
                  e->s.nrefusals ? e->s.refusals[0].why : "");
    return &e->s.ranked[0].step;
}

/* ---- models ---- */

static const struct {
    const char *name;
    double parameters;
} published[] = {
    {"gpt3-175b", 174.6e9}, {"megatron-145b", 145.6e9}, {"megatron-530b", 529.6e9}, {"megatron-1t", 1008.0e9},
    {"llama2-7b", 6.738e9}, {"llama2-70b", 68.98e9},    {"mixtral-8x7b", 46.70e9},
};

START_TEST(shipped_models_have_their_parameters)
{
    const struct tt_transformer m = read_model(published[_i].name);

    expect_near(tt_parameters(&m), published[_i].parameters, 5e-4);
}
END_TEST

/* Of Mixtral a token meets 12.9 billion. */
START_TEST(a_token_meets_some_experts)
{
    const struct tt_transformer m = read_model("mixtral-8x7b");

    expect_near(tt_active_parameters(&m), 12.88e9, 2e-3);
    expect_near(tt_layer_work(&m).experts, 2 * 2 * 3.0 * 4096 * 14336, 0);
}
END_TEST

/* Formulas 2 and 3; the last norm is not in the former. */
START_TEST(formulas_are_those_of_the_paper)
{
    const struct tt_transformer m = read_model(published[_i].name);
    const double l = m.layers, h = m.hidden, s = m.sequence, V = m.vocabulary, B = m.batch;

    expect_near(tt_parameters(&m) - 2 * h, 12 * l * h * h * (1 + 13 / (12 * h) + (V + s) / (12 * l * h)), 1e-12);
    expect_near(tt_step_work(&m, B), 96 * B * s * l * h * h * (1 + s / (6 * h) + V / (16 * l * h)), 1e-12);
}
END_TEST

/* Bytes that a layer keeps for a token, over h: 34 + 5 a s / h on one GPU, 10 + 24/t where tensor groups cut the rest,
 * 34/t where they cut all; and 2 with full recomputation. */
START_TEST(activations_are_those_of_the_paper)
{
    struct tt_transformer m = read_model("gpt3-175b");
    const double h = m.hidden;

    m.recompute = TT_RECOMPUTE_none;
    expect_near(tt_layer_keeps(&m, 1, 1, false) / h, 34 + 5.0 * m.heads * m.sequence / h, 1e-12);
    m.recompute = TT_RECOMPUTE_selective;
    expect_near(tt_layer_keeps(&m, 1, 1, false) / h, 34, 1e-12);
    expect_near(tt_layer_keeps(&m, 8, 1, false) / h, 10 + 24.0 / 8, 1e-12);
    expect_near(tt_layer_keeps(&m, 8, 1, true) / h, 34.0 / 8, 1e-12);
    expect_near(tt_layer_keeps(&m, 8, 2, true) / h, 34.0 / 16, 1e-12);
    m.recompute = TT_RECOMPUTE_full;
    expect_near(tt_layer_keeps(&m, 8, 1, false) / h, 2, 1e-12);
    expect_near(tt_layer_keeps(&m, 8, 1, true) / h, 2.0 / 8, 1e-12);
}
END_TEST

/* ---- bad files: each is the good text with one thing changed ---- */

static const char good[] = "{\n"
                           "    \"about\": \"small\",\n"
                           "    \"layers\": 4, \"hidden\": 64, \"heads\": 8, \"kv_heads\": 4, \"ffn\": 256,\n"
                           "    \"vocabulary\": 1000, \"sequence\": 128, \"batch\": 16,\n"
                           "    \"experts\": 4, \"top_k\": 2,\n"
                           "    \"precision\": \"bf16\", \"optimizer\": \"adam\", \"recompute\": \"none\"\n"
                           "}\n";

static const struct {
    const char *from, *to, *words;
} bad[] = {
    {"\"layers\": 4", "\"layers\": 0", ":3: layers: wants a whole number from 1 to 1073741824, not 0"},
    {"\"layers\": 4", "\"layers\": \"4\"", ":3: layers: wants a whole number"},
    {"\"layers\": 4", "\"layers\": 4.5", ":3: layers: wants a whole number"},
    {"\"layers\": 4, ", "", ": the key \"layers\" is missing"},
    {"\"hidden\"", "\"hiden\"", ":3: there is no key \"hiden\" here; known are: about, parameters, layers, hidden"},
    {"\"hidden\"", "\"hiden\"", "did you mean \"hidden\"?"},
    {"\"batch\"", "\"batch_size\"", ":4: there is no key \"batch_size\""},
    {"\"heads\": 8", "\"heads\": 7", ":3: heads: hidden, 64, is not divisible by 7"},
    {"\"kv_heads\": 4", "\"kv_heads\": 3", ":3: kv_heads: heads, 8, are not divisible by 3"},
    {"\"top_k\": 2", "\"top_k\": 5", ":5: top_k: a token goes to top_k = 5 of 4 experts"},
    {", \"top_k\": 2", "", ":5: experts: a token goes to top_k = 0 of 4 experts"},
    {"\"bf16\"", "\"bf61\"", ":6: precision: bf61 is not one of those that may be here (did you mean bf16?)"},
    {"\"adam\"", "7", ":6: optimizer: 7 is not one of those that may be here"},
    {"\"none\"", "\"all\"",
     ":6: recompute: all is not one of those that may be here (did you mean full?): there are none"},
    {"\"batch\": 16", "\"batch\": 16, \"parameters\": 7e9", ":4: parameters: says 7e+09, and the shape has"},
    {"\"batch\": 16", "\"batch\": 16, \"gated\": 1", ":4: gated: wants true or false, not 1"},
    {"\"batch\": 16,", "\"batch\": 16", ":5: at \"experts\": "},
    {"\"sequence\": 128", "\"sequence\": 12 8", ":4: at \"sequence\": "},
    {"\"heads\": 8", "\"heads\": 8, \"heads\": 8", ":3: "},
};

static void write_changed(const char *from, const char *to)
{
    const char *at = strstr(good, from);
    FILE *out = fopen(file, "w");

    ck_assert_ptr_nonnull(out);
    ck_assert_msg(at != NULL, "\"%s\" is not in the good text", from);
    fprintf(out, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
    fclose(out);
}

START_TEST(what_is_wrong_is_named_with_its_line)
{
    struct tt_transformer m;

    write_changed(bad[_i].from, bad[_i].to);
    ck_assert_int_eq(tt_transformer_read(file, &m, why, sizeof why), -1);
    ck_assert_msg(strncmp(why, file, strlen(file)) == 0 && strstr(why, bad[_i].words), "expected \"%s\" in \"%s\"",
                  bad[_i].words, why);
}
END_TEST

START_TEST(a_good_file_is_read)
{
    struct tt_transformer m;

    write_changed("\"small\"", "\"small one\"");
    m = read_model(file);
    ck_assert_str_eq(m.about, "small one");
    ck_assert(m.layers == 4 && m.kv_heads == 4 && m.experts == 4 && m.top_k == 2 && !m.gated && m.batch == 16);
    ck_assert(m.precision == TT_bf16 && m.gradients == TT_bf16 && m.recompute == TT_RECOMPUTE_none);
    ck_assert_int_eq(tt_transformer_read("gpt4", &m, why, sizeof why), -1);
    ck_assert_msg(strstr(why, "models known by name: gpt3-175b"), "%s", why);
}
END_TEST

/* ---- what was published ---- */

/* Tables 1 and 2. Of the former the microbatch and the pieces of a stage are not published: one sequence, and two
 * pieces (three of 105 layers by 35 stages, which have no two) are taken. GPUs are A100, eight to a node, on Selene.
 * The last two rows are of PyTorch's FSDP (Zhao et al., arXiv:2304.11277, section 5.4): "more than", from 128 GPUs to
 * 512. */
static const struct {
    const char *model, *layout;
    int gpus, batch;
    double teraflops; /* achieved per GPU */
} rows[] = {
    {"gpt3-175b", "tp8,pp12,1f1b,mb1,zero0,nosp", 384, 1536, 153},
    {"gpt3-175b", "tp8,pp12,1f1b,mb1,zero0,nosp", 768, 1536, 149},
    {"gpt3-175b", "tp8,pp12,1f1b,mb1,zero0,nosp", 1536, 1536, 141},
    {"megatron-145b", "tp8,pp8,v2,mb1,zero0,nosp", 1536, 2304, 148},
    {"megatron-530b", "tp8,pp35,1f1b,mb1,zero0,nosp", 560, 2240, 171},
    {"megatron-530b", "tp8,pp35,1f1b,mb1,zero0,nosp", 1120, 2240, 167},
    {"megatron-530b", "tp8,pp35,1f1b,mb1,zero0,nosp", 2240, 2240, 159},
    {"megatron-530b", "tp8,pp35,v3,mb1,zero0,nosp", 2520, 2520, 163},
    {"megatron-1t", "tp8,pp64,v2,mb1,zero0,nosp", 3072, 3072, 163},
    {"gpt3-175b", "tp1,pp1,mb1,zero3", 512, 512, 173},
    {"gpt3-175b", "tp1,pp1,mb2,zero3", 512, 1024, 186},
};

START_TEST(iterations_take_what_was_published)
{
    struct scene e = {0};
    const struct tt_iteration *s;
    double published;

    open_scene(&e, rows[_i].model, "a100x8", rows[_i].gpus);
    e.m.batch = rows[_i].batch;
    s = only(&e, rows[_i].layout);
    ck_assert(s->memory.fits);
    published = tt_step_work(&e.m, e.m.batch) / (rows[_i].gpus * rows[_i].teraflops * 1e12);
    expect_near(s->seconds, published, 0.20);
    close_scene(&e);
}
END_TEST

/* ---- by hand ---- */

/* Links of 1 GB/s that take no time to begin with, on which a call of two ranks is a division. */
static const char by_hand[] = "{\"about\": \"by hand\", \"gpu\": \"a100\",\n"
                              " \"nodes\": [{\"count\": 4, \"sockets\": 1, \"cores\": 8, \"gpus\": 2, \"nics\": 1,"
                              " \"links\": \"nvlink\", \"ranks\": 2}],\n"
                              " \"speeds\": {\"gpu\": {\"alpha\": \"0\", \"bandwidth\": \"1000GB/s\"},\n"
                              "  \"link\": {\"alpha\": \"0\", \"bandwidth\": \"100GB/s\"},\n"
                              "  \"host\": {\"alpha\": \"0\", \"bandwidth\": \"100GB/s\"},\n"
                              "  \"nic\": {\"alpha\": \"0\", \"bandwidth\": \"1GB/s\"}}}\n";

static void open_by_hand(struct scene *e, const char *model, int gpus)
{
    FILE *out = fopen(file, "w");

    ck_assert_ptr_nonnull(out);
    fputs(by_hand, out);
    fclose(out);
    open_scene(e, model, file, gpus);
}

/* Two GPUs on NVLink, tensor parallel: 3 x 2 allreduces of 4 x 2048 x 12288 x 2 bytes a layer and microbatch. */
START_TEST(a_tensor_group_by_hand)
{
    const double bytes = 4.0 * 2048 * 12288 * 2;
    struct scene e = {0};
    const struct tt_iteration *s;

    open_by_hand(&e, "gpt3-175b", 2);
    s = only(&e, "tp2,pp1,mb4,zero0,nosp");
    ck_assert_int_eq(s->microbatches, 384);
    ck_assert_int_eq(s->nflows, 2);
    expect_near(s->flows[0].bytes, bytes, 0);
    expect_near(s->flows[0].times, 6.0 * 96 * 384, 0);
    expect_near(s->flows[0].seconds, bytes / 100e9, 1e-9);
    expect_near(s->flows[1].times, 2 * 384, 0);
    expect_near(s->exposed[TT_FLOW_tensor], (6 * 96 + 2) * 384 * bytes / 100e9, 1e-9);
    expect_near(s->compute, tt_step_work(&e.m, 1536) / 2 / (0.58 * 312e12), 1e-12);
    expect_near(s->seconds, s->compute + s->exposed[TT_FLOW_tensor] + s->optimizer, 1e-12);
    s = only(&e, "tp2,pp1,mb4,zero0,sp");
    ck_assert_int_eq(s->nflows, 4); /* halves gathered before, and reduced behind */
    expect_near(s->flows[0].bytes, bytes / 2, 0);
    expect_near(s->exposed[TT_FLOW_tensor], (6 * 96 + 2) * 384 * bytes / 100e9, 1e-9);
    close_scene(&e);
}
END_TEST

/* Two nodes of two GPUs: groups of two data-parallel ranks cross the network side by side on one NIC, half of it each;
 * of 2.4e9 parameters' gradients in fp32. */
START_TEST(a_shared_nic_by_hand)
{
    struct scene e = {0};
    const struct tt_iteration *s;
    double parameters;

    open_by_hand(&e, "llama2-7b", 4);
    s = only(&e, "tp2,pp1,dp2,mb1,zero0");
    parameters = (32 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008 + 2 * 4096) + 2.0 * 32000 * 4096 + 4096) / 2;
    expect_near(s->weights, parameters, 1e-12);
    ck_assert_str_eq(s->flows[s->nflows - 1].what, "gradients");
    expect_near(s->flows[s->nflows - 1].about.sharing, 2, 0);
    ck_assert_int_eq(s->flows[s->nflows - 1].about.level, TT_LEVEL_NIC);
    expect_near(s->flows[s->nflows - 1].bytes, 4 * parameters, 1e-12);
    expect_near(s->total[TT_FLOW_data], 4 * parameters / 0.5e9, 1e-6);
    expect_near(s->exposed[TT_FLOW_data], s->total[TT_FLOW_data] - s->compute / s->microbatches * 31 / 32, 1e-9);
    e.with.overlap = false;
    s = only(&e, "tp2,pp1,dp2,mb1,zero0");
    expect_near(s->exposed[TT_FLOW_data], s->total[TT_FLOW_data], 0);
    close_scene(&e);
}
END_TEST

/* Eight microbatches through four stages: 8/11 of the time; 32: 32/35; interleaved in two pieces, 8/9.5. */
START_TEST(a_pipeline_by_hand)
{
    struct scene e = {0};
    const struct tt_iteration *s;

    open_by_hand(&e, "llama2-70b", 4);
    e.m.batch = 8;
    s = only(&e, "tp1,pp4,mb1,1f1b");
    expect_near(s->bubble / (s->bubble + 8 * s->micro), 1 - 8.0 / 11, 1e-9);
    expect_near(s->memory.in_flight, 4, 0);
    s = only(&e, "tp1,pp4,mb1,gpipe");
    expect_near(s->bubble / (s->bubble + 8 * s->micro), 1 - 8.0 / 11, 1e-9);
    expect_near(s->memory.in_flight, 8, 0);
    s = only(&e, "tp1,pp4,mb1,v2");
    expect_near(s->bubble / (s->bubble + 8 * s->micro), 1 - 8 / 9.5, 1e-9);
    expect_near(s->memory.in_flight, 4 * (1 + 3.0 / 8), 1e-12);
    e.m.batch = 32;
    s = only(&e, "tp1,pp4,mb1,1f1b");
    expect_near(s->bubble / (s->bubble + 32 * s->micro), 1 - 32.0 / 35, 1e-9);
    close_scene(&e);
}
END_TEST

/* 16 bytes a parameter: 2 of weights, 2 of gradients, 12 of the optimizer, and what ZeRO cuts of them. */
START_TEST(state_is_cut_by_hand)
{
    struct scene e = {0};
    double all;

    open_by_hand(&e, "gpt3-175b", 8);
    all = tt_parameters(&e.m);
    expect_near(only(&e, "tp1,pp1,dp8,mb1,zero0")->memory.optimizer, 12 * all, 1e-12);
    expect_near(only(&e, "tp1,pp1,dp8,mb1,zero1")->memory.optimizer, 12 * all / 8, 1e-12);
    expect_near(only(&e, "tp1,pp1,dp8,mb1,zero1")->memory.gradients, 2 * all, 1e-12);
    expect_near(only(&e, "tp1,pp1,dp8,mb1,zero2")->memory.gradients, 2 * all / 8, 1e-12);
    expect_near(only(&e, "tp1,pp1,dp8,mb1,zero2")->memory.weights, 2 * all, 1e-12);
    expect_near(only(&e, "tp1,pp1,dp8,mb1,zero3")->memory.weights, 2 * all / 8 + 2 * all / 96, 1e-12);
    ck_assert(!e.s.ranked[0].step.memory.fits);
    close_scene(&e);
}
END_TEST

/* Each rank sends a quarter of what its tokens are sent to, the busiest half as much again. */
START_TEST(experts_by_hand)
{
    struct scene e = {0};
    const struct tt_iteration *s;

    open_by_hand(&e, "mixtral-8x7b", 4);
    e.with.skew = 1.5;
    s = only(&e, "tp1,pp1,dp4,ep4,mb1,zero1");
    ck_assert_int_eq(s->flows[0].coll, TT_COLL_alltoall);
    expect_near(s->flows[0].bytes, 1.5 * 4096 * 4096 * 2 * 2 / 4, 0);
    expect_near(s->flows[0].times, 4.0 * 32 * 256, 0);
    expect_near(s->experts, 32 * 2 * 3.0 * 4096 * 14336, 0);
    expect_near(s->imbalance, 0.5 * s->work.experts * s->microbatches, 1e-12);
    close_scene(&e);
}
END_TEST

/* ---- what must hold of all layouts ---- */

static double sum_of(const struct tt_iteration *s)
{
    double sum = s->compute + s->imbalance + s->bubble + s->optimizer;

    for (int kind = 0; kind < TT_NFLOWS; kind++)
        sum += s->exposed[kind];
    return sum;
}

static const struct {
    const char *model, *topology;
    int gpus;
} searches[] = {{"mixtral-8x7b", "h100x8", 64}, {"gpt3-175b", "a100x8", 192}, {"llama2-7b", "a100x4", 16}};

START_TEST(parts_add_up_and_the_best_is_first)
{
    struct scene e = {0};

    open_scene(&e, searches[_i].model, searches[_i].topology, searches[_i].gpus);
    look(&e, "");
    ck_assert_int_ge(e.s.n, 2);
    for (int i = 0; i < e.s.n; i++) {
        const struct tt_iteration *s = &e.s.ranked[i].step, *before = i ? &e.s.ranked[i - 1].step : s;
        const struct tt_layout *l = &s->layout;

        expect_near(sum_of(s), s->seconds, 1e-9);
        ck_assert_int_eq(l->tensor * l->context * l->pipeline * l->data, searches[_i].gpus);
        ck_assert(before->memory.fits >= s->memory.fits);
        ck_assert(before->memory.fits != s->memory.fits || !s->memory.fits || before->seconds <= s->seconds * 1.000001);
        for (int kind = 0; kind < TT_NFLOWS; kind++)
            ck_assert(s->exposed[kind] >= 0 && s->exposed[kind] <= s->total[kind] * 1.000001);
    }
    close_scene(&e);
}
END_TEST

/* The selector is asked, with its own model: nobody else works out what a collective takes. */
START_TEST(prices_are_the_selectors)
{
    struct scene e = {0};
    struct tt_shape s = {.coll = TT_COLL_allreduce, .size = 8, .commutes = true, .count = 1 << 20, .unit = 2};
    struct tt_estimate best, next;
    struct tt_topo *part;
    struct tt_net *net;
    int ranks[8];
    double seconds;

    open_scene(&e, "gpt3-175b", "h100x8", 64);
    for (int i = 0; i < 8; i++)
        ranks[i] = 8 * i;
    part = tt_topo_part(e.t, ranks, 8);
    net = tt_net_make(part);
    s.nodes = &part->nodes;
    tt_model_choose(TT_COLL_allreduce, &s, net, &best, &next);
    seconds = fmin(best.seconds, tt_nccl_seconds(&s, part));
    expect_near(tt_placement_price(e.with.place, (struct tt_span_of){8, 8}, TT_COLL_allreduce, 2 << 20, 2).seconds,
                seconds, 1e-12);
    tt_net_free(net);
    tt_topo_free(part);
    close_scene(&e);
}
END_TEST

/* Two seconds are enough for a thousand layouts, because few calls are worked out, which is counted. The time is the
 * processor's, which others on the machine have no part in, and some hundred times what it takes. */
START_TEST(calls_are_worked_out_once)
{
    struct scene e = {0};
    clock_t before;

    open_scene(&e, "gpt3-175b", "h100x8", 1024);
    before = clock();
    look(&e, "");
    ck_assert_int_ge(e.s.worked_out, 1000);
    ck_assert_double_lt((double)(clock() - before) / CLOCKS_PER_SEC * 1000 / e.s.worked_out, 2);
    ck_assert_int_le(tt_placement_asked(e.with.place), 1500);
    close_scene(&e);
}
END_TEST

/* ---- names, and what cannot be ---- */

START_TEST(layouts_are_read_as_they_are_written)
{
    static const char *const names[] = {"tp8,pp12,dp4,mb1,1f1b", "tp2,cp4,pp4,dp8,ep2,zero1,mb2,v2,interleaved,sp",
                                        "tp1,pp1,dp64,zero3,mb4"};
    struct tt_layout l;
    char text[128];

    for (int i = 0; i < N(names); i++) {
        ck_assert_msg(tt_layout_parse(names[i], &l, why, sizeof why) == 0, "%s", why);
        l.context = l.context ? l.context : 1;
        l.expert = l.expert ? l.expert : 1;
        ck_assert_str_eq(tt_layout_print(&l, text, sizeof text), names[i]);
    }
}
END_TEST

static const struct {
    const char *layout, *words;
} unreadable[] = {{"tq8", "tq8 is not a part of a layout (did you mean"},
                  {"tp", "tp is not a part of a layout"},
                  {"tp0", "tp wants a number from 1 up behind it, not \"0\""},
                  {"zero4", "zero wants 0, 1, 2 or 3"},
                  {"tp8;pp4", "tp wants a number from 1 up behind it, not \"8;pp4\""},
                  {"ps", "not a part of a layout"}};

START_TEST(unreadable_layouts_are_named)
{
    struct tt_layout l;

    ck_assert_int_eq(tt_layout_parse(unreadable[_i].layout, &l, why, sizeof why), -1);
    ck_assert_msg(strstr(why, unreadable[_i].words), "expected \"%s\" in \"%s\"", unreadable[_i].words, why);
}
END_TEST

static const struct {
    const char *model, *layout;
    int gpus;
    const char *words;
} impossible[] = {
    {"gpt3-175b", "tp64", 64, "96 heads are not divisible by tensor parallel 64"},
    {"gpt3-175b", "pp128", 128, "more stages, 128, than layers, 96"},
    {"gpt3-175b", "tp1,pp64", 64, "96 layers are not divisible by 64 stages"},
    {"gpt3-175b", "tp1,pp1,dp2048", 2048, "wants a global batch of 2048 sequences at least, not 1536; a larger one"},
    {"gpt3-175b", "tp1,pp1,dp1024", 1024, "a global batch of 1536 is not divisible by data parallel 1024"},
    {"gpt3-175b", "dp64,ep8", 64, "expert parallel 8, but the model has no experts"},
    {"mixtral-8x7b", "dp64,ep16", 64, "8 experts are not divisible by expert parallel 16"},
    {"mixtral-8x7b", "tp8,dp4,ep8", 32, "data and context parallel, 4 ranks, are not divisible by expert parallel 8"},
    {"mixtral-8x7b", "tp8,pp1,nosp", 64, "experts with tensor parallelism want sequence parallelism"},
    {"gpt3-175b", "tp8,pp8,v5", 64, "96 layers are not divisible by 8 stages of 5 pieces"},
    {"gpt3-175b", "pp8,tp8,1f1b,v2", 64, "v2 is for the interleaved schedule"},
    {"gpt3-175b", "pp1,tp8,mb5", 64, "192 sequences of each data-parallel rank are not divisible by microbatches of 5"},
};

START_TEST(what_cannot_be_is_listed_with_the_reason)
{
    struct scene e = {0};
    bool found = false;

    open_scene(&e, impossible[_i].model, "h100x8", impossible[_i].gpus);
    look(&e, impossible[_i].layout);
    for (int i = 0; i < e.s.nrefusals; i++)
        found |= strstr(e.s.refusals[i].why, impossible[_i].words) != NULL;
    ck_assert_msg(found, "nothing says \"%s\", but \"%s\"", impossible[_i].words,
                  e.s.nrefusals ? e.s.refusals[0].why : "nothing");
    close_scene(&e);
}
END_TEST

START_TEST(reasons_are_words)
{
    struct scene e = {0};
    char text[160];

    open_scene(&e, "gpt3-175b", "h100x8", 64);
    tt_iteration_reason(only(&e, "tp16,pp4,mb1,zero0,1f1b"), text, sizeof text);
    ck_assert_msg(strstr(text, "tensor parallel 16 crosses the network: ") && strstr(text, " % exposed"), "%s", text);
    e.m.batch = 16;
    tt_iteration_reason(only(&e, "tp8,pp8,mb1,zero0,1f1b"), text, sizeof text);
    ck_assert_msg(strstr(text, "8 stages for 16 microbatches: 3") && strstr(text, " % bubble"), "%s", text);
    close_scene(&e);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("planner");
    TCase *all = tcase_create("planner");
    SRunner *runner = srunner_create(suite);
    int failed;

    close(mkstemp(file));
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, shipped_models_have_their_parameters, 0, N(published));
    tcase_add_test(all, a_token_meets_some_experts);
    tcase_add_loop_test(all, formulas_are_those_of_the_paper, 0, 4);
    tcase_add_test(all, activations_are_those_of_the_paper);
    tcase_add_loop_test(all, what_is_wrong_is_named_with_its_line, 0, N(bad));
    tcase_add_test(all, a_good_file_is_read);
    tcase_add_loop_test(all, iterations_take_what_was_published, 0, N(rows));
    tcase_add_test(all, a_tensor_group_by_hand);
    tcase_add_test(all, a_shared_nic_by_hand);
    tcase_add_test(all, a_pipeline_by_hand);
    tcase_add_test(all, state_is_cut_by_hand);
    tcase_add_test(all, experts_by_hand);
    tcase_add_loop_test(all, parts_add_up_and_the_best_is_first, 0, N(searches));
    tcase_add_test(all, prices_are_the_selectors);
    tcase_add_test(all, calls_are_worked_out_once);
    tcase_add_test(all, layouts_are_read_as_they_are_written);
    tcase_add_loop_test(all, unreadable_layouts_are_named, 0, N(unreadable));
    tcase_add_loop_test(all, what_cannot_be_is_listed_with_the_reason, 0, N(impossible));
    tcase_add_test(all, reasons_are_words);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    unlink(file);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
