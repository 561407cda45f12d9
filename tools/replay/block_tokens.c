/* SPDX-License-Identifier: MIT */
#include "block_tokens.h"

#include "block_ids.h"

/* Three tokens of 17 bits are cut out of each mixed number. */
enum { TOKEN_BITS = 17, TOKENS_A_MIX = 3 };

/* Contents are 32 bits wide; what no block holds lies above. */
#define LOOSE_TOKENS (UINT64_C(1) << 32)

static void write_tokens(uint64_t content, uint32_t *tokens, size_t count)
{
    uint64_t key = block_key_mix(0, content);
    uint64_t mixed = 0;

    for (size_t i = 0; i < count; i++) {
        if (i % TOKENS_A_MIX == 0)
            mixed = block_key_mix(key, i);
        tokens[i] = (uint32_t)(mixed & ((1u << TOKEN_BITS) - 1));
        mixed >>= TOKEN_BITS;
    }
}

void block_tokens_write(const struct workload *workload, uint32_t id,
                        uint32_t *tokens, size_t count)
{
    write_tokens(workload_content(workload, id), tokens, count);
}

/* A prompt that ends within a block shares this with its answer; what no full
 * block follows belongs to the request alone. */
void block_tokens_prompt(const struct workload *workload, size_t request,
                         uint32_t *tokens)
{
    const struct work_request *from = &workload->requests[request];
    const uint32_t *ids = workload->ids + from->first_id;
    uint32_t size = workload->block_tokens;
    uint32_t rest = from->input_tokens % size;
    uint32_t all = (from->input_tokens + from->output_tokens - 1) / size;

    for (uint32_t i = 0; i < from->prompt_ids; i++)
        block_tokens_write(workload, ids[i], tokens + (size_t)i * size, size);
    tokens += (size_t)from->prompt_ids * size;
    if (all > from->prompt_ids)
        block_tokens_write(workload, ids[from->prompt_ids], tokens, rest);
    else
        write_tokens(LOOSE_TOKENS + request, tokens, rest);
}
