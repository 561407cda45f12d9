/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the gateway's readers of price catalogs and tables with any bytes.
 * What is accepted the router accepts, too: keys that are names, rates that are
 * -1 or no less than 0, tiers that ascend.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "price_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rates(int64_t input, int64_t output, int64_t cached)
{
    CHECK(input >= -1 && output >= -1 && cached >= -1);
}

static void check_row(const struct price_row *row)
{
    const lbroute_price *price = &row->price;
    int64_t above = -1;

    CHECK(strlen(row->key) >= 1 && strlen(row->key) <= LBROUTE_NAME_MAX);
    check_rates(price->input, price->output, price->cached_input);
    CHECK(price->tier_count <= LBROUTE_PRICE_TIERS);
    for (uint32_t i = 0; i < price->tier_count; i++) {
        const lbroute_price_tier *tier = &price->tiers[i];

        CHECK(tier->above_tokens > above);
        above = tier->above_tokens;
        check_rates(tier->input, tier->output, tier->cached_input);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct price_list list = {0};
    struct price_error error = {""};
    char *text = malloc(size + 1);

    CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    if (price_file_read(&list, text, size, &error))
        for (size_t i = 0; i < list.count; i++) {
            check_row(&list.rows[i]);
            CHECK(price_list_find(&list, list.rows[i].key) ==
                  &list.rows[i].price);
        }
    else
        CHECK(error.text[0] != '\0');
    price_list_release(&list);
    free(text);
    return 0;
}
