/* SPDX-License-Identifier: MIT */
/*
 * What a request asks for, once it is known to be right.
 */
#ifndef LBROUTE_MOCK_ASK_H
#define LBROUTE_MOCK_ASK_H

#include "mock.h"

struct ask {
    const struct dialect *dialect;
    const char *model; /**< As it is kept with the names. */
    uint32_t adapter;  /**< 0: none. */
    bool stream;
    bool usage;      /**< At the end of the stream. */
    bool limited;    /**< The length was given. */
    uint32_t length; /**< Of the answer, tokens. */
    struct prompt prompt;
};

/** Finds the model of a body: a name in `model`. */
bool ask_model(const struct mock *mock, const json_t *body, const char **model,
               uint32_t *adapter, struct refusal *refusal);

/** Reads a body. Release the ask in any case. */
bool ask_read(struct ask *ask, const struct mock *mock,
              const struct dialect *dialect, const json_t *body,
              struct refusal *refusal);

void ask_release(struct ask *ask);

#endif
