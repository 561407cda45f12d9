/* SPDX-License-Identifier: MIT */
/*
 * The latest request, for tests to look at.
 */
#ifndef LBROUTE_MOCK_RECORD_H
#define LBROUTE_MOCK_RECORD_H

#include <event2/http.h>
#include <jansson.h>

/** A request as JSON: method, path, body_bytes, and its headers by name in
 * small letters, a repeated one joined by ", ". Of a header that holds a secret
 * stands `true` instead of its value. */
json_t *record_request(struct evhttp_request *request);

#endif
