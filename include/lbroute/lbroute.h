/* SPDX-License-Identifier: MIT */
/**
 * @file lbroute.h
 * @brief Core API: decide which inference server handles an LLM request.
 *
 * A host (gateway, proxy, inference server) describes its targets once, then
 * asks lbroute_pick() for each request and tells lbroute_observe() how it
 * went. The library does no I/O: no sockets, threads, timers, files or clock
 * reads. Time is an argument, randomness is a seed, so the same calls always
 * give the same decisions.
 *
 * Rules that hold everywhere:
 *
 * - **Structs** start with `size_t size`. Call the struct's `_init` function
 *   with `sizeof` of the struct as your compiler sees it; it fills in the
 *   defaults. A shorter struct (older caller) gets the defaults for what it
 *   lacks; a longer one (newer caller) is accepted if its unknown tail is zero
 *   and refused with #LBROUTE_ERR_UNSUPPORTED otherwise.
 * - **Handles** are 64-bit values, 0 is "none". A handle whose object is gone
 *   gives #LBROUTE_ERR_NOT_FOUND, never another object.
 * - **Strings** are a pointer and a length, need no terminator and are copied.
 *   A NULL pointer with length 0 is the empty string.
 * - **Results** are 0 or a negative `LBROUTE_ERR_` code; outputs come last and
 *   are written only on success unless the function says otherwise. A failed
 *   call changes nothing.
 * - **Time** (`now`) is in nanoseconds from any fixed origin. Time that runs
 *   backward is read as the latest time seen.
 * - **Unknown** numbers are NaN (real) or -1 (integers), never 0.
 * - **Thread classes**: `[pure]` depends on its arguments only;
 *   `[any thread]` may be called at any time from any thread;
 *   `[exclusive]` needs the router for itself. A router created with
 *   `single_threaded` turns `[any thread]` into "one thread at a time".
 */
#ifndef LBROUTE_LBROUTE_H
#define LBROUTE_LBROUTE_H

#include <stddef.h>
#include <stdint.h>

#include <lbroute/version.h>

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup types Handles and constants
 * @{ */

/** A router: targets, pools, tickets and all that was learned. Opaque. */
typedef struct lbroute_router lbroute_router;

/** Handle of a pool: a named set of targets with one strategy. 0 is none. */
typedef uint64_t lbroute_pool;

/** Handle of a target: one server that can take a request. 0 is none. */
typedef uint64_t lbroute_target;

/** Handle of a picked, not yet settled request. 0 is none. */
typedef uint64_t lbroute_ticket;

/** Handle of a request that waits for a slot. 0 is none. */
typedef uint64_t lbroute_place;

/** Handle of a scorer or filter of the host's own. 0 is none. */
typedef uint64_t lbroute_scorer;

/** Result codes. Each text says what the caller does next. */
enum {
    /** Success. */
    LBROUTE_OK = 0,
    /** An argument is malformed (NULL, wrong size, contradiction). Fix the
     * call. */
    LBROUTE_ERR_INVALID = -1,
    /** The allocator gave no memory. Nothing changed; free some and retry. */
    LBROUTE_ERR_NO_MEMORY = -2,
    /** No such object, or the handle is stale. Look it up again or drop it. */
    LBROUTE_ERR_NOT_FOUND = -3,
    /** The name is taken; the existing handle is returned. Update that one. */
    LBROUTE_ERR_EXISTS = -4,
    /** A bound from the router's options is reached. Settle or remove
     * something, or create the router with a larger bound. */
    LBROUTE_ERR_LIMIT = -5,
    /** No target may take this request. See the decision's reason; answer the
     * client with an error. */
    LBROUTE_ERR_NO_TARGET = -6,
    /** Every target that could take the request is full. Retry after a ticket
     * of the pool was settled, or answer "too busy". */
    LBROUTE_ERR_SATURATED = -7,
    /** A number is NaN or outside its documented range. Fix the value. */
    LBROUTE_ERR_RANGE = -8,
    /** A string is empty, too long or holds control characters. Fix it. */
    LBROUTE_ERR_NAME = -9,
    /** A buffer is too small; the needed length was written. Grow it, retry. */
    LBROUTE_ERR_BUFFER = -10,
    /** A struct from a newer header uses a feature this library lacks, or
     * bytes are of a later format. Upgrade the library, leave the new fields
     * zero, or do without the bytes. */
    LBROUTE_ERR_UNSUPPORTED = -11,
    /** The object is still in use: remove what uses it first. From
     * lbroute_pick() and lbroute_explain(): called from inside one of the
     * router's own scorers; answer from there without them. */
    LBROUTE_ERR_BUSY = -12,
    /** A text holds nothing that this library reads, as after a failed scrape.
     * Nothing changed: what was known grows older, nobody looks idle. Check
     * the address and the flags of the engine. */
    LBROUTE_ERR_NO_NEWS = -13,
    /** Bytes are not of the format that they should be of, or are cut short.
     * Nothing changed; fetch or request them again. */
    LBROUTE_ERR_FORMAT = -14,
    /** No slot now: the request waits at the decision's place. Call
     * lbroute_next_ready() now, and whenever a slot may have become free, until
     * it says #LBROUTE_ERR_NOT_FOUND. */
    LBROUTE_ERR_QUEUED = -15
};

/** Bounds of strings. */
enum {
    /** Longest name of a pool, target, tier or model, and header prefix, in
     * bytes. */
    LBROUTE_NAME_MAX = 255
};

/** Bounds of prices. */
enum {
    /** Most long-context tiers of a price. */
    LBROUTE_PRICE_TIERS = 4
};

/** Why a target was not eligible, in the order in which it is checked: the
 * first that applies is the target's verdict. */
enum {
    LBROUTE_REASON_NONE = 0,       /**< Eligible. */
    LBROUTE_REASON_EXCLUDED = 1,   /**< In the request's exclude list. */
    LBROUTE_REASON_TIER = 2,       /**< Of another tier. */
    LBROUTE_REASON_DRAINING = 3,   /**< Weight 0 or drained by call. */
    LBROUTE_REASON_BENCHED = 4,    /**< Out after failures, or on trial. */
    LBROUTE_REASON_SATURATED = 5,  /**< At its limit, or it said so. */
    LBROUTE_REASON_TOO_LARGE = 6,  /**< Input above its max input tokens. */
    LBROUTE_REASON_MODEL = 7,      /**< Serves another model. */
    LBROUTE_REASON_NO_TARGETS = 8, /**< The pool or model has no target. */
    LBROUTE_REASON_FILTERED = 9,   /**< Not kept by a filter of the host's;
                                    * checked last. */
    /** Nobody's verdict: the pool has a queue, in which no place is left. */
    LBROUTE_REASON_QUEUE_FULL = 10,
    /** Nobody's verdict: the request's deadline is over, or will be before it
     * could go. */
    LBROUTE_REASON_DEADLINE = 11,
    /** Nobody's verdict: it waited for `queue.timeout`. */
    LBROUTE_REASON_QUEUE_TIMEOUT = 12,
    LBROUTE_REASON_COUNT = 13 /**< Number of reasons. */
};

/** Modes of admission, the values of the parameter `admission.mode`. */
enum {
    /** The targets' own limits. */
    LBROUTE_ADMISSION_MAX_CONCURRENCY = 0,
    /** At most `admission.fast_limit` on a target. */
    LBROUTE_ADMISSION_SUPERFAST = 1,
    /** The same while the pool is quiet, the targets' own limits while it is
     * busy. */
    LBROUTE_ADMISSION_HYBRID = 2,
    /** The targets' own limits, and whoever finds no slot waits. */
    LBROUTE_ADMISSION_QUEUE_ALL = 3,
    LBROUTE_ADMISSION_COUNT = 4 /**< Number of modes. */
};

/** Bounds of priorities. */
enum {
    LBROUTE_PRIORITY_MIN = -8, /**< Last to go. */
    LBROUTE_PRIORITY_MAX = 7   /**< First to go. */
};

/** The rule that really decided a pick (it can differ from the pool's
 * strategy, for example when a pinned target is full). */
enum {
    LBROUTE_RULE_NONE = 0,               /**< Nothing was picked. */
    LBROUTE_RULE_WEIGHTED = 1,           /**< Smooth weighted round-robin. */
    LBROUTE_RULE_ROUND_ROBIN = 2,        /**< Rotation. */
    LBROUTE_RULE_RANDOM = 3,             /**< Uniform draw. */
    LBROUTE_RULE_POWER_OF_TWO = 4,       /**< Better of two draws. */
    LBROUTE_RULE_LEAST_CONNECTIONS = 5,  /**< Lowest relative load. */
    LBROUTE_RULE_CONSISTENT_HASH = 6,    /**< Owner of the key on the ring. */
    LBROUTE_RULE_RING_NEXT = 7,          /**< A later ring point: the owner was
                                          * ineligible or above the bound. */
    LBROUTE_RULE_STICKY_SESSION = 8,     /**< Pin of the session or client. */
    LBROUTE_RULE_CACHE_AWARE = 9,        /**< Longest known leading part. */
    LBROUTE_RULE_LEAST_WARMED = 10,      /**< Fewest prompts remembered. */
    LBROUTE_RULE_KV_AWARE = 11,          /**< Longest match in blocks among the
                                          * least busy. */
    LBROUTE_RULE_PIPELINE = 12,          /**< Highest weighted score. */
    LBROUTE_RULE_LORA_AWARE = 13,        /**< Holds the adapter, among the least
                                          * busy. */
    LBROUTE_RULE_LORA_SLOT = 14,         /**< Has a free slot for the adapter,
                                          * which nobody there holds. */
    LBROUTE_RULE_LMCACHE_AWARE = 15,     /**< Longest match by the request's
                                          * lookup, among the least busy. */
    LBROUTE_RULE_LMCACHE_ROOM = 16,      /**< Most free cache for its load. */
    LBROUTE_RULE_CHEAPEST = 17,          /**< Lowest cost of the request. */
    LBROUTE_RULE_ADAPTIVE = 18,          /**< Best blend of latency, cost and
                                          * load. */
    LBROUTE_RULE_EXPLORE = 19,           /**< A trial of `adaptive`, at
                                          * random. */
    LBROUTE_RULE_FASTEST = 20,           /**< Lowest mean latency. */
    LBROUTE_RULE_PREDICTED_LATENCY = 21, /**< Lowest predicted latency. */
    LBROUTE_RULE_TRIAL = 22,             /**< To learn the latency of a target
                                          * of which nothing recent is known. */
    /** Most of the prompt resident by KV events, among the least busy. */
    LBROUTE_RULE_PRECISE_CACHE_AWARE = 23,
    /** Least work left, this request's included. */
    LBROUTE_RULE_LEAST_WORK = 24,
    LBROUTE_RULE_COUNT = 25 /**< Number of rules. */
};

/** Kinds of event for lbroute_observe(). */
enum {
    /** The first token arrived. The ticket stays open. */
    LBROUTE_EVENT_FIRST_TOKEN = 1,
    /** Answered in full. The only kind that teaches latency and affinity. */
    LBROUTE_EVENT_SUCCESS = 2,
    /** The target failed (connection refused, 5xx). Counts towards benching. */
    LBROUTE_EVENT_FAILURE = 3,
    /** The target said it is full (429, "queue full"). Never benches; lowers
     * the target's attraction for load rules while fresh. */
    LBROUTE_EVENT_OVERLOAD = 4,
    /** The request was at fault (4xx). Teaches nothing. */
    LBROUTE_EVENT_CLIENT_ERROR = 5,
    /** The client went away, or the host gave up. Teaches nothing. */
    LBROUTE_EVENT_CANCEL = 6,
    /** The target did not answer in time. Counts towards benching. */
    LBROUTE_EVENT_TIMEOUT = 7,
    LBROUTE_EVENT_COUNT = 8 /**< One above the last kind. */
};

/** What a host can report about an engine with lbroute_set_gauge(); the ranges
 * are what it accepts. */
enum {
    LBROUTE_GAUGE_RUNNING = 0,  /**< Requests running in the engine, 0 to
                                 * 1e9. */
    LBROUTE_GAUGE_WAITING = 1,  /**< Requests waiting in the engine, 0 to
                                 * 1e9. */
    LBROUTE_GAUGE_KV_USAGE = 2, /**< Part of the KV cache in use, 0 to 1. */
    /** Tokens of all prompts so far that the prefix cache was asked for, 0 to
     * 1e18. A counter: it falls only when the engine restarts. */
    LBROUTE_GAUGE_PREFIX_QUERIES = 3,
    /** Tokens of these that the prefix cache held; a counter likewise. */
    LBROUTE_GAUGE_PREFIX_HITS = 4,
    LBROUTE_GAUGE_KV_BLOCKS = 5,    /**< Blocks that the KV cache has room for,
                                     * 0 to 1e12. */
    LBROUTE_GAUGE_BLOCK_TOKENS = 6, /**< Tokens in one of these blocks, 0 to
                                     * 1e6. */
    LBROUTE_GAUGE_COUNT = 7         /**< Number of gauges. */
};

/** Which latency of a target is meant. */
enum {
    LBROUTE_LATENCY_FIRST_TOKEN = 0, /**< From the pick to the first token. */
    LBROUTE_LATENCY_TOTAL = 1,       /**< From the pick to the end. */
    LBROUTE_LATENCY_COUNT = 2        /**< Number of kinds. */
};

/** Which of the times that `least_work` learns is meant. */
enum {
    LBROUTE_WORK_FIRST_TOKEN = 0, /**< From the pick to the first token. */
    LBROUTE_WORK_EACH_TOKEN = 1,  /**< From one token of an answer to the
                                   * next. */
    LBROUTE_WORK_COUNT = 2        /**< Number of kinds. */
};

/** @} */
/** @defgroup text Names of codes
 * @{ */

/**
 * Version of the library that is running, as "major.minor.patch".
 *
 * @return a static string. [pure], constant time.
 */
const char *lbroute_version(void);

/**
 * Text of a result code, with what to do next.
 *
 * @param code 0 or a `LBROUTE_ERR_` value; others give "unknown code".
 * @return a static string. [pure], constant time.
 */
const char *lbroute_strerror(int code);

/**
 * Name of a reject reason, as it stands in headers, for example "saturated".
 *
 * @param reason a `LBROUTE_REASON_` value; others give "unknown".
 * @return a static string. [pure], constant time.
 */
const char *lbroute_reason_name(int reason);

/**
 * Name of a rule, as it stands in headers, for example "ring_next".
 *
 * @param rule a `LBROUTE_RULE_` value; others give "unknown".
 * @return a static string. [pure], constant time.
 */
const char *lbroute_rule_name(int rule);

/**
 * Names of the strategies that a pool may have, in documentation order.
 *
 * @param index 0, 1, 2, …
 * @return a static string, or NULL past the last. [pure], constant time.
 */
const char *lbroute_strategy_name(size_t index);

/** @} */
/** @defgroup router Router
 * @{ */

/** Where a router takes its memory from. Both functions or neither. They are
 * called under the router's lock and must not call the router. */
typedef struct lbroute_allocator {
    /** Returns `bytes` (never 0) aligned for any type, or NULL. NULL here
     * means the C library's heap. */
    void *(*allocate)(void *user, size_t bytes);
    /** Frees what `allocate` returned, with the same `bytes`. */
    void (*release)(void *user, void *memory, size_t bytes);
    /** Passed to both. */
    void *user;
} lbroute_allocator;

/** Bounds and seeds of a router. Fill with lbroute_router_options_init(). */
typedef struct lbroute_router_options {
    size_t size; /**< sizeof this struct; set by the init function. */
    lbroute_allocator allocator; /**< Default: the C library's heap. */
    /** Seed of every random choice. Required, not 0: pass entropy in
     * production, a constant to replay a run. Routers that share a seed make
     * the same choices. */
    uint64_t seed;
    /** Secret key of session and client digests. All zero (default): derived
     * from `seed`. Give the same key to routers whose digests shall agree. */
    uint8_t digest_key[16];
    /** Life of a ticket that is never settled, ns, at least 1 (600 s). */
    uint64_t ticket_ttl;
    uint32_t max_pools;    /**< 1 to 65,536 (1,024). */
    uint32_t max_targets;  /**< 1 to 1,048,576 (16,384). */
    uint32_t max_tickets;  /**< 1 to 16,777,215 (1,048,576). */
    uint32_t max_sessions; /**< 1 to 16,777,215 (65,536). */
    /** 0: any number of threads (default). 1: the host promises one thread at
     * a time, the lock is left out. */
    int32_t single_threaded;
    uint32_t reserved0; /**< Zero. */
    /** Prefix of decision headers, RFC 9110 token characters ("X-Lbroute-").
     * Copied. */
    const char *header_prefix;
    size_t header_prefix_len; /**< Its length, 0 to #LBROUTE_NAME_MAX. */
    uint32_t max_scorers;     /**< 1 to 1,024, all pools together (64). */
    uint32_t reserved1;       /**< Zero. */
    uint32_t max_prices;      /**< 1 to 1,048,576 (16,384). */
    uint32_t reserved2;       /**< Zero. */
    /** Blocks that are remembered from KV events, each once for every source
     * that holds it; 1 to 16,777,215 (1,048,576). Some 50 bytes each, taken as
     * they are used, but for 20 of them with the first event. */
    uint32_t max_kv_blocks;
    uint32_t max_kv_sources; /**< Sources of events; 1 to 65,535 (4,096). */
    uint32_t max_waiting;    /**< Requests that wait, in all pools together; 1
                              * to 8,388,607 (65,536). */
    uint32_t reserved3;      /**< Zero. */
    /** Bytes of copies of requests that wait (64 MiB). A request that does not
     * fit is kept without its prompt, and is then served by load. */
    uint64_t max_waiting_bytes;
    /** Who this router is among those it shares with (lbroute_delta_export());
     * distinct. 0 (default): drawn from `seed`, which is distinct if that is
     * entropy. */
    uint64_t origin;
    /** Bytes for what is to be told to other routers until
     * lbroute_delta_export() collects it, taken at once; 4,096 to 2^30. 0
     * (default): deltas tell of load alone. A few seconds of prompts should
     * fit, as they are compared: as text, or 8 bytes for each block. */
    uint64_t max_delta_bytes;
    /** How long the load that another router told of counts, ns, at least 1
     * (5 s): a few times the interval of deltas. */
    uint64_t peer_ttl;
    uint32_t max_peers; /**< Other routers that are listened to; 1 to 1,024
                         * (64). */
    uint32_t reserved4; /**< Zero. */
} lbroute_router_options;

/**
 * Fills in the defaults.
 *
 * @param options the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_router_options) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_router_options_init(lbroute_router_options *options, size_t size);

/**
 * Upper bound of the memory that a router may ever take from its allocator:
 * every table at its bound, every name at its longest, 100 ring points a
 * target. On top come the prompts that pools remember: about
 * `cache_aware.budget` for each target of a `cache_aware`, `pipeline` or
 * `adaptive` pool; under `kv_aware` and `least_work`, for each target and each
 * block of `kv_aware.capacity`, at most 430 bytes where every prompt is a block
 * of its own, about 10 where prompts are long, and 110 more for each further
 * client that uses it; and a buffer of up to 512 KiB for each thread that picks
 * with very long prompts. Where scorers are registered, also a buffer for each
 * pick that runs at the same time: some 80 bytes a scorer of `max_scorers`, and
 * up to 176 bytes a target of the largest pool. Copies of waiting requests are
 * counted in (`max_waiting_bytes`).
 *
 * @param options checked as by lbroute_router_create(); `seed` may be 0.
 * @param bytes receives the bound.
 * @return 0, or the error lbroute_router_create() would give.
 *
 * [pure], constant time.
 */
int lbroute_router_estimate(const lbroute_router_options *options,
                            size_t *bytes);

/**
 * Creates a router.
 *
 * @param options bounds, seed, allocator; copied.
 * @param router receives the router, owned by the caller until
 *     lbroute_router_destroy(). Written NULL on failure.
 * @return 0; #LBROUTE_ERR_INVALID for NULL, half an allocator or `seed` 0 (set
 *     it); #LBROUTE_ERR_RANGE for a bound outside its range;
 *     #LBROUTE_ERR_NAME for a header prefix that is no token;
 *     #LBROUTE_ERR_NO_MEMORY; #LBROUTE_ERR_UNSUPPORTED.
 *
 * [exclusive], constant time; tables grow as they are used.
 */
int lbroute_router_create(const lbroute_router_options *options,
                          lbroute_router **router);

/**
 * Destroys a router and returns every byte to its allocator. Scorers that are
 * still registered are destroyed, too, by their `destroy`.
 *
 * @param router NULL does nothing. All handles of it become invalid.
 *
 * [exclusive], linear in what it holds.
 */
void lbroute_router_destroy(lbroute_router *router);

/** @} */
/** @defgroup pools Pools
 * @{ */

/** A pool to add. Fill with lbroute_pool_options_init(). */
typedef struct lbroute_pool_options {
    size_t size;          /**< sizeof this struct; set by the init function. */
    const char *name;     /**< Unique in the router; no control characters. */
    size_t name_len;      /**< 1 to #LBROUTE_NAME_MAX. */
    const char *strategy; /**< A name of lbroute_strategy_name(). */
    size_t strategy_len;  /**< 0 means "weighted". */
} lbroute_pool_options;

/**
 * Fills in the defaults (no name, strategy "weighted").
 *
 * @param options the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_pool_options) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_pool_options_init(lbroute_pool_options *options, size_t size);

/**
 * Adds a pool without targets, every parameter at its default.
 *
 * @param router the router.
 * @param options copied.
 * @param pool receives the handle; on #LBROUTE_ERR_EXISTS that of the pool
 *     which has the name.
 * @return 0; #LBROUTE_ERR_EXISTS (use lbroute_pool_update());
 *     #LBROUTE_ERR_NAME for a bad name; #LBROUTE_ERR_NOT_FOUND for an unknown
 *     strategy; #LBROUTE_ERR_LIMIT at `max_pools`; #LBROUTE_ERR_INVALID;
 *     #LBROUTE_ERR_NO_MEMORY; #LBROUTE_ERR_UNSUPPORTED.
 *
 * [any thread], constant time.
 */
int lbroute_pool_add(lbroute_router *router,
                     const lbroute_pool_options *options, lbroute_pool *pool);

/**
 * Gives a pool another strategy. The same strategy again changes nothing: no
 * cursor, model, session or count is reset. Parameters are kept.
 *
 * @param router the router.
 * @param pool the pool.
 * @param strategy name of the new strategy; copied.
 * @param strategy_len its length; 0 means "weighted".
 * @return 0; #LBROUTE_ERR_NOT_FOUND for a stale pool or an unknown strategy;
 *     #LBROUTE_ERR_NO_MEMORY; #LBROUTE_ERR_INVALID.
 *
 * [any thread], linear in the pool's targets when the strategy differs.
 */
int lbroute_pool_update(lbroute_router *router, lbroute_pool pool,
                        const char *strategy, size_t strategy_len);

/**
 * Removes an empty pool, and its scorers as lbroute_scorer_remove() does.
 *
 * @param router the router.
 * @param pool the pool.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_BUSY while it has targets
 *     (remove or move them first); #LBROUTE_ERR_INVALID.
 *
 * [any thread], linear in the sessions that the pool pinned.
 */
int lbroute_pool_remove(lbroute_router *router, lbroute_pool pool);

/**
 * Finds a pool by name.
 *
 * @param router the router.
 * @param name the exact name.
 * @param name_len its length.
 * @param pool receives the handle.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time.
 */
int lbroute_pool_find(lbroute_router *router, const char *name, size_t name_len,
                      lbroute_pool *pool);

/**
 * Walks over the pools. Safe while pools are added and removed.
 *
 * @param router the router.
 * @param previous 0 to start, then the handle returned last (even if it has
 *     been removed since).
 * @param pool receives the next handle.
 * @return 0; #LBROUTE_ERR_NOT_FOUND at the end; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time amortised over a walk.
 */
int lbroute_pool_next(lbroute_router *router, lbroute_pool previous,
                      lbroute_pool *pool);

/** What a pool is. Fill with lbroute_pool_info_init(). */
typedef struct lbroute_pool_info {
    size_t size;          /**< sizeof this struct. */
    const char *strategy; /**< Static string. */
    uint32_t targets;     /**< Number of targets. */
    uint32_t name_len;    /**< Length of `name`. */
    char name[256];       /**< Zero-terminated copy. */
} lbroute_pool_info;

/**
 * Prepares the struct for lbroute_pool_get_info().
 *
 * @param info the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_pool_info) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_pool_info_init(lbroute_pool_info *info, size_t size);

/**
 * Reads name and strategy of a pool.
 *
 * @param router the router.
 * @param pool the pool.
 * @param info receives copies; prepared by lbroute_pool_info_init().
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time.
 */
int lbroute_pool_get_info(lbroute_router *router, lbroute_pool pool,
                          lbroute_pool_info *info);

/** One parameter of pools. Fill with lbroute_param_info_init(). */
typedef struct lbroute_param_info {
    size_t size;          /**< sizeof this struct. */
    const char *name;     /**< "group.name", static. */
    const char *text;     /**< One line with the unit, static. */
    double default_value; /**< Value of a new pool. */
    double minimum;       /**< Smallest value accepted. */
    double maximum;       /**< Largest value accepted. */
} lbroute_param_info;

/**
 * Prepares the struct for lbroute_param_get_info().
 *
 * @param info the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_param_info) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_param_info_init(lbroute_param_info *info, size_t size);

/**
 * Enumerates the parameters that pools have.
 *
 * @param index 0, 1, 2, …
 * @param info receives name, text, default and range; strings are static.
 * @return 0; #LBROUTE_ERR_NOT_FOUND past the last; #LBROUTE_ERR_INVALID.
 *
 * [pure], constant time.
 */
int lbroute_param_get_info(size_t index, lbroute_param_info *info);

/**
 * Sets a parameter of a pool, in force from the next pick on. No state is
 * reset, but that another `shares.window` starts the share counts anew.
 *
 * @param router the router.
 * @param pool the pool.
 * @param name a name of lbroute_param_get_info(), zero-terminated.
 * @param value within the parameter's range; switches and counts take whole
 *     numbers.
 * @return 0; #LBROUTE_ERR_NOT_FOUND for a stale pool or an unknown name;
 *     #LBROUTE_ERR_RANGE (the old value stays); #LBROUTE_ERR_NO_MEMORY;
 *     #LBROUTE_ERR_INVALID.
 *
 * [any thread], linear in the pool's targets.
 */
int lbroute_pool_set(lbroute_router *router, lbroute_pool pool,
                     const char *name, double value);

/**
 * Reads a parameter of a pool.
 *
 * @param router the router.
 * @param pool the pool.
 * @param name a name of lbroute_param_get_info(), zero-terminated.
 * @param value receives the value.
 * @return 0; #LBROUTE_ERR_NOT_FOUND for a stale pool or an unknown name;
 *     #LBROUTE_ERR_INVALID.
 *
 * [any thread], linear in the number of parameters.
 */
int lbroute_pool_get(lbroute_router *router, lbroute_pool pool,
                     const char *name, double *value);

/** @} */
/** @defgroup targets Targets
 * @{ */

/** A target to add or its new settings. Fill with
 * lbroute_target_options_init(). */
typedef struct lbroute_target_options {
    size_t size;       /**< sizeof this struct; set by the init function. */
    const char *name;  /**< Unique in the router; no control characters.
                        * Ignored by lbroute_target_update(). */
    size_t name_len;   /**< 1 to #LBROUTE_NAME_MAX. */
    lbroute_pool pool; /**< 0 (default): none, reached by model name only. */
    /** Share of traffic and of load it can carry, relative to the others.
     * 0 drains; otherwise 1e-6 to 1e9 (1.0). */
    double weight;
    /** Most requests in flight at once; 0 means no limit (32). */
    uint32_t max_concurrency;
    uint32_t reserved0; /**< Zero. */
    /** Largest input it accepts, tokens; 0 means no limit (0). */
    uint64_t max_input_tokens;
    const char *tier;  /**< A request sees only targets of its own tier. */
    size_t tier_len;   /**< 0 (default): the empty tier. */
    const char *model; /**< The model it serves. */
    size_t model_len;  /**< 0 (default): any model, when asked by pool. */
    void *user;        /**< Returned with each decision (NULL). */
    /** Key of its price, see lbroute_set_price(). The price need not be known
     * yet. */
    const char *price_key;
    size_t price_key_len; /**< 0 (default): the model is the key. */
} lbroute_target_options;

/**
 * Fills in the defaults: weight 1, max concurrency 32, no token limit, empty
 * tier, no pool.
 *
 * @param options the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_target_options) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_target_options_init(lbroute_target_options *options, size_t size);

/**
 * Adds a target. It starts without any history.
 *
 * @param router the router.
 * @param options copied.
 * @param now time, ns; the slow start of the pool counts from here.
 * @param target receives the handle; on #LBROUTE_ERR_EXISTS that of the target
 *     which has the name.
 * @return 0; #LBROUTE_ERR_EXISTS (use lbroute_target_update());
 *     #LBROUTE_ERR_NAME for a bad name, tier, model or price key;
 *     #LBROUTE_ERR_RANGE for a weight that is NaN, negative or outside
 *     1e-6…1e9;
 *     #LBROUTE_ERR_NOT_FOUND for a stale pool; #LBROUTE_ERR_LIMIT at
 *     `max_targets`; #LBROUTE_ERR_INVALID; #LBROUTE_ERR_NO_MEMORY;
 *     #LBROUTE_ERR_UNSUPPORTED.
 *
 * [any thread], linear in the pool's targets under `round_robin`, else
 * logarithmic; amortised.
 */
int lbroute_target_add(lbroute_router *router,
                       const lbroute_target_options *options, uint64_t now,
                       lbroute_target *target);

/**
 * Changes the settings of a target. Its requests in flight, health, signals
 * and place in the rotation are kept; the same settings again change nothing.
 * A move to another pool, tier or model takes the in-flight count along.
 *
 * @param router the router.
 * @param target the target.
 * @param options the complete new settings (the name is ignored); copied.
 * @param now time, ns; a weight raised from 0 starts the slow start.
 * @return as lbroute_target_add(), and #LBROUTE_ERR_NOT_FOUND for a stale
 *     target.
 *
 * [any thread], logarithmic in the pool's targets; linear on a move or when
 * the weight falls.
 */
int lbroute_target_update(lbroute_router *router, lbroute_target target,
                          const lbroute_target_options *options, uint64_t now);

/**
 * Changes only the weight of a target, from the next pick on.
 *
 * @param router the router.
 * @param target the target.
 * @param weight 0 drains; otherwise 1e-6 to 1e9.
 * @param now time, ns; a weight raised from 0 starts the slow start.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_RANGE (the old weight
 *     stays); #LBROUTE_ERR_INVALID; #LBROUTE_ERR_NO_MEMORY.
 *
 * [any thread], logarithmic in the pool's targets; linear when the weight
 * falls.
 */
int lbroute_target_set_weight(lbroute_router *router, lbroute_target target,
                              double weight, uint64_t now);

/**
 * Drains a target or ends its draining. A draining target gets no new request
 * from the next pick on; those in flight go on. The weight is kept.
 *
 * @param router the router.
 * @param target the target.
 * @param draining 1 to drain, 0 to serve again (the slow start begins).
 * @param now time, ns.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID for a `draining`
 *     that is neither 0 nor 1.
 *
 * [any thread], logarithmic in the pool's targets.
 */
int lbroute_target_drain(lbroute_router *router, lbroute_target target,
                         int draining, uint64_t now);

/**
 * Benches a target for a while, for hosts with their own health checks. The
 * later deadline wins over one that is already running. After it, one request
 * at a time is let through until one succeeds.
 *
 * @param router the router.
 * @param target the target.
 * @param duration ns; 0 ends the bench and its trial at once.
 * @param now time, ns.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], logarithmic in the pool's targets.
 */
int lbroute_target_bench(lbroute_router *router, lbroute_target target,
                         uint64_t duration, uint64_t now);

/**
 * Removes a target and purges all that it owned: signals, sessions, models.
 * Its open tickets can still be settled, without effect on anybody. A target
 * added later under the same name starts fresh.
 *
 * @param router the router.
 * @param target the target.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], linear in the pool's targets and the sessions pinned to it.
 */
int lbroute_target_remove(lbroute_router *router, lbroute_target target);

/**
 * Finds a target by name.
 *
 * @param router the router.
 * @param name the exact name.
 * @param name_len its length.
 * @param target receives the handle.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time.
 */
int lbroute_target_find(lbroute_router *router, const char *name,
                        size_t name_len, lbroute_target *target);

/**
 * Walks over the targets. Safe while targets are added and removed.
 *
 * @param router the router.
 * @param pool only targets of this pool; 0 for all.
 * @param previous 0 to start, then the handle returned last (even if it has
 *     been removed since).
 * @param target receives the next handle.
 * @return 0; #LBROUTE_ERR_NOT_FOUND at the end or for a stale pool;
 *     #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time amortised over a walk of the router.
 */
int lbroute_target_next(lbroute_router *router, lbroute_pool pool,
                        lbroute_target previous, lbroute_target *target);

/** What a target is. Fill with lbroute_target_info_init(). */
typedef struct lbroute_target_info {
    size_t size;               /**< sizeof this struct. */
    lbroute_pool pool;         /**< 0: none. */
    double weight;             /**< As configured. */
    uint64_t max_input_tokens; /**< 0: no limit. */
    uint32_t max_concurrency;  /**< 0: no limit. */
    int32_t draining;          /**< 1: by lbroute_target_drain(). */
    void *user;                /**< As configured. */
    char name[256];            /**< Zero-terminated copy. */
    char tier[256];            /**< Zero-terminated copy. */
    char model[256];           /**< Zero-terminated copy. */
    char price_key[256];       /**< Zero-terminated copy; empty: the model. */
} lbroute_target_info;

/**
 * Prepares the struct for lbroute_target_get_info().
 *
 * @param info the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_target_info) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_target_info_init(lbroute_target_info *info, size_t size);

/**
 * Reads the settings of a target.
 *
 * @param router the router.
 * @param target the target.
 * @param info receives copies; prepared by lbroute_target_info_init().
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time.
 */
int lbroute_target_get_info(lbroute_router *router, lbroute_target target,
                            lbroute_target_info *info);

/** @} */
/** @defgroup signals What engines report
 * @{ */

/**
 * Reports a figure of a target's engine. Between two reports the router adds
 * what it sent itself; a report older than the pool's `load.signal_ttl` fades
 * out over one more TTL and the pool's mean takes its place.
 *
 * Running and waiting are halves of one load. A host that only ever reports one
 * of them is taken at its word. Once both were reported, one that is unknown or
 * older than the TTL is not read as zero: what is known is then the least that
 * runs there, and the pool's mean counts where that is more.
 *
 * @param router the router.
 * @param target the target.
 * @param gauge a `LBROUTE_GAUGE_` value.
 * @param value within the gauge's range (fractions are kept). NaN makes the
 *     gauge unknown.
 * @param now time of the report, ns.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_RANGE for an infinite,
 *     negative or too large value (the old one stays); #LBROUTE_ERR_INVALID
 *     for an unknown gauge.
 *
 * [any thread], constant time; the pool's loads are renewed by its next pick.
 */
int lbroute_set_gauge(lbroute_router *router, lbroute_target target, int gauge,
                      double value, uint64_t now);

/**
 * Reports several figures of a target's engine as of one moment: all or none,
 * and no pick sees a part of them. Gauges that are not given keep what they
 * have, which grows older. If exactly one of running and waiting is given, the
 * other is one that is missing, not zero, even if it was never reported.
 *
 * @param router the router.
 * @param target the target.
 * @param values by `LBROUTE_GAUGE_` value, as for lbroute_set_gauge().
 * @param count length of `values`, at most #LBROUTE_GAUGE_COUNT.
 * @param given bit g says that `values[g]` is given; the other values are not
 *     looked at.
 * @param now time of the report, ns.
 * @return as lbroute_set_gauge(), and #LBROUTE_ERR_INVALID for NULL values,
 *     none given, or a bit beyond `count`.
 *
 * [any thread], constant time; the pool's loads are renewed by its next pick.
 */
int lbroute_set_gauges(lbroute_router *router, lbroute_target target,
                       const double *values, size_t count, uint32_t given,
                       uint64_t now);

/** Bounds of LoRA adapters. */
enum {
    /** Most adapters that are remembered of a target; beyond, those used
     * longest ago are forgotten. */
    LBROUTE_ADAPTERS_MAX = 64
};

/**
 * Says which LoRA adapters a target holds: these and no others, except for
 * those of requests in flight. For hosts that know, for example because they
 * load them. A list counts for `lora_aware.ttl`; repeat it before that.
 *
 * @param router the router.
 * @param target the target.
 * @param names array of `count` names, the most recently used last; only
 *     hashes are kept. Names may be repeated.
 * @param lengths their lengths, each 1 to #LBROUTE_NAME_MAX.
 * @param count their number; 0: it holds none.
 * @param max_adapters how many it can hold at once; -1: unknown.
 * @param now time, ns.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_NAME for a name that is
 *     empty, too long or holds control characters; #LBROUTE_ERR_RANGE for
 *     `max_adapters` below -1; #LBROUTE_ERR_INVALID for NULL; in all cases
 *     nothing changed. #LBROUTE_ERR_NO_MEMORY likewise.
 *
 * [any thread], linear in `count`; of more than #LBROUTE_ADAPTERS_MAX names
 * the last ones count.
 */
int lbroute_set_adapters(lbroute_router *router, lbroute_target target,
                         const char *const *names, const size_t *lengths,
                         size_t count, int32_t max_adapters, uint64_t now);

/**
 * Says which adapters a target was seen at work with. These are held there;
 * what was known of others stays, since an idle adapter is not listed by
 * engines but still loaded. Otherwise as lbroute_set_adapters().
 *
 * @param router the router.
 * @param target the target.
 * @param names array of `count` names, the most recently used last.
 * @param lengths their lengths, each 1 to #LBROUTE_NAME_MAX.
 * @param count their number; 0: it was seen with none.
 * @param max_adapters how many it can hold at once; -1: unknown.
 * @param now time, ns.
 * @return as lbroute_set_adapters().
 *
 * [any thread], linear in `count`.
 */
int lbroute_note_adapters(lbroute_router *router, lbroute_target target,
                          const char *const *names, const size_t *lengths,
                          size_t count, int32_t max_adapters, uint64_t now);

/**
 * Reports how full the KV cache is that a target offloads to (LMCache or one
 * like it), for `lmcache_aware` and `pipeline.occupancy`. A report counts for
 * `lmcache_aware.ttl`.
 *
 * @param router the router.
 * @param target the target.
 * @param occupancy part of it that is taken, 0 to 1; NaN: unknown.
 * @param available 1: it can be used; 0: it cannot, whatever it holds.
 * @param now time of the report, ns.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_RANGE for an occupancy that
 *     is neither NaN nor 0 to 1 (the old report stays); #LBROUTE_ERR_INVALID
 *     for an `available` that is neither 0 nor 1.
 *
 * [any thread], constant time.
 */
int lbroute_set_occupancy(lbroute_router *router, lbroute_target target,
                          double occupancy, int available, uint64_t now);

/** @} */
/** @defgroup kv KV-cache events
 * What engines say of the blocks in their KV caches: which were stored, and
 * which are gone. From this the router knows what is resident where, to the
 * block, for `precise_cache_aware` and the scorer `pipeline.resident`.
 *
 * A **source** is one stream of events with its own sequence numbers. A target
 * has one for each publisher: engines with data parallelism publish one for
 * each rank. A **batch** is what one message of a source holds. Calls that
 * concern one source are made one after the other, in the order in which its
 * batches arrived.
 *
 * What is said of a source holds only as long as nothing was missed. A batch
 * that is missing (a gap), and an engine that started anew, make its source
 * *unknown*: neither warm nor cold, so that load decides. Batches behind a gap
 * are kept aside and follow as soon as what was missed has come.
 * lbroute_kv_missing() says what to ask the engine for; where it cannot replay,
 * lbroute_kv_clear() begins anew with an empty memory.
 * @{ */

/** Where a block is kept. */
enum {
    LBROUTE_MEDIUM_ANY = -1, /**< Not said: stored in GPU memory; removed
                              * wherever it is. */
    LBROUTE_MEDIUM_GPU = 0,  /**< The accelerator's memory. */
    LBROUTE_MEDIUM_HOST = 1, /**< The machine's memory. */
    LBROUTE_MEDIUM_DISK = 2, /**< Disks, and stores beyond the machine. */
    LBROUTE_MEDIUM_COUNT = 3 /**< Number of media. */
};

/** Kinds of KV event. */
enum {
    LBROUTE_KV_STORED = 1,    /**< Blocks are in the cache. */
    LBROUTE_KV_REMOVED = 2,   /**< Blocks are not in the cache any more. */
    LBROUTE_KV_CLEARED = 3,   /**< The cache is empty. */
    LBROUTE_KV_KIND_COUNT = 4 /**< One above the last kind. */
};

/** What became of a batch. */
enum {
    LBROUTE_KV_APPLIED = 1,      /**< Taken over. */
    LBROUTE_KV_PARTIAL = 2,      /**< Taken over but for events or blocks that
                                  * make no sense, or for which there is no
                                  * room; see the reasons. */
    LBROUTE_KV_DUPLICATE = 3,    /**< Had been taken over before: ignored. */
    LBROUTE_KV_GAP = 4,          /**< Batches before it are missing. It is kept
                                  * aside, or has to come again with them where
                                  * there was no room. */
    LBROUTE_KV_RESTARTED = 5,    /**< The engine started anew: what was known is
                                  * forgotten. The batch is taken over if it is
                                  * the first one (sequence number 0), else as at a
                                  * gap. */
    LBROUTE_KV_REPLAY_END = 6,   /**< No batch but the end of a replay. If
                                  * something that was requested is still
                                  * missing, the engine has it no more: call
                                  * lbroute_kv_clear(). */
    LBROUTE_KV_OUTCOME_COUNT = 7 /**< One above the last outcome. */
};

/** What the word of a source is worth. */
enum {
    LBROUTE_KV_SOURCE_NONE = 0,      /**< No batch was ever received. */
    LBROUTE_KV_SOURCE_FRESH = 1,     /**< Nothing was missed. */
    LBROUTE_KV_SOURCE_GAP = 2,       /**< Batches are missing: unknown. */
    LBROUTE_KV_SOURCE_STALE = 3,     /**< Silent while requests that should have
                                      * led to events were sent to its target for
                                      * `precise_cache_aware.ttl`: unknown. An idle
                                      * engine has nothing to say. */
    LBROUTE_KV_SOURCE_RESTARTED = 4, /**< Started anew, and the first batches
                                      * are missing: unknown. */
    LBROUTE_KV_SOURCE_STATE_COUNT = 5 /**< One above the last state. */
};

/** Why something in a batch was not taken over as it stands; counted in blocks,
 * but #LBROUTE_KV_REASON_EVENT in events. */
enum {
    /** An event of an unknown kind or medium, or with a contradiction. */
    LBROUTE_KV_REASON_EVENT = 1,
    /** More hashes than the tokens can fill, or tokens beyond the last complete
     * block. What is complete on both sides counts. */
    LBROUTE_KV_REASON_TOKENS = 2,
    /** The block before it is not known: it waits for that. */
    LBROUTE_KV_REASON_WAITING = 3,
    /** Removed, or told without tokens, but not known. */
    LBROUTE_KV_REASON_UNKNOWN = 4,
    LBROUTE_KV_REASON_OWN_PARENT = 5, /**< Named as its own parent. */
    LBROUTE_KV_REASON_RENAMED = 6,    /**< Its hash stood for other content: now
                                       * it stands for this. */
    LBROUTE_KV_REASON_FULL = 7,       /**< There was no room, or no memory, for
                                       * it. */
    /** Its size is not `prefix.block_tokens` of the pool. It is of use all the
     * same: prompts are cut as the pool's engines cut them, into up to four
     * sizes. */
    LBROUTE_KV_REASON_BLOCK_SIZE = 8,
    LBROUTE_KV_REASON_COUNT = 9 /**< One above the last reason. */
};

/** Something that happened in a KV cache. Fill with lbroute_kv_event_init().
 * All that it points to needs to live only during the call. */
typedef struct lbroute_kv_event {
    size_t size;    /**< sizeof this struct; set by the init function. */
    int32_t kind;   /**< A `LBROUTE_KV_` kind. */
    int32_t medium; /**< A `LBROUTE_MEDIUM_` value (ANY). */
    /** The engine's names of the blocks, in order: any numbers, of which one
     * means the same block whenever the source says it. Of longer digests take
     * the last 8 bytes, big-endian. */
    const uint64_t *hashes;
    size_t hash_count;  /**< Their number. */
    uint64_t parent;    /**< The name of the block before the first one. */
    int32_t has_parent; /**< 1: `parent` is given; 0 (default): the first block
                         * begins a prompt. */
    /** Which of the engine's groups of caches it is about (0). Pass only groups
     * that hold whole prefixes; a sliding window does not. */
    uint32_t group;
    /** The token ids in the blocks, for STORED. Neither these nor `blocks`:
     * blocks that are known are now in `medium`, too. */
    const uint32_t *tokens;
    size_t token_count;  /**< Their number. */
    uint32_t block_size; /**< Tokens in a block. */
    uint32_t reserved0;  /**< Zero. */
    /** Instead of tokens, a hash for each block as lbroute_hash_blocks() makes
     * it of the token ids. */
    const uint64_t *blocks;
    size_t block_count;  /**< Their number. */
    const char *adapter; /**< LoRA adapter that the blocks were made with. */
    size_t adapter_len;  /**< 0: none. */
    const void *salt;    /**< Cache salt. */
    size_t salt_len;     /**< 0: none. */
    /** For each block, from the first on, what else tells it from blocks with
     * the same tokens, such as images: the identifiers of all that it overlaps,
     * in order, folded with lbroute_kv_fold_key(); 0: nothing. */
    const uint64_t *extra_keys;
    size_t extra_key_count; /**< 0 to the number of blocks. */
} lbroute_kv_event;

/**
 * Fills in the defaults: no kind, any medium, no parent, everything empty.
 *
 * @param event the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_kv_event) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_kv_event_init(lbroute_kv_event *event, size_t size);

/**
 * Folds an identifier into the extra key of a block. Order matters.
 *
 * @param digest 0 to begin, then what the call before returned.
 * @param key the identifier of an image or the like, any bytes.
 * @param key_len its length.
 * @return the extra key so far, never 0; `digest` for a NULL key.
 *
 * [pure], linear in the length.
 */
uint64_t lbroute_kv_fold_key(uint64_t digest, const void *key, size_t key_len);

/** A batch of events. Fill with lbroute_kv_batch_init(). */
typedef struct lbroute_kv_batch {
    size_t size; /**< sizeof this struct; set by the init function. */
    /** Its number in its source; UINT64_MAX (default): there is none, and
     * batches are taken over as they come. */
    uint64_t seq;
    /** When the engine made it, seconds by the engine's clock; tells a replay
     * from a restart. NaN (default): unknown. */
    double timestamp;
    /** The events, in order: as large as the first one says. */
    const lbroute_kv_event *events;
    size_t event_count; /**< Their number. */
    /** For batches that are handed over in parts, which all have the same
     * `seq`. 1: another part follows with the next call for this source. */
    int32_t more;
    int32_t continued; /**< 1: this is not the first part. */
} lbroute_kv_batch;

/**
 * Fills in the defaults: no sequence number, no timestamp, no events.
 *
 * @param batch the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_kv_batch) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_kv_batch_init(lbroute_kv_batch *batch, size_t size);

/** What became of a batch, and of those that were kept aside and followed it.
 * Fill with lbroute_kv_result_init(). */
typedef struct lbroute_kv_result {
    size_t size;     /**< sizeof this struct; set by the init function. */
    int32_t outcome; /**< A `LBROUTE_KV_` outcome. */
    int32_t state;   /**< `LBROUTE_KV_SOURCE_` of the source now. */
    /** Batches that are missing now, from the first to the last of the first
     * hole; 0: none. */
    uint64_t missing;
    uint64_t first_missing; /**< The first one, if any. */
    uint64_t last_missing;  /**< The last one of that hole. */
    uint64_t stored;        /**< Blocks that came into a medium. */
    uint64_t removed;       /**< Blocks that left a medium. */
    uint64_t reasons[16];   /**< By `LBROUTE_KV_REASON_`. */
} lbroute_kv_result;

/**
 * Prepares a result.
 *
 * @param result the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_kv_result) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_kv_result_init(lbroute_kv_result *result, size_t size);

/**
 * Takes over a batch of events, for hosts that decode them themselves; else see
 * lbroute_ingest_kv_events().
 *
 * Blocks are known by their content: token ids and what comes before them,
 * under adapter, salt and extra keys, whatever the engine calls them. A block
 * counts in a medium once, however often it is stored there, unless
 * `precise_cache_aware.count_copies` says otherwise. At `max_kv_blocks` the
 * ends of prompts of whoever has more than an equal part make room, before
 * their heads. What cannot be taken away for want of memory makes the whole
 * source be forgotten: better cold than wrong.
 *
 * @param router the router.
 * @param target whose cache it is about.
 * @param source number of the source among the target's, by convention the
 *     rank; 0 to UINT32_MAX - 1.
 * @param batch the batch.
 * @param now time, ns.
 * @param result receives what became of it; prepared by
 *     lbroute_kv_result_init(). May be NULL.
 * @return 0, whatever the outcome; #LBROUTE_ERR_NOT_FOUND for a stale target;
 *     #LBROUTE_ERR_RANGE for source UINT32_MAX; #LBROUTE_ERR_LIMIT for a new
 *     source at `max_kv_sources` (remove a target, or create the router with
 *     more); #LBROUTE_ERR_INVALID for NULL, an event without a size, or a
 *     continuation of another batch; #LBROUTE_ERR_NO_MEMORY for a new source;
 *     #LBROUTE_ERR_UNSUPPORTED. In all these cases nothing changed.
 *
 * [any thread], linear in the blocks. Tokens are hashed without the lock. No
 * allocation once warm, but for what is kept aside.
 */
int lbroute_kv_apply(lbroute_router *router, lbroute_target target,
                     uint32_t source, const lbroute_kv_batch *batch,
                     uint64_t now, lbroute_kv_result *result);

/**
 * Forgets what a source said, and takes its next batch for the first one,
 * whatever its number: after a call that emptied the engine's cache, when the
 * host saw it start anew, before a full report, or to end a gap that no replay
 * can fill. The source is fresh then, and holds nothing.
 *
 * @param router the router.
 * @param target the target.
 * @param source the source; UINT32_MAX: all of the target.
 * @param now time, ns.
 * @return 0; #LBROUTE_ERR_NOT_FOUND for a stale target or an unknown source;
 *     #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time a source: its blocks go bit by bit, with the
 * events that follow.
 */
int lbroute_kv_clear(lbroute_router *router, lbroute_target target,
                     uint32_t source, uint64_t now);

/**
 * What to request from the engine, so that a source is known again: engines
 * replay all batches from a number on.
 *
 * @param router the router.
 * @param target the target.
 * @param source the source.
 * @param first receives the number of the first missing batch.
 * @param last receives that of the last one of the first hole.
 * @return 0; #LBROUTE_ERR_NOT_FOUND when nothing is missing, or for a stale
 *     target or an unknown source; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time, no effect.
 */
int lbroute_kv_missing(lbroute_router *router, lbroute_target target,
                       uint32_t source, uint64_t *first, uint64_t *last);

/** State and counts of a source. Fill with lbroute_kv_source_stats_init(). */
typedef struct lbroute_kv_source_stats {
    size_t size;         /**< sizeof this struct. */
    int32_t state;       /**< `LBROUTE_KV_SOURCE_` at `now`. */
    uint32_t block_size; /**< Tokens in a block, as events say; 0: unknown. */
    int64_t age_ns;      /**< Since its latest batch; -1: none. */
    uint64_t next_seq;   /**< The number that is expected next; UINT64_MAX: any
                          * will do. */
    uint64_t missing;    /**< As in lbroute_kv_result. */
    uint64_t first_missing; /**< As in lbroute_kv_result. */
    uint64_t last_missing;  /**< As in lbroute_kv_result. */
    uint64_t blocks[4];     /**< Resident now, by `LBROUTE_MEDIUM_`. */
    uint64_t waiting;       /**< Blocks that wait for the one before them. */
    uint64_t aside;         /**< Blocks in batches that are kept aside. */
    uint64_t batches;       /**< Batches taken over. */
    uint64_t duplicates;    /**< Batches ignored. */
    uint64_t gaps;        /**< Times at which something began to be missing. */
    uint64_t restarts;    /**< Times at which the engine started anew. */
    uint64_t clears;      /**< Times at which it was emptied. */
    uint64_t stored;      /**< As in lbroute_kv_result, all in all. */
    uint64_t removed;     /**< As in lbroute_kv_result, all in all. */
    uint64_t evicted;     /**< Blocks that made room for others. */
    uint64_t reasons[16]; /**< By `LBROUTE_KV_REASON_`, all in all. */
} lbroute_kv_source_stats;

/**
 * Prepares the struct for lbroute_get_kv_source_stats().
 *
 * @param stats the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_kv_source_stats) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_kv_source_stats_init(lbroute_kv_source_stats *stats, size_t size);

/**
 * Reads state and counts of a source.
 *
 * @param router the router.
 * @param target the target.
 * @param source the source.
 * @param now time, ns.
 * @param stats receives copies; prepared by lbroute_kv_source_stats_init().
 * @return 0; #LBROUTE_ERR_NOT_FOUND for a stale target or an unknown source;
 *     #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time, no effect.
 */
int lbroute_get_kv_source_stats(lbroute_router *router, lbroute_target target,
                                uint32_t source, uint64_t now,
                                lbroute_kv_source_stats *stats);

/**
 * Walks over the sources of a target, in ascending order.
 *
 * @param router the router.
 * @param target the target.
 * @param previous -1 to start, then the source returned last.
 * @param source receives the next one.
 * @return 0; #LBROUTE_ERR_NOT_FOUND at the end or for a stale target;
 *     #LBROUTE_ERR_INVALID.
 *
 * [any thread], linear in the target's sources, no effect.
 */
int lbroute_kv_source_next(lbroute_router *router, lbroute_target target,
                           int64_t previous, uint32_t *source);

/** @} */
/** @defgroup prices Prices
 * @{ */

/** Rates of requests with a long input. */
typedef struct lbroute_price_tier {
    /** With more input tokens than this, the whole request is charged at the
     * rates of this tier. 0 or more. */
    int64_t above_tokens;
    int64_t input;        /**< As in lbroute_price. */
    int64_t output;       /**< As in lbroute_price. */
    int64_t cached_input; /**< As in lbroute_price. */
} lbroute_price_tier;

/** What a token costs, in whole pico-dollars (1e-12 USD; a dollar per million
 * tokens is 1,000,000). 0 is free, -1 unknown. Fill with
 * lbroute_price_init(). */
typedef struct lbroute_price {
    size_t size;          /**< sizeof this struct; set by the init function. */
    int64_t input;        /**< Input that has to be computed. Unknown: so is
                           * the cost of every request. */
    int64_t output;       /**< Output. Unknown: so is the cost of every request
                           * that expects some. */
    int64_t cached_input; /**< Input found in the engine's cache. Unknown: as
                           * `input`, no discount is known of. */
    uint32_t tier_count;  /**< 0 to #LBROUTE_PRICE_TIERS. */
    uint32_t reserved0;   /**< Zero. */
    /** The first `tier_count`, by `above_tokens`, ascending. */
    lbroute_price_tier tiers[4];
} lbroute_price;

/**
 * Fills in the defaults: everything unknown, no tier.
 *
 * @param price the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_price) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_price_init(lbroute_price *price, size_t size);

/**
 * Sets the price of a key, in place of the one that it had. It is in force
 * from the next pick on for every target whose price key (by default its
 * model) this is, now and later: prices stay when targets go.
 *
 * @param router the router.
 * @param key any name, by convention that of the model; copied.
 * @param key_len 1 to #LBROUTE_NAME_MAX.
 * @param price copied.
 * @return 0; #LBROUTE_ERR_RANGE for a rate below -1, more tiers than fit or
 *     tiers that do not ascend (the old price stays); #LBROUTE_ERR_NAME for a
 *     bad key; #LBROUTE_ERR_LIMIT for a new key at `max_prices` (remove one
 *     first); #LBROUTE_ERR_INVALID; #LBROUTE_ERR_NO_MEMORY;
 *     #LBROUTE_ERR_UNSUPPORTED.
 *
 * [any thread], constant time.
 */
int lbroute_set_price(lbroute_router *router, const char *key, size_t key_len,
                      const lbroute_price *price);

/**
 * Reads the price of a key.
 *
 * @param router the router.
 * @param key the exact key.
 * @param key_len its length.
 * @param price receives a copy; prepared by lbroute_price_init().
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time, no effect.
 */
int lbroute_get_price(lbroute_router *router, const char *key, size_t key_len,
                      lbroute_price *price);

/**
 * Removes the price of a key: it is unknown from the next pick on.
 *
 * @param router the router.
 * @param key the exact key.
 * @param key_len its length.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time.
 */
int lbroute_remove_price(lbroute_router *router, const char *key,
                         size_t key_len);

/**
 * Walks over the keys that have a price. Safe while prices are set and removed.
 *
 * @param router the router.
 * @param previous 0 to start, then the place returned last (even if its key has
 *     been removed since).
 * @param place receives the place of the next key.
 * @param key buffer for the zero-terminated key; #LBROUTE_NAME_MAX + 1 bytes
 *     are always enough.
 * @param key_capacity its size, bytes.
 * @param key_len receives the length without the terminator, also on
 *     #LBROUTE_ERR_BUFFER.
 * @return 0; #LBROUTE_ERR_NOT_FOUND at the end; #LBROUTE_ERR_BUFFER when the
 *     buffer is smaller than the length + 1 (grow it, retry with the same
 *     `previous`); #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time amortised over a walk, no effect.
 */
int lbroute_price_next(lbroute_router *router, uint64_t previous,
                       uint64_t *place, char *key, size_t key_capacity,
                       size_t *key_len);

/** @} */
/** @defgroup picking Picking and observing
 * @{ */

/**
 * Hashes a prompt by blocks, for `lbroute_request.blocks`. A block's hash says
 * what stands in it; where it stands, and after what, is kept beside it. The
 * last block counts only if it is complete.
 *
 * @param symbols `count` symbols of `symbol_size` bytes each, aligned or not.
 * @param count their number.
 * @param symbol_size 1 (text), 4 (token ids) or 8 (larger ids).
 * @param block_size symbols in a block, at least 1. Requests that are to match
 *     need the same size; the usual ones are 256 bytes or 16 token ids.
 * @param blocks receives a hash for each complete block. Hashes of ids depend
 *     on the byte order of the machine.
 * @param capacity how many fit.
 * @param block_count receives the number of complete blocks, also on
 *     #LBROUTE_ERR_BUFFER.
 * @return 0; #LBROUTE_ERR_BUFFER when they do not fit (grow it, retry);
 *     #LBROUTE_ERR_RANGE for another `symbol_size` or a `block_size` of 0 (fix
 *     the call); #LBROUTE_ERR_INVALID for NULL.
 *
 * [pure], linear in the prompt, XXH3's speed.
 */
int lbroute_hash_blocks(const void *symbols, size_t count, size_t symbol_size,
                        size_t block_size, uint64_t *blocks, size_t capacity,
                        size_t *block_count);

/** Something in a prompt that its token ids do not tell: an image, a sound. */
typedef struct lbroute_mm_item {
    const void *id; /**< What engines call it (vLLM: the hash of the item). */
    size_t id_len;  /**< Its length, at least 1. */
    uint64_t begin; /**< Its first token in the prompt. */
    uint64_t count; /**< Its tokens, at least 1. */
} lbroute_mm_item;

/** A request to route. Fill with lbroute_request_init(). All strings need to
 * live only during the call. */
typedef struct lbroute_request {
    size_t size;         /**< sizeof this struct; set by the init function. */
    lbroute_pool pool;   /**< 0: all targets that serve `model`. */
    const char *model;   /**< Model asked for; empty: any. */
    size_t model_len;    /**< Its length. */
    const char *tier;    /**< Exact tier; empty: the untiered targets. */
    size_t tier_len;     /**< Its length. */
    const void *session; /**< Id of the conversation, any bytes. */
    size_t session_len;  /**< 0: unknown. */
    const void *client;  /**< Whose request it is, any bytes. */
    size_t client_len;   /**< 0: unknown. */
    /** What tells this conversation from others, images and tool results
     * included, as any bytes: the key of `consistent_hash` and of
     * `sticky_session` where no session is given. Empty: `consistent_hash`
     * takes the prompt, `sticky_session` the client. */
    const void *conversation;
    size_t conversation_len; /**< Its length. */
    /** Prompt text, any bytes. `cache_aware`, `pipeline` and `adaptive` compare
     * and remember the bytes themselves, unless `cache_aware.mode` says hashed
     * blocks; `kv_aware` and `least_work` only ever keep hashes of blocks; no
     * other strategy keeps any. */
    const void *prompt;
    size_t prompt_len;             /**< Its length. */
    int64_t input_tokens;          /**< All parts of the input; -1: unknown,
                                    * the number of `tokens`, else prompt
                                    * bytes / 4, else 16 a block. */
    const lbroute_target *exclude; /**< Targets not to use (a retry). Stale
                                    * handles are ignored. */
    size_t exclude_len;            /**< 0 to 1,024. */
    /** The prompt as token ids of the model's tokenizer. Taken for the prompt
     * instead of the text where both are given: it is what engines cache. */
    const uint32_t *tokens;
    size_t tokens_len; /**< Their number. */
    /** The prompt as hashes of its complete blocks, as lbroute_hash_blocks()
     * or the host makes them. Taken before tokens and text. Requests that are
     * to match must name blocks of the same size in the same way. */
    const uint64_t *blocks;
    size_t blocks_len; /**< Their number. */
    /** LoRA adapter asked for; requests with different adapters have no prompt
     * in common. */
    const char *adapter;
    size_t adapter_len; /**< 0: none. */
    /** Cache salt, any bytes; requests with different salts have no prompt in
     * common. */
    const void *salt;
    size_t salt_len; /**< 0: none. */
    /** What a cache controller found, for `lmcache_aware` and
     * `pipeline.occupancy`: `lookup_tokens[i]` leading tokens of the prompt are
     * cached for `lookup_targets[i]`. In any order; of several entries of one
     * target the longest counts, stale handles are ignored. */
    const lbroute_target *lookup_targets;
    const uint64_t *lookup_tokens; /**< As long as `lookup_targets`. */
    size_t lookup_len;             /**< 0 to 65,536; 0: no lookup. */
    /** Length of the answer as far as the host can tell, for the cost; -1:
     * unknown, the pool's `cost.output_tokens`. */
    int64_t output_tokens;
    /** How much of the input the engine will find in its cache, for the cost;
     * more than all of it counts as all of it. -1: unknown, what is known of
     * the prompt on each target where the pool remembers prompts, else 0. */
    int64_t cached_tokens;
    /** Images and the like in `tokens`, one after the other, none in another;
     * they tell blocks apart where KV events decide. */
    const lbroute_mm_item *mm_items;
    size_t mm_item_count; /**< Their number; 0 to 65,536. */
    /** Who goes first of those that wait: the higher, #LBROUTE_PRIORITY_MIN to
     * #LBROUTE_PRIORITY_MAX (0). */
    int32_t priority;
    int32_t reserved0; /**< Zero. */
    /** Time by which it must have got its slot, ns, as `now`; 0: none. A
     * request that cannot is rejected early, one that still waits then is
     * given up. It does not matter where a slot is free. */
    uint64_t deadline;
    /** The host's own number for it, returned with each decision about it. */
    uint64_t tag;
} lbroute_request;

/**
 * Fills in the defaults: everything empty or unknown.
 *
 * @param request the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_request) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_request_init(lbroute_request *request, size_t size);

/** The answer to a request: self-contained, later calls do not change it. Fill
 * with lbroute_decision_init() once; it can be used again without that. */
typedef struct lbroute_decision {
    size_t size;           /**< sizeof this struct; set by the init function. */
    lbroute_target target; /**< 0: none. */
    lbroute_ticket ticket; /**< 0: none (rejected, or explained). */
    lbroute_pool pool;     /**< The pool whose strategy was asked; 0: none. */
    void *user;            /**< The target's user pointer. */
    int32_t rule;          /**< `LBROUTE_RULE_` that really decided. */
    int32_t reason;        /**< On rejection the `LBROUTE_REASON_` that held
                            * for most targets, else NONE. */
    /** 1: every candidate was benched, so benching was ignored. */
    int32_t bench_ignored;
    uint32_t candidates; /**< Targets of the pool or model. */
    uint32_t eligible;   /**< Those that no filter rejected. */
    /** In flight on the target with this request; on rejection the sum over
     * the full targets. */
    uint32_t in_flight;
    /** The target's limit, 0: none; on rejection the sum over the full
     * targets. */
    uint32_t max_concurrency;
    uint32_t reserved0; /**< Zero. */
    double weight;      /**< Effective weight of the target now. */
    double load;        /**< Its load before this request. */
    /** What the rule ranked by (relative load, smooth weight, weighted sum of
     * scores); NaN where a rule does not rank. */
    double score;
    /** Keyed one-way digest of the session, else of the client; 0: neither
     * was given. */
    uint64_t sticky_digest;
    /** Wait before the request may go, ns; -1: unknown. On a pick 0; on
     * #LBROUTE_ERR_QUEUED and #LBROUTE_ERR_SATURATED as it is expected; from
     * lbroute_next_ready() as it was. */
    int64_t wait_ns;
    int64_t prefix_matched;   /**< Leading part known on the target; -1:
                               * unknown. */
    int64_t prefix_total;     /**< Of that many; -1: unknown. */
    uint32_t reasons[16];     /**< Targets by verdict, on rejection only. */
    uint32_t target_name_len; /**< Length of `target_name`. */
    uint32_t pool_name_len;   /**< Length of `pool_name`. */
    char target_name[256];    /**< Zero-terminated copy. */
    char pool_name[256];      /**< Zero-terminated copy. */
    /** What the request will cost there, pico-USD, INT64_MAX also for more;
     * -1: unknown. */
    int64_t expected_cost_pusd;
    /** Time to first token and total time that the target's models expect, ns;
     * -1: unknown, as everywhere but under the strategies that learn latency
     * (`fastest`, `predicted_latency`, `adaptive`, `pipeline`, `least_work`,
     * `kv_aware` with `kv_aware.fallback` 2). */
    int64_t expected_ttft_ns;
    int64_t expected_total_ns; /**< See above. */
    /** Leading blocks of the prompt that are resident there by KV events, by
     * the fastest `LBROUTE_MEDIUM_` that holds each; -1: unknown, or the rule
     * does not look. */
    int64_t kv_blocks[4];
    int32_t kv_state;    /**< `LBROUTE_KV_SOURCE_` of the source that says so;
                          * NONE:   the target never sent events, or the rule does
                          * not   look. */
    uint32_t reserved1;  /**< Zero. */
    lbroute_place place; /**< Where the request waits, or has waited; 0: it does
                          * not. */
    uint64_t tag;        /**< The request's. */
    uint32_t queue_ahead; /**< On #LBROUTE_ERR_QUEUED: requests that are
                           * expected to go before. */
    uint32_t reserved2;   /**< Zero. */
} lbroute_decision;

/**
 * Prepares a decision for lbroute_pick() or lbroute_explain().
 *
 * @param decision the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_decision) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_decision_init(lbroute_decision *decision, size_t size);

/**
 * Picks the target for a request and takes a slot on it. Every pick with
 * result 0 must be settled once with lbroute_observe(); a forgotten ticket
 * releases its slot after `ticket_ttl`.
 *
 * Where every target that could take the request is full, or others wait for
 * the slot that is free, a pool with a queue (`queue.enabled`, or
 * `admission.mode` 3) keeps a copy of the request and answers
 * #LBROUTE_ERR_QUEUED with a place: see lbroute_next_ready().
 *
 * With a pool, its targets are the candidates. Without, all targets whose
 * model is the request's; when these are in several pools, or one is in none,
 * the rule is smooth weighted round-robin whatever the pools say.
 *
 * @param router the router.
 * @param request the request; nothing of it is kept but digests and, under
 *     `cache_aware`, `pipeline` and `adaptive`, the prompt; and a copy while
 *     it waits.
 * @param now time, ns.
 * @param decision receives the answer, also on #LBROUTE_ERR_NO_TARGET,
 *     #LBROUTE_ERR_SATURATED (reason, counts and expected wait) and
 *     #LBROUTE_ERR_QUEUED (place, expected wait); prepared by
 *     lbroute_decision_init().
 * @return 0; #LBROUTE_ERR_QUEUED; #LBROUTE_ERR_NO_TARGET;
 *     #LBROUTE_ERR_SATURATED;
 *     #LBROUTE_ERR_NOT_FOUND for a stale pool; #LBROUTE_ERR_LIMIT at
 *     `max_tickets`; #LBROUTE_ERR_INVALID for NULL, neither pool nor model, or
 *     a NULL pointer with a length; #LBROUTE_ERR_RANGE for token counts below
 *     -1, too many exclusions, too long a lookup or a priority that there is
 *     not; #LBROUTE_ERR_BUSY when
 *     called from a scorer of the same router; #LBROUTE_ERR_NO_MEMORY;
 *     #LBROUTE_ERR_UNSUPPORTED. A call that fails moves no cursor, count or
 *     random generator (rejections, and what scorers did, are counted in the
 *     statistics).
 *
 * [any thread]. No allocation once warm, but for the copy of a request that
 * waits; a prompt that is new to a
 * `cache_aware` or `pipeline` pool may take some within the budget, and without
 * memory only its head is remembered. Logarithmic in the pool's targets for the
 * load and weight rules; linear under `fastest`, `predicted_latency` and
 * `least_work` (and in the prompt under the last; `kv_aware` is linear in the
 * prompt and, where it falls back to `least_work`, in the targets), when a
 * filter depends on the request (exclusions, models, token limits) or on
 * rejection. `cache_aware` is linear in the prompt and, where no target knows
 * enough of it, in the pool's targets; `pipeline` and `adaptive` in both,
 * `cheapest` in the targets, `lora_aware` with an adapter in the targets,
 * `lmcache_aware` in the targets and the lookup. Scorers of the host run in the
 * calling thread, without the router's lock; see lbroute_scorer_register().
 */
int lbroute_pick(lbroute_router *router, const lbroute_request *request,
                 uint64_t now, lbroute_decision *decision);

/** How a candidate fared. Fill with lbroute_candidate_init(). */
typedef struct lbroute_candidate {
    size_t size;              /**< sizeof this struct. */
    lbroute_target target;    /**< The candidate. */
    int32_t verdict;          /**< `LBROUTE_REASON_`, NONE if eligible. */
    int32_t in_window;        /**< 1: inside the least-busy window. */
    uint32_t in_flight;       /**< Own requests in flight. */
    uint32_t max_concurrency; /**< 0: no limit. */
    double weight;            /**< Effective weight (slow start applied). */
    double load;              /**< In flight and what others run there. */
    double relative_load;     /**< load / weight; NaN for weight 0. */
    double score; /**< What the rule ranks by; NaN if it does not. */
    /** As in the decision; scorers see it before prompts were compared. */
    int64_t expected_cost_pusd;
    int64_t expected_ttft_ns;  /**< As in the decision; -1: unknown. */
    int64_t expected_total_ns; /**< Likewise. */
    int64_t kv_blocks[4];      /**< As in the decision. */
    int32_t kv_state;          /**< As in the decision. */
    uint32_t reserved0;        /**< Zero. */
} lbroute_candidate;

/**
 * Prepares a candidate for lbroute_explain().
 *
 * @param candidate the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_candidate) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_candidate_init(lbroute_candidate *candidate, size_t size);

/**
 * Gives the answer that lbroute_pick() would give now, with every candidate's
 * verdict, and changes nothing: no slot, cursor, generator or clock. Scorers of
 * the host are asked as by a pick, and not counted.
 *
 * @param router the router.
 * @param request as for lbroute_pick().
 * @param now time, ns.
 * @param decision receives the answer, without a ticket.
 * @param candidates array of `capacity` structs, each prepared by
 *     lbroute_candidate_init() with the same size; may be NULL if 0.
 * @param capacity how many fit.
 * @param count receives the number of candidates, also when it is above
 *     `capacity` (the rest was left out); may be NULL.
 * @return as lbroute_pick(); on #LBROUTE_ERR_QUEUED without a place.
 *
 * [any thread], linear in the candidates.
 */
int lbroute_explain(lbroute_router *router, const lbroute_request *request,
                    uint64_t now, lbroute_decision *decision,
                    lbroute_candidate *candidates, size_t capacity,
                    size_t *count);

/** What became of a request. Fill with lbroute_event_init(). */
typedef struct lbroute_event {
    size_t size;           /**< sizeof this struct; set by the init function. */
    lbroute_ticket ticket; /**< From the decision. */
    int32_t kind;          /**< A `LBROUTE_EVENT_` value. */
    int32_t reserved0;     /**< Zero. */
    /** What the host measured, ns: time to the first token on FIRST_TOKEN, the
     * whole time on SUCCESS, not read on others. -1 (default): from the pick
     * to `now`. 0 was not measured and teaches nothing. */
    int64_t latency_ns;
    /** Usage as the engine reported it on SUCCESS, tokens; -1 (default):
     * unknown. Input counts the cached part, too. */
    int64_t input_tokens;
    int64_t cached_tokens; /**< Of the input, found in its cache. */
    int64_t output_tokens; /**< Of the answer. */
    /** On OVERLOAD what the target's Retry-After says, ns from `now`: it counts
     * as full until then, but for `admission.retry_max` at most. -1 (default):
     * unknown; its load only counts more for a while. */
    int64_t retry_after_ns;
} lbroute_event;

/**
 * Fills in the defaults (no ticket, kind 0, latency, usage and retry -1).
 *
 * @param event the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_event) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_event_init(lbroute_event *event, size_t size);

/**
 * Tells the router what became of a picked request. FIRST_TOKEN keeps the
 * ticket open; every other kind settles it and releases its slot.
 *
 * Under the strategies that learn latency, a SUCCESS teaches the target's total
 * time and, if a FIRST_TOKEN came before, the time to that. Under `least_work`,
 * and `kv_aware` with `kv_aware.fallback` 2, it teaches that time, if a
 * FIRST_TOKEN came before, then the time of each token by `output_tokens`, the
 * length of answers, and by `cached_tokens` what is left of prompts. No other
 * outcome teaches any: a target that fails fast does not look fast.
 *
 * There (and under `predicted_latency`, and scorers of predicted latency) a
 * request waits until its FIRST_TOKEN, and once that is overdue its target
 * counts as late. An answer that is no stream shows none before it is complete:
 * report FIRST_TOKEN of it, too, with `latency_ns` 0, which teaches nothing,
 * when the decision's `expected_ttft_ns` is over (at once where that is -1),
 * or, with what was measured, when its body begins before that. Else its target
 * is shunned while it writes.
 *
 * @param router the router.
 * @param event ticket, kind, and what was measured.
 * @param now time, ns.
 * @return 0; #LBROUTE_ERR_NOT_FOUND for a ticket that was settled, expired or
 *     never existed (nothing happens); #LBROUTE_ERR_INVALID for NULL or an
 *     unknown kind. With an unknown kind an open ticket is settled all the
 *     same, as CANCEL would: a slot that leaks is the greater harm.
 *     #LBROUTE_ERR_RANGE for a latency, count or time below -1: the event
 *     counts all the same, but the bad number is taken for one that was not
 *     measured.
 *
 * [any thread]. No allocation once warm. Logarithmic in the pool's targets.
 */
int lbroute_observe(lbroute_router *router, const lbroute_event *event,
                    uint64_t now);

/**
 * Hands out the next waiting request that can go, or that never will. Call it
 * after every lbroute_pick() with result #LBROUTE_ERR_QUEUED, and after every
 * call that may free a slot (a settled ticket, a target added, restored or
 * changed, another parameter, lbroute_tick()), until it says
 * #LBROUTE_ERR_NOT_FOUND. Every place ends once: here, or by
 * lbroute_place_cancel().
 *
 * Of the requests that wait for the same pool and tier, priority decides who
 * goes first; within a priority those clients whose requests have cost least
 * so far; for a client the oldest. See docs/capacity.md.
 *
 * @param router the router.
 * @param now time, ns.
 * @param decision receives the answer for the place that it names, as
 *     lbroute_pick() would give it now; prepared by lbroute_decision_init().
 *     `wait_ns` is how long the request has waited.
 * @return 0: the request goes, the decision has target and ticket;
 *     #LBROUTE_ERR_SATURATED: it waited too long (reason QUEUE_TIMEOUT or
 *     DEADLINE), or #LBROUTE_ERR_NO_TARGET: nobody may take it any more; either
 *     way its place is gone, answer its client; #LBROUTE_ERR_NOT_FOUND: nobody
 *     can go now. #LBROUTE_ERR_LIMIT at `max_tickets`, #LBROUTE_ERR_NO_MEMORY,
 *     #LBROUTE_ERR_BUSY (as lbroute_pick()): all wait on.
 *     #LBROUTE_ERR_INVALID.
 *
 * [any thread]. Constant time when nobody can go; else as lbroute_pick(), for
 * up to 64 requests that the free slots do not suit.
 */
int lbroute_next_ready(lbroute_router *router, uint64_t now,
                       lbroute_decision *decision);

/**
 * Gives up a request that waits: its client went away.
 *
 * @param router the router.
 * @param place its place.
 * @param now time, ns.
 * @return 0: it will not be handed out; #LBROUTE_ERR_NOT_FOUND: it already was,
 *     or was given up (settle its ticket by CANCEL, if it has one);
 *     #LBROUTE_ERR_INVALID.
 *
 * [any thread], logarithmic in those that wait.
 */
int lbroute_place_cancel(lbroute_router *router, lbroute_place place,
                         uint64_t now);

/**
 * Lets time pass: releases the slots of expired tickets and ends the waiting of
 * requests whose time is over. lbroute_pick(), lbroute_observe() and
 * lbroute_next_ready() do it too; only hosts that idle need this.
 *
 * @param router the router.
 * @param now time, ns.
 * @return 0; #LBROUTE_ERR_INVALID for NULL.
 *
 * [any thread], linear in what expires.
 */
int lbroute_tick(lbroute_router *router, uint64_t now);

/**
 * The time at which lbroute_tick() and, where requests wait,
 * lbroute_next_ready() have something to do; the latest time seen if the latter
 * has now.
 *
 * @param router the router.
 * @return ns, or UINT64_MAX when nothing is pending or for NULL.
 *
 * [any thread], constant time.
 */
uint64_t lbroute_next_deadline(lbroute_router *router);

/**
 * Writes one response header that describes a decision: Server, Pool, Weight,
 * In-Flight, Wait-Ms, Algorithm, Sticky, Prefix, Reject-Reason, Kv-Blocks,
 * Kv-State, Queue-Ahead, as far as the decision knows them, each name after the
 * router's header prefix. Bytes above 126 are percent-escaped; control
 * characters cannot occur.
 *
 * @param router the router (for the prefix).
 * @param decision from lbroute_pick() or lbroute_explain().
 * @param index 0, 1, 2, … up to the first #LBROUTE_ERR_NOT_FOUND.
 * @param name buffer for the zero-terminated header name.
 * @param name_capacity its size, bytes.
 * @param name_len receives the length without the terminator, also on
 *     #LBROUTE_ERR_BUFFER.
 * @param value buffer for the zero-terminated header value.
 * @param value_capacity its size, bytes.
 * @param value_len receives the length without the terminator, also on
 *     #LBROUTE_ERR_BUFFER.
 * @return 0; #LBROUTE_ERR_NOT_FOUND past the last header; #LBROUTE_ERR_BUFFER
 *     when one of the buffers is smaller than its length + 1 (nothing was
 *     written to either); #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time, without the lock.
 */
int lbroute_decision_header(lbroute_router *router,
                            const lbroute_decision *decision, size_t index,
                            char *name, size_t name_capacity, size_t *name_len,
                            char *value, size_t value_capacity,
                            size_t *value_len);

/**
 * Switches every `adaptive` pool of the router off or on, from the next pick
 * on. Off, such a pool is a `pipeline`: it makes the choices that a pipeline
 * would, by the same random numbers, and names its rules. What was learned is
 * kept, and learning goes on.
 *
 * @param router the router.
 * @param enabled 1 (as created) or 0.
 * @return 0; #LBROUTE_ERR_INVALID for NULL or an `enabled` that is neither 0
 *     nor 1 (nothing changes).
 *
 * [any thread], constant time.
 */
int lbroute_set_adaptive(lbroute_router *router, int enabled);

/**
 * Reads the switch of lbroute_set_adaptive().
 *
 * @param router the router.
 * @param enabled receives 1 or 0.
 * @return 0; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time, no effect.
 */
int lbroute_get_adaptive(lbroute_router *router, int *enabled);

/** @} */
/** @defgroup scorers Scorers and filters of the host
 * @{ */

/** What a scorer does. */
enum {
    /** Its scores, times its weight, count among those of the pipeline. */
    LBROUTE_SCORER_SCORER = 0,
    /** Only targets with a score above 0 stay in. */
    LBROUTE_SCORER_FILTER = 1,
    LBROUTE_SCORER_COUNT = 2 /**< Number of kinds. */
};

/** What a scorer is asked. Filled by the library; lives during the call. */
typedef struct lbroute_score_request {
    size_t size;           /**< sizeof this struct as the library knows it. */
    lbroute_scorer scorer; /**< Who is asked. */
    lbroute_pool pool;     /**< Whose targets the candidates are. */
    /** The request, completed with defaults if its caller's was shorter. */
    const lbroute_request *request;
    uint64_t now;       /**< Time of the pick as the router reads it, ns. */
    int32_t explaining; /**< 1: lbroute_explain() asks. */
    int32_t reserved0;  /**< Zero. */
} lbroute_score_request;

/** A scorer or filter to register. Fill with lbroute_scorer_options_init(). */
typedef struct lbroute_scorer_options {
    size_t size;       /**< sizeof this struct; set by the init function. */
    const char *name;  /**< Unique in the pool; no control characters. */
    size_t name_len;   /**< 1 to #LBROUTE_NAME_MAX. */
    int32_t kind;      /**< A `LBROUTE_SCORER_` value (SCORER). */
    int32_t reserved0; /**< Zero. */
    /** What the scores are multiplied by, 0 to 1,000 (1.0). The weight of a
     * filter has no meaning, but that 0 turns it off, as it does a scorer. */
    double weight;
    /**
     * Scores all candidates of a pick in one call. Required.
     *
     * `candidates` holds `count` (at least 1) eligible targets that every
     * earlier filter has kept; `score` of each is NaN. They are
     * `candidates[0].size` bytes apart: sizeof(lbroute_candidate), unless the
     * library is newer than the caller. `scores` receives a number for each,
     * 0 worst to 1 best; others are cut off there. It comes filled with NaN.
     *
     * Returns 0. Anything else, and any score that is NaN or infinite, takes
     * the whole stage out of this pick: it adds nothing, filters nobody, and
     * is counted.
     *
     * Called without the router's lock, by several threads at once where
     * several threads pick. It must return (no longjmp, no exception) and may
     * call everything but lbroute_pick() and lbroute_explain() on the same
     * router, which refuse (#LBROUTE_ERR_BUSY), and lbroute_router_destroy().
     */
    int (*score)(void *user, const lbroute_score_request *request,
                 const lbroute_candidate *candidates, size_t count,
                 double *scores);
    /** Frees `user`; NULL: nothing to free. Called once, without the lock, when
     * no call of `score` will run any more. Must not call the router. */
    void (*destroy)(void *user);
    void *user; /**< Passed to both (NULL). */
} lbroute_scorer_options;

/**
 * Fills in the defaults: no name, kind SCORER, weight 1, no functions.
 *
 * @param options the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_scorer_options) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_scorer_options_init(lbroute_scorer_options *options, size_t size);

/**
 * Adds a scorer or filter to a pool. It takes part from the next pick on while
 * the pool's strategy is `pipeline`, after those registered before it; filters
 * go before scorers. An `adaptive` pool asks them too, and heeds the filters
 * always, the scorers while it acts as a pipeline.
 *
 * `user` belongs to the router from this call on, whatever it returns: where
 * it fails, `destroy` has run when it returns. The one exception is `options`
 * that cannot be read (NULL, or a bad size).
 *
 * @param router the router.
 * @param pool the pool.
 * @param options copied.
 * @param scorer receives the handle; on #LBROUTE_ERR_EXISTS that of the pool's
 *     scorer which has the name.
 * @return 0; #LBROUTE_ERR_EXISTS (remove that one first);
 *     #LBROUTE_ERR_NAME for a bad name; #LBROUTE_ERR_RANGE for a weight that is
 *     NaN or outside 0…1,000; #LBROUTE_ERR_NOT_FOUND for a stale pool;
 *     #LBROUTE_ERR_LIMIT at `max_scorers`; #LBROUTE_ERR_INVALID for NULL, no
 *     `score` or an unknown kind; #LBROUTE_ERR_NO_MEMORY;
 *     #LBROUTE_ERR_UNSUPPORTED.
 *
 * [any thread], linear in the pool's scorers.
 */
int lbroute_scorer_register(lbroute_router *router, lbroute_pool pool,
                            const lbroute_scorer_options *options,
                            lbroute_scorer *scorer);

/**
 * Changes the weight of a scorer, from the next pick on. 0 turns it off: it is
 * not called.
 *
 * @param router the router.
 * @param scorer the scorer.
 * @param weight 0 to 1,000.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_RANGE (the old weight
 *     stays); #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time.
 */
int lbroute_scorer_set_weight(lbroute_router *router, lbroute_scorer scorer,
                              double weight);

/**
 * Removes a scorer. No pick that begins later calls it. One that is under way
 * in another thread, or that this call comes from, finishes first; the last of
 * them calls `destroy`, else this function does before it returns.
 *
 * @param router the router.
 * @param scorer the scorer.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time.
 */
int lbroute_scorer_remove(lbroute_router *router, lbroute_scorer scorer);

/**
 * Walks over the scorers. Safe while scorers are added and removed.
 *
 * @param router the router.
 * @param pool only scorers of this pool; 0 for all.
 * @param previous 0 to start, then the handle returned last (even if it has
 *     been removed since).
 * @param scorer receives the next handle.
 * @return 0; #LBROUTE_ERR_NOT_FOUND at the end or for a stale pool;
 *     #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time amortised over a walk of the router.
 */
int lbroute_scorer_next(lbroute_router *router, lbroute_pool pool,
                        lbroute_scorer previous, lbroute_scorer *scorer);

/** Settings and counts of a scorer. Fill with lbroute_scorer_stats_init(). */
typedef struct lbroute_scorer_stats {
    size_t size;         /**< sizeof this struct. */
    lbroute_pool pool;   /**< Its pool. */
    int32_t kind;        /**< A `LBROUTE_SCORER_` value. */
    uint32_t name_len;   /**< Length of `name`. */
    double weight;       /**< Weight now. */
    uint64_t calls;      /**< Calls by picks that have ended. */
    uint64_t errors;     /**< Of these, with a result that is not 0. */
    uint64_t not_finite; /**< Of these, with 0 and a score that is NaN or
                          * infinite. */
    char name[256];      /**< Zero-terminated copy. */
} lbroute_scorer_stats;

/**
 * Prepares the struct for lbroute_get_scorer_stats().
 *
 * @param stats the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_scorer_stats) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_scorer_stats_init(lbroute_scorer_stats *stats, size_t size);

/**
 * Reads settings and counts of a scorer.
 *
 * @param router the router.
 * @param scorer the scorer.
 * @param stats receives copies; prepared by lbroute_scorer_stats_init().
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time, no effect.
 */
int lbroute_get_scorer_stats(lbroute_router *router, lbroute_scorer scorer,
                             lbroute_scorer_stats *stats);

/** @} */
/** @defgroup stats Statistics
 * @{ */

/** Counts of a router. Fill with lbroute_stats_init(). */
typedef struct lbroute_stats {
    size_t size;             /**< sizeof this struct. */
    uint64_t picks;          /**< Successful picks. */
    uint64_t rejections[16]; /**< Rejected picks, by the decision's reason. */
    uint64_t settled[16];    /**< Settled tickets, by event kind; index 0:
                              * unknown kinds. */
    uint64_t expired;        /**< Tickets that ran out unsettled. */
    uint64_t open_tickets;   /**< Tickets open now. */
    uint64_t orphan_tickets; /**< Of these, on targets removed since. */
    uint64_t sessions;       /**< Sessions pinned now, expired ones that were
                              * not yet reclaimed included. */
    uint64_t pools;          /**< Pools now. */
    uint64_t targets;        /**< Targets now. */
    uint64_t memory_bytes;   /**< Memory held now. */
    uint64_t allocations;    /**< Calls of `allocate` so far. */
    uint64_t prices;         /**< Prices now. */
    uint64_t kv_blocks;      /**< Blocks known from KV events, each once for
                              * every source that holds it. */
    uint64_t kv_contents;    /**< Different blocks that there is memory for;
                              * more than among these while what is cleared is
                              * being taken away. */
    uint64_t kv_sources;     /**< Sources of events now. */
    uint64_t kv_evicted;     /**< Blocks that made room for others. */
    uint64_t waiting;        /**< Requests that wait now. */
    uint64_t waiting_bytes;  /**< Memory of their copies. */
    uint64_t places;         /**< Places now: these, and those whose end was not
                              * yet reported by lbroute_next_ready(). */
    uint64_t queued;         /**< Requests that ever waited. */
    uint64_t queue_served;   /**< Of these, got a slot. */
    uint64_t queue_timeouts; /**< Waited too long. */
    uint64_t queue_cancelled; /**< Were given up by the host. */
    uint64_t queue_refused;   /**< Found nobody any more who may take them. */
} lbroute_stats;

/**
 * Prepares the struct for lbroute_get_stats().
 *
 * @param stats the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_stats) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_stats_init(lbroute_stats *stats, size_t size);

/**
 * Reads the counts of a router as of its last call with a time.
 *
 * @param router the router.
 * @param stats receives the counts.
 * @return 0; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time, no effect.
 */
int lbroute_get_stats(lbroute_router *router, lbroute_stats *stats);

/** Capacity of a pool. Fill with lbroute_pool_stats_init(). */
typedef struct lbroute_pool_stats {
    size_t size;           /**< sizeof this struct. */
    int32_t mode;          /**< `LBROUTE_ADMISSION_` mode. */
    int32_t busy;          /**< 1: a hybrid pool, and busy. */
    uint64_t mode_changes; /**< How often a hybrid pool became busy or quiet. */
    double arrivals;    /**< Of a hybrid pool, requests per second as it counts
                         * them; NaN in other modes. */
    uint64_t in_flight; /**< Requests in flight on its targets. */
    uint64_t limit;     /**< Sum of the limits in force; a target without one
                         * does not count. */
    uint64_t waiting;   /**< Requests that wait for its targets. */
    /** Time between two ends of a request now, ns: what a free slot is expected
     * to take; NaN: unknown. */
    double slot_gap_ns;
    uint64_t queued;          /**< Requests that ever waited for the pool. */
    uint64_t queue_served;    /**< Of these, got a slot. */
    uint64_t queue_timeouts;  /**< Waited too long. */
    uint64_t queue_cancelled; /**< Were given up by the host. */
    uint64_t queue_refused;   /**< Found nobody any more who may take them. */
} lbroute_pool_stats;

/**
 * Prepares the struct for lbroute_get_pool_stats().
 *
 * @param stats the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_pool_stats) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_pool_stats_init(lbroute_pool_stats *stats, size_t size);

/**
 * Reads the capacity of a pool as of the router's latest call with a time.
 *
 * @param router the router.
 * @param pool the pool.
 * @param stats receives copies; prepared by lbroute_pool_stats_init().
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], linear in the pool's targets, no effect.
 */
int lbroute_get_pool_stats(lbroute_router *router, lbroute_pool pool,
                           lbroute_pool_stats *stats);

/** Counts and state of a target. Fill with lbroute_target_stats_init(). */
typedef struct lbroute_target_stats {
    size_t size;              /**< sizeof this struct. */
    uint64_t picks;           /**< Requests sent to it. */
    uint64_t settled[16];     /**< Settled, by event kind; 0: unknown kinds. */
    uint64_t expired;         /**< Ran out unsettled. */
    uint32_t in_flight;       /**< Own requests in flight. */
    uint32_t failures_in_row; /**< Since the last success. */
    uint32_t benches_in_row;  /**< Benches without a success between. */
    int32_t benched;          /**< 1: on the bench at `now`. */
    int32_t on_trial;         /**< 1: off the bench, no success yet. */
    int32_t reserved0;        /**< Zero. */
    int64_t bench_left_ns;    /**< Time to the end of the bench; 0: none. */
    double weight;            /**< Effective weight at `now`. */
    double load;              /**< Own and others' requests at `now`. */
    double others;            /**< What others run there, the mean of the pool
                               * where unknown. */
    double gauges[8];         /**< By `LBROUTE_GAUGE_`; NaN: unknown or older
                               * than two TTLs. */
    int64_t gauge_age_ns[8];  /**< Age of each gauge; -1: never reported. */
    uint64_t prefix_bytes;    /**< Memory that the prompts remembered of it
                               * count for, bytes. */
    uint64_t prefix_blocks;   /**< Blocks remembered under `kv_aware` or
                               * `least_work`. */
    uint64_t prefix_evicted;  /**< Blocks that made room since then. */
    double occupancy;         /**< By lbroute_set_occupancy(); NaN: unknown, or
                               * older than `lmcache_aware.ttl`. */
    int64_t occupancy_age_ns; /**< Age of that report; -1: none. */
    int32_t cache_available;  /**< 1, 0; -1: unknown, or the report is too
                               * old. */
    int32_t cache_stale;      /**< 1: there was a report, but too long ago. */
    int32_t max_adapters;     /**< Adapters that it can hold; -1: unknown. */
    uint32_t adapters;        /**< Adapters taken to be held at `now`. */
    uint64_t input_tokens;    /**< Sum of what successes reported. */
    uint64_t cached_tokens;   /**< Likewise. */
    uint64_t output_tokens;   /**< Likewise. */
    /** Uncached input of own requests without a first token, tokens. 0 under
     * strategies that learn no latency. */
    uint64_t pending_tokens;
    uint32_t pending_requests; /**< Their number. */
    /** `LBROUTE_KV_SOURCE_` of its sources of KV events: fresh if one is, else
     * the state of the latest to be heard of. */
    int32_t kv_state;
    uint64_t kv_blocks; /**< Blocks resident there by KV events. */
    int64_t kv_age_ns;  /**< Since the latest batch; -1: none ever. */
    /** Time for which it still counts as full because it said so, ns. */
    int64_t retry_left_ns;
    uint32_t limit; /**< The limit in force: its own, or what the pool's mode
                     * of admission makes of it; 0: none. */
    uint32_t reserved1; /**< Zero. */
} lbroute_target_stats;

/**
 * Prepares the struct for lbroute_get_target_stats().
 *
 * @param stats the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_target_stats) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_target_stats_init(lbroute_target_stats *stats, size_t size);

/**
 * Reads counts and state of a target at a time, without effect.
 *
 * @param router the router.
 * @param target the target.
 * @param now time, ns.
 * @param stats receives the state.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], linear in the pool's targets (for the mean load).
 */
int lbroute_get_target_stats(lbroute_router *router, lbroute_target target,
                             uint64_t now, lbroute_target_stats *stats);

/** What was learned of a target's latency. Fill with
 * lbroute_latency_model_init(). */
typedef struct lbroute_latency_model {
    size_t size;       /**< sizeof this struct. */
    uint64_t samples;  /**< Answers that taught it. */
    int32_t known;     /**< 1: there are enough (8) to predict from. */
    int32_t reserved0; /**< Zero. */
    /** latency = base + per_queue × queue + per_input × input, ns, with work in
     * kilotokens of uncached input, and at least `least_ns`. The slopes are not
     * below 0; the base may be. NaN without samples. */
    double base_ns;
    double per_queue_ns; /**< For each kilotoken that waits before it. */
    double per_input_ns; /**< For each kilotoken of its own. */
    /** Median of the relative errors of its predictions; NaN without two
     * samples. */
    double residual;
    double ewma_ns; /**< Moving average, what `fastest` ranks by; NaN without
                     * samples. */
    int64_t age_ns; /**< Time since the latest sample, ns; -1: none. */
    /** Kilotokens that wait there at `now`, own and others'. */
    double queue;
    double least_ns; /**< The least that is predicted; NaN without samples. */
} lbroute_latency_model;

/**
 * Prepares the struct for lbroute_get_latency_model().
 *
 * @param model the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_latency_model) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_latency_model_init(lbroute_latency_model *model, size_t size);

/**
 * Reads what was learned of a target's latency. Only the strategies `fastest`,
 * `predicted_latency`, `adaptive` and `pipeline` learn it; under others all is
 * as it was when the pool last had one of these. `least_work` has its own
 * (lbroute_get_work_model()).
 *
 * @param router the router.
 * @param target the target.
 * @param kind a `LBROUTE_LATENCY_` value.
 * @param now time, ns.
 * @param model receives copies; prepared by lbroute_latency_model_init().
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID for NULL or an
 *     unknown kind.
 *
 * [any thread], linear in the pool's targets, no effect.
 */
int lbroute_get_latency_model(lbroute_router *router, lbroute_target target,
                              int kind, uint64_t now,
                              lbroute_latency_model *model);

/** What `least_work` goes by at a target: what the target's pool (its part of
 * one tier) has learned, and how the target compares. Arrays are by
 * `LBROUTE_WORK_` kind. Fill with lbroute_work_model_init(). */
typedef struct lbroute_work_model {
    size_t size;         /**< sizeof this struct. */
    uint64_t samples[2]; /**< Answers of all targets that taught the times. */
    int32_t known[2];    /**< 1: there are enough (8) to judge by. */
    /** A target as quick as most needs, ns, `base + per_running × requests
     * that run there + per_kilotoken × kilotokens of prompts to compute`, and
     * at least `least`. The slopes are not below 0; the base may be. NaN
     * without samples. A token costs no kilotokens: that slope is 0. */
    double base_ns[2];
    double per_running_ns[2];   /**< For each request that runs there. */
    double per_kilotoken_ns[2]; /**< For each kilotoken that must be computed
                                 * first: what waits there, and its own. */
    double least_ns[2];         /**< The least that is expected. */
    /** This target's times as a multiple of those; 1 unless it is beyond doubt
     * that they differ. */
    double slowness[2];
    double measured[2];      /**< The same as measured, doubt or not. */
    double evidence[2];      /**< Answers that it rests on, 8 to begin with, at
                              * most 64. */
    double spread[2];        /**< How far single answers are from what is
                              * expected: root mean square of the logarithms,
                              * over all targets. */
    double output_tokens;    /**< Mean length of an answer; NaN: unknown. */
    double input_kilotokens; /**< Mean of the prompts as far as they had to be
                              * computed: what a request of unknown length, and
                              * each that waits by a gauge, counts for. */
    /** Part of the tokens expected in caches that engines did not find there,
     * from 0 to 1; NaN: nobody has said. */
    double gone;
    double eviction;   /**< Factor of the request's own kilotokens for what they
                        * drive out of the cache: 1 + e. */
    double sharing_ns; /**< What each request that runs there adds for
                        * the others' sake. */
    double
        pending_kilotokens; /**< What waits there at `now`, own and others'. */
    double running;         /**< Requests there at `now`, own and others', and
                             * what a refusal counts for. */
    /** By how much the first token of the oldest own request that waits for one
     * is overdue at `now`; counts once the times of first tokens are known. */
    double late_ns;
} lbroute_work_model;

/**
 * Prepares the struct for lbroute_get_work_model().
 *
 * @param model the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_work_model) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_work_model_init(lbroute_work_model *model, size_t size);

/**
 * Reads what `least_work` goes by at a target. It is learned under that
 * strategy, and under `kv_aware` with `kv_aware.fallback` 2; under others all
 * is as it was when the pool last had one of these.
 *
 * @param router the router.
 * @param target the target. Of one that is in no pool nothing is known.
 * @param now time, ns.
 * @param model receives copies; prepared by lbroute_work_model_init().
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], linear in the pool's targets, no effect.
 */
int lbroute_get_work_model(lbroute_router *router, lbroute_target target,
                           uint64_t now, lbroute_work_model *model);

/** What a target remembers on behalf of a client under `kv_aware` (and
 * `least_work`). Fill with
 * lbroute_client_share_init(). */
typedef struct lbroute_client_share {
    size_t size; /**< sizeof this struct. */
    /** Keyed digest as of lbroute_client_digest(); 0: requests without a
     * client, and clients beyond `kv_aware.clients`. */
    uint64_t client;
    /** Blocks that it accounts for; what several clients use on the target is
     * split among them. */
    double blocks;
    /** Blocks that it is guaranteed now; 0 when it was silent for
     * `kv_aware.client_idle`. */
    double share;
    uint64_t evicted; /**< Blocks that it lost. */
    int64_t idle_ns;  /**< Time since its last request there, ns. */
} lbroute_client_share;

/**
 * Prepares a row for lbroute_target_clients().
 *
 * @param share the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_client_share) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_client_share_init(lbroute_client_share *share, size_t size);

/**
 * Lists who holds what of a target's memory of prompts. Other strategies than
 * `kv_aware` tell no clients apart: then there is no row.
 *
 * @param router the router.
 * @param target the target.
 * @param now time, ns.
 * @param shares array of `capacity` structs, each prepared by
 *     lbroute_client_share_init() with the same size; may be NULL if 0. In no
 *     particular order.
 * @param capacity how many fit.
 * @param count receives the number of clients, also when it is above
 *     `capacity` (the rest was left out); may be NULL.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], linear in the clients, no effect.
 */
int lbroute_target_clients(lbroute_router *router, lbroute_target target,
                           uint64_t now, lbroute_client_share *shares,
                           size_t capacity, size_t *count);

/**
 * The keyed one-way digest under which a client appears in reports, for hosts
 * that want to label them.
 *
 * @param router the router (for the key).
 * @param client as in `lbroute_request.client`.
 * @param client_len its length, at least 1.
 * @param digest receives it, never 0.
 * @return 0; #LBROUTE_ERR_INVALID for NULL or an empty client.
 *
 * [any thread], linear in the length, without the lock.
 */
int lbroute_client_digest(lbroute_router *router, const void *client,
                          size_t client_len, uint64_t *digest);

/** What kept a target from its share. */
enum {
    LBROUTE_CAUSE_BENCHED = 1, /**< Bit: was benched within the window. */
    LBROUTE_CAUSE_FULL = 2,    /**< Bit: was full within the window. */
    LBROUTE_CAUSE_DRAINED = 4  /**< Bit: was draining within the window. */
};

/** Share of a target in its pool's traffic. Fill with lbroute_share_init(). */
typedef struct lbroute_share {
    size_t size;           /**< sizeof this struct. */
    lbroute_target target; /**< The target. */
    uint64_t requests;     /**< Sent to it within the window. */
    double configured;     /**< weight / sum of the pool's weights. */
    double dispatched;     /**< Its part of the requests sent; NaN: none. */
    /** dispatched / configured - 1; NaN where either is unknown or the
     * configured share is 0. */
    double drift;
    int32_t flagged; /**< 1: the strategy promises shares by weight and
                      * the drift is beyond 10 % and two requests. */
    uint32_t causes; /**< `LBROUTE_CAUSE_` bits seen in the window. */
} lbroute_share;

/**
 * Prepares a share for lbroute_pool_shares().
 *
 * @param share the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_share) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_share_init(lbroute_share *share, size_t size);

/**
 * Compares what each target of a pool got with what its weight promises, over
 * the pool's `shares.window`.
 *
 * Only `weighted`, `round_robin` and `random` promise shares; under the other
 * strategies a drift is normal and never flagged. `round_robin` and `random`
 * promise equal ones, so `configured` is 1 / targets there.
 *
 * @param router the router.
 * @param pool the pool.
 * @param now time, ns.
 * @param shares array of `capacity` structs, each prepared by
 *     lbroute_share_init() with the same size; may be NULL if 0.
 * @param capacity how many fit.
 * @param count receives the number of targets, also when it is above
 *     `capacity`; may be NULL.
 * @return 0; #LBROUTE_ERR_NOT_FOUND; #LBROUTE_ERR_INVALID.
 *
 * [any thread], linear in the pool's targets, no effect.
 */
int lbroute_pool_shares(lbroute_router *router, lbroute_pool pool, uint64_t now,
                        lbroute_share *shares, size_t capacity, size_t *count);

/** @} */
/** @defgroup snapshots Snapshots
 * What a router has learned, as bytes: so that a gateway that is restarted goes
 * on where it stopped. See `docs/snapshots.md`.
 * @{ */

/** What lbroute_restore() found and took over. Fill with
 * lbroute_restore_result_init(). */
typedef struct lbroute_restore_result {
    size_t size; /**< sizeof this struct. */
    /** Targets that the router has by the same name and that nothing was sent
     * to yet: what was known of them is known again. */
    uint32_t targets;
    /** Targets that the router does not have. What was known of them is not
     * restored. */
    uint32_t targets_unknown;
    /** Targets that something was sent to already: what the router has learned
     * of them itself holds. */
    uint32_t targets_kept;
    /** Parts of the snapshot of a kind or version that this library does not
     * know; they were passed over. */
    uint32_t sections_skipped;
    /** 1: digests of sessions and clients were made with this router's key. 0:
     * with another one, and so nobody is recognised: sessions and KV events
     * are not restored, and prompts not told apart by client. */
    int32_t same_key;
    uint32_t reserved0; /**< 0. */
    /** Bytes of prompts (8 for each block hash) that targets hold again; what
     * several hold counts for each. */
    uint64_t prefix_bytes;
    uint64_t prefix_bytes_skipped; /**< Those for which there is no room, or no
                                    * target, or that are compared otherwise
                                    * now. */
    uint64_t sessions;             /**< Sessions that are pinned again. */
    uint64_t sessions_skipped;     /**< Those that are not. */
    uint64_t kv_sources;           /**< Sources of KV events that go on. */
    uint64_t kv_sources_skipped; /**< Those that do not: unknown target, or the
                                  * router has heard of them itself. */
    uint64_t kv_blocks;          /**< Blocks by KV events that are known. */
    uint64_t kv_blocks_skipped;  /**< Those that are not. */
    uint64_t prices;             /**< Prices that are known again. */
    uint64_t prices_skipped;     /**< Those that the router has already, or has
                                  * no room for. */
} lbroute_restore_result;

/**
 * Prepares a result for lbroute_restore().
 *
 * @param result the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_restore_result) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_restore_result_init(lbroute_restore_result *result, size_t size);

/**
 * Writes down what the router has learned: latency models, turns and shares,
 * health, adapters, prices, pins of sessions, remembered prompts, and what is
 * resident by KV events. Not what the host has configured (pools, targets,
 * parameters), nor requests in flight or waiting, nor counts, nor what engines
 * report every few seconds. Equal knowledge gives equal bytes, whatever the
 * order in which targets were added.
 *
 * The bytes hold parts of prompts as text where a pool compares text
 * (`cache_aware` unless `cache_aware.mode` says otherwise): keep them as you
 * keep prompts.
 *
 * @param router the router.
 * @param now time, ns. Times are written as ages at that time; it moves
 *     nothing.
 * @param bytes receives the snapshot; may be NULL if `capacity` is 0, to learn
 *     the length.
 * @param capacity how many bytes fit.
 * @param len receives the length, also with #LBROUTE_ERR_BUFFER. What is
 *     learned between two calls can make it longer: leave some room, or retry.
 * @return 0; #LBROUTE_ERR_BUFFER: it is longer, `bytes` hold nothing of use;
 *     #LBROUTE_ERR_NO_MEMORY; #LBROUTE_ERR_INVALID for NULL.
 *
 * [any thread], linear in what is remembered, and the lock is held: about a
 * millisecond for each megabyte. No effect. Meanwhile it takes memory beyond
 * lbroute_router_estimate(): 4 bytes for each of `max_kv_blocks` in use, 8 for
 * each target, pool and price.
 */
int lbroute_snapshot(lbroute_router *router, uint64_t now, void *bytes,
                     size_t capacity, size_t *len);

/**
 * Takes over what a snapshot says, into a router to which the host has added
 * its pools, targets and parameters: before the first pick, if all of it shall
 * be taken over. Targets are found by their names. What they are not used for
 * any more, and what the router has learned itself by now, is left out and
 * counted; so a snapshot may be restored again after more targets came.
 *
 * The bytes are checked in full before anything happens, whoever wrote them;
 * they hold nothing that could be executed. That they are a snapshot does not
 * say that they are true: keep them where only the gateway writes.
 *
 * @param router the router.
 * @param bytes the snapshot.
 * @param len its length.
 * @param now time, ns, by this router's clock, which need not be the one of the
 *     snapshot. What is older than that clock counts as being as old as it.
 * @param elapsed ns since the snapshot was made, by which everything is older;
 *     0: unknown, as if it had been made just now.
 * @param result receives what was found; prepared by
 *     lbroute_restore_result_init(), or NULL.
 * @return 0; #LBROUTE_ERR_FORMAT: the bytes are no snapshot, or were changed or
 *     cut short; #LBROUTE_ERR_UNSUPPORTED: one of a later format altogether;
 *     #LBROUTE_ERR_NO_MEMORY; #LBROUTE_ERR_INVALID for NULL. Whatever it is but
 *     0, nothing changed.
 *
 * [any thread], linear in the length. The bytes are checked without the lock;
 * it is held while they are taken over. Meanwhile it takes memory beyond
 * lbroute_router_estimate(): 56 bytes for each part of a prompt that differs,
 * 4 for each block, 24 for each target.
 */
int lbroute_restore(lbroute_router *router, const void *bytes, size_t len,
                    uint64_t now, uint64_t elapsed,
                    lbroute_restore_result *result);

/** @} */
/** @defgroup deltas Deltas between routers
 * Several gateways in front of one fleet tell each other what they send where:
 * bytes that one router writes and all others read, carried by the host. See
 * `docs/deltas.md`.
 * @{ */

/** What lbroute_delta_apply() found and took over. Fill with
 * lbroute_delta_result_init(). */
typedef struct lbroute_delta_result {
    size_t size;       /**< sizeof this struct. */
    uint64_t origin;   /**< `lbroute_router_options.origin` of its router. */
    uint64_t sequence; /**< Which of that router's deltas it is, from 1. */
    /** Deltas of that router, of the 64 before this one, that have not come:
     * lost, or under way. What they told of prompts and sessions is not known
     * here; the loads are, by this one. */
    uint32_t missing;
    int32_t own; /**< 1: this router wrote it itself; nothing was done. */
    /** 1: it was applied before, or is older than the latest 64; nothing was
     * done. */
    int32_t repeated;
    /** 1: a later one had come before, or it is older than `peer_ttl`: its
     * loads are no news. The rest was taken over. */
    int32_t overtaken;
    /** 1: digests of sessions and clients were made with this router's key. 0:
     * with another one: sessions are not taken over, and prompts not told apart
     * by client. */
    int32_t same_key;
    /** Parts of a kind or version that this library does not know; they were
     * passed over. */
    uint32_t sections_skipped;
    uint32_t targets;         /**< Targets of which it tells … */
    uint32_t targets_unknown; /**< … that this router does not have. */
    uint64_t prompts;         /**< Prompts that targets are known to have. */
    /** Those of unknown targets, or that are compared otherwise here. */
    uint64_t prompts_skipped;
    uint64_t sessions;         /**< Sessions that were pinned, or stay so. */
    uint64_t sessions_skipped; /**< Those that were not: unknown target, another
                                * key, or a later pin is known. */
} lbroute_delta_result;

/**
 * Prepares a result for lbroute_delta_apply().
 *
 * @param result the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_delta_result) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_delta_result_init(lbroute_delta_result *result, size_t size);

/** Counts of deltas. Fill with lbroute_delta_stats_init(). */
typedef struct lbroute_delta_stats {
    size_t size;       /**< sizeof this struct. */
    uint64_t origin;   /**< This router's, drawn or given. */
    uint64_t exported; /**< Deltas written. */
    uint64_t pending;  /**< Prompts and sessions for the next deltas. */
    /** Those that were given up because `max_delta_bytes` was full before they
     * were collected. */
    uint64_t dropped;
    uint64_t applied;   /**< Deltas of others that were news. */
    uint64_t repeated;  /**< Deltas that were not, or were this router's own. */
    uint32_t peers;     /**< Routers whose load counts now. */
    uint32_t reserved0; /**< 0. */
} lbroute_delta_stats;

/**
 * Prepares a struct for lbroute_get_delta_stats().
 *
 * @param stats the struct, at least `size` bytes; NULL does nothing.
 * @param size sizeof(lbroute_delta_stats) as the caller sees it.
 *
 * [pure], constant time.
 */
void lbroute_delta_stats_init(lbroute_delta_stats *stats, size_t size);

/**
 * Counts of deltas, written and applied.
 *
 * @param router the router.
 * @param now time, ns.
 * @param stats receives them; prepared by lbroute_delta_stats_init().
 * @return 0; #LBROUTE_ERR_INVALID.
 *
 * [any thread], constant time.
 */
int lbroute_get_delta_stats(lbroute_router *router, uint64_t now,
                            lbroute_delta_stats *stats);

/**
 * Writes down what other routers should know: how many requests, and how much
 * work before a first token, this router has on each target now, and its turns
 * in the weighted sequence; and which prompts it sent where, and which sessions
 * it pinned, since the last call. Of the latter as much as fits, oldest first:
 * call again while `lbroute_delta_stats.pending` is large, or with more room.
 * The host carries the bytes to all other routers, in any order, more than once
 * if need be: see lbroute_delta_apply(). What gets lost is not told again, but
 * for the loads, of which each delta has all.
 *
 * Call it every 5 to 500 ms, also when nothing happened: it is the sign of life
 * by which others keep counting this router's load.
 *
 * The bytes hold prompts as text where a pool compares text (`cache_aware`
 * unless `cache_aware.mode` says otherwise): keep them as you keep prompts.
 *
 * @param router the router.
 * @param now time, ns.
 * @param bytes receives the delta.
 * @param capacity how many bytes fit. 64 KiB do for 1,000 busy targets and some
 *     thousand prompts in hashes; more than 16 MiB are not used.
 * @param len receives the length; with #LBROUTE_ERR_BUFFER, what would do.
 * @return 0; #LBROUTE_ERR_BUFFER: the loads or the first prompt do not fit, and
 *     nothing changed: give it `*len` bytes; #LBROUTE_ERR_NO_MEMORY: nothing
 *     changed; #LBROUTE_ERR_INVALID for NULL.
 *
 * [any thread], linear in the targets and in what is written, and the lock is
 * held.
 */
int lbroute_delta_export(lbroute_router *router, uint64_t now, void *bytes,
                         size_t capacity, size_t *len);

/**
 * Takes over what another router wrote. Targets are found by their names, which
 * all routers must share, as they must share the digest key for sessions and
 * clients.
 *
 * Requests of other routers count as load from then on, in addition to what
 * engines report of anybody else; they count until the next delta of the same
 * router, at most for `lbroute_router_options.peer_ttl`. They do not count
 * against `max_concurrency`, nor as requests of clients. Targets are known to
 * have the prompts as if this router had sent them, and sessions are pinned
 * unless a later pin is known.
 *
 * Nothing goes wrong if a delta comes twice, late, in any order, or at the
 * router that wrote it: what a delta says is told with its router's own count,
 * of which the latest holds.
 *
 * The bytes are checked in full before anything happens, whoever wrote them.
 * That they are a delta does not say that they are true: take them from your
 * own routers alone.
 *
 * @param router the router.
 * @param bytes the delta.
 * @param len its length.
 * @param now time, ns, by this router's clock, which need not be the one of the
 *     other.
 * @param elapsed ns since the delta was written, as far as known; 0 if not.
 * What it says is older by that.
 * @param result receives what was found; prepared by
 *     lbroute_delta_result_init(), may be NULL.
 * @return 0; #LBROUTE_ERR_FORMAT: the bytes are no delta, or were changed or
 *     cut short; #LBROUTE_ERR_UNSUPPORTED: of a version that this library does
 *     not know; #LBROUTE_ERR_NO_MEMORY; #LBROUTE_ERR_INVALID. After an error
 *     nothing has changed.
 *
 * [any thread], linear in the delta and the prompts in it, and the lock is held
 * while they are taken over.
 */
int lbroute_delta_apply(lbroute_router *router, const void *bytes, size_t len,
                        uint64_t now, uint64_t elapsed,
                        lbroute_delta_result *result);

/** @} */

#ifdef __cplusplus
}
#endif

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

#endif
