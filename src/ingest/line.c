/* SPDX-License-Identifier: MIT */
#include "ingest/line.h"

#include "ingest/letters.h"

#include <string.h>

void lbr_lines_init(struct lbr_lines *lines, const char *text, size_t length)
{
    lines->text = lines->next = text;
    lines->end = text + length;
    lines->number = 0;
}

/* Takes one line, of whatever kind. */
static void take(struct lbr_lines *lines, struct lbr_line *line)
{
    const char *begin = lines->next;
    const char *feed = memchr(begin, '\n', (size_t)(lines->end - begin));

    lines->number++;
    lines->next = feed ? feed + 1 : lines->end;
    line->end = feed ? feed : lines->end;
    line->at = lbr_skip_blanks(begin, line->end);
    line->offset = (size_t)(begin - lines->text);
}

/* "# EOF" and nothing else. */
static int ends_page(const struct lbr_line *line)
{
    static const char mark[] = "# EOF";
    size_t length = sizeof mark - 1;

    return (size_t)(line->end - line->at) >= length &&
           memcmp(line->at, mark, length) == 0 &&
           lbr_skip_blanks(line->at + length, line->end) == line->end;
}

int lbr_line_next(struct lbr_lines *lines, struct lbr_line *line)
{
    while (lines->next < lines->end) {
        take(lines, line);
        if (line->at == line->end)
            continue;
        if (*line->at != '#')
            return 1;
        if (ends_page(line))
            return 0;
    }
    return 0;
}
