/* SPDX-License-Identifier: MIT */
/*
 * The requests to replay, from a trace or a generator.
 *
 * Content is known as ids of full blocks of `block_tokens` tokens; an id names
 * a block together with everything before it. Blocks that the source does not
 * identify get an id of their own, so they are cached but never found again.
 * Where the source has the prompts themselves, the workload keeps them for the
 * router to read, and their ids are made from them.
 *
 * A request either arrives at a time (open loop) or follows another: it
 * arrives its think time after that one's last token (closed loop), so that a
 * slow answer slows the load, as it does with people and agents.
 */
#ifndef LBROUTE_REPLAY_WORKLOAD_H
#define LBROUTE_REPLAY_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** `follows` of a request that arrives by the clock. */
#define WORK_FOLLOWS_NONE UINT32_MAX

/** Largest input or output of one request, tokens. */
#define WORK_MAX_TOKENS 16777216

/** Longest time from first to last arrival, and longest think time, s. */
#define WORK_MAX_SECONDS 1e8

struct work_request {
    double at_s; /**< Arrival, or think time where it follows another. */
    uint32_t input_tokens;
    uint32_t output_tokens;
    uint32_t follows;    /**< Index of an earlier request. */
    uint32_t prompt_ids; /**< Full blocks of the prompt. */
    size_t first_id;     /**< Index into `ids`; prompt, then answer. */
    uint64_t session;    /**< Digest of the conversation's name; 0: none. */
    uint64_t adapter;    /**< LoRA adapter, from 1 on; 0: none. */
    uint32_t client;     /**< Of the workload's, from 1 on; 0: unknown. */
    int32_t priority;    /**< As the router takes it. */
    size_t text_at;      /**< Index into `text`: the prompt. */
    size_t text_length;  /**< Bytes; 0: the source does not have it. */
};

struct client_list;

struct workload {
    uint32_t block_tokens;
    uint32_t distinct_ids; /**< Ids are below this. */
    uint32_t adapters;     /**< LoRA adapters that requests ask for. */
    const struct client_list *clients; /**< Who they are; NULL: unknown. */
    size_t count;
    struct work_request *requests;
    uint32_t *ids;
    uint32_t *contents; /**< By id, what stands in the block, where that is not
                         * a matter of the id alone; NULL: the id tells. */
    char *text;         /**< Prompts, one behind the other. */

    size_t id_count;
    size_t text_count;
    size_t request_capacity;
    size_t id_capacity;
    size_t text_capacity;
    size_t content_capacity;
};

/** What a source knows of a request. `prompt` may be shorter than the prompt's
 * full blocks, `answer` continues it; surplus ids are ignored. */
struct work_content {
    const uint32_t *prompt;
    size_t prompt_count;
    const uint32_t *answer;
    size_t answer_count;
};

/** Starts an empty workload. */
void workload_init(struct workload *workload, uint32_t block_tokens);

/** Frees what the workload holds. */
void workload_release(struct workload *workload);

/** Returns an id that nothing else has. */
uint32_t workload_fresh_id(struct workload *workload);

/** What stands in a block and before it: ids under different adapters may have
 * the same content. */
uint32_t workload_content(const struct workload *workload, uint32_t id);

/** Keeps the text of a prompt, at least one byte; returns where, for `text_at`.
 */
size_t workload_add_text(struct workload *workload, const char *text,
                         size_t length);

/** Adds a request; `first_id` and `prompt_ids` of `request` are not read. No
 * output tokens count as one. */
void workload_add(struct workload *workload, const struct work_request *request,
                  const struct work_content *content);

/** Forgets which requests are one conversation; who follows whom stays. */
void workload_hide_sessions(struct workload *workload);

/** Sorts by arrival and counts time from the first one. Only for workloads in
 * which no request follows another. */
void workload_sort(struct workload *workload);

/** Spreads requests of equal time where the clock of the trace is coarse: its
 * time stamps come in groups at regular steps. Returns the step in seconds, or
 * 0 if nothing was changed. The workload is sorted. */
double workload_spread(struct workload *workload);

/** Lets requests, or sessions in closed loop, arrive `load` times as fast.
 * Think times stay. */
void workload_scale(struct workload *workload, double load);

/** Drops the first `count` requests. Time begins with the first that is left;
 * what followed a dropped one arrives then. */
void workload_skip(struct workload *workload, size_t count);

/** Keeps the first `limit` requests. */
void workload_truncate(struct workload *workload, size_t limit);

#endif
