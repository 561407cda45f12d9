/* SPDX-License-Identifier: MIT */
#include "decision_lines.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

enum { LONGEST = 1024, GUARD = 0x5a };

static const char *const words[] = {
    "Server", "Pool",   "Weight",        "In-Flight", "Wait-Ms",  "Algorithm",
    "Sticky", "Prefix", "Reject-Reason", "Kv-Blocks", "Kv-State", "Queue-Ahead",
};

struct line {
    char name[LONGEST], value[LONGEST];
    size_t name_len, value_len;
};

static int read_line(lbroute_router *router, const lbroute_decision *decision,
                     size_t index, size_t name_room, size_t value_room,
                     struct line *line)
{
    memset(line, GUARD, sizeof *line);
    return lbroute_decision_header(router, decision, index, line->name,
                                   name_room, &line->name_len, line->value,
                                   value_room, &line->value_len);
}

static void check_untouched(const char *bytes)
{
    for (size_t i = 0; i < LONGEST; i++)
        CHECK_I(bytes[i], GUARD);
}

/* Exact buffers do; with one byte less neither is written to. */
static void check_rooms(lbroute_router *router,
                        const lbroute_decision *decision, size_t index,
                        const struct line *whole)
{
    size_t name_room = whole->name_len + 1, value_room = whole->value_len + 1;
    struct line line;

    CHECK_I(read_line(router, decision, index, name_room, value_room, &line),
            LBROUTE_OK);
    CHECK(strcmp(line.name, whole->name) == 0);
    CHECK(strcmp(line.value, whole->value) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK_I(read_line(router, decision, index, name_room - (size_t)i,
                          value_room - (size_t)!i, &line),
                LBROUTE_ERR_BUFFER);
        CHECK_U(line.name_len, whole->name_len);
        CHECK_U(line.value_len, whole->value_len);
        check_untouched(line.name);
        check_untouched(line.value);
    }
}

static void check_escaped(const char *value, const char *name, size_t length)
{
    char wanted[LONGEST] = "";
    size_t used = 0;

    for (size_t i = 0; i < length && i < LBROUTE_NAME_MAX; i++) {
        unsigned char byte = (unsigned char)name[i];

        used +=
            (size_t)snprintf(wanted + used, sizeof wanted - used,
                             byte < 32 || byte > 126 ? "%%%02x" : "%c", byte);
    }
    CHECK(strcmp(value, wanted) == 0);
}

static void check_line(const struct line *line, const char *word,
                       const lbroute_decision *decision)
{
    CHECK_U(line->name_len, strlen(line->name));
    CHECK_U(line->value_len, strlen(line->value));
    CHECK(line->value_len > 0);
    for (const char *c = line->value; *c; c++)
        CHECK(*c >= ' ' && *c <= '~');
    if (strcmp(word, "Server") == 0)
        check_escaped(line->value, decision->target_name,
                      decision->target_name_len);
    if (strcmp(word, "Pool") == 0)
        check_escaped(line->value, decision->pool_name,
                      decision->pool_name_len);
}

void decision_lines_check(lbroute_router *router, const char *prefix,
                          const lbroute_decision *decision)
{
    size_t count = sizeof words / sizeof *words, word = 0, index = 0;
    struct line line;

    while (read_line(router, decision, index, LONGEST, LONGEST, &line) ==
           LBROUTE_OK) {
        CHECK(strncmp(line.name, prefix, strlen(prefix)) == 0);
        while (word < count &&
               strcmp(line.name + strlen(prefix), words[word]) != 0)
            word++;
        CHECK(word < count);
        check_line(&line, words[word++], decision);
        check_rooms(router, decision, index++, &line);
    }
    CHECK_I(read_line(router, decision, index, LONGEST, LONGEST, &line),
            LBROUTE_ERR_NOT_FOUND);
}
