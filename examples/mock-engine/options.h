/* SPDX-License-Identifier: MIT */
/*
 * The command line.
 */
#ifndef LBROUTE_MOCK_OPTIONS_H
#define LBROUTE_MOCK_OPTIONS_H

#include "names.h"
#include "replay/engine_spec.h"
#include "replay/kv_payload.h"

#include <stdbool.h>
#include <stdint.h>

struct options {
    const char *host;
    uint64_t port;         /**< 0: any. */
    uint64_t control_port; /**< 0: any. */
    const char *api_key;   /**< NULL: none is asked for. */
    struct names names;

    const struct engine_spec *engine;
    uint64_t cache_tokens; /**< 0: the default of the engine. */
    uint64_t block_tokens;
    uint64_t max_seqs;      /**< 0: the default of the model. */
    uint64_t step_tokens;   /**< Likewise. */
    uint64_t max_model_len; /**< 0: what the cache holds. */
    uint64_t lora_slots;
    double lora_load_ms;
    uint64_t answer_tokens;
    double speed;
    bool instant;

    bool kv_events;
    uint64_t kv_events_port;
    uint64_t kv_replay_port;
    uint64_t kv_kept;
    const char *kv_topic;
    enum kv_form kv_form;

    uint64_t seed;
    const char *faults; /**< JSON, or NULL. */
};

enum options_result { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

/** Reads the command line; what is wrong with it was said. Release what was
 * read in any case. */
enum options_result options_read(struct options *options, int argc,
                                 char **argv);

void options_release(struct options *options);

#endif
