/* SPDX-License-Identifier: MIT */
/* Catalogs of prices on their way into the router. What is right is what
 * tools/prices/price_table.py makes of the same file, and what its tests say.
 */
#include "support/test.h"

#include "gateway.h"
#include "signals.h"
#include "support/alloc.h"
#include "yaml_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **files; /* Catalog, table, catalog, table. */

struct bench {
    struct gateway gateway;
    struct test_alloc alloc;
    char error[256];
};

static void open_bench(struct bench *bench)
{
    lbroute_router_options options;

    *bench = (struct bench){0};
    test_alloc_init(&bench->alloc);
    lbroute_router_options_init(&options, sizeof options);
    options.seed = 7;
    options.max_prices = 64;
    test_alloc_hook(&bench->alloc, &options.allocator);
    assert_int_equal(lbroute_router_create(&options, &bench->gateway.router),
                     LBROUTE_OK);
}

static void close_bench(struct bench *bench)
{
    lbroute_router_destroy(bench->gateway.router);
    yaml_file_remove();
}

static bool load(struct bench *bench, const char *path)
{
    return prices_load(&bench->gateway, path, bench->error,
                       sizeof bench->error);
}

static bool load_text(struct bench *bench, const char *text)
{
    return load(bench, yaml_file_write(text, strlen(text)));
}

static lbroute_price price_of(struct bench *bench, const char *key)
{
    lbroute_price price;

    lbroute_price_init(&price, sizeof price);
    assert_int_equal(
        lbroute_get_price(bench->gateway.router, key, strlen(key), &price),
        LBROUTE_OK);
    return price;
}

static uint64_t count_prices(struct bench *bench)
{
    lbroute_stats stats;

    lbroute_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_stats(bench->gateway.router, &stats),
                     LBROUTE_OK);
    return stats.prices;
}

static void load_entry(struct bench *bench, const char *entry)
{
    char text[1024];

    snprintf(text, sizeof text, "{\"a-model\": %s}", entry);
    if (!load_text(bench, text))
        print_error("%s\n", bench->error);
    assert_true(load_text(bench, text));
}

static void check_same(struct bench *one, struct bench *other)
{
    char key[LBROUTE_NAME_MAX + 1];
    uint64_t place = 0;
    size_t len;

    assert_int_equal(count_prices(one), count_prices(other));
    while (lbroute_price_next(one->gateway.router, place, &place, key,
                              sizeof key, &len) == LBROUTE_OK) {
        lbroute_price a = price_of(one, key), b = price_of(other, key);

        assert_memory_equal(&a, &b, sizeof a);
    }
}

static void test_as_the_table(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i += 2) {
        struct bench catalog, table;

        open_bench(&catalog);
        open_bench(&table);
        assert_true(load(&catalog, files[i]));
        assert_true(load(&table, files[i + 1]));
        assert_true(count_prices(&table) > 5);
        check_same(&catalog, &table);
        close_bench(&catalog);
        close_bench(&table);
    }
}

static void test_litellm(void **state)
{
    struct bench bench;
    lbroute_price price;

    (void)state;
    open_bench(&bench);
    assert_true(load(&bench, files[0]));
    price = price_of(&bench, "long/context");
    assert_int_equal(price.input, 1250000);
    assert_int_equal(price.output, 10000000);
    assert_int_equal(price.cached_input, 125000);
    assert_int_equal(price.tier_count, 1);
    assert_int_equal(price.tiers[0].above_tokens, 200000);
    assert_int_equal(price.tiers[0].input, 2500000);
    assert_int_equal(price.tiers[0].output, 15000000);
    assert_int_equal(price.tiers[0].cached_input, 125000);
    price = price_of(&bench, "free");
    assert_int_equal(price.input, 0);
    assert_int_equal(price.output, 0);
    assert_int_equal(price.cached_input, -1);
    close_bench(&bench);
}

static void check_decimal(struct bench *bench, const char *number, int64_t pico)
{
    char entry[128];

    snprintf(entry, sizeof entry, "{\"input_cost_per_token\": %s}", number);
    load_entry(bench, entry);
    if (price_of(bench, "a-model").input != pico)
        print_error("%s is not %" PRId64 "\n", number, pico);
    assert_true(price_of(bench, "a-model").input == pico);
}

static void check_forms(struct bench *bench, int64_t pico)
{
    char number[64];
    int64_t dollars = pico / 1000000000000, rest = pico % 1000000000000;

    snprintf(number, sizeof number, "%" PRId64 ".%012" PRId64, dollars, rest);
    check_decimal(bench, number, pico);
    snprintf(number, sizeof number, "%" PRId64 "e-12", pico);
    check_decimal(bench, number, pico);
    snprintf(number, sizeof number, "%" PRId64 "0E-13", pico);
    check_decimal(bench, number, pico);
    snprintf(number, sizeof number, "0.%018" PRId64 "e+6", pico);
    check_decimal(bench, number, pico);
}

/* Every decimal of up to twelve places is exact, however it is written. */
static void test_no_binary_fraction(void **state)
{
    static const int64_t picos[] = {
        1, 3, 7, 33, 142857, 999999999999, 300000, 1000000000000};
    struct bench bench;
    uint64_t number = 1;

    (void)state;
    open_bench(&bench);
    for (size_t i = 0; i < sizeof picos / sizeof picos[0]; i++)
        check_forms(&bench, picos[i]);
    for (int i = 0; i < 500; i++) {
        number = number * 6364136223846793005u + 1442695040888963407u;
        check_forms(&bench, (int64_t)(number >> 24) % 999999999999 + 1);
    }
    close_bench(&bench);
}

static void test_rounded_to_even(void **state)
{
    struct bench bench;

    (void)state;
    open_bench(&bench);
    check_decimal(&bench, "8.33333333333e-08", 83333);
    check_decimal(&bench, "1.5e-12", 2);
    check_decimal(&bench, "2.5e-12", 2);
    check_decimal(&bench, "3.5e-12", 4);
    check_decimal(&bench, "1000000.5e-12", 1000000);
    check_decimal(&bench, "1000001.5e-12", 1000002);
    check_decimal(&bench, "0.6e-12", 1);
    check_decimal(&bench, "1.0000000000004e-06", 1000000);
    close_bench(&bench);
}

/* Refused with words that tell why; the prices of before stay. */
static void refuse(struct bench *bench, const char *text, const char *words)
{
    bench->error[0] = '\0';
    assert_true(load_text(bench, "kept\t1\t2\t3\n"));
    if (load_text(bench, text) || strstr(bench->error, words) == NULL)
        print_error("%s: %s\n", text, bench->error);
    assert_false(load_text(bench, text));
    assert_non_null(strstr(bench->error, words));
    assert_int_equal(count_prices(bench), 1);
    assert_int_equal(price_of(bench, "kept").output, 2);
}

static void refuse_entry(struct bench *bench, const char *entry,
                         const char *words)
{
    char text[1024];

    snprintf(text, sizeof text,
             "{\"good\": {\"input_cost_per_token\": 1e-6}, \"a-model\": %s}",
             entry);
    refuse(bench, text, words);
    assert_non_null(strstr(bench->error, "a-model"));
}

static void test_bad_entries(void **state)
{
    static const char *const rows[][2] = {
        {"{\"input_cost_per_token\": -1}", "negative"},
        {"{\"input_cost_per_token\": 0, \"cache_read_input_token_cost\":"
         " -1e-30}",
         "cache_read"},
        {"{\"output_cost_per_token_above_128k_tokens\": -2e-6}", "above_128k"},
        {"{\"input_cost_per_token\": 1.000000000001}", "more than a dollar"},
        {"{\"input_cost_per_token\": 1.0000000000001}", "more than a dollar"},
        {"{\"input_cost_per_token\": 3}", "more than a dollar"},
        {"{\"input_cost_per_token\": 1e300}", "more than a dollar"},
        {"{\"input_cost_per_token\": 1e-13}", "less than half"},
        {"{\"input_cost_per_token\": 4e-300}", "less than half"},
        {"{\"input_cost_per_token\": \"0.1\"}", "no number"},
        {"{\"input_cost_per_token\": true}", "no number"},
        {"{\"input_cost_per_token\": []}", "no number"},
        {"7", "no object"},
        {"{\"input_cost_per_token_above_1k_tokens\": 1e-6,"
         " \"input_cost_per_token_above_2k_tokens\": 1e-6,"
         " \"input_cost_per_token_above_3k_tokens\": 1e-6,"
         " \"input_cost_per_token_above_4k_tokens\": 1e-6,"
         " \"input_cost_per_token_above_5k_tokens\": 1e-6}",
         "more than 4 tiers"},
        {"{\"tiered_pricing\": [7]}", "tiered_pricing"},
        {"{\"tiered_pricing\": [{\"range\": []}]}", "tiered_pricing"},
        {"{\"tiered_pricing\": [{\"range\": [-1, 2]}]}", "tiered_pricing"},
        {"{\"tiered_pricing\": [{\"range\": [0.5, 2]}]}", "tiered_pricing"},
        {"{\"tiered_pricing\": [{\"range\": [\"x\"]}]}", "tiered_pricing"},
    };
    struct bench bench;

    (void)state;
    open_bench(&bench);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        refuse_entry(&bench, rows[i][0], rows[i][1]);
    close_bench(&bench);
}

static void test_bad_tiers_of_models_dev(void **state)
{
    static const char *const tiers[] = {
        "{\"input\": 2, \"size\": 5}", "{\"input\": 2, \"tier\": 7}",
        "{\"input\": 2, \"tier\": {\"size\": -5}}",
        "{\"input\": 2, \"tier\": {\"type\": \"hour\", \"size\": 5}}", "7"};
    struct bench bench;

    (void)state;
    open_bench(&bench);
    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++) {
        char text[512];

        snprintf(text, sizeof text,
                 "{\"p\": {\"models\": {\"m\": {\"cost\": {\"input\": 1, "
                 "\"tiers\": [%s]}}}}}",
                 tiers[i]);
        refuse(&bench, text, "\"p/m\": tiers");
    }
    close_bench(&bench);
}

static void test_bad_files(void **state)
{
    static const char *const rows[][2] = {
        {"{", "line 1"},
        {"{\"a\": {\"input_cost_per_token\": NaN}}", "line 1"},
        {"{\"a\": {\"input_cost_per_token\": 1e999999}}", "line 1"},
        {"[]", "no JSON object"},
        {"{\"a\": {\"models\": 7}}", "\"a\" has no models"},
        {"{\"\": {\"input_cost_per_token\": 1e-6}}", "the key"},
        {"{\"#a\": {\"input_cost_per_token\": 1e-6}}", "the key"},
        {"{\"a\\tb\": {\"input_cost_per_token\": 1e-6}}", "the key"},
        {"a\n", "line 1: a price is missing"},
        {"#\n\na\t1\t2\t-3\n", "line 3"},
        {"a\t1\t2\tx\n", "line 1"},
        {"a\t1\t2\t9223372036854775808\n", "line 1"},
        {"\t1\t2\t3\n", "the key"},
        {"a\t1\t2\t3\t5:1:2\n", "line 1"},
        {"a\t1\t2\t3\t5:1:2:3:4\n", "too many parts"},
        {"a\t1\t2\t3\t5:1:2:3\t5:1:2:3\n", "ascend"},
        {"a\t1\t2\t3\t1:1:2:3\t2:1:2:3\t3:1:2:3\t4:1:2:3\t5:1:2:3\n", "many"},
        {"a\t1\t2\t3\na\t1\t2\t3\n", "\"a\" has two prices"},
    };
    struct bench bench;

    (void)state;
    open_bench(&bench);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        refuse(&bench, rows[i][0], rows[i][1]);
    assert_false(load(&bench, "/nowhere/at/all"));
    assert_non_null(strstr(bench.error, "/nowhere/at/all: "));
    assert_false(load(&bench, "/"));
    assert_false(load(&bench, yaml_file_write("a\t1\t2\t3\n\0", 9)));
    assert_non_null(strstr(bench.error, "line 2: there is a zero byte"));
    close_bench(&bench);
}

static void test_odd_tables(void **state)
{
    struct bench bench;

    (void)state;
    open_bench(&bench);
    assert_true(load_text(&bench, "# c\r\nb\t0\t-\t-\r\n\na\t1\t2\t3"));
    assert_int_equal(count_prices(&bench), 2);
    assert_int_equal(price_of(&bench, "b").input, 0);
    assert_int_equal(price_of(&bench, "b").cached_input, -1);
    assert_int_equal(price_of(&bench, "a").cached_input, 3);
    assert_true(load_text(&bench, ""));
    assert_int_equal(count_prices(&bench), 0);
    assert_true(load_text(&bench, "{}"));
    close_bench(&bench);
}

/* Others are changed, those that are missing go; no path: all go. */
static void test_reload(void **state)
{
    struct bench bench;
    lbroute_price price;

    (void)state;
    open_bench(&bench);
    assert_true(load_text(&bench, "a\t1\t2\t3\nb\t1\t2\t3\n"));
    assert_true(load_text(&bench, "b\t7\t2\t3\nc\t1\t2\t3\n"));
    assert_int_equal(count_prices(&bench), 2);
    assert_int_equal(price_of(&bench, "b").input, 7);
    lbroute_price_init(&price, sizeof price);
    assert_int_equal(lbroute_get_price(bench.gateway.router, "a", 1, &price),
                     LBROUTE_ERR_NOT_FOUND);
    assert_true(load(&bench, ""));
    assert_int_equal(count_prices(&bench), 0);
    close_bench(&bench);
}

static void test_no_room(void **state)
{
    struct bench bench;
    char text[2048] = "b\t9\t9\t9\n";
    size_t used = strlen(text);

    (void)state;
    open_bench(&bench);
    for (int i = 0; i < 64; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "k%02d\t1\t2\t3\n", i);
    assert_true(load_text(&bench, "a\t1\t2\t3\nb\t1\t2\t3\n"));
    assert_false(load_text(&bench, text));
    assert_int_equal(count_prices(&bench), 2);
    assert_int_equal(price_of(&bench, "b").input, 1);
    close_bench(&bench);
}

static void test_no_memory(void **state)
{
    struct bench bench;
    bool done = false;
    uint64_t n;

    (void)state;
    for (n = 0; !done && n < 100; n++) {
        open_bench(&bench);
        assert_true(load_text(&bench, "b\t1\t2\t3\n"));
        test_alloc_fail(&bench.alloc, n, 1);
        done = load(&bench, files[0]);
        test_alloc_heal(&bench.alloc);
        assert_int_equal(count_prices(&bench), done ? 9 : 1);
        if (!done)
            assert_int_equal(price_of(&bench, "b").input, 1);
        close_bench(&bench);
    }
    assert_true(done && n > 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_table),
        cmocka_unit_test(test_litellm),
        cmocka_unit_test(test_no_binary_fraction),
        cmocka_unit_test(test_rounded_to_even),
        cmocka_unit_test(test_bad_entries),
        cmocka_unit_test(test_bad_tiers_of_models_dev),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_odd_tables),
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_no_memory),
    };

    if (argc != 5)
        return EXIT_FAILURE;
    files = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
