/* SPDX-License-Identifier: MIT */
/*
 * The file that keeps what was learned: its header, byte by byte, and how it is
 * replaced.
 */
#include "state_file.h"

#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As state_file.h draws it. */
static const uint8_t GOOD[STATE_HEADER_BYTES] = {
    'l', 'b', 'r', 's', 't', 'a', 't', 'e', 1,  0,  0,  0,  0,  0,
    0,   0,   8,   7,   6,   5,   4,   3,   2,  1,  16, 17, 18, 19,
    20,  21,  22,  23,  24,  25,  26,  27,  28, 29, 30, 31};

static char folder[64];
static char path[96], beside[96];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "state-file-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/state", folder);
    snprintf(beside, sizeof beside, "%s/state.tmp", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    unlink(beside);
    return rmdir(folder);
}

static void test_header(void **state)
{
    struct state_header header;
    uint8_t again[STATE_HEADER_BYTES];

    (void)state;
    assert_null(state_header_read(GOOD, sizeof GOOD, &header));
    assert_true(header.written_ns == UINT64_C(0x0102030405060708));
    assert_memory_equal(header.key, GOOD + 24, STATE_KEY_BYTES);
    state_header_write(&header, again);
    assert_memory_equal(again, GOOD, sizeof GOOD);
}

/* Each in memory of just that length, so that a sanitizer sees one byte too
 * many. */
static void test_every_truncation(void **state)
{
    struct state_header header;

    (void)state;
    for (size_t len = 0; len < sizeof GOOD; len++) {
        uint8_t *bytes = malloc(len + (len == 0));

        assert_non_null(bytes);
        memcpy(bytes, GOOD, len);
        assert_string_equal(state_header_read(bytes, len, &header),
                            "it is cut short");
        free(bytes);
    }
}

static void test_every_byte(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof GOOD; at++) {
        struct state_header header;
        uint8_t bytes[STATE_HEADER_BYTES];
        const char *problem;

        memcpy(bytes, GOOD, sizeof bytes);
        bytes[at] ^= 0x80;
        problem = state_header_read(bytes, sizeof bytes, &header);
        if (at < 8)
            assert_string_equal(problem, "it is no such file");
        else if (at < 16)
            assert_string_equal(problem, "it is of another version");
        else
            assert_null(problem);
    }
}

static void test_no_key(void **state)
{
    struct state_header header;
    uint8_t bytes[STATE_HEADER_BYTES];

    (void)state;
    memcpy(bytes, GOOD, sizeof bytes);
    memset(bytes + 24, 0, STATE_KEY_BYTES);
    assert_string_equal(state_header_read(bytes, sizeof bytes, &header),
                        "it is damaged");
}

static void assert_file(const char *text)
{
    struct stat status;
    char *data;
    size_t len;

    assert_null(state_file_read(path, &data, &len));
    assert_int_equal(len, strlen(text));
    assert_memory_equal(data, text, len);
    free(data);
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(lstat(beside, &status), -1);
}

static void test_it_is_replaced(void **state)
{
    mode_t old = umask(0);

    (void)state;
    assert_null(state_file_write(path, "first", 5));
    assert_file("first");
    umask(0777);
    assert_null(state_file_write(path, "", 0));
    assert_file("");
    umask(old);
    /* Whatever mode one had that somebody else made. */
    assert_int_equal(chmod(path, 0644), 0);
    assert_null(state_file_write(path, "third", 5));
    assert_file("third");
}

/* A link where the new file shall be leads nowhere. */
static void test_no_link_is_followed(void **state)
{
    char victim[96];
    struct stat status;

    (void)state;
    snprintf(victim, sizeof victim, "%s/victim", folder);
    assert_int_equal(symlink("victim", beside), 0);
    assert_null(state_file_write(path, "mine", 4));
    assert_file("mine");
    assert_int_equal(lstat(victim, &status), -1);
}

static void test_what_cannot_be_written(void **state)
{
    char other[128];
    struct stat status;

    (void)state;
    snprintf(other, sizeof other, "%s/none/state", folder);
    assert_string_equal(state_file_write(other, "x", 1), strerror(ENOENT));
    assert_null(state_file_write(path, "old", 3));
    /* A folder in the way: the old one stays. */
    assert_int_equal(mkdir(beside, 0700), 0);
    assert_non_null(state_file_write(path, "new", 3));
    assert_int_equal(rmdir(beside), 0);
    assert_file("old");
    assert_string_equal(state_file_write(folder, "x", 1), strerror(EISDIR));
    snprintf(other, sizeof other, "%s.tmp", folder);
    assert_int_equal(lstat(other, &status), -1);
}

static void test_what_cannot_be_read(void **state)
{
    char *data = NULL;
    size_t len;

    (void)state;
    assert_string_equal(state_file_read(path, &data, &len), strerror(ENOENT));
    assert_string_equal(state_file_read(folder, &data, &len),
                        "it is no regular file");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_string_equal(state_file_read(path, &data, &len),
                        "it is no regular file");
    assert_int_equal(unlink(path), 0);
    assert_null(state_file_write(path, "", 0));
    assert_int_equal(truncate(path, (off_t)STATE_MOST_BYTES + 1), 0);
    assert_string_equal(state_file_read(path, &data, &len), "it is too large");
    assert_null(data);
}

#define WITH_FOLDER(test)                                                      \
    cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_no_key),
        WITH_FOLDER(test_it_is_replaced),
        WITH_FOLDER(test_no_link_is_followed),
        WITH_FOLDER(test_what_cannot_be_written),
        WITH_FOLDER(test_what_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
