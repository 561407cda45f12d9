/* SPDX-License-Identifier: MIT */
#include "guard.h"
#include "header.h"

#include <sys/queue.h>

#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/util.h>
#include <stdio.h>
#include <string.h>

static bool refuse(struct asked_error *error, const char *text)
{
    error->status = 400;
    error->param[0] = '\0';
    snprintf(error->text, sizeof error->text, "%s", text);
    return false;
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
    struct evkeyval *header;
    if (!is_path(target))
        return refuse(error, "The request target is not a path.");
    TAILQ_FOREACH(header, headers, next)
    {
        if (!header_is_token(header->key) || !is_value(header->value))
            return refuse(error, "A header has forbidden characters.");
        look_at(&framing, header);
    }
    return judge(&framing, bodyless, error);
}

/* Whether a comma-separated list holds a name. */
static bool lists(const char *list, const char *name)
{
    size_t len = strlen(name);
    while (*list) {
        list += strspn(list, " \t,");
        size_t item = strcspn(list, " \t,");
        if (item == len && evutil_ascii_strncasecmp(list, name, len) == 0)
            return true;
        list += item;
    }
    return false;
}

static bool named_by_connection(const char *name, struct evkeyvalq *headers)
{
    struct evkeyval *header;
    TAILQ_FOREACH(header, headers, next)
    if (header_same(header->key, "Connection") && lists(header->value, name))
        return true;
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

bool guard_is_hop_header(const char *name, struct evkeyvalq *headers)
{
    return is_hop_name(name) || named_by_connection(name, headers);
}
