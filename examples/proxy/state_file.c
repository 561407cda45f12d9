/* SPDX-License-Identifier: MIT */
#include "state_file.h"

#include "little_endian.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char MAGIC[] = "lbrstate";
enum { VERSION = 1, AT_VERSION = 8, AT_ZERO = 12, AT_TIME = 16, AT_KEY = 24 };

const char *state_header_read(const void *data, size_t len,
                              struct state_header *header)
{
    static const uint8_t none[STATE_KEY_BYTES] = {0};
    const uint8_t *bytes = data;

    if (len < STATE_HEADER_BYTES)
        return "it is cut short";
    if (memcmp(bytes, MAGIC, AT_VERSION) != 0)
        return "it is no such file";
    if (get_number(bytes + AT_VERSION, 4) != VERSION ||
        get_number(bytes + AT_ZERO, 4) != 0)
        return "it is of another version";
    header->written_ns = get_number(bytes + AT_TIME, 8);
    memcpy(header->key, bytes + AT_KEY, STATE_KEY_BYTES);
    /* To a router no key means one that follows from its seed. */
    if (memcmp(header->key, none, STATE_KEY_BYTES) == 0)
        return "it is damaged";
    return NULL;
}

void state_header_write(const struct state_header *header, void *data)
{
    uint8_t *bytes = data;

    memcpy(bytes, MAGIC, AT_VERSION);
    put_number(bytes + AT_VERSION, 4, VERSION);
    put_number(bytes + AT_ZERO, 4, 0);
    put_number(bytes + AT_TIME, 8, header->written_ns);
    memcpy(bytes + AT_KEY, header->key, STATE_KEY_BYTES);
}

static bool read_bytes(int file, char *data, size_t len)
{
    while (len > 0) {
        ssize_t count = read(file, data, len);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        data += count;
        len -= (size_t)count;
    }
    return true;
}

static const char *read_open(int file, char **data, size_t *len)
{
    struct stat status;

    if (fstat(file, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "it is no regular file";
    if ((uint64_t)status.st_size > STATE_MOST_BYTES)
        return "it is too large";
    *len = (size_t)status.st_size;
    *data = malloc(*len + 1);
    if (*data == NULL)
        return "out of memory";
    if (read_bytes(file, *data, *len))
        return NULL;
    free(*data);
    *data = NULL;
    return "it cannot be read";
}

const char *state_file_read(const char *path, char **data, size_t *len)
{
    /* A pipe must not hold the start up. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *problem;

    if (file < 0)
        return strerror(errno);
    problem = read_open(file, data, len);
    close(file);
    return problem;
}

static bool write_bytes(int file, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t count = write(file, data, len);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return false;
        data += count;
        len -= (size_t)count;
    }
    return true;
}

/* Never one that is there: a link might lead elsewhere, and others might have
 * it open. */
static const char *write_new(const char *path, const void *data, size_t len)
{
    const char *problem = NULL;
    int file;

    unlink(path);
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return strerror(errno);
    if (fchmod(file, 0600) != 0 || !write_bytes(file, data, len) ||
        fsync(file) != 0)
        problem = strerror(errno);
    if (close(file) != 0 && problem == NULL)
        problem = strerror(errno);
    return problem;
}

const char *state_file_write(const char *path, const void *data, size_t len)
{
    static const char ending[] = ".tmp";
    size_t length = strlen(path);
    char *beside = malloc(length + sizeof ending);
    const char *problem;

    if (beside == NULL)
        return "out of memory";
    memcpy(beside, path, length);
    memcpy(beside + length, ending, sizeof ending);
    problem = write_new(beside, data, len);
    if (problem == NULL && rename(beside, path) != 0)
        problem = strerror(errno);
    if (problem != NULL)
        unlink(beside);
    free(beside);
    return problem;
}
