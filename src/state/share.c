/* SPDX-License-Identifier: MIT */
#include "state/share.h"

#include <string.h>

static void advance(struct lbr_share_log *log, uint64_t bucket)
{
    if (bucket - log->bucket >= LBR_SHARE_BUCKETS)
        memset(log->sent, 0, sizeof log->sent);
    else
        while (log->bucket != bucket)
            log->sent[++log->bucket % LBR_SHARE_BUCKETS] = 0;
    log->bucket = bucket;
}

void lbr_share_count(struct lbr_share_log *log, uint64_t bucket)
{
    if (log->bucket != bucket)
        advance(log, bucket);
    log->sent[bucket % LBR_SHARE_BUCKETS]++;
}

uint64_t lbr_share_sum(const struct lbr_share_log *log, uint64_t bucket)
{
    uint64_t sum = 0;
    uint64_t age;

    for (age = 0; age < LBR_SHARE_BUCKETS && age <= log->bucket; age++) {
        uint64_t written = log->bucket - age;

        if (bucket >= written && bucket - written < LBR_SHARE_BUCKETS)
            sum += log->sent[written % LBR_SHARE_BUCKETS];
    }
    return sum;
}

/* Requests in the bucket that is |age| before |bucket|. */
static uint32_t sent_in(const struct lbr_share_log *log, uint64_t bucket,
                        uint64_t age)
{
    uint64_t written = bucket - age;

    if (age > bucket || written > log->bucket ||
        log->bucket - written >= LBR_SHARE_BUCKETS)
        return 0;
    return log->sent[written % LBR_SHARE_BUCKETS];
}

void lbr_share_save(const struct lbr_share_log *log, uint64_t bucket,
                    struct lbr_writer *writer)
{
    uint64_t age;

    for (age = 0; age < LBR_SHARE_BUCKETS; age++)
        lbr_put_count(writer, sent_in(log, bucket, age));
}

void lbr_share_load(struct lbr_share_log *log, uint64_t bucket, uint64_t shift,
                    struct lbr_reader *reader)
{
    uint64_t age;

    memset(log, 0, sizeof *log);
    log->bucket = bucket;
    for (age = 0; age < LBR_SHARE_BUCKETS; age++) {
        uint32_t sent = (uint32_t)lbr_get_count(reader, UINT32_MAX);

        if (shift < LBR_SHARE_BUCKETS - age && shift + age <= bucket)
            log->sent[(bucket - shift - age) % LBR_SHARE_BUCKETS] = sent;
    }
}
