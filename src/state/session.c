/* SPDX-License-Identifier: MIT */
#include "state/session.h"

#include "base/clock.h"

#define KIND 4
#define CHUNK_BITS 8

void lbr_sessions_init(struct lbr_sessions *sessions, struct lbr_memory *memory,
                       uint32_t limit)
{
    lbr_slab_init(&sessions->slab, memory, KIND, sizeof(struct lbr_session),
                  CHUNK_BITS, limit);
    lbr_map_init(&sessions->by_key, memory);
    lbr_list_init(&sessions->used);
}

void lbr_sessions_destroy(struct lbr_sessions *sessions)
{
    lbr_map_destroy(&sessions->by_key);
    lbr_slab_destroy(&sessions->slab);
}

struct lbr_session *lbr_sessions_known(const struct lbr_sessions *sessions,
                                       uint64_t key)
{
    uint32_t cursor = 0;
    uint32_t index = lbr_map_next(&sessions->by_key, key, &cursor);

    return index == LBR_MAP_NONE ? NULL : lbr_slab_at(&sessions->slab, index);
}

struct lbr_session *lbr_sessions_find(const struct lbr_sessions *sessions,
                                      uint64_t key, uint64_t now, uint64_t ttl)
{
    struct lbr_session *session = lbr_sessions_known(sessions, key);

    if (!session || lbr_time_since(now, session->used_at) >= ttl)
        return NULL;
    return session;
}

void lbr_sessions_touch(struct lbr_sessions *sessions,
                        struct lbr_session *session, uint64_t now)
{
    session->used_at = now;
    lbr_list_remove(&session->used);
    lbr_list_append(&sessions->used, &session->used);
}

static void drop(struct lbr_sessions *sessions, struct lbr_session *session)
{
    lbr_map_remove(&sessions->by_key, session->key,
                   lbr_slab_index(session->slot.handle));
    lbr_list_remove(&session->used);
    lbr_list_remove(&session->siblings);
    lbr_slab_give(&sessions->slab, session);
}

static struct lbr_session *take(struct lbr_sessions *sessions)
{
    void *object;

    if (!lbr_map_reserve(&sessions->by_key) ||
        lbr_slab_take(&sessions->slab, &object)) {
        if (lbr_list_empty(&sessions->used))
            return NULL;
        drop(sessions,
             LBR_OWNER(sessions->used.next, struct lbr_session, used));
        if (lbr_slab_take(&sessions->slab, &object))
            return NULL;
    }
    return object;
}

void lbr_sessions_learn(struct lbr_sessions *sessions, uint64_t key,
                        lbroute_target target, struct lbr_link *siblings,
                        uint64_t now)
{
    struct lbr_session *session = lbr_sessions_known(sessions, key);

    if (session) {
        lbr_list_remove(&session->siblings);
        lbr_list_remove(&session->used);
    } else {
        session = take(sessions);
        if (!session)
            return;
        session->key = key;
        lbr_map_add(&sessions->by_key, key,
                    lbr_slab_index(session->slot.handle));
    }
    session->target = target;
    session->used_at = now;
    lbr_list_append(siblings, &session->siblings);
    lbr_list_append(&sessions->used, &session->used);
}

int lbr_sessions_restore(struct lbr_sessions *sessions, uint64_t key,
                         lbroute_target target, struct lbr_link *siblings,
                         uint64_t used_at)
{
    struct lbr_session *session;
    void *object;
    int result;

    if (lbr_sessions_known(sessions, key))
        return LBROUTE_ERR_EXISTS;
    result = lbr_slab_reserve(&sessions->slab);
    if (result)
        return result;
    if (!lbr_map_reserve(&sessions->by_key))
        return LBROUTE_ERR_NO_MEMORY;
    (void)lbr_slab_take(&sessions->slab, &object);
    session = object;
    session->slot.spare = 1;
    session->key = key;
    session->target = target;
    session->used_at = used_at;
    lbr_map_add(&sessions->by_key, key, lbr_slab_index(session->slot.handle));
    lbr_list_append(siblings, &session->siblings);
    lbr_list_prepend(&sessions->used, &session->used);
    return LBROUTE_OK;
}

/* They are the first of all. */
void lbr_sessions_conclude(struct lbr_sessions *sessions, int kept)
{
    struct lbr_link *link = sessions->used.next;

    while (link != &sessions->used) {
        struct lbr_session *session = LBR_OWNER(link, struct lbr_session, used);

        if (!session->slot.spare)
            return;
        link = link->next;
        session->slot.spare = 0;
        if (!kept)
            drop(sessions, session);
    }
}

void lbr_sessions_purge(struct lbr_sessions *sessions,
                        struct lbr_link *siblings)
{
    while (!lbr_list_empty(siblings))
        drop(sessions, LBR_OWNER(siblings->next, struct lbr_session, siblings));
}

size_t lbr_sessions_estimate(uint32_t limit)
{
    return lbr_slab_estimate(sizeof(struct lbr_session), CHUNK_BITS, limit) +
           lbr_map_estimate(limit);
}
