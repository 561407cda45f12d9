/* SPDX-License-Identifier: MIT */
/* Traces with the text of prompts. A block of 16 tokens is 64 bytes.
 *
 * The recorded traces are no part of the repository: they are looked for in the
 * folder that LBROUTE_TRACES names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace_file.h"

#include "support/test.h"

/* A block of one letter. */
#define SIXTEEN(c) c c c c c c c c c c c c c c c c
#define BLOCK(c) SIXTEEN(c) SIXTEEN(c) SIXTEEN(c) SIXTEEN(c)

/* A line without a time stamp, and one with. */
#define TEXT(session, input, output)                                           \
    "{\"session_id\":\"" session "\",\"input\":\"" input                       \
    "\",\"output\":\"" output "\"}\n"
#define TIMED(ms, input, output)                                               \
    "{\"timestamp\":" ms ",\"input\":\"" input "\",\"output\":\"" output "\"}" \
    "\n"

static void assert_text(const struct trace_file *file, size_t index,
                        const char *text)
{
    const struct work_request *request = trace_file_request(file, index);

    assert_int_equal(request->text_length, strlen(text));
    assert_memory_equal(file->workload.text + request->text_at, text,
                        strlen(text));
}

/* How many leading ids two requests have in common. */
static size_t common_blocks(const struct trace_file *file, size_t left,
                            size_t right)
{
    const uint32_t *ids = file->workload.ids;
    const struct work_request *a = trace_file_request(file, left);
    const struct work_request *b = trace_file_request(file, right);
    size_t count = 0;

    while (count < a->prompt_ids && count < b->prompt_ids &&
           ids[a->first_id + count] == ids[b->first_id + count])
        count++;
    return count;
}

/* Bytes / 4, rounded up, as the library estimates. */
static void tokens_are_estimated_from_bytes(void **state)
{
    struct trace_file *file = *state;

    assert_true(
        trace_file_parse(file, TIMED("4000", "12345", "123456789")
                                   TIMED("9000.5", "\\u00e9 \\u00e9\\n", "")));
    assert_int_equal(file->workload.count, 2);
    assert_int_equal(file->workload.block_tokens, 16);
    assert_int_equal(trace_file_request(file, 0)->input_tokens, 2);
    assert_int_equal(trace_file_request(file, 0)->output_tokens, 3);
    assert_int_equal(trace_file_request(file, 1)->input_tokens, 2);
    assert_int_equal(trace_file_request(file, 1)->output_tokens, 1);
    assert_near(trace_file_request(file, 0)->at_s, 0.0, 0.0);
    assert_near(trace_file_request(file, 1)->at_s, 5.0005, 1e-9);
    assert_int_equal(trace_file_request(file, 1)->follows, WORK_FOLLOWS_NONE);
    assert_int_equal(trace_file_request(file, 1)->session, 0);
    assert_text(file, 0, "12345");
    assert_text(file, 1, "\xc3\xa9 \xc3\xa9\n");
}

/* Requests are sorted by time; each keeps its own text. */
static void texts_move_with_their_requests(void **state)
{
    struct trace_file *file = *state;

    assert_true(trace_file_parse(file, TIMED("9000", "late", "a")
                                           TIMED("4000", "early", "b")));
    assert_text(file, 0, "early");
    assert_text(file, 1, "late");
}

/* An id names a block with everything before it. */
static void equal_beginnings_share_blocks(void **state)
{
    struct trace_file *file = *state;

    assert_true(trace_file_parse(
        file, TIMED("0", BLOCK("a") BLOCK("b") BLOCK("c"), "")
                  TIMED("1", BLOCK("a") BLOCK("b") BLOCK("x") "tail", "")
                      TIMED("2", BLOCK("x") BLOCK("b") BLOCK("c"), "")
                          TIMED("3", BLOCK("a") BLOCK("b") "c", "")));
    assert_int_equal(trace_file_request(file, 0)->prompt_ids, 3);
    assert_int_equal(common_blocks(file, 0, 1), 2);
    assert_int_equal(common_blocks(file, 0, 2), 0);
    assert_int_equal(trace_file_request(file, 3)->prompt_ids, 2);
    assert_int_equal(common_blocks(file, 0, 3), 2);
}

/* The answer fills the second half of the second block and a third; the next
 * prompt goes on from there, or leaves the answer out. */
static void answers_continue_the_prompt(void **state)
{
    static const char *half = SIXTEEN("b") SIXTEEN("b");
    struct trace_file *file = *state;
    char text[4096];
    const uint32_t *first;

    snprintf(text, sizeof text,
             TIMED("0", BLOCK("a") "%s", "%s" BLOCK("c") "d")
                 TIMED("1", BLOCK("a") "%s%s" BLOCK("c") "dx", "")
                     TIMED("2", BLOCK("a") "%s" BLOCK("c") BLOCK("c"), ""),
             half, half, half, half, half);
    assert_true(trace_file_parse(file, text));
    first = trace_file_ids(file, 0);
    assert_int_equal(trace_file_request(file, 0)->prompt_ids, 1);
    /* (24 + 25 - 1) tokens are three blocks. */
    assert_int_equal(trace_file_request(file, 1)->prompt_ids, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(trace_file_ids(file, 1)[i], first[i]);
    assert_int_equal(trace_file_ids(file, 2)[0], first[0]);
    assert_int_not_equal(trace_file_ids(file, 2)[1], first[1]);
}

static void sessions_are_closed_loops(void **state)
{
    struct trace_file *file = *state;

    file->options.think_s = 7.0;
    assert_true(trace_file_parse(
        file, TEXT("a", "1", "") TEXT("b", "2", "") TEXT("a", "3",
                                                         "") TEXT("a", "4", "")
                  TEXT("b", "5", "") "{\"input\":\"6\",\"output\":\"\"}\n"
                                     "{\"input\":\"7\",\"output\":\"\"}\n"));
    assert_int_equal(file->workload.count, 7);
    assert_int_equal(trace_file_request(file, 2)->follows, 0);
    assert_int_equal(trace_file_request(file, 3)->follows, 2);
    assert_int_equal(trace_file_request(file, 4)->follows, 1);
    assert_near(trace_file_request(file, 2)->at_s, 7.0, 0.0);
    assert_near(trace_file_request(file, 4)->at_s, 7.0, 0.0);
    assert_text(file, 3, "4");
    for (size_t i = 0; i < 7; i++) {
        if (i >= 2 && i <= 4)
            continue;
        assert_int_equal(trace_file_request(file, i)->follows,
                         WORK_FOLLOWS_NONE);
        assert_in_real_range(trace_file_request(file, i)->at_s, 0.0, 3600.0);
    }
}

static void seeds_move_session_starts(void **state)
{
    struct trace_file *file = *state;
    double first;

    assert_true(trace_file_parse(file, TEXT("a", "1", "") TEXT("b", "2", "")));
    first = trace_file_request(file, 0)->at_s;
    assert_true(first != trace_file_request(file, 1)->at_s);
    assert_true(trace_file_read(file));
    assert_true(first == trace_file_request(file, 0)->at_s);
    file->options.seed = 2;
    assert_true(trace_file_read(file));
    assert_true(first != trace_file_request(file, 0)->at_s);
}

static void assert_bad(struct trace_file *file, const char *text,
                       const char *error)
{
    assert_false(trace_file_parse(file, text));
    trace_file_assert_error(file, error);
    assert_int_equal(file->workload.count, 0);
}

static void errors_have_a_place(void **state)
{
    struct trace_file *file = *state;

    assert_bad(file, "{\"input\":\"a\"}\n", ":1:1: \"output\" is missing");
    assert_bad(file, TEXT("a", "", "b"),
               ":1:27: \"input\" is not a string of 1 to 67108864 bytes");
    assert_bad(file, "{\"output\":\"\",\"input\":7}",
               ":1:22: \"input\" is not a string of 1 to 67108864 bytes");
    assert_bad(file, "{\"input\":\"a\",\"output\":null}",
               ":1:23: \"output\" is not a string of 0 to 67108864 bytes");
    assert_bad(file, "{\"input\":\"a\",\"output\":\"b\",\"session_id\":4}",
               ":1:40: \"session_id\" is not a string");
    assert_bad(file, TIMED("-1", "a", "b"),
               ":1:14: \"timestamp\" is not a number from 0 to "
               "100000000000000");
}

static void lines_of_other_kinds_are_refused(void **state)
{
    struct trace_file *file = *state;

    assert_bad(file, TIMED("1", "a", "b") TEXT("a", "c", "d"),
               ":2:1: \"timestamp\" is missing");
    assert_bad(file, TEXT("a", "c", "d") TIMED("1", "a", "b"),
               ":2:14: \"timestamp\" here, but not in the lines before");
    assert_bad(file,
               TIMED("1", "a", "b") "{\"timestamp\":2,\"input_length\":9,"
                                    "\"output_length\":9}\n",
               ":2:1: this line is of another kind (request, session or text) "
               "than those before");
}

/* A bad line leaves nothing behind, and does not decide about time stamps. */
static void bad_lines_are_skipped_on_request(void **state)
{
    struct trace_file *file = *state;

    file->options.skip_bad = true;
    assert_true(trace_file_parse(
        file, TIMED("-1", "a", "b") TEXT("a", "", "d") TEXT("a", "good", "d")
                  TIMED("1", "a", "b") "{\"input\":\"cut o"));
    assert_int_equal(file->workload.count, 1);
    assert_int_equal(file->report.skipped, 4);
    assert_text(file, 0, "good");
    assert_int_equal(file->workload.text_count, strlen("good"));
}

/* What a recorded trace must come to. */
struct recorded {
    const char *name;
    size_t requests;
    size_t sessions;
    size_t bytes;
    double hit_share;
};

static size_t count_sessions(const struct workload *work)
{
    size_t count = 0;

    for (size_t i = 0; i < work->count; i++) {
        size_t before = 0;

        while (work->requests[before].session != work->requests[i].session)
            before++;
        count += before == i;
    }
    return count;
}

/* Share of prompt tokens that a cache without bound finds, if it is given
 * prompts but no answers. */
static double unbounded_hit_share(const struct workload *work)
{
    bool *seen = calloc(work->distinct_ids, sizeof *seen);
    double hits = 0.0;
    double tokens = 0.0;

    assert_non_null(seen);
    for (size_t i = 0; i < work->count; i++) {
        const struct work_request *request = &work->requests[i];
        const uint32_t *ids = work->ids + request->first_id;
        size_t run = 0;

        while (run < request->prompt_ids && seen[ids[run]])
            run++;
        hits += (double)(run * work->block_tokens);
        tokens += request->input_tokens;
        for (size_t k = 0; k < request->prompt_ids; k++)
            seen[ids[k]] = true;
    }
    free(seen);
    return hits / tokens;
}

static void check_recorded(struct trace_file *file,
                           const struct recorded *expected)
{
    const char *folder = getenv("LBROUTE_TRACES");
    const struct workload *work = &file->workload;
    char path[4096];

    if (folder == NULL || folder[0] == '\0') {
        puts("Skipped: the recorded traces are not part of the repository. "
             "Set LBROUTE_TRACES to their folder.");
        skip();
    }
    snprintf(path, sizeof path, "%s/%s", folder, expected->name);
    if (!trace_read(path, &file->options, &file->workload, &file->report))
        fail_msg("%s", file->report.error);
    assert_int_equal(work->count, expected->requests);
    assert_int_equal(count_sessions(work), expected->sessions);
    assert_int_equal(work->text_count, expected->bytes);
    assert_near(unbounded_hit_share(work), expected->hit_share, 0.0005);
}

/* Counts, and the share of bytes, from another program that keeps a set of all
 * 64-byte beginnings. Tokens are rounded up, so that some prompts fill a block
 * here which they fill there but for three bytes or less. */
static void coding_agent(void **state)
{
    static const struct recorded expected = {"miniswe_text.jsonl.xz", 402, 20,
                                             9674724, 0.93593};
    struct trace_file *file = *state;

    check_recorded(file, &expected);
    assert_near(trace_file_request(file, 401)->at_s, 552.131, 1e-9);
}

static void airline_agent(void **state)
{
    static const struct recorded expected = {"tau_airline_text.jsonl.xz", 642,
                                             50, 7034038, 0.94147};
    struct trace_file *file = *state;
    size_t starts = 0;

    check_recorded(file, &expected);
    for (size_t i = 0; i < file->workload.count; i++)
        starts += file->workload.requests[i].follows == WORK_FOLLOWS_NONE;
    assert_int_equal(starts, 50);
}

#define TEXT_TEST(name)                                                        \
    cmocka_unit_test_setup_teardown(name, trace_file_set_up,                   \
                                    trace_file_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEXT_TEST(tokens_are_estimated_from_bytes),
        TEXT_TEST(texts_move_with_their_requests),
        TEXT_TEST(equal_beginnings_share_blocks),
        TEXT_TEST(answers_continue_the_prompt),
        TEXT_TEST(sessions_are_closed_loops),
        TEXT_TEST(seeds_move_session_starts),
        TEXT_TEST(errors_have_a_place),
        TEXT_TEST(lines_of_other_kinds_are_refused),
        TEXT_TEST(bad_lines_are_skipped_on_request),
        TEXT_TEST(coding_agent),
        TEXT_TEST(airline_agent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
