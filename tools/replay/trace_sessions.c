/* SPDX-License-Identifier: MIT */
/*
 * Coding-agent sessions in closed loop.
 *
 * The next request of an agent follows its previous answer after the recorded
 * think time. A sub-agent's first request follows the last main answer that was
 * there when the sub-agent started, after the recorded time between the two.
 * Session starts are not in the trace: they are drawn over one hour.
 *
 * Ids are local to a session. As the makers of the trace saw sessions share
 * the leading parts of their prompts, blocks within tool manifests of equal
 * length, and within system prompts where both lengths are equal, count as the
 * same content for the same model.
 */
#include "trace_parse.h"

#include "grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BLOCK = 65536, MAX_RUN = 16777216, MAX_AGENTS = 65536 };

/* Kinds of block key. */
enum { KEY_TOOLS, KEY_SYSTEM, KEY_SESSION };

/* The two leading parts of the prompts of one agent. */
struct agent {
    uint32_t tool_tokens;
    uint32_t system_tokens;
    uint32_t last;     /* Index of its last request in the session, or ... */
    bool has_requests; /* ... nothing yet. */
};

struct session_request {
    double start_s;
    double end_s; /* Of the answer, as recorded. */
    double think_s;
    uint32_t agent;
    uint32_t model;
    uint32_t input_tokens;
    uint32_t output_tokens;
    const json_t *runs;
};

struct session {
    struct trace_line *line;
    const char *id;
    uint32_t block;
    const json_t *models;
    struct agent *agents; /* [0] is the main one. */
    size_t agent_count;
    struct session_request *requests;
    size_t request_count;
};

static bool read_agent_sizes(struct session *session, const json_t *json)
{
    const json_t *list;
    struct trace_object object = {session->line, json, 0};
    struct agent *main_agent;

    if (!trace_get_array(&object, "subagents", &list))
        return false;
    session->agent_count = json_array_size(list) + 1;
    session->agents = grow_zeroed(session->agent_count, sizeof(struct agent));
    main_agent = &session->agents[0];
    for (size_t i = 1; i < session->agent_count; i++) {
        const json_t *pair = json_array_get(list, i - 1);
        const json_t *tools = json_array_get(pair, 0);
        const json_t *system = json_array_get(pair, 1);

        if (!json_is_integer(tools) || !json_is_integer(system) ||
            json_integer_value(tools) < 0 || json_integer_value(system) < 0 ||
            json_integer_value(tools) > WORK_MAX_TOKENS ||
            json_integer_value(system) > WORK_MAX_TOKENS)
            return trace_line_fail(
                session->line,
                trace_member_column(session->line, "subagents", 0),
                "\"subagents\" is not a list of [tool tokens, system tokens]");
        session->agents[i].tool_tokens = (uint32_t)json_integer_value(tools);
        session->agents[i].system_tokens = (uint32_t)json_integer_value(system);
    }
    return trace_get_count(&object, "tool_tokens", 0, WORK_MAX_TOKENS,
                           &main_agent->tool_tokens) &&
           trace_get_count(&object, "system_tokens", 0, WORK_MAX_TOKENS,
                           &main_agent->system_tokens);
}

/* Checks "runs": [[first, count], …]. */
static bool check_runs(const struct trace_object *object)
{
    const json_t *runs;

    if (!trace_get_array(object, "runs", &runs))
        return false;
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        const json_t *first = json_array_get(run, 0);
        const json_t *count = json_array_get(run, 1);

        if (!json_is_integer(first) || !json_is_integer(count) ||
            json_integer_value(first) < 0 ||
            json_integer_value(first) > INT64_C(1) << 53 ||
            json_integer_value(count) < 1 ||
            json_integer_value(count) > MAX_RUN)
            return trace_line_fail(
                object->line,
                trace_member_column(object->line, "runs", object->occurrence),
                "\"runs\" is not a list of [first id, count]");
    }
    return true;
}

static bool read_request(struct session *session, const json_t *json,
                         size_t index)
{
    struct trace_object object = {session->line, json, index};
    struct session_request *request = &session->requests[index];
    const json_t *api = json_object_get(json, "api");
    uint32_t models = (uint32_t)json_array_size(session->models);

    if (!json_is_object(json))
        return trace_line_fail(
            session->line, trace_member_column(session->line, "requests", 0),
            "\"requests\" holds something that is no object");
    if (!trace_get_real(&object, "t", 0.0, WORK_MAX_SECONDS,
                        &request->start_s) ||
        !trace_get_real(&object, "think", 0.0, WORK_MAX_SECONDS,
                        &request->think_s) ||
        !trace_get_count(&object, "agent", 0,
                         (uint32_t)session->agent_count - 1, &request->agent) ||
        !trace_get_count(&object, "model", 0, models - 1, &request->model) ||
        !trace_get_count(&object, "in", 1, WORK_MAX_TOKENS,
                         &request->input_tokens) ||
        !trace_get_count(&object, "out", 0, WORK_MAX_TOKENS,
                         &request->output_tokens) ||
        !check_runs(&object))
        return false;
    request->runs = json_object_get(json, "runs");
    request->end_s = request->start_s;
    if (json_is_number(api))
        request->end_s += json_number_value(api);
    return true;
}

static bool read_requests(struct session *session, const json_t *json)
{
    struct trace_object object = {session->line, json, 0};
    const json_t *list;

    if (!trace_get_array(&object, "requests", &list))
        return false;
    session->request_count = json_array_size(list);
    session->requests =
        grow_zeroed(session->request_count, sizeof *session->requests);
    for (size_t i = 0; i < session->request_count; i++)
        if (!read_request(session, json_array_get(list, i), i))
            return false;
    return true;
}

static bool read_models(struct session *session,
                        const struct trace_object *object)
{
    if (!trace_get_array(object, "models", &session->models))
        return false;
    for (size_t i = 0; i < json_array_size(session->models); i++)
        if (!json_is_string(json_array_get(session->models, i)))
            return trace_line_fail(
                object->line, trace_member_column(object->line, "models", 0),
                "\"models\" holds something that is no string");
    if (json_array_size(session->models) == 0)
        return trace_line_fail(object->line,
                               trace_member_column(object->line, "models", 0),
                               "\"models\" is empty");
    return true;
}

static bool read_session(struct session *session, const json_t *json)
{
    struct trace_object object = {session->line, json, 0};

    session->id = json_string_value(json_object_get(json, "id"));
    if (session->id == NULL)
        return trace_line_fail(session->line,
                               trace_member_column(session->line, "id", 0),
                               "\"id\" is not a string");
    return trace_get_count(&object, "block", 1, MAX_BLOCK, &session->block) &&
           read_models(session, &object) && read_agent_sizes(session, json) &&
           read_requests(session, json);
}

static uint64_t block_key(const struct session *session,
                          const struct session_request *request, size_t index,
                          uint64_t local_id)
{
    const struct agent *agent = &session->agents[request->agent];
    const json_t *model = json_array_get(session->models, request->model);
    uint64_t end = (uint64_t)(index + 1) * session->block;
    uint64_t key = block_key_mix_text(0, json_string_value(model),
                                      json_string_length(model));

    if (end > (uint64_t)agent->tool_tokens + agent->system_tokens) {
        key = block_key_mix(key, KEY_SESSION);
        key = block_key_mix_text(key, session->id, strlen(session->id));
        return block_key_mix(key, local_id);
    }
    if (end <= agent->tool_tokens) {
        key = block_key_mix(key, KEY_TOOLS);
    } else {
        key = block_key_mix(key, KEY_SYSTEM);
        key = block_key_mix(key, agent->system_tokens);
    }
    key = block_key_mix(key, agent->tool_tokens);
    return block_key_mix(key, index);
}

/* The ids of the prompt's full blocks; the caller frees them. */
static uint32_t *prompt_ids(struct block_ids *ids,
                            const struct session *session,
                            const struct session_request *request,
                            size_t *count)
{
    size_t full = request->input_tokens / session->block;
    uint32_t *prompt = grow_zeroed(full, sizeof *prompt);

    *count = 0;
    for (size_t i = 0; i < json_array_size(request->runs); i++) {
        const json_t *run = json_array_get(request->runs, i);
        json_int_t first = json_integer_value(json_array_get(run, 0));
        json_int_t length = json_integer_value(json_array_get(run, 1));

        for (json_int_t k = 0; k < length && *count < full; k++, ++*count)
            prompt[*count] =
                block_ids_get(ids, block_key(session, request, *count,
                                             (uint64_t)(first + k)));
    }
    return prompt;
}

/* The last main request that was answered when `request` was sent. */
static bool last_answered(const struct session *session, size_t index,
                          size_t *found)
{
    double start = session->requests[index].start_s;
    bool any = false;

    for (size_t i = 0; i < index; i++) {
        const struct session_request *other = &session->requests[i];

        if (other->agent == 0 && other->end_s <= start &&
            (!any || other->end_s >= session->requests[*found].end_s)) {
            *found = i;
            any = true;
        }
    }
    return any;
}

/* Where in time the request stands: after which one, and how long. */
static void place(struct trace_sessions *sessions,
                  const struct session *session, size_t index, double start_s,
                  struct work_request *added)
{
    const struct session_request *request = &session->requests[index];
    const struct agent *agent = &session->agents[request->agent];
    size_t base = sessions->workload->count - index;
    size_t before = 0;

    added->follows = WORK_FOLLOWS_NONE;
    added->at_s = start_s + request->start_s;
    if (agent->has_requests) {
        added->follows = (uint32_t)(base + agent->last);
        added->at_s = request->think_s;
    } else if (last_answered(session, index, &before)) {
        added->follows = (uint32_t)(base + before);
        added->at_s = request->start_s - session->requests[before].end_s;
    }
    if (added->follows != WORK_FOLLOWS_NONE)
        added->at_s = fmin(added->at_s, sessions->options->max_think_s);
}

static void add_session(struct trace_sessions *sessions,
                        const struct session *session)
{
    double start_s = TRACE_START_SPAN_S * draw_uniform(&sessions->starts);
    uint64_t digest = block_key_mix_text(0, session->id, strlen(session->id));

    for (size_t i = 0; i < session->request_count; i++) {
        const struct session_request *request = &session->requests[i];
        struct agent *agent = &session->agents[request->agent];
        struct work_request added = {.input_tokens = request->input_tokens,
                                     .output_tokens = request->output_tokens,
                                     .session = digest};
        struct work_content content = {0};
        uint32_t *prompt =
            prompt_ids(&sessions->ids, session, request, &content.prompt_count);

        content.prompt = prompt;
        place(sessions, session, i, start_s, &added);
        workload_add(sessions->workload, &added, &content);
        free(prompt);
        agent->last = (uint32_t)i;
        agent->has_requests = true;
    }
}

bool trace_sessions_line(struct trace_sessions *sessions,
                         struct trace_line *line, const json_t *json)
{
    struct session session = {.line = line};
    bool good = read_session(&session, json);

    if (good && sessions->workload->block_tokens == 0)
        sessions->workload->block_tokens = session.block;
    if (good && sessions->workload->block_tokens != session.block)
        good = trace_line_fail(line, trace_member_column(line, "block", 0),
                               "\"block\" differs from the sessions before");
    if (good)
        add_session(sessions, &session);
    free(session.agents);
    free(session.requests);
    return good;
}
