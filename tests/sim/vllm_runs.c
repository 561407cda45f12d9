/* SPDX-License-Identifier: MIT */
#include "vllm_runs.h"

#include "replay/block_ids.h"
#include "replay/grow.h"
#include "replay/line_reader.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static uint32_t count_of(const json_t *object, const char *name)
{
    return (uint32_t)json_integer_value(json_object_get(object, name));
}

/* Ids of the prompt's full blocks, then those that the answer fills. */
static size_t read_ids(struct block_ids *ids, const json_t *json,
                       uint32_t **blocks, size_t *prompt_count)
{
    const json_t *prompt = json_object_get(json, "hash_ids");
    const json_t *runs = json_object_get(json, "runs_after");
    size_t capacity = 0;
    size_t count = 0;

    *prompt_count = json_array_size(prompt);
    *blocks = grow_array(NULL, &capacity, *prompt_count + 1, sizeof **blocks);
    for (; count < *prompt_count; count++)
        (*blocks)[count] = block_ids_get(
            ids, (uint64_t)json_integer_value(json_array_get(prompt, count)));
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i);
        json_int_t first = json_integer_value(json_array_get(run, 0));
        json_int_t length = json_integer_value(json_array_get(run, 1));

        for (json_int_t k = 0; k < length; k++) {
            *blocks =
                grow_array(*blocks, &capacity, count + 1, sizeof **blocks);
            (*blocks)[count++] = block_ids_get(ids, (uint64_t)(first + k));
        }
    }
    return count;
}

static void read_request(struct vllm_run *run, struct block_ids *ids,
                         const json_t *json)
{
    struct work_request request = {
        .at_s = number_of(json, "timestamp") / 1000.0,
        .input_tokens = count_of(json, "input_length"),
        .output_tokens = count_of(json, "output_length"),
        .follows = WORK_FOLLOWS_NONE,
    };
    struct work_content content;
    uint32_t *blocks;
    size_t count = read_ids(ids, json, &blocks, &content.prompt_count);
    struct vllm_times times = {number_of(json, "first_token"),
                               number_of(json, "last_token")};

    content.prompt = blocks;
    content.answer = blocks + content.prompt_count;
    content.answer_count = count - content.prompt_count;
    run->measured = grow_array(run->measured, &run->capacity,
                               run->work.count + 1, sizeof times);
    run->measured[run->work.count] = times;
    workload_add(&run->work, &request, &content);
    free(blocks);
}

static void read_line(struct vllm_run *run, struct block_ids *ids,
                      const char *name, const json_t *json)
{
    const char *of = json_string_value(json_object_get(json, "run"));

    if (of == NULL || strcmp(of, name) != 0)
        return;
    if (json_object_get(json, "vllm") == NULL) {
        read_request(run, ids, json);
        return;
    }
    snprintf(run->name, sizeof run->name, "%s", name);
    run->max_seqs = count_of(json, "max_num_seqs");
    run->gpu_blocks = count_of(json, "num_gpu_blocks");
    run->work.block_tokens = count_of(json, "block");
}

static bool read_lines(struct vllm_run *run, const char *path, const char *name,
                       struct byte_source *source)
{
    struct line_reader lines;
    struct block_ids ids;
    bool good = true;

    line_reader_init(&lines, source);
    block_ids_init(&ids, &run->work);
    while (good && line_reader_next(&lines)) {
        json_t *json = json_loadb(lines.line, lines.length, 0, NULL);

        good = json != NULL;
        if (good)
            read_line(run, &ids, name, json);
        json_decref(json);
    }
    good = good && byte_source_error(source) == NULL && run->work.count > 0;
    if (!good)
        fprintf(stderr, "%s:%zu: not a file of vLLM runs with %s\n", path,
                lines.number, name);
    block_ids_release(&ids);
    line_reader_release(&lines);
    return good;
}

bool vllm_run_read(const char *path, const char *name, struct vllm_run *run)
{
    struct byte_source *source = byte_source_open(path);
    bool good;

    memset(run, 0, sizeof *run);
    if (source == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return false;
    }
    good = read_lines(run, path, name, source);
    byte_source_close(source);
    return good;
}

void vllm_run_release(struct vllm_run *run)
{
    workload_release(&run->work);
    free(run->measured);
}
