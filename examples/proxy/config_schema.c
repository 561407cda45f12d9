/* SPDX-License-Identifier: MIT */
#include "config_schema.h"

#include "config.h"

#include <lbroute/lbroute.h>

#include <string.h>

#define MOST_SECONDS 86400.0

#define SECTION(path_, text_)                                                  \
    {                                                                          \
        .path = path_, .kind = CONFIG_SECTION, .initial = "", .text = text_    \
    }
#define LIST(path_, kind_, owner_, items_, count_, item_, most_, text_)        \
    {                                                                          \
        .path = path_, .kind = kind_,                                          \
        .offset = offsetof(struct owner_, items_),                             \
        .count_offset = offsetof(struct owner_, count_),                       \
        .item_size = sizeof(struct item_),                                     \
        .line_offset = offsetof(struct item_, line), .maximum = most_,         \
        .initial = "", .text = text_                                           \
    }
#define KEY(path_, kind_, owner_, member_, initial_, text_)                    \
    {                                                                          \
        .path = path_, .kind = kind_,                                          \
        .offset = offsetof(struct owner_, member_), .initial = initial_,       \
        .text = text_                                                          \
    }
#define NUMBER(path_, kind_, owner_, member_, least_, most_, initial_, text_)  \
    {                                                                          \
        .path = path_, .kind = kind_,                                          \
        .offset = offsetof(struct owner_, member_), .minimum = least_,         \
        .maximum = most_, .initial = initial_, .text = text_                   \
    }

static const struct config_key table[] = {
    SECTION("", "the whole file"),

    SECTION("listen", "the port for clients"),
    KEY("listen.address", CONFIG_TEXT, config, listen.address, "127.0.0.1",
        "address to listen on; 0.0.0.0 or \"::\" is all"),
    NUMBER("listen.port", CONFIG_PORT, config, listen.port, 0, 65535, "8080",
           "0 is any free one, which is printed"),
    SECTION("listen.tls", "give both files for https"),
    KEY("listen.tls.certificate", CONFIG_TEXT, config, listen.certificate, "",
        "PEM file: the certificate, then its chain"),
    KEY("listen.tls.key", CONFIG_TEXT, config, listen.key, "",
        "PEM file: its private key"),

    SECTION("admin", "the operator's port: page, metrics, JSON interface"),
    KEY("admin.address", CONFIG_TEXT, config, admin.address, "127.0.0.1",
        "keep it off public networks: whoever reaches it may change weights"),
    NUMBER("admin.port", CONFIG_PORT, config, admin.port, 0, 65535, "8081",
           "0 is any free one, which is printed"),
    SECTION("admin.tls", "give both files for https"),
    KEY("admin.tls.certificate", CONFIG_TEXT, config, admin.certificate, "",
        "PEM file: the certificate, then its chain"),
    KEY("admin.tls.key", CONFIG_TEXT, config, admin.key, "",
        "PEM file: its private key"),

    SECTION("limits", "bounds on what clients may do"),
    NUMBER("limits.header_bytes", CONFIG_BYTES, config, limits.header_bytes,
           1024, 1048576, "64KiB", "request line and headers of a request"),
    NUMBER("limits.body_bytes", CONFIG_BYTES, config, limits.body_bytes, 1024,
           1073741824, "32MiB", "body of a request"),
    NUMBER("limits.connections", CONFIG_COUNT, config, limits.connections, 1,
           1000000, "8192", "connections of clients at once"),
    NUMBER("limits.stream_buffer", CONFIG_BYTES, config, limits.stream_buffer,
           4096, 1073741824, "256KiB",
           "bytes a slow reader may lag before its engine is held back"),

    SECTION("timeouts", "seconds"),
    NUMBER("timeouts.client", CONFIG_SECONDS, config, timeouts.client, 0.001,
           MOST_SECONDS, "60", "to send a request, and between two"),
    NUMBER("timeouts.write", CONFIG_SECONDS, config, timeouts.write, 0.001,
           MOST_SECONDS, "120", "a reader takes nothing of its answer"),
    NUMBER("timeouts.connect", CONFIG_SECONDS, config, timeouts.connect, 0.001,
           MOST_SECONDS, "5", "to connect to an engine"),
    NUMBER("timeouts.first_byte", CONFIG_SECONDS, config, timeouts.first_byte,
           0.001, MOST_SECONDS, "600",
           "to the first byte of an engine's answer"),
    NUMBER("timeouts.idle", CONFIG_SECONDS, config, timeouts.idle, 0.001,
           MOST_SECONDS, "120", "between two pieces of an engine's answer"),
    NUMBER("timeouts.drain", CONFIG_SECONDS, config, timeouts.drain, 0,
           MOST_SECONDS, "30", "to finish what is under way at SIGTERM"),

    SECTION("identity",
            "request headers that are read, the first given counts"),
    KEY("identity.session_headers", CONFIG_HEADERS, config, identity.session,
        "x-session-id", "id of the conversation"),
    KEY("identity.client_headers", CONFIG_HEADERS, config, identity.client,
        "x-client-id, x-session-id",
        "whose request it is; without any, a keyed digest of the API key"),
    KEY("identity.tier_headers", CONFIG_HEADERS, config, identity.tier,
        "x-tier", "tier of the targets to use"),
    KEY("identity.priority_headers", CONFIG_HEADERS, config, identity.priority,
        "x-priority", "-8 to 7: the higher goes first of those that wait"),
    KEY("identity.deadline_headers", CONFIG_HEADERS, config, identity.deadline,
        "x-deadline-ms",
        "milliseconds in which the request must have its slot"),

    NUMBER("retries", CONFIG_COUNT, config, retries, 0, 15, "2",
           "further targets to try before the first byte of an answer"),
    KEY("default_pool", CONFIG_NAME, config, default_pool, "",
        "pool for models that no target and no adapter names; none: 404"),

    SECTION("router", "the library"),
    NUMBER("router.seed", CONFIG_WHOLE, config, seed, 0, 18446744073709551615.0,
           "0", "of random choices; 0 is a new one at each start"),
    KEY("router.digest_key_env", CONFIG_TEXT, config, digest_key_env, "",
        "variable with the key of digests, 32 hexadecimal digits; none: drawn"),
    KEY("router.header_prefix", CONFIG_NAME, config, header_prefix,
        "X-Lbroute-", "of the decision headers on every answer"),

    SECTION("signals", "how often engines are asked"),
    NUMBER("signals.metrics_interval", CONFIG_SECONDS, config, metrics_interval,
           0.1, 3600, "1", "seconds between two scrapes of a target"),
    NUMBER("signals.occupancy_interval", CONFIG_SECONDS, config,
           occupancy_interval, 0.1, 3600, "2",
           "seconds between two questions about an offloaded cache"),

    SECTION("tls", "connections to https targets"),
    KEY("tls.ca_file", CONFIG_TEXT, config, ca_file, "",
        "PEM file of the authorities to trust; none: the system's"),

    SECTION("prices", "what requests cost"),
    KEY("prices.file", CONFIG_TEXT, config, prices, "",
        "catalog of LiteLLM or models.dev, or a table of price_table.py"),

    SECTION("state", "what was learned, over restarts"),
    KEY("state.file", CONFIG_TEXT, config, state_file, "",
        "keeps it, in a folder that nobody else may write to; none: it is "
        "lost"),
    NUMBER("state.interval", CONFIG_SECONDS, config, state_interval, 0.1,
           MOST_SECONDS, "60",
           "seconds between two times it is saved; also at the end"),

    SECTION("cluster", "other gateways before the same targets"),
    KEY("cluster.redis", CONFIG_TEXT, config, cluster.redis, "",
        "redis:// or rediss://, user:password@ if any, host, port; none: "
        "alone"),
    KEY("cluster.password_env", CONFIG_TEXT, config, cluster.password_env, "",
        "variable with the password, where the address has none"),
    KEY("cluster.channel", CONFIG_NAME, config, cluster.channel, "lbroute",
        "the same for gateways of the same targets, and for them only"),
    NUMBER("cluster.interval", CONFIG_SECONDS, config, cluster.interval, 0.005,
           10, "0.02", "seconds between two messages to the others"),
    NUMBER("cluster.delta_bytes", CONFIG_BYTES, config, cluster.delta_bytes,
           65536, 1073741824, "8MiB",
           "memory for what was not told yet; beyond it, it is not told"),
    SECTION("cluster.tls", "for rediss://"),
    KEY("cluster.tls.ca_file", CONFIG_TEXT, config, cluster.ca_file, "",
        "PEM file of the authorities to trust; none: the system's"),
    KEY("cluster.tls.certificate", CONFIG_TEXT, config, cluster.certificate, "",
        "PEM file: this gateway's certificate, where Redis asks for one"),
    KEY("cluster.tls.key", CONFIG_TEXT, config, cluster.key, "",
        "PEM file: its private key"),

    SECTION("decisions", "the recent decisions on the page"),
    NUMBER("decisions.keep", CONFIG_COUNT, config, decisions, 0, 100000, "200",
           "how many are kept"),
    NUMBER("decisions.explain_rate", CONFIG_REAL, config, explain_rate, 0, 1000,
           "5", "how many a second are kept with every candidate"),

    LIST("pools", CONFIG_LIST, config, pools, pool_count, config_pool, 1024,
         "sets of targets, each with a strategy"),
    KEY("pools[].name", CONFIG_NAME, config_pool, name, NULL, "unique"),
    KEY("pools[].strategy", CONFIG_NAME, config_pool, strategy, "weighted",
        "one of docs/strategies.md"),
    LIST("pools[].parameters", CONFIG_PARAMETERS, config_pool, parameters,
         parameter_count, config_parameter, 1024,
         "of docs/parameters.md, by name"),

    LIST("targets", CONFIG_LIST, config, targets, target_count, config_target,
         16384, "the engines"),
    KEY("targets[].name", CONFIG_NAME, config_target, name, NULL, "unique"),
    KEY("targets[].pool", CONFIG_NAME, config_target, pool, "",
        "its pool; none: reached by its model's name only"),
    KEY("targets[].url", CONFIG_TEXT, config_target, url, NULL,
        "http:// or https://, host, port, and a path before /v1 if any"),
    KEY("targets[].model", CONFIG_NAME, config_target, model, "",
        "name of the model it serves; none: any, when asked by pool"),
    KEY("targets[].tier", CONFIG_NAME, config_target, tier, "",
        "only requests of the same tier come to it"),
    KEY("targets[].price_key", CONFIG_NAME, config_target, price_key, "",
        "its key in the prices; none: its model"),
    NUMBER("targets[].weight", CONFIG_REAL, config_target, weight, 0, 1e9, "1",
           "share of traffic, relative to the others; 0 drains"),
    NUMBER("targets[].max_concurrency", CONFIG_COUNT, config_target,
           max_concurrency, 0, 4294967295.0, "32",
           "requests in flight at once; 0 is no limit"),
    NUMBER("targets[].max_input_tokens", CONFIG_WHOLE, config_target,
           max_input_tokens, 0, 1e15, "0",
           "largest input it accepts; 0 is no limit"),
    KEY("targets[].api_key_env", CONFIG_TEXT, config_target, api_key_env, "",
        "variable with the engine's API key; none: the client's is passed on"),
    KEY("targets[].metrics", CONFIG_TEXT, config_target, metrics_path,
        "/metrics", "path of its metrics; \"\" is not scraped"),
    KEY("targets[].tokenize", CONFIG_TEXT, config_target, tokenize_path, "",
        "path that turns prompts into token ids; \"\" is not asked"),
    KEY("targets[].occupancy", CONFIG_TEXT, config_target, occupancy_path, "",
        "path or http URL that tells how full its offloaded cache is"),
    NUMBER("targets[].occupancy_capacity", CONFIG_REAL, config_target,
           occupancy_capacity, 0, 1e18, "0",
           "tokens of that cache, where the answer is a count of keys"),
    {.path = "targets[].kv_events",
     .kind = CONFIG_LIST,
     .offset = offsetof(struct config_target, kv),
     .count_offset = offsetof(struct config_target, kv_count),
     .item_size = sizeof(struct config_kv_source),
     .line_offset = SIZE_MAX,
     .maximum = 1024,
     .initial = "",
     .text = "its publishers of KV events, one for each rank, in order"},
    KEY("targets[].kv_events[].events", CONFIG_TEXT, config_kv_source, events,
        NULL, "ZeroMQ endpoint to subscribe to, tcp://host:5557"),
    KEY("targets[].kv_events[].replay", CONFIG_TEXT, config_kv_source, replay,
        "", "endpoint for what was missed, tcp://host:5558; none: no replay"),

    LIST("adapters", CONFIG_LIST, config, adapters, adapter_count,
         config_adapter, 16384, "LoRA adapters, which clients name as model"),
    KEY("adapters[].name", CONFIG_NAME, config_adapter, name, NULL, "unique"),
    KEY("adapters[].model", CONFIG_NAME, config_adapter, model, NULL,
        "base model, which a target serves"),
};

static const char *const kind_names[] = {
    [CONFIG_SECTION] = "a mapping of keys",
    [CONFIG_LIST] = "a list",
    [CONFIG_HEADERS] = "a list of header names, such as [x-session-id]",
    [CONFIG_PARAMETERS] = "a mapping of parameters",
    [CONFIG_TEXT] = "text",
    [CONFIG_NAME] = "a name",
    [CONFIG_REAL] = "a number",
    [CONFIG_SECONDS] = "a number of seconds",
    [CONFIG_PORT] = "a whole number",
    [CONFIG_COUNT] = "a whole number",
    [CONFIG_WHOLE] = "a whole number",
    [CONFIG_BYTES] = "a number of bytes, such as 65536, 64KiB or 32MiB",
};

const struct config_key *config_key_root(void)
{
    return &table[0];
}

const struct config_key *config_key_at(size_t index)
{
    return index < sizeof table / sizeof table[0] ? &table[index] : NULL;
}

/* What stands in the path after the parent's, or NULL. */
static const char *path_below(const struct config_key *parent, const char *path)
{
    size_t length = strlen(parent->path);
    const char *separator = parent->kind == CONFIG_LIST ? "[]." : ".";

    if (length == 0)
        return path[0] != '\0' ? path : NULL;
    if (strncmp(path, parent->path, length) != 0 ||
        strncmp(path + length, separator, strlen(separator)) != 0)
        return NULL;
    return path + length + strlen(separator);
}

const struct config_key *config_key_child(const struct config_key *parent,
                                          size_t index)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const char *below = path_below(parent, table[i].path);

        if (below != NULL && strpbrk(below, ".[") == NULL && index-- == 0)
            return &table[i];
    }
    return NULL;
}

const char *config_key_name(const struct config_key *key)
{
    const char *dot = strrchr(key->path, '.');

    return dot != NULL ? dot + 1 : key->path;
}

const char *config_kind_name(enum config_kind kind)
{
    return kind_names[kind];
}

bool config_kind_is_number(enum config_kind kind)
{
    return kind >= CONFIG_REAL;
}
