/* SPDX-License-Identifier: MIT */
/* How well the time to first token is predicted: by the library, and by two
 * simpler models that see the same requests on the same targets.
 *
 * The recorded traces are no part of the repository: they are looked for in the
 * folder that LBROUTE_TRACES names. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/fleet.h"
#include "replay/generate.h"
#include "replay/trace.h"

#include "latency_rivals.h"
#include "support/test.h"

#define MIXED "3x8b-rtx4090,3x8b-rtxpro6000,3x32b-2xrtxpro6000"

enum { RIVALS = 2, MOST_TARGETS = 9, SAMPLES_TO_PREDICT = 8 };

/* Something that happens to a request, for the rivals. */
struct happening {
    uint64_t at;
    uint32_t request;
    int answered; /* else sent */
};

struct fixture {
    struct workload work;
    struct fleet_spec fleet;
    struct fleet_log log;
    struct happening *happenings;
    struct rival_point *points; /* by request */
    double *errors[RIVALS + 1]; /* the library's come last */
    size_t error_count[RIVALS + 1];
    struct rival rivals[RIVALS][MOST_TARGETS];
};

static double (*const predict[RIVALS])(const struct rival *,
                                       const struct rival_point *) = {
    rival_nlms_predict, rival_requests_predict};
static void (*const teach[RIVALS])(struct rival *, const struct rival_point *,
                                   double) = {rival_nlms_teach,
                                              rival_requests_teach};

static int set_up(void **state)
{
    static struct fixture fixture;

    memset(&fixture, 0, sizeof fixture);
    workload_init(&fixture.work, 16);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    fleet_log_release(&fixture->log);
    fleet_spec_release(&fixture->fleet);
    workload_release(&fixture->work);
    free(fixture->happenings);
    free(fixture->points);
    for (size_t i = 0; i <= RIVALS; i++)
        free(fixture->errors[i]);
    return 0;
}

static void run(struct fixture *fixture)
{
    struct fleet_defaults defaults = {engine_spec_at(0), 400000, 0};
    struct fleet_options options = {.scrape_s = 5};
    char error[256];

    assert_true(fleet_spec_parse(MIXED, &defaults, &fixture->fleet, error,
                                 sizeof error));
    options.host.fleet = &fixture->fleet;
    options.host.strategy = "predicted_latency";
    options.host.seed = 1;
    options.host.max_requests = fixture->work.count;
    fleet_run(&fixture->work, &options, &fixture->log);
}

static int by_time(const void *left, const void *right)
{
    const struct happening *a = left;
    const struct happening *b = right;

    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    if (a->answered != b->answered)
        return b->answered - a->answered;
    return a->request < b->request ? -1 : a->request > b->request;
}

static size_t list_happenings(struct fixture *fixture)
{
    size_t count = 0;

    fixture->happenings =
        calloc(2 * fixture->work.count, sizeof *fixture->happenings);
    assert_non_null(fixture->happenings);
    for (uint32_t i = 0; i < fixture->work.count; i++) {
        const struct fleet_outcome *outcome = &fixture->log.outcomes[i];
        struct happening sent = {outcome->dispatched, i, 0};
        struct happening answered = {outcome->last_token, i, 1};

        if (outcome->target == FLEET_NO_TARGET)
            continue;
        fixture->happenings[count++] = sent;
        fixture->happenings[count++] = answered;
    }
    qsort(fixture->happenings, count, sizeof *fixture->happenings, by_time);
    return count;
}

/* What there is on the target of a request, by the record. */
static struct rival_point look(const struct fixture *fixture, size_t before,
                               uint32_t request)
{
    const struct fleet_outcome *own = &fixture->log.outcomes[request];
    struct rival_point point = {0, 0, 0};

    point.input = fixture->work.requests[request].input_tokens / 1000.0;
    for (size_t i = before; i-- > 0;) {
        const struct happening *earlier = &fixture->happenings[i];
        const struct fleet_outcome *other =
            &fixture->log.outcomes[earlier->request];

        if (before - i > 4000)
            break;
        if (earlier->answered || other->target != own->target ||
            other->last_token <= own->dispatched)
            continue;
        point.requests++;
        if (other->first_token <= own->dispatched)
            continue;
        point.waiting_tokens +=
            fixture->work.requests[earlier->request].input_tokens / 1000.0;
    }
    return point;
}

static void note_error(struct fixture *fixture, size_t who, double predicted,
                       double real)
{
    fixture->errors[who][fixture->error_count[who]++] =
        fabs(predicted / real - 1);
}

static double first_token_ms(const struct fleet_outcome *outcome)
{
    return (double)(outcome->first_token - outcome->dispatched) / 1e6;
}

static void follow(struct fixture *fixture)
{
    size_t count = list_happenings(fixture);

    fixture->points = calloc(fixture->work.count, sizeof *fixture->points);
    assert_non_null(fixture->points);
    for (size_t i = 0; i <= RIVALS; i++)
        fixture->errors[i] = calloc(fixture->work.count, sizeof(double));
    for (size_t i = 0; i < count; i++) {
        const struct happening *now = &fixture->happenings[i];
        const struct fleet_outcome *outcome =
            &fixture->log.outcomes[now->request];
        struct rival_point *point = &fixture->points[now->request];
        double real = first_token_ms(outcome);

        if (!now->answered) {
            *point = look(fixture, i, now->request);
            if (outcome->expected_first_ns >= 0)
                note_error(fixture, RIVALS,
                           (double)outcome->expected_first_ns / 1e6, real);
        }
        for (size_t k = 0; k < RIVALS; k++) {
            struct rival *rival = &fixture->rivals[k][outcome->target];

            if (now->answered)
                teach[k](rival, point, real);
            else if (rival->samples >= SAMPLES_TO_PREDICT)
                note_error(fixture, k, predict[k](rival, point), real);
        }
    }
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(const struct fixture *fixture, size_t who)
{
    size_t count = fixture->error_count[who];

    assert_true(count > fixture->work.count / 2);
    qsort(fixture->errors[who], count, sizeof(double), by_size);
    return fixture->errors[who][count / 2];
}

/* The library's median error is at most |most|. Least mean squares are worse
 * |nlms| times or more: by little where all prompts are long, so that the
 * latest answers say most. Whoever counts requests is worse by half. */
static void compare(struct fixture *fixture, double most, double nlms)
{
    double own;

    run(fixture);
    follow(fixture);
    own = median(fixture, RIVALS);
    printf("median error %.3f, normalised least mean squares %.3f, "
           "counting requests %.3f\n",
           own, median(fixture, 0), median(fixture, 1));
    assert_in_real_range(own, 0, most);
    assert_true(median(fixture, 0) > nlms * own);
    assert_true(median(fixture, 1) > 1.5 * own);
}

static void read_trace(struct fixture *fixture, const char *name, double load)
{
    const char *folder = getenv("LBROUTE_TRACES");
    struct trace_options options = {.max_think_s = 1e6, .seed = 1};
    static struct trace_report report;
    char path[4096];

    if (folder == NULL || folder[0] == '\0') {
        puts("Skipped: the recorded traces are not part of the repository. "
             "Set LBROUTE_TRACES to their folder.");
        skip();
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!trace_read(path, &options, &fixture->work, &report))
        fail_msg("%s", report.error);
    (void)workload_spread(&fixture->work);
    workload_scale(&fixture->work, load);
}

static void azure_conversations(void **state)
{
    read_trace(*state, "azure_llm_2023_conv.csv.gz", 6);
    compare(*state, 0.15, 1.15);
}

static void mooncake_conversations(void **state)
{
    read_trace(*state, "mooncake_conversation.jsonl.gz", 1);
    compare(*state, 0.20, 1.05);
}

static void generated_bursts(void **state)
{
    struct fixture *fixture = *state;
    const struct generator *bursts = generator_find("bursts");
    struct generator_options options = {bursts->default_rate, 600, 1, 0, 0};

    generator_run(bursts, &options, &fixture->work);
    compare(fixture, 0.15, 1.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(azure_conversations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mooncake_conversations, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(generated_bursts, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
