/* SPDX-License-Identifier: MIT */
/*
 * What reading a configuration needs besides it: the document, where each
 * value stood, and the first error.
 *
 *     &config->retries ──▶ mark { key "retries", line 7, column 10 }
 *
 * So that checks that come later can name the place of a value by its address.
 */
#ifndef LBROUTE_PROXY_CONFIG_READER_H
#define LBROUTE_PROXY_CONFIG_READER_H

#include "config.h"
#include "config_schema.h"

#include <stdint.h>
#include <yaml.h>

struct config_mark {
    const void *place; /**< Of the value, in the configuration. */
    const struct config_key *key;
    unsigned line, column;
};

struct config_reader {
    yaml_document_t *document;
    struct config *config;
    struct config_error *error;
    size_t visits; /**< Nodes looked at, aliases again each time. */
    struct config_mark *marks;
    size_t mark_count, mark_capacity;
};

/** Where the value at `place` stood; NULL if it was not given. */
const struct config_mark *config_find_mark(const struct config_reader *reader,
                                           const void *place);

/** Notes where a value stands. */
bool config_add_mark(struct config_reader *reader, const void *place,
                     const struct config_key *key, const yaml_node_t *node);

/** Fails at a node. All return false. */
bool config_fail_node(struct config_reader *reader,
                      const struct config_key *key, const yaml_node_t *node,
                      const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Fails at the value that was read into `place`. */
bool config_fail_at(struct config_reader *reader, const void *place,
                    const char *format, ...)
    __attribute__((format(printf, 3, 4)));

bool config_fail_memory(struct config_reader *reader);

/** The text of a value as it may stand in a message: short, and printable. */
struct config_quote {
    char text[64];
};
struct config_quote config_quote(const char *text);

/** Reads a scalar into `place`, and checks type and range. */
bool config_read_scalar(struct config_reader *reader,
                        const struct config_key *key, const yaml_node_t *node,
                        void *place);

/** Reads the default of a scalar key, or of a list of headers. */
bool config_read_initial(struct config_reader *reader,
                         const struct config_key *key, void *place);

/** Reads a list of names of headers. */
bool config_read_headers(struct config_reader *reader,
                         const struct config_key *key, const yaml_node_t *node,
                         struct config_names *names);

/** Whether nothing stands where a value should be: "key:", "key: ~". */
bool config_node_is_null(const yaml_node_t *node);

/** Fails for nodes with a tag of their own, and after too many nodes. */
bool config_visit(struct config_reader *reader, const struct config_key *key,
                  const yaml_node_t *node);

/** Reads the whole document into a zeroed configuration. */
bool config_read(struct config_reader *reader);

/** Checks what no single value tells: references, names, files, strategies. */
bool config_check(struct config_reader *reader);

/** Whether a pool can have these parameters, each within its range. */
bool config_check_pool(struct config_reader *reader,
                       const struct config_pool *pool);

/** Takes the address of a target apart. */
bool config_read_url(struct config_reader *reader,
                     struct config_target *target);

/** Checks the addresses from which signals of a target come. */
bool config_check_sources(struct config_reader *reader,
                          const struct config_target *target);

/** Takes the address of Redis apart, and checks what goes with it. */
bool config_check_cluster(struct config_reader *reader);

/** Whether a file can be opened; true for an empty path. */
bool config_check_file(struct config_reader *reader, char *const *path);

/** Whether both files are given and can be opened, or none is given. */
bool config_check_certificate(struct config_reader *reader,
                              char *const *certificate, char *const *key);

/** Whether a variable of that name has a value; true for an empty name. */
bool config_check_variable(struct config_reader *reader, char *const *name);

#endif
