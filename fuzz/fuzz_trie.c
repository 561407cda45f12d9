/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the prefix trie with programs of calls, against the naive model of
 * tests/property/trie_model.h: any difference or broken invariant aborts.
 *
 *     program:  settings, then operations until the bytes or places run out
 *     prompt:   known prompt, cut, how many bytes more, these bytes
 *
 * Prompts are told as changes to known ones: bytes drawn at random would have
 * nothing in common. Bytes beyond the end read as 0.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "trie_model.h"

enum { MOST_OPERATIONS = 80, MOST_BYTES = 4 * TRIE_RUN, STRETCH = 3000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct program {
    const uint8_t *next, *end;
    size_t budget; /* the usual one */
};

static struct trie_model model;
static unsigned char buffer[MOST_BYTES];

static uint8_t take(struct program *program)
{
    return program->next < program->end ? *program->next++ : 0;
}

/* Puts a symbol behind |length| bytes; returns the new length. */
static size_t put(size_t length, uint8_t byte, size_t times)
{
    size_t unit = model.trie.unit;

    for (; times > 0 && length + unit <= MOST_BYTES; times--) {
        memset(buffer + length, 0, unit);
        buffer[length + byte % unit] = byte;
        length += unit;
    }
    return length;
}

/* Reads a prompt into the buffer; now and then a byte counts many times. */
static size_t take_prompt(struct program *program, uint64_t *root)
{
    uint8_t from = take(program);
    uint8_t cut = take(program);
    uint8_t more = take(program);
    size_t length = 0;

    *root = from % 3;
    if (model.prompt_count > 0) {
        const struct trie_prompt *known =
            &model.prompts[from % model.prompt_count];

        length = known->length / 255 * cut + known->length % 255 * cut / 255;
        length -= length % model.trie.unit;
        memcpy(buffer, known->bytes, length);
        *root = cut > 0 ? known->root : *root;
    }
    for (uint8_t i = 0; i < more % 16; i++)
        length = put(length, take(program), more > 250 ? STRETCH : 1);
    return length;
}

static void run_record(struct program *program, uint8_t what, size_t owner)
{
    size_t prompt = take(program);
    uint64_t root;

    if (model.prompt_count == 0 || (what & 0x10)) {
        size_t length = take_prompt(program, &root);

        prompt = trie_model_prompt(&model, root, buffer, length);
    }
    trie_model_record(&model, prompt % model.prompt_count, owner,
                      (what & 0xe0) == 0xe0 ? (size_t)take(program) * 16
                                            : program->budget);
}

static void run_operation(struct program *program)
{
    uint8_t what = take(program);
    size_t owner = what % model.owner_count;
    uint64_t root;

    if ((what & 0x0c) == 0x0c && (what & 0x30) == 0x30) {
        trie_model_purge(&model, owner);
    } else if ((what & 0x0c) == 0x0c) {
        size_t length = take_prompt(program, &root);

        trie_model_probe(&model, root, buffer, length);
    } else {
        run_record(program, what, owner);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct program program = {data, data + size, TRIE_UNLIMITED};
    uint8_t settings = take(&program);
    uint8_t budget = take(&program);

    trie_model_open(&model, settings & 1 ? 8 : 1, 1 + settings / 2 % 5);
    if (budget < 192)
        program.budget = (size_t)budget * budget * 16;
    model.heap.fail_at = settings >= 192 ? take(&program) : 0;
    for (uint32_t i = 0; i < MOST_OPERATIONS && program.next < program.end &&
                         model.prompt_count < TRIE_PROMPTS;
         i++) {
        check_step(i);
        run_operation(&program);
    }
    trie_model_close(&model);
    return 0;
}
