/* SPDX-License-Identifier: MIT */
#include "kv_feed.h"

#include "grow.h"

#include <stdlib.h>

/* Batches that an engine keeps for replays. */
enum { RING_BATCHES = 10000 };

/* Separates the draws of losses from the others of a seed. */
#define LOSS_STREAM UINT64_C(0x6b766c6f)

static enum kv_form form_of(enum kv_mode mode, size_t target)
{
    if (mode == KV_MODE_MIXED)
        return target % 2 == 0 ? KV_FORM_MAP : KV_FORM_ARRAY;
    return mode == KV_MODE_MAP ? KV_FORM_MAP : KV_FORM_ARRAY;
}

void kv_feed_init(struct kv_feed *feed, const struct workload *workload,
                  const struct kv_feed_options *options, size_t targets)
{
    *feed = (struct kv_feed){.options = options, .workload = workload};
    if (options->mode == KV_MODE_OFF)
        return;
    feed->draw = draw_start(options->seed, LOSS_STREAM);
    feed->links = grow_zeroed(targets, sizeof *feed->links);
    feed->count = targets;
    for (size_t i = 0; i < targets; i++) {
        struct kv_link *link = &feed->links[i];

        kv_stream_init(&link->stream, workload, form_of(options->mode, i),
                       (uint32_t)i);
        kv_shadow_init(&link->shadow, &link->stream);
    }
}

void kv_feed_release(struct kv_feed *feed)
{
    for (size_t i = 0; i < feed->count; i++) {
        kv_shadow_release(&feed->links[i].shadow);
        kv_stream_release(&feed->links[i].stream);
        free(feed->links[i].lost);
    }
    free(feed->links);
    kv_payload_release(&feed->payload);
    *feed = (struct kv_feed){0};
}

struct kv_log *kv_feed_log(struct kv_feed *feed, uint32_t target)
{
    return feed->count > 0 ? &feed->links[target].stream.log : NULL;
}

static void count_changes(struct kv_feed *feed, const struct kv_stream *stream)
{
    const struct kv_batch *batch = &stream->batches[stream->count - 1];

    feed->counts.batches++;
    for (size_t i = 0; i < batch->change_count; i++) {
        const struct kv_change *change =
            &stream->log.changes[batch->first_change + i];

        if (change->kind == KV_STORED)
            feed->counts.stored += change->count;
        else
            feed->counts.removed += change->count;
    }
}

bool kv_feed_publish(struct kv_feed *feed, uint32_t target, uint64_t now)
{
    struct kv_link *link;
    size_t index;

    if (feed->count == 0)
        return false;
    link = &feed->links[target];
    index = link->stream.count;
    if (!kv_stream_publish(&link->stream, (double)now / 1e9))
        return false;
    count_changes(feed, &link->stream);
    link->lost = grow_array(link->lost, &link->lost_capacity, index + 1,
                            sizeof *link->lost);
    link->lost[index] = draw_uniform(&feed->draw) < feed->options->loss;
    feed->counts.lost += link->lost[index];
    return !link->lost[index];
}

static void deliver(struct kv_feed *feed, uint32_t target, size_t index,
                    uint64_t now)
{
    struct kv_link *link = &feed->links[target];

    kv_shadow_arrive(&link->shadow, index);
    feed->counts.delivered++;
    if (feed->plain)
        return;
    kv_stream_write(&link->stream, index, &feed->payload);
    routers_kv_events(feed->routers, target, link->stream.batches[index].seq,
                      feed->payload.bytes, feed->payload.length, now);
    feed->counts.bytes += feed->payload.length;
}

/* Whether batches are missing; `*first` receives the number of the first. */
static bool is_missing(struct kv_feed *feed, uint32_t target, uint64_t *first)
{
    const struct kv_shadow *shadow = &feed->links[target].shadow;

    if (!feed->plain)
        return routers_kv_missing(feed->routers, target, first);
    *first = shadow->next - shadow->process;
    return !kv_shadow_known(shadow);
}

/* What one router still knows may be said. */
static void give_up(struct kv_feed *feed, uint32_t target, uint64_t now)
{
    if (feed->plain || routers_kv_clear(feed->routers, target, now))
        kv_shadow_clear(&feed->links[target].shadow);
    feed->counts.clears++;
}

/* Asks for what is missing from `first` on. */
static bool ask(struct kv_feed *feed, struct kv_link *link, uint64_t first)
{
    link->asking = true;
    link->first = first;
    link->snapshot = link->stream.count;
    feed->counts.replays++;
    return true;
}

bool kv_feed_arrive(struct kv_feed *feed, uint32_t target, uint64_t now)
{
    struct kv_link *link = &feed->links[target];
    uint64_t first;

    while (link->lost[link->sent])
        link->sent++;
    deliver(feed, target, link->sent++, now);
    if (link->asking || !is_missing(feed, target, &first))
        return false;
    if (feed->options->replay)
        return ask(feed, link, first);
    give_up(feed, target, now);
    return false;
}

/* Of the batches from `wanted` to `end`, the first that an engine has when
 * there are `end`. */
static size_t oldest_kept(size_t wanted, size_t end)
{
    return end > RING_BATCHES && end - RING_BATCHES > wanted
               ? end - RING_BATCHES
               : wanted;
}

bool kv_feed_replay(struct kv_feed *feed, uint32_t target, uint64_t now)
{
    struct kv_link *link = &feed->links[target];
    size_t oldest =
        oldest_kept(link->stream.process + (size_t)link->first, link->snapshot);
    uint64_t first;

    link->asking = false;
    for (size_t i = oldest; i < link->snapshot; i++)
        deliver(feed, target, i, now);
    if (!feed->plain)
        routers_kv_events(feed->routers, target, UINT64_MAX, "", 0, now);
    if (!is_missing(feed, target, &first))
        return false;
    /* What was lost since then can still be had. */
    if (oldest < link->snapshot &&
        first + link->stream.process >= link->snapshot)
        return ask(feed, link, first);
    give_up(feed, target, now);
    return false;
}

void kv_feed_restart(struct kv_feed *feed, uint32_t target)
{
    if (feed->count > 0)
        kv_stream_restart(&feed->links[target].stream);
}

/* What has not arrived yet comes by itself. */
static void join(struct kv_feed *feed, uint32_t target, uint64_t now)
{
    const struct kv_link *link = &feed->links[target];
    size_t i = oldest_kept(link->stream.process, link->sent);

    for (; i < link->sent; i++)
        deliver(feed, target, i, now);
}

void kv_feed_join(struct kv_feed *feed, uint64_t now)
{
    if (feed->plain || !feed->options->replay)
        return;
    for (size_t i = 0; i < feed->count; i++) {
        join(feed, (uint32_t)i, now);
        feed->counts.replays++;
    }
}

/* Compares what a decision said with what it could know. */
static void judge(struct kv_feed_counts *counts, uint64_t said, uint64_t run,
                  uint64_t guessed)
{
    counts->picks++;
    counts->credited += said;
    counts->justified += run;
    if (said <= run)
        return;
    if (said <= guessed) {
        counts->guessed_picks++;
        return;
    }
    counts->wrong_picks++;
    counts->wrong_blocks += said - (run > guessed ? run : guessed);
}

void kv_feed_check(struct kv_feed *feed, uint32_t router,
                   const struct host_picked *pick, uint64_t now)
{
    const struct work_request *from = &feed->workload->requests[pick->request];
    const uint32_t *ids = feed->workload->ids + from->first_id;
    uint32_t count = from->prompt_ids;
    struct kv_shadow *shadow;

    if (feed->count == 0 || feed->plain)
        return;
    shadow = &feed->links[pick->target].shadow;
    judge(&feed->counts, pick->kv_matched > 0 ? (uint64_t)pick->kv_matched : 0,
          kv_shadow_run(shadow, ids, count),
          kv_shadow_guessed_run(shadow, ids, count, now));
    feed->counts.unknown_picks +=
        host_kv_unknown(feed->routers->hosts[router], now);
    if (feed->options->guess_s > 0.0)
        kv_shadow_guess(shadow, ids, count,
                        now + (uint64_t)(feed->options->guess_s * 1e9));
}

uint32_t kv_feed_run(void *context, uint32_t target, const uint32_t *ids,
                     uint32_t count)
{
    const struct kv_feed *feed = context;

    return kv_shadow_run(&feed->links[target].shadow, ids, count);
}

void kv_feed_finish(struct kv_feed *feed, uint64_t now)
{
    if (feed->count > 0 && !feed->plain)
        routers_kv_count(feed->routers, now, &feed->counts.router);
}
