/* SPDX-License-Identifier: MIT */
/*
 * What a vLLM server prints on /metrics, made from the state of an engine. The
 * router reads it as it would read a real page.
 */
#ifndef LBROUTE_REPLAY_VLLM_PAGE_H
#define LBROUTE_REPLAY_VLLM_PAGE_H

#include "engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The text of a page. */
struct vllm_page {
    char *text;
    size_t length;
    size_t capacity;
    uint32_t adapters; /**< Numbers of adapters are 1 to this. */
    bool *listed;      /**< By number; of the list being written. */
    const char *model; /**< Label of all series; "replay" if nothing is set. */
    /** Names of adapters by number - 1; NULL: those of workloads. */
    const char *const *names;
};

/** Starts an empty page of an engine that knows so many adapters. */
void vllm_page_init(struct vllm_page *page, uint32_t adapters);

/** Writes the page of an engine in place of what the page holds. */
void vllm_page_write(struct vllm_page *page, const struct engine *engine,
                     uint64_t now_ns);

/** Adds a counter that the engine model does not keep. */
void vllm_page_add_counter(struct vllm_page *page, const char *name,
                           const char *help, uint64_t value);

/** Frees the text. */
void vllm_page_release(struct vllm_page *page);

#endif
