/* SPDX-License-Identifier: MIT */
/**
 * @file ingest.h
 * @brief Wire formats: what inference engines say, read from the bytes that a
 * host fetched or received.
 *
 * The rules of lbroute.h hold here, too. Everything in this header builds on
 * the calls of lbroute.h alone: a host that has the figures in another form
 * calls those itself.
 *
 * Readers take any bytes: cut short, binary, of any length. They never read
 * beyond the length given, and one broken line or item costs nothing but
 * itself. A #lbroute_diag says what became of the rest.
 */
#ifndef LBROUTE_INGEST_H
#define LBROUTE_INGEST_H

#include <lbroute/lbroute.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup ingest Wire formats
 * @{ */

/** Why something in a text was not used as it stands. */
enum {
    LBROUTE_DIAG_NAME = 1,       /**< A line does not begin with a name. */
    LBROUTE_DIAG_LABELS = 2,     /**< A set of labels is malformed. */
    LBROUTE_DIAG_VALUE = 3,      /**< A value is missing or no number. */
    LBROUTE_DIAG_TIMESTAMP = 4,  /**< Something else than a time stamp or an
                                  * exemplar follows the value. */
    LBROUTE_DIAG_NOT_FINITE = 5, /**< NaN or infinite: read as unknown. */
    LBROUTE_DIAG_RANGE = 6,      /**< Below 0, read as 0; or too large, read as
                                  * unknown. */
    LBROUTE_DIAG_REPEATED = 7,   /**< The same series again: the larger value
                                  * counts. */
    LBROUTE_DIAG_LIMIT = 8,      /**< More series or adapters than are looked
                                  * at. */
    LBROUTE_DIAG_FORMAT = 9,     /**< A payload is no batch of KV events, is cut
                                  * short, or is nested too deep. */
    LBROUTE_DIAG_EVENT = 10,     /**< A KV event lacks a field that it needs, or
                                  * one is of the wrong type. */
    LBROUTE_DIAG_KIND = 11,      /**< A KV event of a kind that is not known. */
    LBROUTE_DIAG_MEDIUM = 12,    /**< Blocks in a medium that is not known. */
    LBROUTE_DIAG_GROUP = 13,     /**< Blocks of a group of caches that holds no
                                  * whole prefixes, such as a sliding window. */
    LBROUTE_DIAG_REMOTE = 14,    /**< Blocks that are kept elsewhere. */
    LBROUTE_DIAG_COUNT = 15      /**< One above the last reason. */
};

/** What became of a text, or of a payload. Fill with lbroute_diag_init() once;
 * it can be used again without that. Every line that is neither empty nor a
 * comment, and every event, is counted as accepted, skipped or broken. */
typedef struct lbroute_diag {
    size_t size;       /**< sizeof this struct; set by the init function. */
    uint64_t accepted; /**< Lines or events that were read and used. */
    uint64_t skipped;  /**< Well-formed ones of which there is no use. */
    uint64_t broken;   /**< Those that could not be read. */
    int64_t offset;    /**< Byte at which the first broken one begins; -1:
                        * none. */
    int64_t line;      /**< Its number, the first is 1; -1: none. */
    /** How often, by `LBROUTE_DIAG_`. Reasons 1 to 4, 9 and 10 are those of
     * broken ones, the others tell of lines that were read, or of events that
     * were skipped. */
    uint64_t reasons[16];
} lbroute_diag;

/**
 * Prepares a diag: all counts 0, no broken line.
 *
 * @param diag the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_diag) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_diag_init(lbroute_diag *diag, size_t size);

/**
 * Reads the metrics page of an inference engine (Prometheus text or
 * OpenMetrics) and reports what it says of a target: requests running and
 * waiting, use and size of the KV cache, the counters of the prefix cache, and
 * the LoRA adapters at work. vLLM, SGLang, TensorRT-LLM, Triton with
 * TensorRT-LLM, TGI and llama.cpp are known, in old and new spellings; the
 * guide "Signals" lists the names.
 *
 * - Names are matched whole. Where an old and a new spelling stand on one page,
 *   the new one counts, not the sum.
 * - Counts are sums over all series of a name (engines, ranks, models), each
 *   distinct set of labels once. KV usage is the mean over the series; for
 *   SGLang, whose ranks share each request, it is the largest.
 * - NaN and infinite figures are unknown, and so is a sum with such a part. A
 *   negative count is 0. Fractions are kept.
 * - Of the series that list adapters the one with the largest value (a time)
 *   counts: engines go on printing old ones.
 * - What the page does not say keeps what was known, which grows older.
 *
 * A page without any known name (empty, an error text, another service) is no
 * news: the result says so and nothing changes, above all not the load. A page
 * that was cut short cannot be told from a whole one; pass only complete ones.
 *
 * @param router the router.
 * @param target the target that the page is about.
 * @param text the page, any bytes.
 * @param len its length, bytes.
 * @param now time of the scrape, ns.
 * @param diag receives what became of the lines, also on #LBROUTE_ERR_NO_NEWS;
 *     prepared by lbroute_diag_init(). May be NULL.
 * @return 0; #LBROUTE_ERR_NO_NEWS (nothing known on the page; check address and
 *     flags of the engine); #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_NO_MEMORY for
 *     the first adapters of a target; #LBROUTE_ERR_INVALID for NULL or a diag
 *     without a size. In all these cases nothing changed.
 *
 * [any thread], linear in the page, about 1 ns a byte; the router's lock is
 * only taken to report. No allocation, but for the first adapters of a target;
 * some 36 KiB of stack.
 */
int lbroute_ingest_metrics(lbroute_router *router, lbroute_target target,
                           const void *text, size_t len, uint64_t now,
                           lbroute_diag *diag);

/**
 * Reads a payload of KV events (msgpack) as vLLM and SGLang publish it over
 * ZeroMQ, and takes it over as lbroute_kv_apply() does. vLLM from 0.8 to 0.24
 * and later, and SGLang, events as arrays and as maps, also mixed; the guide
 * "Signals" lists the fields.
 *
 * - Hashes may be unsigned, negative (their bits count), or digests of 8 bytes
 *   and more (the last 8 count, big-endian).
 * - Fields are told by their place and type; keys come in any order. What is
 *   not known is passed over: fields, keys, kinds of event.
 * - One bad event costs nothing but itself: it is skipped and counted with its
 *   reason, the rest is taken over, and the outcome is #LBROUTE_KV_PARTIAL.
 * - Only groups of caches that hold whole prefixes count, and only what is kept
 *   at the target: not another medium than GPU, CPU and disk, nor what is told
 *   to be remote.
 * - Lengths are believed only as far as there are bytes, and nesting is
 *   followed 16 deep. A payload that is no batch, or is cut short, changes
 *   nothing, and its number counts as missing.
 *
 * @param router the router.
 * @param target whose cache it is about.
 * @param source number of the source, as for lbroute_kv_apply().
 * @param seq the sequence number that came with the payload: its second frame,
 *     8 bytes, big-endian. UINT64_MAX with an empty payload is the end of a
 *     replay; with another one it says that there is no number.
 * @param payload the third frame, any bytes. In replays it is the last one.
 * @param len its length, bytes.
 * @param now time, ns.
 * @param result receives what became of it; prepared by
 *     lbroute_kv_result_init(). May be NULL.
 * @param diag receives what became of the events, also on #LBROUTE_ERR_FORMAT;
 *     prepared by lbroute_diag_init(). May be NULL.
 * @return as lbroute_kv_apply(), and #LBROUTE_ERR_FORMAT for a payload that is
 *     no batch or is cut short (request it again).
 *
 * [any thread], linear in the payload; the router's lock is only taken to take
 * it over. No allocation of its own; some 40 KiB of stack.
 */
int lbroute_ingest_kv_events(lbroute_router *router, lbroute_target target,
                             uint32_t source, uint64_t seq, const void *payload,
                             size_t len, uint64_t now,
                             lbroute_kv_result *result, lbroute_diag *diag);

/** @} */

#ifdef __cplusplus
}
#endif

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
