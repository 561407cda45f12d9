/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the gateway's reader of requests: the first byte chooses the path, the
 * rest is the body. The same JSON written in another way must read the same; an
 * error must be one for the client, of the gateway's own words.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "asked.h"
#include "check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {
    "/v1/chat/completions", "/v1/messages",   "/v1/completions",
    "/v1/responses",        "/v1/embeddings", "/v1/messages/count_tokens",
};

static bool read_path(struct asked *asked, uint8_t choice, const void *body,
                      size_t len, struct asked_error *error)
{
    enum dialect dialect;
    enum asked_kind kind;
    const char *path = paths[choice % (sizeof paths / sizeof *paths)];

    memset(error, 0, sizeof *error);
    CHECK(asked_path(path, &dialect, &kind));
    return asked_read(asked, dialect, kind, body, len, error);
}

static void check_error(const struct asked_error *error)
{
    CHECK_I(error->status, 400);
    CHECK(memchr(error->text, 0, sizeof error->text) != NULL);
    CHECK(memchr(error->param, 0, sizeof error->param) != NULL);
    CHECK(error->text[0] != 0);
    for (const char *c = error->text; *c; c++)
        CHECK(*c >= ' ' && *c <= '~');
}

static void check_asked(const struct asked *asked)
{
    CHECK(asked->model != NULL && asked->salt != NULL);
    CHECK(asked->prompt != NULL || asked->prompt_len == 0);
    CHECK(asked->tokens != NULL || asked->tokens_len == 0);
    CHECK(asked->output_tokens >= -1);
    CHECK(asked->input_tokens >= -1);
}

static void check_alike(const struct asked *a, const struct asked *b)
{
    CHECK(strcmp(a->model, b->model) == 0);
    CHECK(strcmp(a->salt, b->salt) == 0);
    CHECK_U(a->prompt_len, b->prompt_len);
    CHECK(!a->prompt_len || !memcmp(a->prompt, b->prompt, a->prompt_len));
    CHECK_U(a->tokens_len, b->tokens_len);
    CHECK(!a->tokens_len ||
          !memcmp(a->tokens, b->tokens, a->tokens_len * sizeof *a->tokens));
    CHECK_I(a->output_tokens, b->output_tokens);
    CHECK_I(a->input_tokens, b->input_tokens);
    CHECK_I(a->stream, b->stream);
}

/* The same value with other spaces and escapes; NULL: it has numbers that are
 * too large to be written again. */
static char *rewrite(const void *body, size_t len)
{
    json_t *root = json_loadb(body, len, JSON_ALLOW_NUL, NULL);
    char *text = json_dumps(root, JSON_INDENT(3) | JSON_ENSURE_ASCII);

    json_decref(root);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t choice = size ? *data : 0;
    const uint8_t *body = size ? data + 1 : data;
    size_t len = size ? size - 1 : 0;
    struct asked asked, again;
    struct asked_error error;
    char *text;

    if (!read_path(&asked, choice, body, len, &error)) {
        check_error(&error);
        asked_release(&asked);
        return 0;
    }
    check_asked(&asked);
    text = rewrite(body, len);
    if (text) {
        CHECK(read_path(&again, choice, text, strlen(text), &error));
        check_alike(&asked, &again);
        asked_release(&again);
    }
    free(text);
    asked_release(&asked);
    return 0;
}
