/* SPDX-License-Identifier: MIT */
#include "workload_clients.h"

#include "draw.h"
#include "grow.h"
#include "line_reader.h"
#include "parse_number.h"
#include "workload_place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Separate these draws from the others of a seed. */
#define CLIENT_STREAM UINT64_C(0x636c69656e74)
#define PRIORITY_STREAM UINT64_C(0x7072696f)

enum { MAX_CELL = 256 };

/* What is read, and where the cells stand in a line. */
struct client_file {
    const char *path;
    const char *model;
    struct client_list *list;
    size_t model_at;
    size_t client_at;
    size_t share_at;
};

/* Copies the cell number |index|. Returns false if there is none or it is too
 * long. */
static bool cell(const char *line, size_t index, char text[MAX_CELL])
{
    size_t length;

    for (; index > 0; index--) {
        line = strchr(line, ',');
        if (line == NULL)
            return false;
        line++;
    }
    length = strcspn(line, ",");
    if (length >= MAX_CELL)
        return false;
    memcpy(text, line, length);
    text[length] = '\0';
    return true;
}

static bool find_column(const char *header, const char *name, size_t *index)
{
    char text[MAX_CELL];

    for (*index = 0; cell(header, *index, text); ++*index)
        if (strcmp(text, name) == 0)
            return true;
    return false;
}

static bool read_header(struct client_file *file, const char *header)
{
    return find_column(header, "model", &file->model_at) &&
           find_column(header, "client", &file->client_at) &&
           find_column(header, "share", &file->share_at);
}

static void add(struct client_list *list, const char *name, double share)
{
    struct client_share *added;

    list->clients = grow_array(list->clients, &list->capacity, list->count + 1,
                               sizeof *list->clients);
    added = &list->clients[list->count++];
    strcpy(added->name, name);
    added->share = share;
}

static bool read_line(struct client_file *file, const char *line)
{
    char model[MAX_CELL];
    char client[MAX_CELL];
    char text[MAX_CELL];
    double share;

    if (!cell(line, file->model_at, model) ||
        !cell(line, file->client_at, client) ||
        !cell(line, file->share_at, text) || client[0] == '\0' ||
        strlen(client) >= CLIENT_NAME_MAX ||
        !parse_real(text, 0.0, 1.0, &share))
        return false;
    if (strcmp(model, file->model) == 0 && share > 0.0)
        add(file->list, client, share);
    return true;
}

static bool read_lines(struct client_file *file, struct byte_source *source,
                       char *error, size_t error_size)
{
    struct line_reader lines;
    bool good = true;

    line_reader_init(&lines, source);
    while (good && line_reader_next(&lines)) {
        good = lines.number == 1 ? read_header(file, lines.line)
                                 : read_line(file, lines.line);
        if (!good)
            snprintf(error, error_size, "%s:%zu: expected %s", file->path,
                     lines.number,
                     lines.number == 1
                         ? "columns model, client and share"
                         : "a model, a client and a share from 0 to 1");
    }
    line_reader_release(&lines);
    if (good && byte_source_error(source) != NULL) {
        snprintf(error, error_size, "%s: %s", file->path,
                 byte_source_error(source));
        return false;
    }
    return good;
}

bool client_list_read(const char *path, const char *model,
                      struct client_list *list, char *error, size_t error_size)
{
    struct client_file file = {.path = path, .model = model, .list = list};
    struct byte_source *source = byte_source_open(path);
    bool good;

    *list = (struct client_list){0};
    if (source == NULL) {
        snprintf(error, error_size, "%s: %s", path, strerror(errno));
        return false;
    }
    good = read_lines(&file, source, error, error_size);
    byte_source_close(source);
    if (good && list->count == 0) {
        snprintf(error, error_size, "%s: no clients of \"%s\"", path, model);
        good = false;
    }
    if (!good)
        client_list_release(list);
    return good;
}

void client_list_release(struct client_list *list)
{
    free(list->clients);
    *list = (struct client_list){0};
}

void workload_draw_clients(struct workload *workload,
                           const struct client_list *list, uint64_t seed)
{
    double *sums = grow_zeroed(list->count, sizeof *sums);
    double sum = 0.0;

    for (size_t i = 0; i < list->count; i++)
        sums[i] = sum += list->clients[i].share;
    for (size_t i = 0; i < workload->count; i++) {
        struct work_request *request = &workload->requests[i];
        double place = workload_place(request, i, seed, CLIENT_STREAM);

        request->client = (uint32_t)draw_weighted(sums, list->count, place) + 1;
    }
    workload->clients = list;
    free(sums);
}

void workload_draw_priorities(struct workload *workload, double part,
                              uint64_t seed)
{
    for (size_t i = 0; i < workload->count; i++) {
        struct draw draw = draw_start(seed, PRIORITY_STREAM + i);

        workload->requests[i].priority = draw_uniform(&draw) < part;
    }
}
