/* SPDX-License-Identifier: MIT */
#include "guard.h"
#include "header.h"

#include <sys/queue.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/util.h>
#include <stdio.h>
#include <string.h>

static bool refuse_as(int status, struct asked_error *error, const char *text)
{
    error->status = status;
    error->param[0] = '\0';
    snprintf(error->text, sizeof error->text, "%s", text);
    return false;
}

static bool refuse(struct asked_error *error, const char *text)
{
    return refuse_as(400, error, text);
}

static bool is_value(const char *text)
{
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if ((c < ' ' && c != '\t') || c == 127)
            return false;
    }
    return true;
}

bool guard_headers_clean(struct evkeyvalq *headers)
{
    struct evkeyval *header;
    TAILQ_FOREACH(header, headers, next)
    if (!header_is_token(header->key) || !is_value(header->value))
        return false;
    return true;
}

bool guard_is_length(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits <= 18 && !text[digits];
}

/* No space, no fragment, nothing that is not ASCII: whatever another server
 * could take for the end of the target. */
static bool is_path(const char *target)
{
    if (*target != '/')
        return false;
    for (const char *at = target; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c <= ' ' || c >= 127 || c == '#' || c == '\\')
            return false;
    }
    return true;
}

/* What was seen of the headers that say where a request ends. */
struct framing {
    unsigned lengths, codings, hosts;
    bool bad_length, bad_coding, bad_expectation;
};

static void look_at(struct framing *framing, const struct evkeyval *header)
{
    const char *name = header->key;
    if (!strchr("CTHEcthe", *name))
        return; /* Quickly: most headers are others. */
    if (header_same(name, "Content-Length")) {
        framing->lengths++;
        framing->bad_length |= !guard_is_length(header->value);
    } else if (header_same(name, "Transfer-Encoding")) {
        framing->codings++;
        framing->bad_coding |= !header_same(header->value, "chunked");
    } else if (header_same(name, "Host")) {
        framing->hosts++;
    } else if (header_same(name, "Expect")) {
        framing->bad_expectation |= !header_same(header->value, "100-continue");
    }
}

static bool judge(const struct framing *framing, bool bodyless,
                  struct asked_error *error)
{
    if (framing->hosts > 1)
        return refuse(error, "There is more than one Host header.");
    if (framing->lengths > 1 || framing->bad_length)
        return refuse(error, "Content-Length is not one plain number.");
    if (framing->codings > 1 || framing->bad_coding)
        return refuse(error, "Transfer-Encoding is not just \"chunked\".");
    if (framing->codings && framing->lengths)
        return refuse(error, "Both Content-Length and Transfer-Encoding are "
                             "given.");
    if (framing->bad_expectation)
        return refuse(error, "An expectation is not understood.");
    if (bodyless && (framing->codings || framing->lengths))
        return refuse(error, "This method takes no body.");
    return true;
}

bool guard_request(const char *target, bool bodyless, struct evkeyvalq *headers,
                   struct asked_error *error)
{
    struct framing framing = {0};
    struct guard_hops hops;
    struct evkeyval *header;
    size_t count = 0;
    if (!is_path(target))
        return refuse(error, "The request target is not a path.");
    TAILQ_FOREACH(header, headers, next)
    {
        if (++count > GUARD_HEADERS_MAX)
            return refuse_as(431, error, "There are too many headers.");
        if (!header_is_token(header->key) || !is_value(header->value))
            return refuse(error, "A header has forbidden characters.");
        look_at(&framing, header);
    }
    if (!guard_read_hops(&hops, headers))
        return refuse(error, "Connection names too many headers.");
    return judge(&framing, bodyless, error);
}

/* Adds the names of a comma-separated list. */
static bool add_hops(struct guard_hops *hops, const char *list)
{
    while (*(list += strspn(list, " \t,"))) {
        size_t len = strcspn(list, " \t,");
        if (hops->count == GUARD_HOPS_MAX)
            return false;
        hops->names[hops->count].text = list;
        hops->names[hops->count++].len = len;
        list += len;
    }
    return true;
}

bool guard_read_hops(struct guard_hops *hops, struct evkeyvalq *headers)
{
    struct evkeyval *header;
    hops->count = 0;
    TAILQ_FOREACH(header, headers, next)
    if (header_same(header->key, "Connection") &&
        !add_hops(hops, header->value))
        return false;
    return true;
}

static bool is_named(const char *name, const struct guard_hops *hops)
{
    for (size_t i = 0; i < hops->count; i++) {
        size_t len = hops->names[i].len;
        if (evutil_ascii_strncasecmp(name, hops->names[i].text, len) == 0 &&
            !name[len])
            return true;
    }
    return false;
}

/* Each header of each request passes here: most differ in the first letter. */
static bool is_hop_name(const char *name)
{
    switch (*name | 0x20) {
    case 'c':
        return header_same(name, "Connection") ||
               header_same(name, "Content-Length");
    case 'e':
        return header_same(name, "Expect");
    case 'h':
        return header_same(name, "Host");
    case 'k':
        return header_same(name, "Keep-Alive");
    case 'p':
        return header_same(name, "Proxy-Connection") ||
               header_same(name, "Proxy-Authorization") ||
               header_same(name, "Proxy-Authenticate");
    case 't':
        return header_same(name, "TE") || header_same(name, "Trailer") ||
               header_same(name, "Transfer-Encoding");
    case 'u':
        return header_same(name, "Upgrade");
    default:
        return false;
    }
}

bool guard_is_hop_header(const char *name, const struct guard_hops *hops)
{
    return is_hop_name(name) || is_named(name, hops);
}
