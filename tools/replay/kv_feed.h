/* SPDX-License-Identifier: MIT */
/*
 * KV events between the engines of a fleet and its host.
 *
 *     engine ─▶ stream ──delay, loss──▶ host ─▶ each router
 *                 ▲                      │ ╰──▶ shadow (what may be said)
 *                 ╰──────── replay ──────╯
 *
 * A host that finds that batches are missing asks the engine for what it still
 * has from there on, and gets it after the same delay. What the engine has no
 * more ends with lbroute_kv_clear(). A host that begins asks for all of it.
 */
#ifndef LBROUTE_REPLAY_KV_FEED_H
#define LBROUTE_REPLAY_KV_FEED_H

#include "draw.h"
#include "kv_shadow.h"
#include "kv_stream.h"
#include "routers.h"

enum kv_mode {
    KV_MODE_OFF,
    KV_MODE_ARRAY, /**< Events as arrays. */
    KV_MODE_MAP,   /**< Events as maps. */
    KV_MODE_MIXED  /**< One engine so, the next the other way. */
};

struct kv_feed_options {
    enum kv_mode mode;
    double delay_s; /**< From the end of a step to the router. */
    double loss;    /**< Part of the batches that get lost on the way. */
    bool replay;    /**< Engines send again what they are asked for. */
    double guess_s; /**< Time for which the router believes that what it sent
                     * somewhere is there; 0: it does not. */
    uint64_t seed;
};

/** What went over, and what the router made of it. */
struct kv_feed_counts {
    uint64_t batches;   /**< Published. */
    uint64_t stored;    /**< Blocks in them. */
    uint64_t removed;   /**< Likewise. */
    uint64_t lost;      /**< Batches that did not arrive by themselves. */
    uint64_t delivered; /**< Batches handed to the router. */
    uint64_t bytes;     /**< In them. */
    uint64_t replays;   /**< Times that an engine was asked. */
    uint64_t clears;    /**< Times that it had nothing. */
    struct host_kv_counts router; /**< Of all routers together. */
    uint64_t picks;
    uint64_t unknown_picks; /**< While a source was unknown. */
    uint64_t credited;      /**< Blocks that decisions said are there. */
    uint64_t justified;     /**< Blocks of which events had said so. */
    uint64_t guessed_picks; /**< Decisions that said more, rightly guessing. */
    uint64_t wrong_picks;   /**< Those that said too much for that, too, ... */
    uint64_t wrong_blocks;  /**< ... and by how many blocks. */
};

/** One engine's. */
struct kv_link {
    struct kv_stream stream;
    struct kv_shadow shadow;
    bool *lost; /**< By batch of the stream. */
    size_t lost_capacity;
    size_t sent;     /**< Batches that arrived or were lost. */
    bool asking;     /**< A replay is on its way. */
    uint64_t first;  /**< The number that it was asked to begin with. */
    size_t snapshot; /**< Batches that there were then. */
};

struct kv_feed {
    const struct kv_feed_options *options;
    const struct workload *workload;
    struct routers *routers; /**< Set before anything arrives. */
    struct kv_link *links;
    size_t count; /**< 0: there are no events. */
    bool plain;   /**< No router reads events: who asks is told what the shadows
                   * say. */
    struct draw draw;
    struct kv_payload payload;
    struct kv_feed_counts counts;
};

/** Makes a stream for each of `targets` engines, or none with KV_MODE_OFF. */
void kv_feed_init(struct kv_feed *feed, const struct workload *workload,
                  const struct kv_feed_options *options, size_t targets);

void kv_feed_release(struct kv_feed *feed);

/** Where an engine notes what its cache does; NULL: nowhere. */
struct kv_log *kv_feed_log(struct kv_feed *feed, uint32_t target);

/** A step is over. Returns whether kv_feed_arrive() is due after the delay. */
bool kv_feed_publish(struct kv_feed *feed, uint32_t target, uint64_t now);

/** The next batch arrives. Returns whether kv_feed_replay() is due after the
 * delay. */
bool kv_feed_arrive(struct kv_feed *feed, uint32_t target, uint64_t now);

/** What the engine was asked for arrives. Returns whether it is due again. */
bool kv_feed_replay(struct kv_feed *feed, uint32_t target, uint64_t now);

/** The engine started anew. */
void kv_feed_restart(struct kv_feed *feed, uint32_t target);

/** A router that knows nothing takes the place of another: it asks all engines
 * for what they still have, and gets it at once. */
void kv_feed_join(struct kv_feed *feed, uint64_t now);

/** A router picked a target, and said how many leading blocks of the prompt are
 * there. */
void kv_feed_check(struct kv_feed *feed, uint32_t router,
                   const struct host_picked *pick, uint64_t now);

/** Leading run of blocks that are at a target by the batches that arrived;
 * `context` is the feed. */
uint32_t kv_feed_run(void *context, uint32_t target, const uint32_t *ids,
                     uint32_t count);

/** Takes the routers' own counts over. */
void kv_feed_finish(struct kv_feed *feed, uint64_t now);

#endif
