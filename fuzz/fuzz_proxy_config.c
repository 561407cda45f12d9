/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the gateway's configuration with any bytes. What is refused names a
 * place inside the text, in one line; what is accepted holds what the checks
 * promise to the rest of the gateway, and is read the same again.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lbroute/lbroute.h>

#include "check.h"
#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(const struct config_error *error, const uint8_t *data,
                        size_t size)
{
    size_t lines = 1;

    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r' || data[i] >= 0x80;
    CHECK(error->text[0] != '\0');
    CHECK(memchr(error->text, '\0', sizeof error->text) != NULL);
    CHECK(strchr(error->text, '\n') == NULL);
    CHECK(error->line <= lines + 1);
    CHECK(error->column <= size + 2);
}

static int has_pool(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->pool_count; i++)
        if (strcmp(config->pools[i].name, name) == 0)
            return 1;
    return 0;
}

static void check_target(const struct config *config,
                         const struct config_target *target)
{
    CHECK(target->name[0] != '\0');
    CHECK(strlen(target->name) <= LBROUTE_NAME_MAX);
    CHECK(target->host[0] != '\0');
    CHECK(target->port != 0);
    CHECK(target->base_path != NULL);
    CHECK(target->weight >= 0 && target->weight <= 1e9);
    CHECK(target->pool[0] == '\0' || has_pool(config, target->pool));
    CHECK(target->pool[0] != '\0' || target->model[0] != '\0');
    for (size_t i = 0; i < target->kv_count; i++)
        CHECK(strstr(target->kv[i].events, "://") != NULL);
}

static void check_config(const struct config *config)
{
    CHECK(config->listen.address[0] != '\0');
    CHECK(config->limits.header_bytes >= 1024);
    CHECK(config->timeouts.connect > 0);
    CHECK(config->metrics_interval >= 0.1);
    for (size_t i = 0; i < config->pool_count; i++)
        CHECK(config->pools[i].name[0] != '\0');
    for (size_t i = 0; i < config->target_count; i++)
        check_target(config, &config->targets[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config_error error, second_error;
    struct config *config = config_parse("f", (const char *)data, size, &error);
    struct config *second =
        config_parse("f", (const char *)data, size, &second_error);

    CHECK((config == NULL) == (second == NULL));
    if (config == NULL) {
        check_error(&error, data, size);
        CHECK(strcmp(error.text, second_error.text) == 0);
    } else {
        check_config(config);
        CHECK_I(config->target_count, second->target_count);
        CHECK_I(config->pool_count, second->pool_count);
    }
    config_free(config);
    config_free(second);
    return 0;
}
