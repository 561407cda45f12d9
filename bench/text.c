/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for one line more: the table doubles. */
static bench_line *next_line(bench_text *text)
{
    size_t count = text->count;

    if ((count & (count - 1)) == 0) {
        bench_line *lines = bench_alloc(count ? 2 * count : 1, sizeof *lines);

        if (count)
            memcpy(lines, text->lines, count * sizeof *lines);
        free(text->lines);
        text->lines = lines;
    }
    return &text->lines[text->count++];
}

static void add_line(bench_text *text, const char *path, const char *json,
                     size_t length)
{
    json_t *whole = json_loadb(json, length, 0, NULL);
    const json_t *input = json_object_get(whole, "input");
    bench_line *line = next_line(text);

    if (!json_is_string(input))
        bench_die(path, "a line without a string 'input'");
    line->length = json_string_length(input);
    line->bytes = bench_alloc(line->length + 1, 1);
    memcpy(line->bytes, json_string_value(input), line->length);
    json_decref(whole);
}

static void read_lines(bench_text *text, const char *path, FILE *file)
{
    char *json = NULL;
    size_t capacity = 0;
    ssize_t length;

    while ((length = getline(&json, &capacity, file)) >= 0)
        add_line(text, path, json, (size_t)length);
    if (ferror(file))
        bench_die(path, strerror(errno));
    free(json);
}

bench_text *bench_text_read(const char *path)
{
    bench_text *text = bench_alloc(1, sizeof *text);
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");

    if (file == NULL)
        bench_die(path, strerror(errno));
    read_lines(text, path, file);
    if (file != stdin)
        fclose(file);
    if (text->count == 0)
        bench_die(path, "empty");
    return text;
}

void bench_text_free(bench_text *text)
{
    if (text == NULL)
        return;
    for (size_t i = 0; i < text->count; i++)
        free(text->lines[i].bytes);
    free(text->lines);
    free(text);
}
