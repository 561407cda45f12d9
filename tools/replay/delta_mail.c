/* SPDX-License-Identifier: MIT */
#include "delta_mail.h"

#include "grow.h"

#include <stdlib.h>
#include <string.h>

/* Separates the draws of losses from the others of a seed. */
#define LOSS_STREAM UINT64_C(0x64656c74)

/* Bytes of a letter, unless what cannot be divided is longer. */
enum { LETTER_BYTES = 1 << 20 };

void delta_mail_init(struct delta_mail *mail, double loss, uint64_t seed)
{
    *mail = (struct delta_mail){.loss = loss,
                                .draw = draw_start(seed, LOSS_STREAM)};
}

void delta_mail_release(struct delta_mail *mail)
{
    for (size_t i = mail->head; i < mail->tail; i++)
        free(mail->letters[i].bytes);
    free(mail->letters);
    free(mail->buffer);
    *mail = (struct delta_mail){0};
}

/* Puts it behind all others; those that arrived make room first. */
static void send(struct delta_mail *mail, size_t length, uint32_t from,
                 uint64_t now)
{
    struct delta_letter letter = {grow_zeroed(length, 1), length, from, now};

    memcpy(letter.bytes, mail->buffer, length);
    if (mail->tail == mail->capacity && mail->head > 0) {
        mail->tail -= mail->head;
        memmove(mail->letters, mail->letters + mail->head,
                mail->tail * sizeof *mail->letters);
        mail->head = 0;
    }
    mail->letters = grow_array(mail->letters, &mail->capacity, mail->tail + 1,
                               sizeof *mail->letters);
    mail->letters[mail->tail++] = letter;
    mail->counts.written++;
    mail->counts.bytes += length;
}

/* Writes the next delta into the buffer; returns its length. */
static size_t export(struct delta_mail *mail, lbroute_router *router,
                     uint64_t now)
{
    size_t length = LETTER_BYTES;
    int result;

    do {
        mail->buffer =
            grow_array(mail->buffer, &mail->buffer_capacity, length, 1);
        result = lbroute_delta_export(router, now, mail->buffer,
                                      mail->buffer_capacity, &length);
    } while (result == LBROUTE_ERR_BUFFER && length > mail->buffer_capacity);
    host_require(result, "delta_export");
    return length;
}

static lbroute_delta_stats stats_of(const struct host *host, uint64_t now)
{
    lbroute_delta_stats stats;

    lbroute_delta_stats_init(&stats, sizeof stats);
    host_require(lbroute_get_delta_stats(host_router(host), now, &stats),
                 "get_delta_stats");
    return stats;
}

size_t delta_mail_write(struct delta_mail *mail, struct host *host,
                        uint32_t from, uint64_t now)
{
    size_t letters = 0;

    do {
        send(mail, export(mail, host_router(host), now), from, now);
        letters++;
    } while (stats_of(host, now).pending > 0);
    return letters;
}

static void apply(struct delta_mail *mail, const struct delta_letter *letter,
                  struct host *host, uint64_t now)
{
    lbroute_delta_result result;

    lbroute_delta_result_init(&result, sizeof result);
    host_require(lbroute_delta_apply(host_router(host), letter->bytes,
                                     letter->length, now, now - letter->sent_at,
                                     &result),
                 "delta_apply");
    mail->counts.applied++;
    mail->counts.missing += result.missing > 0;
    mail->counts.prompts += result.prompts;
    mail->counts.sessions += result.sessions;
    mail->counts.skipped += result.prompts_skipped + result.sessions_skipped;
}

void delta_mail_deliver(struct delta_mail *mail, struct host *const *hosts,
                        uint32_t count, uint64_t now)
{
    struct delta_letter *letter = &mail->letters[mail->head++];

    for (uint32_t i = 0; i < count; i++) {
        if (i == letter->from)
            continue;
        if (draw_uniform(&mail->draw) < mail->loss)
            mail->counts.lost++;
        else
            apply(mail, letter, hosts[i], now);
    }
    free(letter->bytes);
}

void delta_mail_count(struct delta_mail *mail, const struct host *host,
                      uint64_t now)
{
    mail->counts.dropped += stats_of(host, now).dropped;
}
