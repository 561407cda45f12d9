/* SPDX-License-Identifier: MIT */
/*
 * The table of keys: the only place where name, type, range, default and
 * meaning of a key stand. Paths are written with dots, and with [] for the
 * items of a list:
 *
 *     ""  ──┬─ listen ──┬─ listen.address
 *           │           └─ listen.tls ──── listen.tls.certificate
 *           └─ targets ─┬─ targets[].name
 *                       └─ targets[].kv_events ── targets[].kv_events[].events
 */
#ifndef LBROUTE_PROXY_CONFIG_SCHEMA_H
#define LBROUTE_PROXY_CONFIG_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

enum config_kind {
    CONFIG_SECTION,    /**< A mapping of keys. */
    CONFIG_LIST,       /**< A list of mappings. */
    CONFIG_HEADERS,    /**< A list of names of headers: struct config_names. */
    CONFIG_PARAMETERS, /**< A mapping of a pool's parameters. */
    CONFIG_TEXT,       /**< char *. */
    CONFIG_NAME,       /**< char *, at most LBROUTE_NAME_MAX bytes. */
    CONFIG_REAL,       /**< double. */
    CONFIG_SECONDS,    /**< double. */
    CONFIG_PORT,       /**< uint16_t. */
    CONFIG_COUNT,      /**< uint32_t. */
    CONFIG_WHOLE,      /**< uint64_t. */
    CONFIG_BYTES       /**< size_t; may be written as 32MiB. */
};

struct config_key {
    const char *path;
    enum config_kind kind;
    size_t offset;       /**< In struct config, or in the list's items. */
    size_t count_offset; /**< Lists and parameters: of the number of items. */
    size_t item_size;    /**< Of these: bytes of an item. */
    size_t line_offset;  /**< Of these: of its line, in an item. */
    double minimum, maximum; /**< Of numbers; of lists the number of items. */
    const char *initial;     /**< Default as it is written; NULL: required. */
    const char *text;        /**< One line. */
};

/** The whole file: parent of the top keys, and the first row of the table. */
const struct config_key *config_key_root(void);

/** The rows one after the other; NULL past the last. */
const struct config_key *config_key_at(size_t index);

/** The children of a section or list, in order; NULL past the last. */
const struct config_key *config_key_child(const struct config_key *parent,
                                          size_t index);

/** The last part of a key's path. */
const char *config_key_name(const struct config_key *key);

/** What values of a key look like, for messages: "a whole number". */
const char *config_kind_name(enum config_kind kind);

/** Whether values are numbers with a range. */
bool config_kind_is_number(enum config_kind kind);

#endif
