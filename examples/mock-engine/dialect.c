/* SPDX-License-Identifier: MIT */
#include "dialect.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static void fill(struct refusal *refusal, int status, const char *type,
                 const char *param, const char *format, va_list arguments)
{
    refusal->status = status;
    refusal->type = type;
    refusal->param = param;
    vsnprintf(refusal->text, sizeof refusal->text, format, arguments);
}

bool refuse(struct refusal *refusal, int status, const char *type,
            const char *param, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fill(refusal, status, type, param, format, arguments);
    va_end(arguments);
    return false;
}

bool refuse_field(struct refusal *refusal, const char *param,
                  const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fill(refusal, 400, "BadRequestError", param, format, arguments);
    va_end(arguments);
    return false;
}

const char *told_reason(const struct told *told)
{
    return told->limited ? "length" : "stop";
}

void told_usage(struct evbuffer *out, const struct told *told)
{
    evbuffer_add_printf(
        out,
        "\"usage\":{\"prompt_tokens\":%" PRIu32 ",\"total_tokens\":%" PRIu32
        ",\"completion_tokens\":%" PRIu32
        ",\"prompt_tokens_details\":{\"cached_tokens\":%" PRIu32 "}}",
        told->prompt_tokens, told->prompt_tokens + told->output_tokens,
        told->output_tokens, told->cached_tokens);
}
