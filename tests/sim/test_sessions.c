/* SPDX-License-Identifier: MIT */
/* Traces of coding-agent sessions. */
#include <stdio.h>
#include <string.h>

#include "trace_file.h"

#include "support/test.h"

/* A session named |id|: 32 tokens of tools, 16 of system prompt; a main agent
 * with two requests and a sub-agent with two. */
#define SESSION(id)                                                            \
    "{\"id\":\"" id "\",\"block\":16,\"models\":[\"m\"],"                      \
    "\"tool_tokens\":32,\"system_tokens\":16,\"subagents\":[[16,0]],"          \
    "\"requests\":["                                                           \
    "{\"t\":0,\"agent\":0,\"model\":0,\"in\":70,\"out\":20,\"think\":0,"       \
    "\"runs\":[[1,4]],\"api\":5},"                                             \
    "{\"t\":9,\"agent\":1,\"model\":0,\"in\":40,\"out\":20,\"think\":0,"       \
    "\"runs\":[[50,2]],\"api\":1},"                                            \
    "{\"t\":13,\"agent\":1,\"model\":0,\"in\":48,\"out\":20,\"think\":3,"      \
    "\"runs\":[[50,3]]},"                                                      \
    "{\"t\":205,\"agent\":0,\"model\":0,\"in\":100,\"out\":20,\"think\":200,"  \
    "\"runs\":[[1,3],[9,3]],\"api\":5}]}\n"

static void agents_follow_their_answers(void **state)
{
    struct trace_file *file = *state;

    assert_true(trace_file_parse(file, SESSION("a")));
    assert_int_equal(file->workload.count, 4);
    assert_int_equal(file->workload.block_tokens, 16);
    assert_int_equal(trace_file_request(file, 0)->follows, WORK_FOLLOWS_NONE);
    assert_in_real_range(trace_file_request(file, 0)->at_s, 0.0, 3600.0);
    /* The sub-agent starts 4 s after the main agent's answer at 5 s. */
    assert_int_equal(trace_file_request(file, 1)->follows, 0);
    assert_near(trace_file_request(file, 1)->at_s, 4.0, 1e-12);
    assert_int_equal(trace_file_request(file, 2)->follows, 1);
    assert_near(trace_file_request(file, 2)->at_s, 3.0, 1e-12);
    /* 200 s of thought are cut. */
    assert_int_equal(trace_file_request(file, 3)->follows, 0);
    assert_near(trace_file_request(file, 3)->at_s, 60.0, 1e-12);
    assert_true(trace_file_request(file, 0)->session != 0);
    assert_int_equal(trace_file_request(file, 3)->session,
                     trace_file_request(file, 0)->session);
}

static void pauses_are_kept_on_request(void **state)
{
    struct trace_file *file = *state;

    file->options.max_think_s = 1000.0;
    assert_true(trace_file_parse(file, SESSION("a")));
    assert_near(trace_file_request(file, 3)->at_s, 200.0, 1e-12);
}

static void seeds_move_session_starts(void **state)
{
    struct trace_file *file = *state;
    double first;

    assert_true(trace_file_parse(file, SESSION("a") SESSION("b")));
    first = trace_file_request(file, 0)->at_s;
    assert_true(first != trace_file_request(file, 4)->at_s);
    assert_true(trace_file_read(file));
    assert_true(first == trace_file_request(file, 0)->at_s);
    file->options.seed = 2;
    assert_true(trace_file_read(file));
    assert_true(first != trace_file_request(file, 0)->at_s);
}

/* 70 tokens are four full blocks: two of tools, one of system prompt, one of
 * the session's own. */
static void leading_parts_are_shared_between_sessions(void **state)
{
    struct trace_file *file = *state;

    assert_true(trace_file_parse(file, SESSION("a") SESSION("b")));
    assert_int_equal(trace_file_request(file, 4)->follows, WORK_FOLLOWS_NONE);
    assert_int_equal(trace_file_request(file, 5)->follows, 4);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(trace_file_ids(file, 0)[i],
                         trace_file_ids(file, 4)[i]);
    assert_int_not_equal(trace_file_ids(file, 0)[3],
                         trace_file_ids(file, 4)[3]);
    /* The sub-agent has other tools than the main one. */
    assert_int_not_equal(trace_file_ids(file, 0)[0],
                         trace_file_ids(file, 1)[0]);
    assert_int_equal(trace_file_ids(file, 1)[0], trace_file_ids(file, 5)[0]);
    /* A later turn diverges after the third block. */
    assert_int_equal(trace_file_ids(file, 0)[2], trace_file_ids(file, 3)[2]);
    assert_int_not_equal(trace_file_ids(file, 0)[3],
                         trace_file_ids(file, 3)[3]);
}

static void errors_have_a_place(void **state)
{
    struct trace_file *file = *state;
    char text[] = SESSION("a");
    char *second = strstr(text, "\"in\":40");

    memcpy(second, "\"in\":-1", 7);
    assert_false(trace_file_parse(file, text));
    assert_non_null(strstr(file->report.error,
                           "\"in\" is not a whole number from 1 to 16777216"));
    {
        char place[32];

        snprintf(place, sizeof place,
                 "/t:1:%zu: ", (size_t)(second - text) + 6);
        assert_non_null(strstr(file->report.error, place));
    }
    assert_false(trace_file_parse(
        file,
        "{\"timestamp\":0,\"input_length\":9,\"output_length\":9}\n" SESSION(
            "a")));
    trace_file_assert_error(file,
                            ":2:1: this line is of another kind (request, "
                            "session or text) than those before");
}

static void a_bad_session_is_skipped_whole(void **state)
{
    struct trace_file *file = *state;
    char text[] = SESSION("a") SESSION("b");

    memcpy(strstr(text, "\"runs\":[[1,3],"), "\"runs\":[[1,0],", 14);
    file->options.skip_bad = true;
    assert_true(trace_file_parse(file, text));
    assert_int_equal(file->workload.count, 4);
    assert_int_equal(file->report.skipped, 1);
    assert_int_equal(trace_file_request(file, 0)->follows, WORK_FOLLOWS_NONE);
}

#define SESSION_TEST(name)                                                     \
    cmocka_unit_test_setup_teardown(name, trace_file_set_up,                   \
                                    trace_file_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SESSION_TEST(agents_follow_their_answers),
        SESSION_TEST(pauses_are_kept_on_request),
        SESSION_TEST(seeds_move_session_starts),
        SESSION_TEST(leading_parts_are_shared_between_sessions),
        SESSION_TEST(errors_have_a_place),
        SESSION_TEST(a_bad_session_is_skipped_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
