/* SPDX-License-Identifier: MIT */
/*
 * The configuration of the gateway: one YAML file, read by libyaml, checked
 * against one table. proxy.example.yaml shows and describes every key.
 *
 *     file ──libyaml──▶ nodes with line and column ──table──▶ struct config
 *
 * A configuration never changes once it is read: a reload reads a new one and
 * applies the difference. Strings are owned by the configuration and never
 * NULL: what is not given is empty.
 */
#ifndef LBROUTE_PROXY_CONFIG_H
#define LBROUTE_PROXY_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** Where to listen. */
struct config_listen {
    char *address;
    uint16_t port;           /**< 0: any free one; it is printed. */
    char *certificate, *key; /**< PEM files; both or neither. */
};

struct config_limits {
    size_t header_bytes;  /**< Of a request (65,536). */
    size_t body_bytes;    /**< Of a request (33,554,432). */
    uint32_t connections; /**< Of clients at once (8,192). */
    size_t stream_buffer; /**< Bytes that a slow reader may lag behind before
                           * its engine is held back (262,144). */
};

/** Seconds. */
struct config_timeouts {
    double client;     /**< To send a request, and between two (60). */
    double write;      /**< A reader takes nothing (120). */
    double connect;    /**< To an engine (5). */
    double first_byte; /**< From an engine, from the request on (600). */
    double idle;       /**< Between two pieces of an answer (120). */
    double drain;      /**< To finish at SIGTERM (30). */
};

/** Names of request headers, lower case, in order of precedence. */
struct config_names {
    char **names;
    size_t count;
};

struct config_identity {
    struct config_names session;  /**< [x-session-id] */
    struct config_names client;   /**< [x-client-id, x-session-id]; then the
                                   * API key, by its keyed digest. */
    struct config_names tier;     /**< [x-tier] */
    struct config_names priority; /**< [x-priority] */
    struct config_names deadline; /**< [x-deadline-ms]: ms from arrival. */
};

struct config_parameter {
    char *name;
    double value;
    unsigned line;
};

struct config_pool {
    char *name;
    char *strategy;
    struct config_parameter *parameters;
    size_t parameter_count;
    unsigned line;
};

/** KV events of one publisher (one rank) of an engine. */
struct config_kv_source {
    char *events; /**< ZeroMQ endpoint to subscribe to. */
    char *replay; /**< Empty: no replay. */
};

struct config_target {
    char *name;
    char *pool; /**< Empty: reached by model name only. */
    char *url;  /**< As given; its parts follow. */
    bool tls;
    char *host;
    uint16_t port;
    char *base_path; /**< Without a trailing slash; often empty. */
    char *model;
    char *tier;
    char *price_key;
    double weight;
    uint32_t max_concurrency;
    uint64_t max_input_tokens;
    char *api_key_env;    /**< Variable whose value is sent as the engine's API
                           * key, instead of the client's; empty: the
                           * client's goes through. */
    char *metrics_path;   /**< ["/metrics"]; empty: not scraped. */
    char *tokenize_path;  /**< Of prompts to token ids; empty: not asked. */
    char *occupancy_path; /**< A path, or a whole http URL; empty: none. */
    double occupancy_capacity;   /**< Tokens; 0: the answer tells a part. */
    struct config_kv_source *kv; /**< By source number. */
    size_t kv_count;
    unsigned line;
};

/** A LoRA adapter that clients name as their model. */
struct config_adapter {
    char *name;
    char *model; /**< Base model that the targets serve. */
    unsigned line;
};

/** Other gateways before the same targets. */
struct config_cluster {
    char *redis; /**< As given; its parts follow. Empty: nothing is shared. */
    bool tls;
    char *host;
    uint16_t port;
    char *user;         /**< Often empty. */
    char *password;     /**< If it stands in the address. */
    char *password_env; /**< Else the variable that holds it; empty: none. */
    char *channel;
    double interval;                   /**< Seconds (0.02). */
    size_t delta_bytes;                /**< (8,388,608) */
    char *ca_file, *certificate, *key; /**< PEM files. */
};

struct config {
    char *path; /**< Of the file. */
    struct config_listen listen;
    struct config_listen admin;
    struct config_limits limits;
    struct config_timeouts timeouts;
    struct config_identity identity;
    uint32_t retries; /**< Further targets to try before the first byte (2). */
    char *default_pool;   /**< For models that no target names; empty: 404. */
    uint64_t seed;        /**< 0: from the system. */
    char *digest_key_env; /**< Variable with the key of digests; empty: it is
                           * drawn. */
    char *header_prefix;  /**< "X-Lbroute-" */
    double metrics_interval;   /**< Seconds between two scrapes (1). */
    double occupancy_interval; /**< Seconds (2). */
    char *ca_file;             /**< For https targets; empty: the system's. */
    char *prices;          /**< LiteLLM's or models.dev's JSON, or a table of
                            * tools/prices/price_table.py; empty: none. */
    char *state_file;      /**< Keeps what was learned over restarts; empty: it
                            * is lost. */
    double state_interval; /**< Seconds between two times it is saved (60). */
    struct config_cluster cluster;
    uint32_t decisions;  /**< Recent decisions kept for the page (200). */
    double explain_rate; /**< Of these, explained per second (5). */
    struct config_pool *pools;
    size_t pool_count;
    struct config_target *targets;
    size_t target_count;
    struct config_adapter *adapters;
    size_t adapter_count;
};

/** What is wrong with a file, and where. */
struct config_error {
    unsigned line;   /**< From 1; 0: the file as a whole. */
    unsigned column; /**< From 1; 0: unknown. */
    char text[512];  /**< One line, naming the key. */
};

/**
 * Reads and checks a file: syntax, keys, types, ranges, references among pools,
 * targets and adapters, strategies, parameters (by lbroute_param_get_info()),
 * files and variables that must exist.
 *
 * @return the configuration, owned by the caller; NULL with `error` filled in.
 */
struct config *config_load(const char *path, struct config_error *error);

/** The same for a text, as the file of that path. */
struct config *config_parse(const char *path, const char *text, size_t len,
                            struct config_error *error);

/** NULL does nothing. */
void config_free(struct config *config);

/** A copy of the host of a URL, an IPv6 address without its brackets, as name
 * look-up wants it; NULL: out of memory. */
char *config_host(const char *host);

/** Prints every key with type, range, default and meaning. */
void config_print_help(FILE *out);

#endif
