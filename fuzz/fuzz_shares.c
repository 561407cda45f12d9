/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the trie that is shared among clients with programs of calls, against
 * the naive model of tests/property/shares_model.h: any difference, unfairness
 * or broken invariant aborts.
 *
 *     program:  settings, then operations until the bytes or places run out
 *     prompt:   known prompt, cut, how many blocks more, these blocks
 *
 * Bytes beyond the end read as 0.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "shares_model.h"

enum { MOST_OPERATIONS = 80, MOST_BLOCKS = SHARES_LONGEST, STRETCH = 200 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct program {
    const uint8_t *next, *end;
};

static struct shares_model model;
static uint64_t blocks[MOST_BLOCKS];

static uint8_t take(struct program *program)
{
    return program->next < program->end ? *program->next++ : 0;
}

static size_t put(size_t length, uint64_t block, size_t times)
{
    for (; times > 0 && length < MOST_BLOCKS; times--)
        blocks[length++] = block;
    return length;
}

/* Reads a prompt of at least one block; now and then a byte counts many
 * times. */
static size_t take_prompt(struct program *program, uint64_t *root)
{
    uint8_t from = take(program);
    uint8_t cut = take(program);
    uint8_t more = take(program);
    size_t length = 0;

    *root = from % 2;
    if (model.prompt_count > 0 && cut > 0) {
        const struct shares_prompt *known =
            &model.prompts[from % model.prompt_count];

        length = known->length * cut / 255;
        memcpy(blocks, known->blocks, 8 * length);
        *root = known->root;
    }
    for (uint8_t i = 0; i < more % 8 + (length == 0); i++)
        length = put(length, take(program) % 16, more > 250 ? STRETCH : 1);
    return length > 0 ? length : put(0, 1, 1);
}

static void run_record(struct program *program, uint8_t what)
{
    size_t prompt = take(program);
    size_t client = take(program) % SHARES_CLIENTS;

    if (model.prompt_count == 0 || (what & 0x10)) {
        uint64_t root;
        size_t length = take_prompt(program, &root);

        if (!shares_model_has_place(&model, length))
            return;
        prompt = shares_model_prompt(&model, root, blocks, length);
    }
    shares_model_record(&model, prompt % model.prompt_count,
                        what % model.owner_count, client);
}

static void run_operation(struct program *program)
{
    uint8_t what = take(program);

    model.now += what >> 5;
    switch (what & 0x0f) {
    case 0x0f:
        model.now += take(program);
        break;
    case 0x0e:
        model.rules.capacity = take(program);
        break;
    case 0x0d:
        model.rules.most_clients = 1 + take(program) % SHARES_CLIENTS;
        break;
    case 0x0c:
        model.rules.idle = 1 + take(program);
        break;
    case 0x0b:
        shares_model_purge(&model, (what >> 4) % model.owner_count);
        break;
    default:
        run_record(program, what);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct program program = {data, data + size};
    uint8_t settings = take(&program);
    struct lbr_share_rules rules = {take(&program), 100, SHARES_CLIENTS};

    shares_model_open(&model, 1 + settings % 3, rules);
    model.heap.fail_at = settings >= 192 ? take(&program) : 0;
    for (uint32_t i = 0; i < MOST_OPERATIONS && program.next < program.end;
         i++) {
        check_step(i);
        run_operation(&program);
    }
    shares_model_close(&model);
    return 0;
}
