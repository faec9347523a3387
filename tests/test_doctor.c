/* SPDX-License-Identifier: BSD-3-Clause */
/* Record files as they may be found (whole, cut short, spoilt, of another version, of several jobs), and what the
 * doctor says of jobs that are put together here, of thousands of ranks too. tests/mpi/doctor.sh has real ones. */
#include "tools/doctor.h"

#include <check.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/ticks.h"
#include "tests/record_image.h"

enum { MS = 1000000 };

static char why[512];

/* ---- files ---- */

static struct record *parse(const char *image, size_t bytes)
{
    why[0] = '\0';
    return record_parse(image, bytes, UINT32_MAX, why, sizeof why);
}

static void check_whole(const struct record *r)
{
    ck_assert_ptr_nonnull(r);
    ck_assert_str_eq(r->amiss, "");
    ck_assert_int_eq(r->head.rank, 3);
    ck_assert_str_eq(r->head.host, "nowhere");
    ck_assert_uint_eq(r->nlines, 5);
    ck_assert_uint_eq(r->lines[4].number, 4);
    ck_assert_uint_eq(r->lines[4].entered, 5 * MS);
    ck_assert_int_eq(r->lines[4].bytes, 400);
    ck_assert_str_eq(record_name(r, r->lines[0].collective), "MPI_Allreduce");
    ck_assert_str_eq(record_name(r, 999), "");
}

START_TEST(whole_files)
{
    struct record *r = image_read(image_rank(3, 8, 5, 5, 0), IMAGE_AS_NOW);

    check_whole(r);
    record_free(r);
}
END_TEST

/* Another version has its fields elsewhere. */
START_TEST(fields_elsewhere)
{
    struct record *r = image_read(image_rank(3, 8, 5, 5, 0), IMAGE_BACKWARDS);

    check_whole(r);
    record_free(r);
}
END_TEST

/* Or has them not at all, or has others besides. */
START_TEST(fields_not_there)
{
    struct record *made = image_rank(3, 8, 5, 5, 0), *r;
    size_t bytes;
    char *image = image_of(made, IMAGE_AS_NOW, &bytes), *field;

    field = memmem(image, bytes, "line setup u64", 14);
    ck_assert_ptr_nonnull(field);
    memcpy(field, "line magic u64", 14);
    r = parse(image, bytes);
    ck_assert_ptr_nonnull(r);
    ck_assert_ptr_nonnull(strstr(r->amiss, "it has no field \"line setup\": another version of Tutti wrote it"));
    ck_assert_uint_eq(r->lines[4].entered, 5 * MS);
    record_free(r);
    record_free(made);
    free(image);
}
END_TEST

START_TEST(cut_short)
{
    struct record *made = image_rank(3, 8, 5, 5, 0), *r;
    size_t bytes;
    char *image = image_of(made, IMAGE_AS_NOW, &bytes);

    r = parse(image, bytes - 2 * sizeof(struct tt_record_line) - 1);
    ck_assert_ptr_nonnull(r);
    ck_assert_uint_eq(r->nlines, 2);
    ck_assert_str_eq(r->amiss, "it is cut short: of the section \"line\" 2 of 5 entries are there");
    record_free(r);
    for (size_t n = 0; n < bytes; n += 37)
        record_free(parse(image, n));
    ck_assert_ptr_null(parse(image, 100));
    ck_assert_str_eq(why, "it has 100 bytes, which is less than the beginning of a record file");
    ck_assert_ptr_null(parse(image, sizeof(struct tt_record_prefix) + 8));
    ck_assert_str_eq(why, "it is cut short: what tells of its fields is not there");
    record_free(made);
    free(image);
}
END_TEST

START_TEST(spoilt)
{
    struct record *made = image_rank(3, 8, 5, 5, 0), *r;
    size_t bytes;
    char *image;

    made->lines[1].serial = 0; /* being written */
    made->lines[2].serial = 1000;
    image = image_of(made, IMAGE_AS_NOW, &bytes);
    r = parse(image, bytes);
    ck_assert_uint_eq(r->nlines, 3);
    ck_assert_str_eq(r->amiss, "1 of its lines are spoilt");
    record_free(r);
    ((struct tt_record_prefix *)image)->format = 9;
    ck_assert_ptr_null(parse(image, bytes));
    ck_assert_str_eq(why, "its format is 9, and this Tutti reads 1");
    image[0] = 'x';
    ck_assert_ptr_null(parse(image, bytes));
    ck_assert_str_eq(why, "it does not begin with TUTTIREC: it is no record file, or was not finished");
    free(image);
    made->head.rank = 8;
    image = image_of(made, IMAGE_AS_NOW, &bytes);
    ck_assert_ptr_null(parse(image, bytes));
    ck_assert_str_eq(why, "it says that it is of rank 8 of 8, which cannot be");
    record_free(made);
    free(image);
}
END_TEST

/* The clock of a node that is 3 ms behind in MPI_Init and 5 ms in MPI_Finalize, in ticks of half a nanosecond. */
START_TEST(clocks)
{
    struct record *r = image_rank(0, 1, 0, 0, 0);

    r->head.late_ticks = r->head.early_ticks + 2000 * MS;
    r->head.late_ns = r->head.early_ns + 1000 * MS;
    r->head.offset_ns = 3 * MS;
    r->head.last_offset_ns = 5 * MS;
    r->head.aligned_ns = r->head.early_ns;
    r->head.last_aligned_ns = r->head.late_ns;
    ck_assert_int_eq(record_time(r, r->head.early_ticks), r->head.early_ns + 3 * MS);
    ck_assert_int_eq(record_time(r, r->head.early_ticks + 1000 * MS), r->head.early_ns + 504 * MS);
    ck_assert_int_eq(record_time(r, r->head.late_ticks), r->head.late_ns + 5 * MS);
    ck_assert_int_eq(record_time(r, 0), 0);
    record_free(r);
}
END_TEST

/* ---- jobs ---- */

static struct doctor_job *judge(struct record **records, int n)
{
    struct doctor_job *job;

    for (int i = 0; i < n; i++) {
        records[i] = image_read(records[i], i % 2 ? IMAGE_BACKWARDS : IMAGE_AS_NOW);
        ck_assert_ptr_nonnull(records[i]);
    }
    job = doctor_gather(records, n);
    ck_assert_ptr_nonnull(job);
    doctor_match(job);
    doctor_blame(job);
    doctor_slow(job);
    return job;
}

static void check_first(const struct doctor_job *job, const char *text)
{
    ck_assert_int_ge(job->nfindings, 1);
    ck_assert_str_eq(job->findings[0].text, text);
}

enum { MANY = 3000 };

/* One of thousands is behind, and two have left no file. */
START_TEST(thousands)
{
    static struct record *records[MANY];
    struct doctor_job *job;
    int n = 0;

    for (int i = 0; i < MANY; i++)
        if (i != 7 && i != 8)
            records[n++] = image_rank(i, MANY, i == 31 ? 4 : 5, 4, 0);
    job = judge(records, n);
    ck_assert_int_eq(job->nfindings, 2);
    ck_assert_str_eq(
        job->findings[0].text,
        "ranks 7-8 keep ranks 0-6,9-30,32-2999 waiting in MPI_Allreduce, call 5 on MPI_COMM_WORLD: they are "
        "not recorded");
    ck_assert_str_eq(job->findings[1].text,
                     "rank 31 keeps ranks 0-6,9-30,32-2999 waiting in MPI_Allreduce, call 5 on MPI_COMM_WORLD: it is "
                     "outside MPI, since MPI_Allreduce, call 4 on MPI_COMM_WORLD");
    doctor_free(job);
}
END_TEST

static struct doctor_job *job_of(int n, int calls, void (*change)(struct record *r))
{
    struct record *records[16];

    for (int i = 0; i < n; i++) {
        records[i] = image_rank(i, n, calls, calls, calls + 8);
        change(records[i]);
    }
    return judge(records, n);
}

static void say_bcast(struct record *r)
{
    const uint16_t bcast = image_name(r, "MPI_Bcast", 0);
    struct tt_record_line *l = image_line(r);

    if (r->head.rank != 2)
        return;
    l->collective = bcast;
    l->op = 0;
    l->root = 1;
}

START_TEST(another_collective)
{
    struct doctor_job *job = job_of(4, 3, say_bcast);

    check_first(job,
                "rank 2 does not match: in call 4 on MPI_COMM_WORLD it called MPI_Bcast of 100 MPI_FLOAT from root 1, "
                "where ranks 0-1,3 called MPI_Allreduce of 100 MPI_FLOAT MPI_SUM: the collective differs");
    doctor_free(job);
}
END_TEST

/* int against int32_t is the same; against unsigned it is not. */
static void say_int(struct record *r)
{
    const uint16_t type = r->head.rank == 0   ? image_name(r, "MPI_INT", 5)
                          : r->head.rank == 1 ? image_name(r, "MPI_INT32_T", 5)
                                              : image_name(r, "MPI_UNSIGNED", 6);

    image_line(r)->type = type;
}

START_TEST(another_type)
{
    struct doctor_job *job = job_of(2, 3, say_int);

    ck_assert_int_eq(job->nfindings, 0);
    doctor_free(job);
    job = job_of(3, 3, say_int);
    check_first(
        job, "rank 2 does not match: in call 4 on MPI_COMM_WORLD it called MPI_Allreduce of 100 MPI_UNSIGNED MPI_SUM, "
             "where ranks 0-1 called MPI_Allreduce of 100 MPI_INT MPI_SUM: the type differs");
    doctor_free(job);
}
END_TEST

/* Rank 1 has left out the third of ever larger calls, and goes on. */
static void say_one_less(struct record *r)
{
    for (int i = 0; i < 6; i++) {
        struct tt_record_line *l = image_line(r);
        const int step = i + (r->head.rank == 1 && i >= 2);

        l->count = 10 * step;
        l->bytes = 40 * step;
        l->caller = (uint64_t)step + 1;
    }
}

START_TEST(one_left_out)
{
    struct doctor_job *job = job_of(3, 1, say_one_less);

    check_first(job,
                "rank 1 skipped a call: in call 4 on MPI_COMM_WORLD it called MPI_Allreduce of 30 MPI_FLOAT MPI_SUM, "
                "where ranks 0,2 called MPI_Allreduce of 20 MPI_FLOAT MPI_SUM: the count differs");
    doctor_free(job);
}
END_TEST

/* Rank 3 comes half a millisecond late each time. */
static void come_late(struct record *r)
{
    for (uint32_t i = 0; i < r->nlines; i++) {
        if (r->head.rank == 3)
            r->lines[i].entered += MS / 2;
        r->lines[i].left = (r->lines[i].number + 1) * MS + 6 * MS / 10;
    }
}

START_TEST(a_straggler)
{
    struct doctor_job *job = job_of(5, 100, come_late);

    check_first(
        job, "rank 3 is systematically late: in 100 of 100 collectives, by up to 500 us; the others have waited 50 ms "
             "for it, 50 % of the time. Between two collectives it takes 891 us on average, others 396 us; moving "
             "data took 10 ms in all");
    doctor_free(job);
}
END_TEST

/* Rank 3 comes last each time, by next to nothing but in every tenth call. */
static void come_late_by_times(struct record *r)
{
    for (uint32_t i = 0; i < r->nlines; i++) {
        if (r->head.rank == 3)
            r->lines[i].entered += i % 10 == 5 ? MS : MS / 40;
        r->lines[i].left = (r->lines[i].number + 2) * MS;
    }
}

START_TEST(a_straggler_by_times)
{
    struct doctor_job *job = job_of(5, 100, come_late_by_times);

    ck_assert_int_ge(job->nfindings, 1);
    ck_assert_ptr_nonnull(strstr(job->findings[0].text, "rank 3 is sporadically late: in 10 of 100 collectives, by up "
                                                        "to 1 ms; the others have waited 12.2 ms for it"));
    doctor_free(job);
}
END_TEST

/* ---- two nodes ---- */

enum { NODE = 2, AHEAD = 1000 }; /* ranks of a node; seconds by which the second one's clock is ahead */

static const int64_t S = 1000 * MS;

/* What ranks of the second node have written, by their own clock; error: what the first is known within. */
static void move_to_second(struct record *r, int64_t error)
{
    if (r->head.rank < NODE)
        return;
    snprintf(r->head.host, sizeof r->head.host, "elsewhere");
    r->head.boot = 2;
    r->head.offset_ns = r->head.last_offset_ns = -AHEAD * S;
    r->head.offset_error_ns = error;
    r->head.early_ns += AHEAD * S;
    r->head.late_ns += AHEAD * S;
    r->head.early_ticks += AHEAD * (uint64_t)S;
    r->head.late_ticks += AHEAD * (uint64_t)S;
    for (uint32_t i = 0; i < r->nlines; i++) {
        r->lines[i].entered += AHEAD * (uint64_t)S;
        r->lines[i].begun += AHEAD * (uint64_t)S;
        r->lines[i].left += r->lines[i].left ? AHEAD * (uint64_t)S : 0;
    }
}

static void come_late_there(struct record *r)
{
    come_late(r);
    move_to_second(r, 5000);
}

/* Clocks that may be wrong by more than the ranks are late by. */
static void come_late_unsure(struct record *r)
{
    come_late(r);
    move_to_second(r, 10 * MS);
}

START_TEST(a_straggler_on_another_node)
{
    struct doctor_job *job = job_of(4, 100, come_late_there);

    ck_assert_int_ge(job->nfindings, 1);
    ck_assert_ptr_nonnull(strstr(job->findings[0].text, "rank 3 is systematically late: in 100 of 100 collectives, by "
                                                        "up to 500 us; the others have waited 50 ms for it"));
    doctor_free(job);
    job = job_of(4, 100, come_late_unsure);
    ck_assert_int_eq(job->nfindings, 0);
    doctor_free(job);
}
END_TEST

/* This process, so that the job lives. */
static void be_alive(struct record *r)
{
    char line[1024] = "";
    unsigned long long born = 0;
    FILE *in = fopen("/proc/self/stat", "r");

    ck_assert_ptr_nonnull(in);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, in));
    fclose(in);
    sscanf(strrchr(line, ')') + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
           &born);
    r->head.pid = getpid();
    r->head.born = born;
    r->head.boot = tt_boot_hash();
}

/* All but rank 3 have waited in call 5 for 300 s; rank 3 was heard of last so many seconds ago. */
static struct doctor_job *two_nodes(int64_t heard)
{
    const int64_t now = tt_nanoseconds(CLOCK_MONOTONIC);
    struct record *records[2 * NODE];

    for (int i = 0; i < 2 * NODE; i++) {
        struct record *r = records[i] = image_rank(i, 2 * NODE, i == 3 ? 4 : 5, 4, 0);

        if (i < NODE)
            be_alive(r);
        r->head.early_ns = now - 900 * S;
        r->head.early_ticks = (uint64_t)r->head.early_ns;
        r->head.late_ns = now - (i == 3 ? heard : 1) * S;
        r->head.late_ticks = (uint64_t)r->head.late_ns;
        for (uint32_t k = 0; k < r->nlines; k++) {
            r->lines[k].entered = r->lines[k].begun = (uint64_t)(now - (304 - (int64_t)k) * S);
            r->lines[k].left = r->lines[k].left ? r->lines[k].entered + MS : 0;
        }
        move_to_second(r, 5000);
    }
    return judge(records, 2 * NODE);
}

START_TEST(a_laggard_on_another_node)
{
    struct doctor_job *job = two_nodes(1);

    check_first(job, "rank 3 keeps ranks 0-2 waiting in MPI_Allreduce, call 5 on MPI_COMM_WORLD, for 300 s: it is "
                     "outside MPI for 301 s, since MPI_Allreduce, call 4 on MPI_COMM_WORLD");
    doctor_free(job);
    job = two_nodes(200);
    check_first(job, "rank 3 keeps ranks 0-2 waiting in MPI_Allreduce, call 5 on MPI_COMM_WORLD, for 300 s: its "
                     "process, 0 on elsewhere, has given no sign of life for more than 90 s, when it was outside MPI "
                     "for 301 s, since MPI_Allreduce, call 4 on MPI_COMM_WORLD");
    doctor_free(job);
}
END_TEST

/* ---- what is written ---- */

static json_t *written(struct doctor_job *job, void (*print)(FILE *, struct doctor_job *))
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    json_t *read;

    print(out, job);
    fclose(out);
    read = json_loads(text, 0, NULL);
    free(text);
    return read;
}

static void print_json(FILE *out, struct doctor_job *job)
{
    doctor_json(out, job);
}

START_TEST(for_programs)
{
    struct doctor_job *job = job_of(4, 3, say_bcast);
    json_t *all = written(job, print_json), *trace = written(job, doctor_trace), *first;

    first = json_array_get(json_object_get(all, "findings"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(first, "kind")), "mismatch");
    ck_assert_str_eq(json_string_value(json_object_get(first, "what")), "collective");
    ck_assert_int_eq(json_integer_value(json_array_get(json_object_get(first, "ranks"), 0)), 2);
    ck_assert_uint_eq(json_array_size(json_object_get(all, "ranks")), 4);
    /* of each rank two lines that name it, and four calls */
    ck_assert_uint_eq(json_array_size(json_object_get(trace, "traceEvents")), 4 * 6);
    json_decref(all);
    json_decref(trace);
    doctor_free(job);
}
END_TEST

/* The figures in the page are JSON, and nothing in it is fetched from elsewhere. */
START_TEST(a_page)
{
    struct doctor_job *job = job_of(5, 100, come_late);
    char *text = NULL, *from, *to;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    json_t *figures;

    doctor_html(out, job);
    fclose(out);
    from = strstr(text, "const D=");
    to = from ? strstr(from, ";\n") : NULL;
    ck_assert_ptr_nonnull(to);
    figures = json_loadb(from + 8, (size_t)(to - from - 8), 0, NULL);
    ck_assert_uint_eq(json_array_size(json_object_get(figures, "ranks")), 5);
    ck_assert_uint_eq(json_array_size(json_object_get(figures, "late")), 100);
    ck_assert_double_eq_tol(json_number_value(json_array_get(json_array_get(json_object_get(figures, "late"), 50), 3)),
                            500, 1);
    ck_assert_ptr_null(strstr(text, "http"));
    json_decref(figures);
    free(text);
    doctor_free(job);
}
END_TEST

/* ---- directories ---- */

static void put(const char *directory, const char *job, struct record *r)
{
    char path[256];
    size_t bytes;
    char *image = image_of(r, IMAGE_AS_NOW, &bytes);
    FILE *out;

    snprintf(path, sizeof path, "%s/rank-%d.%s.tutti", directory, r->head.rank, job);
    out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(image, 1, bytes, out), bytes);
    fclose(out);
    free(image);
    record_free(r);
}

static bool is_remarked(const struct doctor_job *job, const char *words)
{
    for (int i = 0; i < job->nremarks; i++)
        if (strstr(job->remarks[i], words))
            return true;
    return false;
}

/* Files of two jobs, one that is none, and one that says it is of a smaller job. */
START_TEST(several_jobs)
{
    char directory[] = "/tmp/tutti-doctor-XXXXXX", command[128];
    struct doctor_job *job;

    ck_assert_ptr_nonnull(mkdtemp(directory));
    ck_assert_ptr_null(doctor_load(directory, NULL, why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "there are no records in"));
    put(directory, "000000000000004d", image_rank(0, 2, 4, 4, 0));
    put(directory, "000000000000004d", image_rank(1, 2, 4, 4, 0));
    put(directory, "00000000000000aa", image_rank(0, 3, 4, 4, 0));
    job = doctor_load(directory, "00000000000000a", why, sizeof why);
    ck_assert_ptr_nonnull(job);
    ck_assert_int_eq(job->size, 3);
    ck_assert_int_eq(job->nremarks, 1);
    ck_assert_ptr_nonnull(strstr(job->remarks[0], "2 files are of other jobs"));
    doctor_free(job);
    put(directory, "000000000000004d", image_rank(2, 3, 4, 4, 0));
    job = doctor_load(directory, "000000000000004d", why, sizeof why);
    ck_assert_ptr_nonnull(job);
    ck_assert_int_ge(job->nremarks, 2);
    ck_assert_ptr_nonnull(strstr(job->remarks[0], "is left out: it is of a job of"));
    doctor_free(job);
    /* the newest has nothing that can be read: the one before it has */
    snprintf(command, sizeof command,
             "cd %s; echo spoilt > rank-0.00000000000000bb.tutti && touch -d tomorrow *bb.tutti", directory);
    ck_assert_int_eq(system(command), 0);
    job = doctor_load(directory, NULL, why, sizeof why);
    ck_assert_ptr_nonnull(job);
    ck_assert_int_ge(job->files, 1);
    ck_assert(is_remarked(job, "rank-0.00000000000000bb.tutti is left out: it has 7 bytes"));
    doctor_free(job);
    snprintf(command, sizeof command, "rm -r %s", directory);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("doctor");
    TCase *files = tcase_create("files"), *jobs = tcase_create("jobs");
    SRunner *runner = srunner_create(s);
    int failed;

    tcase_add_test(files, whole_files);
    tcase_add_test(files, fields_elsewhere);
    tcase_add_test(files, fields_not_there);
    tcase_add_test(files, cut_short);
    tcase_add_test(files, spoilt);
    tcase_add_test(files, clocks);
    tcase_add_test(files, several_jobs);
    tcase_set_timeout(jobs, 120);
    tcase_add_test(jobs, thousands);
    tcase_add_test(jobs, another_collective);
    tcase_add_test(jobs, another_type);
    tcase_add_test(jobs, one_left_out);
    tcase_add_test(jobs, a_straggler);
    tcase_add_test(jobs, a_straggler_by_times);
    tcase_add_test(jobs, a_straggler_on_another_node);
    tcase_add_test(jobs, a_laggard_on_another_node);
    tcase_add_test(jobs, for_programs);
    tcase_add_test(jobs, a_page);
    suite_add_tcase(s, files);
    suite_add_tcase(s, jobs);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
