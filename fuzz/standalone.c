/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without a fuzzing engine:
 *
 *     fuzz-… PATH…            replays files, and all files of folders
 *     fuzz-… -random N SEED   runs N random inputs
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "prng.h"

enum { MOST_BYTES = 1 << 20, MOST_RANDOM_BYTES = 2048 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t buffer[MOST_BYTES];

/* A copy of exactly that size, so that a sanitizer sees reads beyond it. */
static void run_input(size_t size)
{
    uint8_t *data = malloc(size > 0 ? size : 1);
    if (!data)
        abort();
    memcpy(data, buffer, size);
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
}

/* Replays a file; returns 0 if it cannot be read. */
static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return 0;
    size_t size = fread(buffer, 1, sizeof buffer, file);
    fclose(file);
    check_context(path, 0);
    run_input(size);
    return 1;
}

/* Replays all files of a folder, or the file; returns how many. */
static uint64_t replay(const char *path)
{
    uint64_t count = 0;
    DIR *folder = opendir(path);
    if (!folder)
        return (uint64_t)replay_file(path);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[4096];
        int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && length < (int)sizeof name)
            count += (uint64_t)replay_file(name);
    }
    closedir(folder);
    return count;
}

static void run_random(uint64_t count, uint64_t seed)
{
    for (uint64_t i = 0; i < count; i++) {
        struct rng rng;
        rng_seed(&rng, seed + i);
        size_t size = rng_below(&rng, MOST_RANDOM_BYTES);
        for (size_t j = 0; j < size; j++)
            buffer[j] = (uint8_t)rng_below(&rng, 256);
        check_context("a random input", seed + i);
        run_input(size);
    }
    printf("%" PRIu64 " random inputs\n", count);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "-random") == 0) {
        run_random(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
        return 0;
    }
    uint64_t count = 0;
    for (int i = 1; i < argc; i++) {
        uint64_t found = replay(argv[i]);
        if (found == 0) {
            fprintf(stderr, "%s: nothing to replay\n", argv[i]);
            return 1;
        }
        count += found;
    }
    printf("%" PRIu64 " inputs\n", count);
    return argc == 1;
}
