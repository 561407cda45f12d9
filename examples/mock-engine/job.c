/* SPDX-License-Identifier: MIT */
#include "job.h"

#include "answer.h"
#include "ask.h"
#include "clocks.h"
#include "leave.h"
#include "replay/grow.h"
#include "reply.h"
#include "tokens.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    struct mock *mock;
    struct evhttp_request *http;
    struct ask ask;
    struct told told;
    struct fault_plan plan;
    char *answer;
    uint32_t sent; /* Tokens. */
    bool begun;    /* The head of a stream is out. */
    bool cutting;  /* Nothing more is told; the connection is to be closed. */

    struct engine_request request;
    uint32_t *ids; /* Of its blocks; NULL: not in the engine. */
    uint32_t id_count;
    bool done; /* The engine has let go of it. */

    struct job *next;
    struct job **link; /* What points to it. */
};

static struct job *job_of(struct engine_request *request)
{
    return (struct job *)(void *)((char *)request -
                                  offsetof(struct job, request));
}

/* Takes the job out of everything; its request was dealt with. */
static void end_job(struct job *job)
{
    struct mock *mock = job->mock;

    if (job->ids != NULL && !job->done)
        pace_cancel(mock->pace, &job->request);
    if (job->ids != NULL)
        block_table_drop(mock->table, job->ids, job->id_count);
    mock->counts.open--;
    mock->counts.open_streams -= job->ask.stream;
    *job->link = job->next;
    if (job->next != NULL)
        job->next->link = job->link;
    ask_release(&job->ask);
    free(job->answer);
    free(job->ids);
    free(job);
}

static void on_gone(struct evhttp_connection *connection, void *context)
{
    struct job *job = context;
    struct evhttp_request *http = job->http;

    (void)connection;
    job->mock->counts.cancelled++;
    end_job(job);
    leave_free(http);
}

static void count_told(const struct job *job)
{
    struct counts *counts = &job->mock->counts;

    counts->completed++;
    counts->prompt_tokens += job->told.prompt_tokens;
    counts->cached_tokens += job->told.cached_tokens;
    counts->output_tokens += job->told.output_tokens;
}

/* What was written is out: closes without the rest. */
static void on_cut(struct evhttp_connection *connection, void *context)
{
    struct job *job = context;

    leave_ignore(job->http);
    end_job(job);
    evhttp_connection_free(connection);
}

/* Sends the first half of a body of which the length is told. */
static void cut_whole(struct job *job, struct evbuffer *body)
{
    size_t length = evbuffer_get_length(body);
    struct evbuffer *half = evbuffer_new();
    char text[24];

    snprintf(text, sizeof text, "%zu", length);
    evhttp_add_header(evhttp_request_get_output_headers(job->http),
                      "Content-Length", text);
    evhttp_send_reply_start(job->http, 200, NULL);
    evbuffer_remove_buffer(body, half, length / 2);
    job->cutting = true;
    evhttp_send_reply_chunk_with_cb(job->http, half, on_cut, job);
    evbuffer_free(half);
}

static void tell_whole(struct job *job)
{
    struct evbuffer *body = evbuffer_new();
    struct evhttp_request *http = job->http;

    if (job->plan.malformed == MALFORMED_JSON)
        evbuffer_add_printf(body, "{\"id\": \"broken\", \"choices\": [{]");
    else
        job->ask.dialect->whole(body, &job->told);
    evhttp_add_header(evhttp_request_get_output_headers(http), "Content-Type",
                      "application/json");
    if (job->plan.cut_after >= 0) {
        cut_whole(job, body);
    } else {
        count_told(job);
        leave_ignore(http);
        end_job(job);
        evhttp_send_reply(http, 200, NULL, body);
    }
    evbuffer_free(body);
}

static void begin_stream(struct job *job, struct evbuffer *out)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(job->http);

    job->begun = true;
    evhttp_add_header(headers, "Content-Type",
                      "text/event-stream; charset=utf-8");
    evhttp_add_header(headers, "Cache-Control", "no-cache");
    evhttp_send_reply_start(job->http, 200, NULL);
    if (job->plan.malformed == MALFORMED_JSON)
        evbuffer_add_printf(out, "data: {\"choices\": [{]\n\n");
    else
        job->ask.dialect->begin(out, &job->told);
}

static bool reached(int64_t limit, uint32_t sent)
{
    return limit >= 0 && sent >= limit;
}

/* Writes the tokens up to `produced`, each as a chunk. Returns false if a fault
 * ends the stream here. */
static bool tell_pieces(struct job *job, struct evbuffer *out,
                        uint32_t produced)
{
    while (job->sent < produced) {
        if (reached(job->plan.cut_after, job->sent) ||
            reached(job->plan.hang_after, job->sent))
            return false;
        job->ask.dialect->piece(out, &job->told,
                                job->answer + job->sent * TOKEN_BYTES,
                                TOKEN_BYTES);
        job->sent++;
        evhttp_send_reply_chunk(job->http, out);
    }
    return true;
}

/* A stream that hangs is over when its client goes; one that is cut, once what
 * was written is out. */
static void break_stream(struct job *job, struct evbuffer *out)
{
    if (reached(job->plan.hang_after, job->sent)) {
        evhttp_send_reply_chunk(job->http, out);
        return;
    }
    job->cutting = true;
    evbuffer_add(out, "d", 1);
    evhttp_send_reply_chunk_with_cb(job->http, out, on_cut, job);
}

static void end_stream(struct job *job, struct evbuffer *out)
{
    struct evhttp_request *http = job->http;

    job->ask.dialect->end(out, &job->told);
    evhttp_send_reply_chunk(http, out);
    count_told(job);
    leave_ignore(http);
    end_job(job);
    evhttp_send_reply_end(http);
}

static void tell_stream(struct job *job, uint32_t produced)
{
    struct evbuffer *out = evbuffer_new();

    if (!job->begun)
        begin_stream(job, out);
    if (!tell_pieces(job, out, produced))
        break_stream(job, out);
    else if (produced == job->ask.length)
        end_stream(job, out);
    evbuffer_free(out);
}

/* Tells what is new; the job may be over after it. */
static void tell(struct job *job, uint32_t produced)
{
    if (job->cutting || produced == job->sent)
        return;
    if (job->ask.stream)
        tell_stream(job, produced);
    else if (produced == job->ask.length)
        tell_whole(job);
}

void job_tell_all(struct mock *mock)
{
    struct job *next;

    for (struct job *job = mock->jobs; job != NULL; job = next) {
        next = job->next;
        if (job->ids == NULL)
            continue;
        job->told.cached_tokens = job->request.hit_tokens;
        tell(job, job->request.produced);
    }
}

void job_done(struct engine_request *request)
{
    job_of(request)->done = true;
}

static void fill_told(struct job *job)
{
    const struct ask *ask = &job->ask;

    job->answer = grow_zeroed(ask->length, TOKEN_BYTES);
    answer_write(ask->prompt.text, ask->prompt.length, ask->length,
                 job->answer);
    job->told = (struct told){
        .id = ++job->mock->next_id,
        .created = (int64_t)clock_day(),
        .model = ask->model,
        .text = job->answer,
        .text_length = (int)(ask->length * TOKEN_BYTES),
        .prompt_tokens = (uint32_t)ask->prompt.count,
        .output_tokens = ask->length,
        .limited = ask->limited,
        .usage = ask->usage,
    };
}

/* Numbers the blocks of prompt and answer; the last token of an answer is never
 * computed with. */
static bool number_blocks(struct job *job)
{
    struct ask *ask = &job->ask;
    size_t size = job->mock->options.block_tokens;
    size_t tokens = ask->prompt.count + ask->length - 1;
    uint32_t *all = grow_zeroed(tokens + 1, sizeof *all);
    bool numbered;

    memcpy(all, ask->prompt.tokens, ask->prompt.count * sizeof *all);
    tokens_write(job->answer, (size_t)ask->length * TOKEN_BYTES,
                 all + ask->prompt.count);
    job->id_count = (uint32_t)(tokens / size);
    job->ids = grow_zeroed(job->id_count, sizeof *job->ids);
    numbered = block_table_use(job->mock->table, ask->adapter, all,
                               job->id_count, job->ids);
    free(all);
    return numbered;
}

static void submit(struct job *job)
{
    job->request = (struct engine_request){
        .ids = job->ids,
        .input_tokens = (uint32_t)job->ask.prompt.count,
        .output_tokens = job->ask.length,
        .adapter = job->ask.adapter,
    };
    pace_submit(job->mock->pace, &job->request);
}

/* The numbers of blocks are all in use: far more waits than can run. */
static void turn_away(struct job *job)
{
    struct refusal refusal;
    struct evhttp_request *http = job->http;

    refuse(&refusal, 503, "ServiceUnavailableError", NULL,
           "too many requests wait");
    free(job->ids);
    job->ids = NULL;
    job->mock->counts.rejected++;
    leave_ignore(http);
    reply_refusal(http, job->ask.dialect->anthropic, &refusal);
    end_job(job);
}

static struct job *add_job(struct mock *mock, struct evhttp_request *http,
                           const struct ask *ask, const struct fault_plan *plan)
{
    struct job *job = grow_zeroed(1, sizeof *job);

    job->mock = mock;
    job->http = http;
    job->ask = *ask;
    job->plan = *plan;
    job->next = mock->jobs;
    job->link = &mock->jobs;
    if (job->next != NULL)
        job->next->link = &job->next;
    mock->jobs = job;
    mock->counts.open++;
    mock->counts.open_streams += ask->stream;
    leave_watch(http, on_gone, job);
    return job;
}

static void begin(struct job *job)
{
    fill_told(job);
    if (job->mock->options.instant)
        tell(job, job->ask.length);
    else if (number_blocks(job))
        submit(job);
    else
        turn_away(job);
}

void job_start(struct mock *mock, struct evhttp_request *http,
               const struct dialect *dialect, const struct fault_plan *plan)
{
    struct refusal refusal;
    json_t *body = reply_read(http, &refusal);
    struct ask ask = {0};

    mock->counts.received++;
    if (body != NULL && ask_read(&ask, mock, dialect, body, &refusal)) {
        begin(add_job(mock, http, &ask, plan));
    } else {
        mock->counts.rejected++;
        reply_refusal(http, dialect->anthropic, &refusal);
        ask_release(&ask);
    }
    json_decref(body);
}

void job_drop_all(struct mock *mock)
{
    while (mock->jobs != NULL) {
        leave_ignore(mock->jobs->http);
        end_job(mock->jobs);
    }
}
