/* SPDX-License-Identifier: MIT */
/*
 * Refuses requests whose framing two servers could read in two ways (RFC 9112
 * section 6.3, RFC 9110 section 5), before anything of them is routed. What is
 * forwarded is written anew, with a length of its own, so that nothing of a
 * client's framing ever reaches an engine.
 */
#ifndef LBROUTE_PROXY_GUARD_H
#define LBROUTE_PROXY_GUARD_H

#include "asked.h"

#include <stdbool.h>
#include <stddef.h>

struct evkeyvalq;

enum {
    GUARD_HEADERS_MAX = 256, /**< Of a request. */
    GUARD_HOPS_MAX = 32      /**< Names in Connection headers of a message. */
};

/** What the Connection headers of a message name; points into them. */
struct guard_hops {
    struct {
        const char *text; /**< Not terminated. */
        size_t len;
    } names[GUARD_HOPS_MAX];
    size_t count;
};

/**
 * Looks at target and headers.
 *
 * @param bodyless the method allows no body (HEAD, or one that is unknown):
 *     libevent does not read any, so that none may be announced.
 * @return false with status and text: more than one Content-Length or Host,
 *     one that is no plain number, both it and Transfer-Encoding, a
 *     Transfer-Encoding that is not just "chunked", names or values with
 *     forbidden bytes, an expectation other than 100-continue, a request
 *     target that is no path, more headers than #GUARD_HEADERS_MAX, more names
 *     in Connection than #GUARD_HOPS_MAX.
 */
bool guard_request(const char *target, bool bodyless, struct evkeyvalq *headers,
                   struct asked_error *error);

/** Collects what Connection headers name, once per message: each header is
 * compared with all of them. false: more than #GUARD_HOPS_MAX. */
bool guard_read_hops(struct guard_hops *hops, struct evkeyvalq *headers);

/** Whether a header concerns one connection only and is never forwarded:
 * Connection, what it names, Keep-Alive, TE, Trailer, Transfer-Encoding,
 * Upgrade, Expect, Proxy-…, and Host and Content-Length, which are made anew.
 */
bool guard_is_hop_header(const char *name, const struct guard_hops *hops);

/** Whether a value of Content-Length is one plain number. */
bool guard_is_length(const char *text);

/** Whether all names are tokens and all values free of control characters. */
bool guard_headers_clean(struct evkeyvalq *headers);

#endif
