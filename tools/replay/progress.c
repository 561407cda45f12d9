/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The bar with its texts fits a terminal of 80 columns. */
enum { LINE = 79, BAR = 24, LABEL = 32 };

static const uint64_t SECOND = UINT64_C(1000000000);
static const uint64_t REPAINT = UINT64_C(200000000);

static uint64_t wall_clock(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

void replay_progress_start(struct replay_progress *progress, FILE *out)
{
    progress->out = out;
    progress->shown = isatty(fileno(out)) == 1;
    progress->started_ns = wall_clock();
    progress->repainted_ns = 0;
}

/* "0:42 left", from the pace so far; nothing before there is a pace. */
static void time_left(char *text, size_t capacity, double elapsed_s,
                      double share)
{
    unsigned long left;

    text[0] = '\0';
    if (elapsed_s < 0.5 || share < 0.01)
        return;
    left = (unsigned long)(elapsed_s / share * (1 - share) + 0.5);
    snprintf(text, capacity, "%lu:%02lu left", left / 60, left % 60);
}

static void paint(const struct replay_progress *progress, const char *label,
                  double share, double elapsed_s)
{
    char bar[BAR + 1];
    char left[40];
    char line[2 * LINE];
    size_t filled = (size_t)(share * BAR);

    memset(bar, '.', BAR);
    memset(bar, '#', filled);
    bar[BAR] = '\0';
    time_left(left, sizeof left, elapsed_s, share);
    snprintf(line, sizeof line, "[%s] %3u %%  %.*s  %s", bar,
             (unsigned)(share * 100), LABEL, label, left);
    fprintf(progress->out, "\r%-*.*s", LINE, LINE, line);
    fflush(progress->out);
}

void replay_progress_update(struct replay_progress *progress, const char *label,
                            uint64_t done, uint64_t total)
{
    uint64_t now;

    if (!progress->shown || total == 0)
        return;
    now = wall_clock();
    if (now - progress->repainted_ns < REPAINT)
        return;
    progress->repainted_ns = now;
    if (done > total)
        done = total;
    paint(progress, label, (double)done / (double)total,
          (double)(now - progress->started_ns) / (double)SECOND);
}

void replay_progress_end(struct replay_progress *progress)
{
    if (progress->shown && progress->repainted_ns != 0) {
        fprintf(progress->out, "\r%*s\r", LINE, "");
        fflush(progress->out);
    }
    progress->shown = false;
}
