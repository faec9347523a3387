/* SPDX-License-Identifier: BSD-3-Clause */
/* The cache of decisions: what it finds, what it tells apart, and that it stays bounded. */
#include <check.h>
#include <stdlib.h>

#include "coll/cache.h"

static struct tt_key key_of(int64_t count)
{
    return (struct tt_key){.coll = TT_COLL_allreduce,
                           .shape = {.coll = TT_COLL_allreduce, .size = 4, .count = count, .unit = 4, .segment = 1}};
}

static struct tt_entry *put(struct tt_cache *cache, const struct tt_key *key)
{
    return tt_cache_put(cache, key, &(struct tt_choice){.alg = tt_algs[0]}, NULL);
}

START_TEST(what_was_put_is_found)
{
    struct tt_cache cache = {0};
    const struct tt_key key = key_of(7);

    ck_assert_ptr_null(tt_cache_find(&cache, &key));
    ck_assert_ptr_eq(put(&cache, &key), tt_cache_find(&cache, &key));
    tt_cache_free(&cache);
}
END_TEST

/* Each field that a decision or a plan depends on makes another key. */
START_TEST(every_field_counts)
{
    static const int64_t counts[] = {1, 2, 3, 4};
    struct tt_cache cache = {0};
    struct tt_key keys[15];
    const int n = sizeof keys / sizeof *keys;

    for (int i = 0; i < n; i++)
        keys[i] = key_of(7);
    keys[1].coll = TT_COLL_reduce;
    keys[2].shape.root = 1;
    keys[3].shape.inplace = true;
    keys[4].shape.commutes = true;
    keys[5].shape.count = 8;
    keys[6].shape.counts = counts;
    keys[7].shape.unit = 8;
    keys[8].shape.segment = 2;
    keys[9].staged = 1;
    keys[10].generation = 1;
    keys[11].foreign = 1;
    keys[12].shape.reproducible = true;
    keys[13].shape.sends = counts;
    keys[14].shape.sends = keys[14].shape.counts = counts;
    for (int i = 0; i < n; i++) {
        ck_assert_msg(!tt_cache_find(&cache, &keys[i]), "key %d is taken for another one", i);
        put(&cache, &keys[i]);
    }
    for (int i = 0; i < n; i++)
        ck_assert_msg(tt_cache_find(&cache, &keys[i]), "key %d is not found again", i);
    tt_cache_free(&cache);
}
END_TEST

/* The arrays are the caller's, and change from call to call. */
START_TEST(lengths_are_copied)
{
    struct tt_cache cache = {0};
    int64_t counts[] = {1, 2, 3, 4}, sends[] = {5, 6, 7, 8};
    struct tt_key key = key_of(0);

    key.shape.counts = counts;
    key.shape.sends = sends;
    put(&cache, &key);
    counts[2] = 9;
    ck_assert_ptr_null(tt_cache_find(&cache, &key));
    counts[2] = 3;
    sends[3] = 9;
    ck_assert_ptr_null(tt_cache_find(&cache, &key));
    sends[3] = 8;
    ck_assert_ptr_nonnull(tt_cache_find(&cache, &key));
    tt_cache_free(&cache);
}
END_TEST

/* A thousand shapes leave at most TT_CACHE_SLOTS, among them the one just put and the one used all the time. */
START_TEST(the_least_recently_used_goes)
{
    struct tt_cache cache = {0};
    const struct tt_key dear = key_of(0);
    int left = 0;

    put(&cache, &dear);
    for (int i = 1; i <= 1000; i++) {
        const struct tt_key key = key_of(i);

        ck_assert_ptr_nonnull(put(&cache, &key));
        ck_assert_ptr_nonnull(tt_cache_find(&cache, &key));
        ck_assert_msg(tt_cache_find(&cache, &dear), "the key used before each put was evicted by put %d", i);
    }
    for (int i = 0; i <= 1000; i++) {
        const struct tt_key key = key_of(i);

        left += tt_cache_find(&cache, &key) != NULL;
    }
    ck_assert_int_le(left, TT_CACHE_SLOTS);
    ck_assert_int_gt(left, TT_CACHE_SLOTS / 2);
    tt_cache_free(&cache);
}
END_TEST

/* The plan goes with its entry; the sanitizers see if it does not. */
START_TEST(an_entry_owns_its_plan)
{
    struct tt_cache cache = {0};
    const struct tt_alg *ring = tt_alg_find(TT_COLL_allreduce, "ring", 4);

    for (int i = 1; i <= 200; i++) {
        const struct tt_key key = key_of(i);

        tt_cache_put(&cache, &key, &(struct tt_choice){.alg = ring}, tt_plan_build(ring, &key.shape, 1));
    }
    tt_cache_free(&cache);
    ck_assert_ptr_null(cache.entries);
}
END_TEST

/* Plans of many steps: only so many of them stay as TT_CACHE_BYTES has room for, and what is counted is what is there.
 */
START_TEST(plans_have_so_much_room)
{
    struct tt_cache cache = {0};
    const struct tt_alg *ring = tt_alg_find(TT_COLL_allreduce, "ring", 4);
    size_t one = 0;

    for (int i = 1; i <= 40; i++) {
        struct tt_key key = key_of(i);
        struct tt_plan *plan;

        key.shape.size = 2000;
        key.shape.count = 10000 + i;
        plan = tt_plan_build(ring, &key.shape, 1);
        one = tt_plan_bytes(plan);
        ck_assert_uint_gt(40 * one, TT_CACHE_BYTES);
        ck_assert_ptr_nonnull(tt_cache_put(&cache, &key, &(struct tt_choice){.alg = ring}, plan));
        ck_assert_ptr_nonnull(tt_cache_find(&cache, &key));
        ck_assert_uint_le(cache.bytes, TT_CACHE_BYTES);
        ck_assert_uint_eq(cache.bytes, (size_t)cache.n * one);
    }
    ck_assert_uint_gt(cache.bytes + 2 * one, TT_CACHE_BYTES);
    tt_cache_free(&cache);
    ck_assert_uint_eq(cache.bytes, 0);
    ck_assert_int_eq(cache.n, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cache");
    TCase *all = tcase_create("all");
    SRunner *r = srunner_create(s);
    int failed;

    tcase_add_test(all, what_was_put_is_found);
    tcase_add_test(all, every_field_counts);
    tcase_add_test(all, lengths_are_copied);
    tcase_add_test(all, the_least_recently_used_goes);
    tcase_add_test(all, an_entry_owns_its_plan);
    tcase_add_test(all, plans_have_so_much_room);
    suite_add_tcase(s, all);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
