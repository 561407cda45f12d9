/* SPDX-License-Identifier: MIT */
/*
 * Replays fixtures.txt, which tells of its own form, into a router with one
 * target: what became of each batch, and what the index holds then.
 *
 *     fixtures FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lbroute/ingest.h>

#include "support/fleet.h"
#include "support/pack.h"
#include "support/test.h"

enum { MOST_TOKENS = 256, MOST_IMAGES = 8, MOST_LINE = 8192 };

static const char *fixtures;
static struct fleet fleet;
static int is_open;
static int line_number;

/* Fails with the line that is at fault. */
#define EXPECT(actual, wanted, word)                                           \
    expect((uint64_t)(actual), (uint64_t)(wanted), #word)

static void expect(uint64_t actual, uint64_t wanted, const char *word)
{
    if (actual == wanted)
        return;
    print_error("line %d: %s is %llu, not %llu\n", line_number, word,
                (unsigned long long)actual, (unsigned long long)wanted);
    fail();
}

static void close_case(void)
{
    if (is_open)
        fleet_close(&fleet);
    is_open = 0;
}

static void open_case(void)
{
    close_case();
    fleet_open(&fleet, "precise_cache_aware", 1, 1);
    is_open = 1;
}

static void replay_batch(char *words[])
{
    struct pack payload = {0};
    lbroute_kv_result result;
    lbroute_diag diag;

    pack_hex(&payload, words[5]);
    lbroute_kv_result_init(&result, sizeof result);
    lbroute_diag_init(&diag, sizeof diag);
    EXPECT(lbroute_ingest_kv_events(fleet.router, fleet.targets[0], 0,
                                    strtoull(words[0], NULL, 10), payload.bytes,
                                    payload.length, fleet.now, &result, &diag),
           0, the code);
    EXPECT(result.outcome,
           strcmp(words[1], "applied") == 0 ? LBROUTE_KV_APPLIED
                                            : LBROUTE_KV_PARTIAL,
           the outcome);
    EXPECT(result.state, LBROUTE_KV_SOURCE_FRESH, the state);
    EXPECT(diag.accepted, strtoull(words[2], NULL, 10), accepted);
    EXPECT(diag.skipped, strtoull(words[3], NULL, 10), skipped);
    EXPECT(diag.broken, strtoull(words[4], NULL, 10), broken);
    pack_free(&payload);
}

/* FIRST+COUNT,… into ids; gives their number. */
static size_t read_tokens(const char *text, uint32_t *tokens)
{
    size_t count = 0;
    char *at;

    for (;; text = at + 1) {
        uint32_t first = (uint32_t)strtoul(text, &at, 10);
        size_t more = strtoul(at + 1, &at, 10);
        assert_true(count + more <= MOST_TOKENS);
        for (size_t i = 0; i < more; i++)
            tokens[count++] = first + (uint32_t)i;
        if (*at != ',')
            return count;
    }
}

/* ID@BEGIN+COUNT,… whose ids stay in |text|; gives their number. */
static size_t read_images(const char *text, lbroute_mm_item *items)
{
    size_t count = 0;
    char *at;

    if (strcmp(text, "-") == 0)
        return 0;
    for (;; text = at + 1) {
        const char *mark = strchr(text, '@');
        assert_true(mark && count < MOST_IMAGES);
        items[count].id = text;
        items[count].id_len = (size_t)(mark - text);
        items[count].begin = strtoull(mark + 1, &at, 10);
        items[count].count = strtoull(at + 1, &at, 10);
        count++;
        if (*at != ',')
            return count;
    }
}

static void replay_ask(char *words[])
{
    uint32_t tokens[MOST_TOKENS];
    lbroute_mm_item items[MOST_IMAGES];
    lbroute_request *request = &fleet.request;

    lbroute_request_init(request, sizeof *request);
    request->pool = fleet.pool;
    request->tokens = tokens;
    request->tokens_len = read_tokens(words[3], tokens);
    request->mm_items = items;
    request->mm_item_count = read_images(words[2], items);
    if (strcmp(words[0], "-") != 0) {
        request->adapter = words[0];
        request->adapter_len = strlen(words[0]);
    }
    if (strcmp(words[1], "-") != 0) {
        request->salt = words[1];
        request->salt_len = strlen(words[1]);
    }
    assert_int_equal(fleet_serve(&fleet), 0);
    EXPECT(fleet.decision.kv_blocks[LBROUTE_MEDIUM_GPU],
           strtoull(words[4], NULL, 10), in GPU memory);
    EXPECT(fleet.decision.kv_blocks[LBROUTE_MEDIUM_HOST],
           strtoull(words[5], NULL, 10), in host memory);
    EXPECT(fleet.decision.kv_blocks[LBROUTE_MEDIUM_DISK],
           strtoull(words[6], NULL, 10), on disk);
}

static void replay_held(char *words[])
{
    lbroute_kv_source_stats stats;

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    assert_int_equal(lbroute_get_kv_source_stats(fleet.router, fleet.targets[0],
                                                 0, fleet.now, &stats),
                     0);
    EXPECT(stats.blocks[LBROUTE_MEDIUM_GPU], strtoull(words[0], NULL, 10),
           held in GPU memory);
    EXPECT(stats.blocks[LBROUTE_MEDIUM_HOST], strtoull(words[1], NULL, 10),
           held in host memory);
    EXPECT(stats.blocks[LBROUTE_MEDIUM_DISK], strtoull(words[2], NULL, 10),
           held on disk);
    EXPECT(stats.waiting, 0, waiting);
}

/* Does what a line says; gives whether it is one with a fact. */
static int replay_line(char *line)
{
    static const struct {
        const char *name;
        size_t words;
        void (*replay)(char *words[]);
    } facts[] = {{"batch", 6, replay_batch},
                 {"ask", 7, replay_ask},
                 {"held", 3, replay_held}};
    char *words[8] = {NULL};
    size_t count = 0;

    for (char *word = strtok(line, " \n"); word && count < 8;
         word = strtok(NULL, " \n"))
        words[count++] = word;
    if (count == 2 && strcmp(words[0], "case") == 0)
        open_case();
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (count == 1 + facts[i].words &&
            strcmp(words[0], facts[i].name) == 0) {
            facts[i].replay(words + 1);
            return 1;
        }
    }
    return 0;
}

static void replay_all(void **state)
{
    static char line[MOST_LINE];
    FILE *file = fopen(fixtures, "r");
    int facts = 0;
    (void)state;

    assert_non_null(file);
    for (line_number = 1; fgets(line, sizeof line, file); line_number++)
        facts += replay_line(line);
    fclose(file);
    close_case();
    assert_true(facts >= 60);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(replay_all)};

    if (argc != 2)
        return 1;
    fixtures = argv[1];
    return cmocka_run_group_tests_name("kv_events", tests, NULL, NULL);
}
