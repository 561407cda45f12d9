/* SPDX-License-Identifier: MIT */
/*
 * Requests with their text: the whole prompt and the answer.
 *
 * Tokens are estimated as the library does, bytes / 4, so that a block of 16
 * tokens is 64 bytes. Its id is made from the text up to its end, prompt and
 * answer in one: a later prompt that goes on from here finds the answer too,
 * and one that leaves the answer out does not.
 *
 * With time stamps requests arrive by them. Without, a request follows the one
 * before it in its session.
 */
#include "trace_parse.h"

#include "grow.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_TOKENS = 16, TOKEN_BYTES = 4 };

enum { BLOCK_BYTES = BLOCK_TOKENS * TOKEN_BYTES };

/* Reads a required string of at least `minimum` bytes. */
static bool get_text(const struct trace_object *object, const char *name,
                     size_t minimum, const json_t **text)
{
    size_t longest = (size_t)WORK_MAX_TOKENS * TOKEN_BYTES;

    *text = json_object_get(object->json, name);
    if (*text == NULL)
        return trace_line_fail(object->line, 1, "\"%s\" is missing", name);
    if (json_is_string(*text) && json_string_length(*text) >= minimum &&
        json_string_length(*text) <= longest)
        return true;
    return trace_line_fail(
        object->line,
        trace_member_column(object->line, name, object->occurrence),
        "\"%s\" is not a string of %zu to %zu bytes", name, minimum, longest);
}

/* The first good line says whether there are time stamps. */
static bool get_time(struct trace_texts *texts,
                     const struct trace_object *object, double *at_s)
{
    bool timed = json_object_get(object->json, "timestamp") != NULL;

    if (texts->workload->count == 0)
        texts->timed = timed;
    if (!texts->timed && timed)
        return trace_line_fail(
            object->line, trace_member_column(object->line, "timestamp", 0),
            "\"timestamp\" here, but not in the lines before");
    return !texts->timed || trace_get_time(object, at_s);
}

/* Puts the answer behind the prompt; returns the length of both. */
static size_t join(struct trace_texts *texts, const json_t *input,
                   const json_t *output)
{
    size_t prompt = json_string_length(input);
    size_t length = prompt + json_string_length(output);

    texts->conversation = grow_array(texts->conversation,
                                     &texts->conversation_capacity, length, 1);
    memcpy(texts->conversation, json_string_value(input), prompt);
    memcpy(texts->conversation + prompt, json_string_value(output),
           length - prompt);
    return length;
}

/* Names the full blocks of the conversation; returns how many there are. */
static size_t name_blocks(struct trace_texts *texts, size_t length)
{
    size_t count = length / BLOCK_BYTES;
    uint64_t key = 0;

    texts->blocks = grow_array(texts->blocks, &texts->block_capacity, count,
                               sizeof *texts->blocks);
    for (size_t i = 0; i < count; i++) {
        key = block_key_mix_text(key, texts->conversation + i * BLOCK_BYTES,
                                 BLOCK_BYTES);
        texts->blocks[i] = block_ids_get(&texts->ids, key);
    }
    return count;
}

static uint32_t tokens_of(const json_t *text)
{
    return (uint32_t)((json_string_length(text) + TOKEN_BYTES - 1) /
                      TOKEN_BYTES);
}

static void add_request(struct trace_texts *texts, struct work_request *request,
                        const json_t *input, const json_t *output)
{
    size_t count = name_blocks(texts, join(texts, input, output));
    struct work_content content = {.prompt = texts->blocks};

    request->input_tokens = tokens_of(input);
    request->output_tokens = tokens_of(output);
    request->text_length = json_string_length(input);
    request->text_at = workload_add_text(texts->workload, texts->conversation,
                                         request->text_length);
    content.prompt_count = request->input_tokens / BLOCK_TOKENS;
    if (content.prompt_count < count) {
        content.answer = texts->blocks + content.prompt_count;
        content.answer_count = count - content.prompt_count;
    } else {
        content.prompt_count = count;
    }
    workload_add(texts->workload, request, &content);
}

bool trace_texts_line(struct trace_texts *texts, struct trace_line *line,
                      const json_t *json)
{
    struct trace_object object = {line, json, 0};
    struct work_request request = {.follows = WORK_FOLLOWS_NONE};
    const json_t *input;
    const json_t *output;

    if (!get_text(&object, "input", 1, &input) ||
        !get_text(&object, "output", 0, &output) ||
        !trace_get_session(&object, &request.session) ||
        !get_time(texts, &object, &request.at_s))
        return false;
    texts->workload->block_tokens = BLOCK_TOKENS;
    add_request(texts, &request, input, output);
    return true;
}

struct place {
    uint64_t session;
    uint32_t request;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;

    if (a->session != b->session)
        return a->session < b->session ? -1 : 1;
    return (a->request > b->request) - (a->request < b->request);
}

/* Lets each request of a session follow the one before. */
static void link_sessions(struct trace_texts *texts)
{
    struct work_request *requests = texts->workload->requests;
    size_t count = texts->workload->count;
    struct place *places = grow_zeroed(count, sizeof *places);

    for (size_t i = 0; i < count; i++)
        places[i] = (struct place){requests[i].session, (uint32_t)i};
    qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 1; i < count; i++) {
        struct work_request *request = &requests[places[i].request];

        if (request->session == 0 || places[i - 1].session != request->session)
            continue;
        request->follows = places[i - 1].request;
        request->at_s = texts->options->think_s;
    }
    free(places);
}

static void draw_starts(struct trace_texts *texts)
{
    for (size_t i = 0; i < texts->workload->count; i++) {
        struct work_request *request = &texts->workload->requests[i];

        if (request->follows == WORK_FOLLOWS_NONE)
            request->at_s = TRACE_START_SPAN_S * draw_uniform(&texts->starts);
    }
}

void trace_texts_finish(struct trace_texts *texts)
{
    if (texts->timed) {
        workload_sort(texts->workload);
        return;
    }
    link_sessions(texts);
    draw_starts(texts);
}

void trace_texts_release(struct trace_texts *texts)
{
    block_ids_release(&texts->ids);
    free(texts->conversation);
    free(texts->blocks);
}
