/* SPDX-License-Identifier: MIT */
/*
 * Files of prices, on their way into the router.
 */
#ifndef LBROUTE_PROXY_PRICE_FILE_H
#define LBROUTE_PROXY_PRICE_FILE_H

#include "price_list.h"

/** What is wrong with a file; `text` is empty as long as nothing is. */
struct price_error {
    char text[384];
};

/** Sets the text, as printf() would; returns false. */
bool price_fail(struct price_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Reads a catalog or a table, told apart by content, into a sorted list.
 * `text` ends with a zero byte and is cut into pieces. */
bool price_file_read(struct price_list *list, char *text, size_t len,
                     struct price_error *error);

/** Reads LiteLLM's or models.dev's JSON, told apart by content. */
bool price_catalog_read(struct price_list *list, const char *text, size_t len,
                        struct price_error *error);

#endif
