/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what the gateway reads of a request before its body: the first line is
 * the target, the others are headers, "name: value". What the guard says is
 * held against the rules of its header, read plainly; and every value is given
 * to all that read values.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <time.h>

#include <event2/keyvalq_struct.h>
#include <jansson.h>

#include "admin_guard.h"
#include "asked.h"
#include "check.h"
#include "guard.h"
#include "header.h"
#include "labels.h"
#include "retry_after.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { YEAR_S = 366 * 86400, MOST_HOPS = 64, HOST_NAME = 256 };

static const time_t now = 1700000000;

/* ---- a request of lines ---- */

static char *copy(const char *text, size_t length)
{
    char *bytes = calloc(length + 1, 1);

    CHECK(bytes != NULL);
    memcpy(bytes, text, length);
    return bytes;
}

/* The text up to the end of a line, or to a NUL; moves behind it. */
static char *take_line(const char **text, const char *end)
{
    const char *begin = *text, *stop = begin;

    while (stop < end && *stop != '\n' && *stop != '\0')
        stop++;
    *text = stop < end ? stop + 1 : end;
    return copy(begin, (size_t)(stop - begin));
}

static void add_header(struct evkeyvalq *headers, const char *line)
{
    struct evkeyval *header = calloc(1, sizeof *header);
    size_t name = strcspn(line, ":");
    const char *value = line + name + (line[name] == ':');

    CHECK(header != NULL);
    value += strspn(value, " ");
    header->key = copy(line, name);
    header->value = copy(value, strlen(value));
    TAILQ_INSERT_TAIL(headers, header, next);
}

static void clear(struct evkeyvalq *headers)
{
    struct evkeyval *header;

    while ((header = TAILQ_FIRST(headers)) != NULL) {
        TAILQ_REMOVE(headers, header, next);
        free(header->key);
        free(header->value);
        free(header);
    }
}

/* ---- the rules ---- */

static int consists_of(const char *text, const char *set)
{
    return text[strspn(text, set)] == '\0';
}

static int is_token(const char *text)
{
    return *text && consists_of(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "abcdefghijklmnopqrstuvwxyz"
                                      "0123456789!#$%&'*+-.^_`|~");
}

static int has_control(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < 32 && *text != '\t') || *text == 127)
            return 1;
    return 0;
}

static int is_plain_number(const char *text)
{
    return *text && consists_of(text, "0123456789") && strlen(text) <= 18;
}

static int is_target(const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~' || *c == '#' || *c == '\\')
            return 0;
    return *text == '/';
}

static size_t count_of(struct evkeyvalq *headers, const char *name)
{
    const struct evkeyval *header;
    size_t count = 0;

    TAILQ_FOREACH(header, headers, next)
    count += strcasecmp(header->key, name) == 0;
    return count;
}

/* Whether each value of that name, if there are any, is the one. */
static int all_are(struct evkeyvalq *headers, const char *name,
                   const char *value)
{
    const struct evkeyval *header;

    TAILQ_FOREACH(header, headers, next)
    if (strcasecmp(header->key, name) == 0 && strcasecmp(header->value, value))
        return 0;
    return 1;
}

static int lengths_are_good(struct evkeyvalq *headers)
{
    const struct evkeyval *header;

    TAILQ_FOREACH(header, headers, next)
    if (strcasecmp(header->key, "Content-Length") == 0 &&
        !is_plain_number(header->value))
        return 0;
    return count_of(headers, "Content-Length") <= 1;
}

static int are_clean(struct evkeyvalq *headers, size_t *count)
{
    const struct evkeyval *header;
    int clean = 1;

    *count = 0;
    TAILQ_FOREACH(header, headers, next)
    {
        clean &= is_token(header->key) && !has_control(header->value);
        ++*count;
    }
    return clean;
}

/* What Connection headers name, as copies; returns how many. */
static size_t split_hops(struct evkeyvalq *headers, char *hops[MOST_HOPS])
{
    const struct evkeyval *header;
    size_t count = 0;

    TAILQ_FOREACH(header, headers, next)
    {
        char *rest = NULL, *list = copy(header->value, strlen(header->value));
        char *name = strtok_r(list, " \t,", &rest);

        if (strcasecmp(header->key, "Connection") != 0)
            name = NULL;
        for (; name && count < MOST_HOPS; name = strtok_r(NULL, " \t,", &rest))
            hops[count++] = copy(name, strlen(name));
        free(list);
    }
    return count;
}

static int is_acceptable(const char *target, int bodyless,
                         struct evkeyvalq *headers, size_t hops)
{
    size_t lengths = count_of(headers, "Content-Length");
    size_t codings = count_of(headers, "Transfer-Encoding");
    size_t count;

    return is_target(target) && are_clean(headers, &count) &&
           count <= GUARD_HEADERS_MAX && hops <= GUARD_HOPS_MAX &&
           count_of(headers, "Host") <= 1 && lengths_are_good(headers) &&
           codings <= 1 && lengths + codings <= 1 &&
           all_are(headers, "Transfer-Encoding", "chunked") &&
           all_are(headers, "Expect", "100-continue") &&
           (!bodyless || lengths + codings == 0);
}

static void check_guard(const char *target, struct evkeyvalq *headers,
                        size_t hops)
{
    struct asked_error error;
    size_t count;
    int clean = are_clean(headers, &count);

    CHECK_I(guard_headers_clean(headers), clean);
    for (int bodyless = 0; bodyless < 2; bodyless++) {
        memset(&error, 0, sizeof error);
        CHECK_I(guard_request(target, bodyless, headers, &error),
                is_acceptable(target, bodyless, headers, hops));
        CHECK(error.status == 0 || error.status == 400 ||
              (error.status == 431 && count > GUARD_HEADERS_MAX));
        CHECK_I(error.text[0] != '\0', error.status != 0);
    }
}

/* Names that are never forwarded, whatever Connection says. */
static int is_hop(const char *name, char *const *hops, size_t count)
{
    static const char *const always[] = {"Connection",
                                         "Keep-Alive",
                                         "TE",
                                         "Trailer",
                                         "Transfer-Encoding",
                                         "Upgrade",
                                         "Expect",
                                         "Proxy-Connection",
                                         "Proxy-Authorization",
                                         "Proxy-Authenticate",
                                         "Host",
                                         "Content-Length"};

    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strcasecmp(name, always[i]) == 0)
            return 1;
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(name, hops[i]) == 0)
            return 1;
    return 0;
}

static void check_hops(struct evkeyvalq *headers, char *const *hops,
                       size_t count)
{
    const struct evkeyval *header;
    struct guard_hops read;
    int fits = guard_read_hops(&read, headers);

    CHECK_I(fits, count <= GUARD_HOPS_MAX);
    if (!fits)
        return;
    CHECK_U(read.count, count);
    TAILQ_FOREACH(header, headers, next)
    CHECK_I(guard_is_hop_header(header->key, &read),
            is_hop(header->key, hops, count));
}

/* ---- values ---- */

static int64_t wait_until(int64_t seconds)
{
    int64_t wait = seconds < 0 ? 0 : seconds > YEAR_S ? YEAR_S : seconds;

    return wait * 1000000000;
}

/* Each form of a date comes back as it was written. */
static void check_dates(const char *value)
{
    static const char *const forms[] = {"%a, %d %b %Y %H:%M:%S GMT",
                                        "%A, %d-%b-%y %H:%M:%S GMT",
                                        "%a %b %e %H:%M:%S %Y"};
    uint32_t number = 0;
    struct tm parts;
    char text[64];

    memcpy(&number, value, strnlen(value, sizeof number));
    time_t then = now - YEAR_S + (time_t)(number % (3 * (uint32_t)YEAR_S));
    CHECK(gmtime_r(&then, &parts) != NULL);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        CHECK(strftime(text, sizeof text, forms[i], &parts) > 0);
        CHECK_I(retry_after_ns(text, now), wait_until(then - now));
    }
}

static void check_retry_after(const char *value)
{
    int64_t wait = retry_after_ns(value, now);

    CHECK(wait >= -1 && wait <= wait_until(YEAR_S));
    if (is_plain_number(value))
        CHECK_I(wait, wait_until(strtoll(value, NULL, 10)));
    check_dates(value);
}

/* A name that is let in is an address or the one of this machine. */
static void check_host(const char *value)
{
    static const char *const listening[] = {"127.0.0.1", "10.1.2.3", "::1",
                                            "0.0.0.0"};
    char name[HOST_NAME] = "";
    size_t length = strcspn(value, *value == '[' ? "]" : ":");

    if (length < sizeof name)
        memcpy(name, value, length);
    for (size_t i = 0; i < sizeof listening / sizeof *listening; i++)
        if (admin_guard_host(value, listening[i]))
            CHECK(strcasecmp(name, "localhost") == 0 ||
                  (*name && consists_of(name, "0123456789abcdefABCDEF.:[")));
}

/* What comes out is UTF-8 in the eyes of another reader, and fits. */
static void check_cleaning(const char *value)
{
    json_t *same = json_string(value);
    char text[48];

    for (size_t size = 1; size <= sizeof text; size++) {
        json_t *read;

        memset(text, 'x', sizeof text);
        clean_text(text, size, value);
        CHECK(memchr(text, '\0', size) != NULL);
        CHECK((read = json_string(text)) != NULL);
        CHECK(!same || strncmp(text, value, strlen(text)) == 0);
        CHECK(!same || strlen(value) >= size || strcmp(text, value) == 0);
        json_decref(read);
    }
    json_decref(same);
}

static void check_type(const char *value)
{
    static const char json[] = "application/json";

    if (admin_guard_type(value))
        CHECK(strncasecmp(value, json, sizeof json - 1) == 0);
    else
        CHECK(strcasecmp(value, json) != 0);
}

static void check_value(const struct evkeyval *header)
{
    const char *value = header->value;

    CHECK_I(header_is_token(header->key), is_token(header->key));
    CHECK_I(header_same(header->key, value),
            strcasecmp(header->key, value) == 0);
    CHECK_I(guard_is_length(value), is_plain_number(value));
    check_retry_after(value);
    check_host(value);
    check_cleaning(value);
    check_type(value);
}

/* A page of elsewhere is never let in. */
static void check_origin(struct evkeyvalq *headers)
{
    const struct evkeyval *header;

    if (admin_guard_origin(headers) && count_of(headers, "Origin") == 1)
        TAILQ_FOREACH(header, headers, next)
    CHECK(strcasecmp(header->key, "Origin") != 0 ||
          strstr(header->value, "://") != NULL);
}

static void check_path(const char *target)
{
    enum dialect dialect;
    enum asked_kind kind;

    if (asked_path(target, &dialect, &kind))
        CHECK(strncmp(target, "/v1/", 4) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *end = text + size;
    const struct evkeyval *header;
    struct evkeyvalq headers;
    char *hops[MOST_HOPS];
    char *target = take_line(&text, end);
    size_t count;

    TAILQ_INIT(&headers);
    while (text < end) {
        char *line = take_line(&text, end);

        add_header(&headers, line);
        free(line);
    }
    count = split_hops(&headers, hops);
    check_path(target);
    check_guard(target, &headers, count);
    check_hops(&headers, hops, count);
    check_origin(&headers);
    TAILQ_FOREACH(header, &headers, next)
    check_value(header);
    while (count > 0)
        free(hops[--count]);
    clear(&headers);
    free(target);
    return 0;
}
