/* SPDX-License-Identifier: MIT */
/*
 * Values of jansson, read by yajl: requests and answers are mostly long
 * strings, which its scanner passes ten times as fast as jansson's, and as
 * strictly.
 *
 *     text ──yajl──▶ events ──▶ ┌ {"messages": │ [ … │ { "content": ← value
 *                               └ open values, each already in its parent
 */
#ifndef LBROUTE_PROXY_JSON_READ_H
#define LBROUTE_PROXY_JSON_READ_H

#include <jansson.h>
#include <stddef.h>

enum {
    /* Engines stop somewhere between 128 levels (serde_json) and 1,000
     * (Python's decoder), some of them with an answer that looks like a fault
     * of theirs. */
    JSON_READ_LEVELS = 128
};

/** What is wrong with a text, and where. */
struct json_read_error {
    enum json_error_code code;
    int line, column; /**< From 1; bytes. */
};

/**
 * Reads a text that is one value. Whole numbers beyond 64 bits, which are legal
 * (bounds in a schema of a tool), become real ones.
 *
 * @param error may be NULL.
 * @return the value; NULL: no JSON, a key twice in an object or with a NUL,
 *     more than #JSON_READ_LEVELS arrays and objects in each other, a number
 *     that is too large, no UTF-8, or no memory.
 */
json_t *json_read(const char *text, size_t len, struct json_read_error *error);

#endif
