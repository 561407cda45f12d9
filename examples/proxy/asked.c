/* SPDX-License-Identifier: MIT */
#include "asked.h"

#include "asked_json.h"
#include "prompt.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *path;
    enum dialect dialect;
    enum asked_kind kind;
} paths[] = {
    {"/v1/chat/completions", DIALECT_OPENAI, ASKED_CHAT},
    {"/v1/messages", DIALECT_ANTHROPIC, ASKED_CHAT},
    {"/v1/completions", DIALECT_OPENAI, ASKED_COMPLETION},
    {"/v1/responses", DIALECT_OPENAI, ASKED_RESPONSE},
    {"/v1/messages/count_tokens", DIALECT_ANTHROPIC, ASKED_OTHER},
    {"/v1/embeddings", DIALECT_OPENAI, ASKED_OTHER},
    {"/v1/rerank", DIALECT_OPENAI, ASKED_OTHER},
    {"/v1/reranking", DIALECT_OPENAI, ASKED_OTHER},
    {"/v1/score", DIALECT_OPENAI, ASKED_OTHER},
    {"/v1/classify", DIALECT_OPENAI, ASKED_OTHER},
    {"/v1/moderations", DIALECT_OPENAI, ASKED_OTHER},
    {"/v1/images/generations", DIALECT_OPENAI, ASKED_OTHER},
    {"/v1/audio/speech", DIALECT_OPENAI, ASKED_OTHER},
};

bool asked_path(const char *path, enum dialect *dialect, enum asked_kind *kind)
{
    size_t len = strcspn(path, "?");

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (strlen(paths[i].path) != len || memcmp(paths[i].path, path, len))
            continue;
        *dialect = paths[i].dialect;
        *kind = paths[i].kind;
        return true;
    }
    return false;
}

/* In order of precedence: the later counts. */
static bool read_limits(struct asked *asked, const json_t *body,
                        struct asked_error *error)
{
    static const char *const names[] = {"max_tokens", "max_output_tokens",
                                        "max_completion_tokens"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!asked_count(body, names[i], &asked->output_tokens, error))
            return false;
    return true;
}

static bool read_fields(struct asked *asked, const json_t *body,
                        struct asked_error *error)
{
    return asked_name(body, "model", &asked->model, error) &&
           asked_name(body, "cache_salt", &asked->salt, error) &&
           asked_flag(body, "stream", &asked->stream, error) &&
           read_limits(asked, body, error);
}

/* Embeddings, rerankers and the like differ in the names of their inputs. */
static bool read_other(struct prompt *prompt, const json_t *body)
{
    static const char *const names[] = {"prompt",    "input",  "query",
                                        "documents", "text_1", "text_2"};

    if (asked_field(body, "messages"))
        return prompt_chat(prompt, body);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!prompt_raw(prompt, body, names[i]))
            return false;
    return true;
}

static bool read_completion(struct prompt *prompt, const json_t *body)
{
    const json_t *suffix = asked_field(body, "suffix");

    if (!prompt_raw(prompt, body, "prompt"))
        return false;
    if (suffix) {
        prompt_message(prompt, "suffix");
        prompt_value(prompt, suffix);
    }
    return true;
}

static bool read_prompt(struct prompt *prompt, enum asked_kind kind,
                        const json_t *body)
{
    switch (kind) {
    case ASKED_CHAT:
        return prompt_chat(prompt, body);
    case ASKED_COMPLETION:
        return read_completion(prompt, body);
    case ASKED_RESPONSE:
        return prompt_response(prompt, body);
    default:
        return read_other(prompt, body);
    }
}

static void take_prompt(struct asked *asked, const struct prompt *prompt)
{
    asked->prompt = prompt->text.data;
    asked->prompt_len = prompt->text.len;
    asked->tokens = (uint32_t *)(void *)prompt->tokens.data;
    asked->tokens_len = prompt->tokens.len / sizeof *asked->tokens;
    if (prompt->marked > 0)
        asked->input_tokens = prompt->marked + (int64_t)(prompt->text.len / 4);
}

static bool read_body(struct asked *asked, const json_t *body,
                      struct asked_error *error)
{
    struct prompt prompt = {.error = error};
    bool read = read_fields(asked, body, error) &&
                read_prompt(&prompt, asked->kind, body);

    take_prompt(asked, &prompt);
    if (read && (prompt.text.failed || prompt.tokens.failed))
        return asked_starved(error);
    return read;
}

bool asked_read(struct asked *asked, enum dialect dialect, enum asked_kind kind,
                const void *body, size_t len, struct asked_error *error)
{
    json_t *root = asked_parse(body, len, error);
    bool read;

    *asked = (struct asked){.dialect = dialect,
                            .kind = kind,
                            .output_tokens = -1,
                            .input_tokens = -1};
    read = root && read_body(asked, root, error);
    json_decref(root);
    return read;
}

void asked_release(struct asked *asked)
{
    free(asked->model);
    free(asked->salt);
    free(asked->prompt);
    free(asked->tokens);
    *asked = (struct asked){.output_tokens = -1, .input_tokens = -1};
}
