/* SPDX-License-Identifier: MIT */
#include "state_keep.h"

#include "config.h"
#include "digest_key.h"
#include "gateway.h"
#include "log.h"
#include "times.h"

#include <event2/event.h>
#include <inttypes.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

static void forget_found(struct state_keep *keep)
{
    free(keep->found);
    keep->found = NULL;
}

static void tell_cold(struct state_keep *keep, const char *problem)
{
    log_line("state %s: begins cold: %s", keep->path, problem);
    forget_found(keep);
}

/* The key of the file, so that what it says of sessions and clients is of use;
 * else a new one. */
static bool look(struct state_keep *keep)
{
    struct state_header header;
    const char *problem =
        state_file_read(keep->path, &keep->found, &keep->found_len);

    if (problem == NULL)
        problem = state_header_read(keep->found, keep->found_len, &header);
    if (problem != NULL) {
        tell_cold(keep, problem);
        return RAND_bytes(keep->key, sizeof keep->key) == 1;
    }
    memcpy(keep->key, header.key, sizeof keep->key);
    keep->found_ns = header.written_ns;
    return true;
}

struct state_keep *state_keep_open(const struct config *config)
{
    struct state_keep *keep = calloc(1, sizeof *keep);

    if (keep == NULL)
        return NULL;
    keep->path = strdup(config->state_file);
    keep->interval = config->state_interval;
    if (keep->path != NULL && look(keep)) {
        digest_key_take(config->digest_key_env, keep->key);
        return keep;
    }
    state_keep_free(keep);
    return NULL;
}

static void tell_restored(const struct state_keep *keep, uint64_t elapsed,
                          const lbroute_restore_result *result)
{
    log_line("state %s: restored as of %.0f s ago: %" PRIu32
             " targets (%" PRIu32 " are unknown now), %" PRIu64
             " sessions, %" PRIu64 " bytes of prompts, %" PRIu64
             " blocks by KV events%s",
             keep->path, (double)elapsed / 1e9, result->targets,
             result->targets_unknown, result->sessions, result->prefix_bytes,
             result->kv_blocks,
             result->same_key ? "" : "; it was made with another key");
}

static void restore(struct gateway *gateway)
{
    struct state_keep *keep = gateway->state;
    lbroute_restore_result result;
    uint64_t now = wall_clock_ns();
    /* A wall clock may be set back. */
    uint64_t elapsed = now > keep->found_ns ? now - keep->found_ns : 0;
    int code;

    lbroute_restore_result_init(&result, sizeof result);
    code = lbroute_restore(gateway->router, keep->found + STATE_HEADER_BYTES,
                           keep->found_len - STATE_HEADER_BYTES, gateway_now(),
                           elapsed, &result);
    if (code != LBROUTE_OK) {
        tell_cold(keep, lbroute_strerror(code));
        return;
    }
    tell_restored(keep, elapsed, &result);
    forget_found(keep);
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    state_keep_save(context);
}

void state_keep_begin(struct gateway *gateway)
{
    struct state_keep *keep = gateway->state;
    const struct timeval each = to_timeval(keep->interval);

    if (keep->found != NULL)
        restore(gateway);
    keep->timer = event_new(gateway->base, -1, EV_PERSIST, on_timer, gateway);
    if (keep->timer == NULL || event_add(keep->timer, &each) != 0)
        log_line("state %s: out of memory; it is saved at the end only",
                 keep->path);
}

/* Header and snapshot, to be freed. What was last needed is tried first. */
static const char *take(const struct gateway *gateway, char **data, size_t *len)
{
    const struct state_keep *keep = gateway->state;
    size_t room = keep->saved_bytes, needed = 0;
    int code = LBROUTE_ERR_BUFFER;

    for (*data = NULL; code == LBROUTE_ERR_BUFFER; room = needed) {
        room += room / 16;
        if (room > STATE_MOST_BYTES - STATE_HEADER_BYTES)
            return "it would be too large";
        free(*data);
        *data = malloc(STATE_HEADER_BYTES + room);
        if (*data == NULL)
            return "out of memory";
        code = lbroute_snapshot(gateway->router, gateway_now(),
                                *data + STATE_HEADER_BYTES, room, &needed);
    }
    *len = STATE_HEADER_BYTES + needed;
    return code == LBROUTE_OK ? NULL : lbroute_strerror(code);
}

static const char *save(const struct gateway *gateway, uint64_t now,
                        size_t *len)
{
    struct state_header header = {.written_ns = now};
    char *data;
    const char *problem = take(gateway, &data, len);

    if (problem == NULL) {
        memcpy(header.key, gateway->state->key, sizeof header.key);
        state_header_write(&header, data);
        problem = state_file_write(gateway->state->path, data, *len);
    }
    free(data);
    return problem;
}

void state_keep_save(struct gateway *gateway)
{
    struct state_keep *keep = gateway->state;
    uint64_t begun = gateway_now(), now = wall_clock_ns();
    size_t len = 0;
    const char *problem;

    if (keep == NULL)
        return;
    problem = save(gateway, now, &len);
    if (problem != NULL) {
        gateway->counters.state_save_failures++;
        if (!keep->failing) /* The log shall not fill up, as the disk did. */
            log_line("state %s: not saved: %s", keep->path, problem);
    } else {
        gateway->counters.state_saves++;
        keep->saved_ns = now;
        keep->saved_bytes = len;
        keep->save_s = (double)(gateway_now() - begun) / 1e9;
    }
    keep->failing = problem != NULL;
}

void state_keep_free(struct state_keep *keep)
{
    if (keep == NULL)
        return;
    if (keep->timer != NULL)
        event_free(keep->timer);
    forget_found(keep);
    free(keep->path);
    free(keep);
}
