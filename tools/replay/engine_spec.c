/* SPDX-License-Identifier: MIT */
#include "engine_spec.h"

#include "choices.h"

/* The first three are fitted to measured vLLM 0.19 runs, the A100 ones come
 * from the profile of the Vidur simulator. Sizes: what is left of 90 % of the
 * memory after 16-bit weights, rounded; measured on the RTX 4090. */
static const struct engine_spec specs[] = {
    {"8b-rtxpro6000", "Llama-3.1-8B, one RTX PRO 6000 (96 GB)", 500000, 9.69,
     51.4, 0.57, 92.0, 35.0, false},
    {"8b-rtx4090", "Llama-3.1-8B, one RTX 4090 (24 GB)", 41408, 16.8, 101.0,
     1.03, 153.0, 31.0, false},
    {"32b-2xrtxpro6000", "Qwen3-32B, two RTX PRO 6000 (192 GB)", 400000, 37.7,
     159.0, 0.40, 119.0, 74.0, false},
    {"8b-a100", "Llama-3-8B, one A100 (80 GB)", 400000, 9.8, 69.0, 0.0, 75.0,
     0.0, true},
    {"70b-a100-tp4", "Llama-3-70B, four A100 (320 GB)", 450000, 25.0, 164.5,
     0.0, 47.0, 0.0, true},
    {"70b-a100-tp8", "Llama-3-70B, eight A100 (640 GB)", 1300000, 14.4, 91.0,
     0.0, 24.0, 0.0, true},
};

const struct engine_spec *engine_spec_at(size_t index)
{
    return index < sizeof specs / sizeof specs[0] ? &specs[index] : NULL;
}

const char *engine_spec_name(size_t index)
{
    const struct engine_spec *spec = engine_spec_at(index);

    return spec != NULL ? spec->name : NULL;
}

const struct engine_spec *engine_spec_find(const char *name, size_t length)
{
    const struct engine_spec *spec;

    for (size_t i = 0; (spec = engine_spec_at(i)) != NULL; i++)
        if (choices_is(name, length, spec->name))
            return spec;
    return NULL;
}

static double base_ms(const struct engine_spec *spec,
                      const struct engine_work *work)
{
    double prefill = (double)work->prefill_tokens;
    double tokens_ms;

    if (!spec->overlapped)
        return spec->fixed_ms + spec->token_us * prefill * 1e-3;
    tokens_ms = spec->token_us * (prefill + (double)work->decode_tokens) * 1e-3;
    return tokens_ms > spec->fixed_ms ? tokens_ms : spec->fixed_ms;
}

double engine_spec_step_ms(const struct engine_spec *spec,
                           const struct engine_work *work)
{
    return base_ms(spec, work) +
           spec->chunk_context_ns * work->chunk_context * 1e-6 +
           spec->decode_context_ns * work->decode_context * 1e-6 +
           spec->sequence_us * (double)work->sequences * 1e-3;
}
