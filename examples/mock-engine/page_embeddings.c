/* SPDX-License-Identifier: MIT */
#include "answer.h"
#include "ask.h"
#include "pages.h"
#include "reply.h"
#include "tokens.h"

#include <openssl/evp.h>

#include <string.h>

enum { DIMENSIONS = 8 };

/* Four bytes a number, little-endian, in Base64. */
static json_t *packed(const float *vector)
{
    unsigned char bytes[DIMENSIONS * 4];
    char text[DIMENSIONS * 8];

    for (size_t i = 0; i < DIMENSIONS; i++) {
        uint32_t bits;

        memcpy(&bits, &vector[i], sizeof bits);
        for (size_t k = 0; k < 4; k++, bits >>= 8)
            bytes[i * 4 + k] = (unsigned char)bits;
    }
    EVP_EncodeBlock((unsigned char *)text, bytes, sizeof bytes);
    return json_string(text);
}

static json_t *listed(const float *vector)
{
    json_t *list = json_array();

    for (size_t i = 0; i < DIMENSIONS; i++)
        json_array_append_new(list, json_real((double)vector[i]));
    return list;
}

static void add_vector(json_t *list, const char *text, size_t length,
                       bool base64)
{
    float vector[DIMENSIONS];

    answer_embed(text, length, vector, DIMENSIONS);
    json_array_append_new(
        list, json_pack("{s:s,s:I,s:o}", "object", "embedding", "index",
                        (json_int_t)json_array_size(list), "embedding",
                        base64 ? packed(vector) : listed(vector)));
}

/* Of one text, or of each text of a list. Returns false if it is neither. */
static bool add_all(json_t *list, const json_t *input, bool base64,
                    uint64_t *tokens)
{
    size_t count = json_is_array(input) ? json_array_size(input) : 1;

    for (size_t i = 0; i < count; i++) {
        const json_t *text =
            json_is_array(input) ? json_array_get(input, i) : input;

        if (!json_is_string(text))
            return false;
        *tokens += tokens_count(json_string_length(text));
        add_vector(list, json_string_value(text), json_string_length(text),
                   base64);
    }
    return count > 0;
}

static json_t *embed(const struct mock *mock, const json_t *body,
                     struct refusal *refusal)
{
    const char *format =
        json_string_value(json_object_get(body, "encoding_format"));
    bool base64 = format != NULL && strcmp(format, "base64") == 0;
    json_t *list;
    const char *model;
    uint32_t adapter;
    uint64_t tokens = 0;

    if (!ask_model(mock, body, &model, &adapter, refusal))
        return NULL;
    list = json_array();
    if (add_all(list, json_object_get(body, "input"), base64, &tokens))
        return json_pack("{s:s,s:s,s:o,s:{s:I,s:I}}", "object", "list", "model",
                         model, "data", list, "usage", "prompt_tokens",
                         (json_int_t)tokens, "total_tokens",
                         (json_int_t)tokens);
    json_decref(list);
    refuse_field(refusal, "input", "input must be a text or a list of texts");
    return NULL;
}

void page_embeddings(struct mock *mock, struct evhttp_request *request,
                     const struct fault_plan *plan, const void *data)
{
    struct refusal refusal;
    json_t *body = reply_read(request, &refusal);
    json_t *answer = body != NULL ? embed(mock, body, &refusal) : NULL;

    (void)plan;
    (void)data;
    if (answer != NULL)
        reply_json(request, 200, answer);
    else
        reply_refusal(request, false, &refusal);
    json_decref(body);
}
