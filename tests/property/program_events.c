/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api.h"
#include "check.h"
#include "program_state.h"

enum { BLOCKS = 4, LABELS = 12 };

/* An event, and what it points to. */
struct told {
    lbroute_kv_event event;
    uint64_t labels[BLOCKS];
    uint32_t tokens[8];
};

/* Now and then a kind or a medium that there is not. */
static void draw_event(struct program *program, struct told *told)
{
    static const int32_t kinds[] = {LBROUTE_KV_STORED,  LBROUTE_KV_STORED,
                                    LBROUTE_KV_STORED,  LBROUTE_KV_STORED,
                                    LBROUTE_KV_REMOVED, LBROUTE_KV_REMOVED,
                                    LBROUTE_KV_CLEARED, LBROUTE_KV_KIND_COUNT};
    lbroute_kv_event *event = &told->event;

    memset(told, 0, sizeof *told);
    lbroute_kv_event_init(event, sizeof *event);
    event->kind = kinds[program_below(program, 8)];
    event->medium = (int32_t)program_below(program, 5) - 1;
    event->hashes = told->labels;
    event->hash_count = program_below(program, BLOCKS + 1);
    for (size_t i = 0; i < event->hash_count; i++)
        told->labels[i] = program_below(program, LABELS);
}

/* Tokens as requests have them, at times too few or too many. */
static void draw_tokens(struct program *program, struct told *told)
{
    lbroute_kv_event *event = &told->event;
    uint32_t form = program_byte(program);

    event->has_parent = form & 1;
    event->parent = program_below(program, LABELS);
    event->block_size = 1 + (form >> 1) % 3;
    event->tokens = told->tokens;
    event->token_count = program_below(program, 9);
    event->adapter = "x";
    event->adapter_len = form > 250;
    for (size_t i = 0; i < event->token_count; i++)
        told->tokens[i] = program_below(program, 2);
}

/* Some next number, some other, or none. */
static uint64_t draw_seq(struct program *program, lbroute_target target,
                         uint32_t source)
{
    lbroute_kv_source_stats stats;
    uint32_t form = program_below(program, 16);

    lbroute_kv_source_stats_init(&stats, sizeof stats);
    if (lbroute_get_kv_source_stats(program->router, target, source,
                                    program->model.now, &stats) != LBROUTE_OK ||
        stats.next_seq == UINT64_MAX)
        return form;
    if (form < 12)
        return stats.next_seq;
    return form < 15 ? stats.next_seq + form - 13 : UINT64_MAX;
}

void program_tell_events(struct program *program)
{
    struct told told;
    lbroute_kv_batch batch;
    lbroute_kv_result result;
    size_t place = program_some_target(program);
    uint32_t source = program_below(program, 2);
    if (place == MODEL_TARGETS)
        return;
    lbroute_target target = program->model.targets[place].handle;
    draw_event(program, &told);
    if (told.event.kind == LBROUTE_KV_STORED)
        draw_tokens(program, &told);
    lbroute_kv_batch_init(&batch, sizeof batch);
    lbroute_kv_result_init(&result, sizeof result);
    batch.seq = draw_seq(program, target, source);
    batch.events = &told.event;
    batch.event_count = 1;
    int code = lbroute_kv_apply(program->router, target, source, &batch,
                                program_now(program), &result);
    if (code == LBROUTE_ERR_LIMIT) {
        CHECK_U(api_stats(program->router).kv_sources, PROGRAM_KV_SOURCES);
        return;
    }
    CHECK_I(code, LBROUTE_OK);
    CHECK(result.outcome > 0 && result.outcome < LBROUTE_KV_OUTCOME_COUNT);
    CHECK((result.missing > 0) ==
          (result.state == LBROUTE_KV_SOURCE_GAP ||
           result.state == LBROUTE_KV_SOURCE_RESTARTED));
}

void program_forget_events(struct program *program)
{
    size_t place = program_some_target(program);
    uint32_t source = program_below(program, 4);
    if (place == MODEL_TARGETS)
        return;
    int result = lbroute_kv_clear(
        program->router, program->model.targets[place].handle,
        source < 2 ? source : UINT32_MAX, program_now(program));
    CHECK(result == LBROUTE_OK ||
          (source < 2 && result == LBROUTE_ERR_NOT_FOUND));
}
