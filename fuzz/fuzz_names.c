/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the texts that strangers choose, through the public API: names of
 * pools, strategies, parameters, targets, adapters and prices, sessions and
 * clients, blocks of prompts, a router's header prefix, and the headers that
 * tell of a decision. A list of names is the model of each table.
 *
 *     program:    header prefix, then operations until the bytes run out
 *     operation:  what, text; what it needs besides is the text before
 *     text:       length, bytes; from 192 on each byte counts eight times
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <lbroute/lbroute.h>

#include "api.h"
#include "check.h"
#include "decision_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PLACES = 4, LONG = 192, STRETCH = 8, MOST_TEXT = 256 * STRETCH };

static const char *const strategies[PLACES] = {"cache_aware", "sticky_session",
                                               "lora_aware", "consistent_hash"};

struct text {
    char bytes[MOST_TEXT + 1];
    size_t length;
};

struct table {
    struct text names[PLACES];
    uint64_t handles[PLACES];
    size_t count;
};

static struct world {
    const uint8_t *next, *end;
    lbroute_router *router;
    struct text prefix, text, before;
    struct table pools, targets, prices;
    uint64_t now;
} world;

static uint8_t take(void)
{
    return world.next < world.end ? *world.next++ : 0;
}

static void take_text(void)
{
    size_t length = take();
    size_t times = length >= LONG ? STRETCH : 1;
    struct text *text = &world.text;

    world.before = *text;
    text->length = 0;
    for (; length > 0 && world.next < world.end; length--) {
        memset(text->bytes + text->length, take(), times);
        text->length += times;
    }
    text->bytes[text->length] = '\0';
}

/* ---- the model ---- */

static int is_name(const struct text *text)
{
    for (size_t i = 0; i < text->length; i++)
        if ((unsigned char)text->bytes[i] < 32 || text->bytes[i] == 127)
            return 0;
    return text->length >= 1 && text->length <= LBROUTE_NAME_MAX;
}

static int is_name_or_empty(const struct text *text)
{
    return text->length == 0 || is_name(text);
}

static int same(const struct text *a, const struct text *b)
{
    return a->length == b->length && !memcmp(a->bytes, b->bytes, a->length);
}

static size_t place_of(const struct table *table, const struct text *name)
{
    size_t place = 0;

    while (place < table->count && !same(&table->names[place], name))
        place++;
    return place;
}

static int add_code(const struct table *table, const struct text *name)
{
    if (!is_name(name))
        return LBROUTE_ERR_NAME;
    if (place_of(table, name) < table->count)
        return LBROUTE_ERR_EXISTS;
    return table->count == PLACES ? LBROUTE_ERR_LIMIT : LBROUTE_OK;
}

static void note(struct table *table, const struct text *name, uint64_t handle)
{
    table->names[table->count] = *name;
    table->handles[table->count++] = handle;
}

static uint64_t handle_of(const struct table *table, const struct text *name)
{
    size_t place = place_of(table, name);

    return place < table->count ? table->handles[place] : 0;
}

/* ---- operations ---- */

static int is_strategy(const struct text *text)
{
    const char *name;

    for (size_t i = 0; (name = lbroute_strategy_name(i)) != NULL; i++)
        if (strlen(name) == text->length &&
            memcmp(name, text->bytes, text->length) == 0)
            return 1;
    return text->length == 0; /* the default */
}

/* With one of the target's strategies, or with the text before as its name. */
static void add_pool(uint8_t how)
{
    const char *strategy = strategies[world.pools.count % PLACES];
    lbroute_pool_options options;
    lbroute_pool pool = 0;
    int code = add_code(&world.pools, &world.text);

    lbroute_pool_options_init(&options, sizeof options);
    options.name = world.text.bytes;
    options.name_len = world.text.length;
    options.strategy = how & 1 ? world.before.bytes : strategy;
    options.strategy_len = how & 1 ? world.before.length : strlen(strategy);
    if (how & 1 && code != LBROUTE_ERR_NAME && !is_strategy(&world.before))
        code = LBROUTE_ERR_NOT_FOUND;
    CHECK_I(lbroute_pool_add(world.router, &options, &pool), code);
    if (code == LBROUTE_OK)
        note(&world.pools, &world.text, pool);
    else if (code == LBROUTE_ERR_EXISTS)
        CHECK_U(pool, handle_of(&world.pools, &world.text));
}

static void add_target(void)
{
    lbroute_target_options options;
    lbroute_target target = 0;
    int code = add_code(&world.targets, &world.text);

    api_target_options(&options, 0, "", 1);
    options.name = world.text.bytes;
    options.name_len = world.text.length;
    options.model = options.price_key = world.before.bytes;
    options.model_len = options.price_key_len = world.before.length;
    if (world.pools.count > 0)
        options.pool =
            world.pools.handles[world.targets.count % world.pools.count];
    if (!is_name_or_empty(&world.before))
        code = LBROUTE_ERR_NAME;
    CHECK_I(lbroute_target_add(world.router, &options, world.now, &target),
            code);
    if (code == LBROUTE_OK)
        note(&world.targets, &world.text, target);
}

static void find(void)
{
    const struct text *text = &world.text;
    uint64_t pool = 0, target = 0;
    int pool_code =
        lbroute_pool_find(world.router, text->bytes, text->length, &pool);
    int target_code =
        lbroute_target_find(world.router, text->bytes, text->length, &target);

    CHECK_U(pool, handle_of(&world.pools, text));
    CHECK_U(target, handle_of(&world.targets, text));
    CHECK_I(pool_code, pool ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
    CHECK_I(target_code, target ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
}

/* The walk finds each key that the model has, and as many. */
static void walk_prices(void)
{
    uint64_t place = 0;
    size_t count = 0;
    struct text key;

    while (lbroute_price_next(world.router, place, &place, key.bytes,
                              sizeof key.bytes, &key.length) == LBROUTE_OK) {
        CHECK(place_of(&world.prices, &key) < world.prices.count);
        count++;
    }
    CHECK_U(count, world.prices.count);
}

static void set_price(void)
{
    const struct text *text = &world.text;
    int known = place_of(&world.prices, text) < world.prices.count;
    int code = known ? LBROUTE_OK : add_code(&world.prices, text);
    lbroute_price price;

    lbroute_price_init(&price, sizeof price);
    CHECK_I(lbroute_set_price(world.router, text->bytes, text->length, &price),
            code);
    if (code == LBROUTE_OK && !known)
        note(&world.prices, text, 0);
    walk_prices();
}

static void remove_price(void)
{
    const struct text *text = &world.text;
    size_t place = place_of(&world.prices, text);
    int known = place < world.prices.count;

    CHECK_I(lbroute_remove_price(world.router, text->bytes, text->length),
            known ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND);
    if (known)
        world.prices.names[place] = world.prices.names[--world.prices.count];
    walk_prices();
}

static void tell_adapters(uint8_t how)
{
    const char *names[] = {world.before.bytes, world.text.bytes};
    const size_t lengths[] = {world.before.length, world.text.length};
    int good = is_name(&world.before) && is_name(&world.text);
    int code = good ? LBROUTE_OK : LBROUTE_ERR_NAME;

    if (world.targets.count == 0)
        return;
    CHECK_I((how & 1 ? lbroute_set_adapters : lbroute_note_adapters)(
                world.router, world.targets.handles[0], names, lengths, 2, 4,
                world.now),
            code);
}

static int is_parameter(const char *name)
{
    lbroute_param_info info;

    lbroute_param_info_init(&info, sizeof info);
    for (size_t i = 0; lbroute_param_get_info(i, &info) == LBROUTE_OK; i++)
        if (strcmp(info.name, name) == 0)
            return 1;
    return 0;
}

static void ask_parameter(void)
{
    const char *name = world.text.bytes;
    int code = is_parameter(name) ? LBROUTE_OK : LBROUTE_ERR_NOT_FOUND;
    double value = 0;

    if (world.pools.count == 0)
        return;
    CHECK_I(
        lbroute_pool_get(world.router, world.pools.handles[0], name, &value),
        code);
    CHECK_I(lbroute_pool_set(world.router, world.pools.handles[0], name, value),
            code);
}

/* The hash of a block says what stands in it, and nothing else. */
static void hash_blocks(uint8_t how)
{
    const size_t unit = how & 1 ? 4 : 1, size = 1 + world.before.length % 16;
    const size_t count = world.text.length / unit;
    uint64_t blocks[MOST_TEXT], alone = 0;
    size_t complete = 0, one = 0;

    CHECK_I(lbroute_hash_blocks(world.text.bytes, count, unit, size, blocks,
                                MOST_TEXT, &complete),
            LBROUTE_OK);
    CHECK_U(complete, count / size);
    for (size_t i = 0; i < complete; i++) {
        const char *at = world.text.bytes + i * size * unit;

        CHECK_I(lbroute_hash_blocks(at, size, unit, size, &alone, 1, &one),
                LBROUTE_OK);
        CHECK_U(one, 1);
        CHECK_U(alone, blocks[i]);
    }
}

static uint64_t client_digest(const struct text *client)
{
    uint64_t digest = 0, again = 0;
    int code = client->length ? LBROUTE_OK : LBROUTE_ERR_INVALID;

    CHECK_I(lbroute_client_digest(world.router, client->bytes, client->length,
                                  &digest),
            code);
    (void)lbroute_client_digest(world.router, client->bytes, client->length,
                                &again);
    CHECK_U(digest, again);
    CHECK_I(digest != 0, client->length > 0);
    return digest;
}

static void fill_request(lbroute_request *request)
{
    const struct text *text = &world.text, *before = &world.before;

    api_request(request, world.pools.count ? world.pools.handles[0] : 0);
    request->model = text->bytes;
    request->model_len = request->pool ? 0 : text->length;
    request->client = request->prompt = text->bytes;
    request->client_len = request->prompt_len = text->length;
    request->conversation = request->adapter = request->salt = before->bytes;
    request->conversation_len = request->adapter_len = request->salt_len =
        before->length;
}

/* A session goes before a client, and is told apart from it. */
static void pick(uint8_t how)
{
    lbroute_request request;
    lbroute_decision decision;
    uint64_t client = client_digest(&world.text);
    int result;

    fill_request(&request);
    if (how & 1) {
        request.session = world.text.bytes;
        request.session_len = world.text.length;
    }
    lbroute_decision_init(&decision, sizeof decision);
    result = lbroute_pick(world.router, &request, world.now, &decision);
    if (result != LBROUTE_OK && result != LBROUTE_ERR_NO_TARGET)
        return;
    CHECK_I(decision.sticky_digest != 0, world.text.length > 0);
    if (client)
        CHECK_I(decision.sticky_digest == client, !(how & 1));
    decision_lines_check(world.router, world.prefix.bytes, &decision);
    if (result == LBROUTE_OK)
        api_settle(world.router, decision.ticket, LBROUTE_EVENT_SUCCESS,
                   world.now);
}

/* A decision from anywhere: a host may keep it, or make one up. */
static void make_decision(void)
{
    lbroute_decision decision;
    size_t length = sizeof decision - sizeof decision.size;

    lbroute_decision_init(&decision, sizeof decision);
    if (world.text.length < length)
        length = world.text.length;
    memcpy((char *)&decision + sizeof decision.size, world.text.bytes, length);
    decision_lines_check(world.router, world.prefix.bytes, &decision);
}

static void operate(uint8_t what)
{
    take_text();
    switch (what / 2 % 10) {
    case 0:
        add_pool(what);
        break;
    case 1:
        add_target();
        break;
    case 2:
        find();
        break;
    case 3:
        set_price();
        break;
    case 4:
        remove_price();
        break;
    case 5:
        tell_adapters(what);
        break;
    case 6:
        pick(what);
        break;
    case 7:
        make_decision();
        break;
    case 8:
        ask_parameter();
        break;
    default:
        hash_blocks(what);
        break;
    }
}

/* Letters, digits and marks of RFC 9110, section 5.6.2. */
static int is_prefix(const struct text *text)
{
    static const char token[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz"
                                "0123456789!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < text->length; i++)
        if (!memchr(token, text->bytes[i], sizeof token - 1))
            return 0;
    return text->length <= LBROUTE_NAME_MAX;
}

static void start(void)
{
    lbroute_router_options options;

    lbroute_router_options_init(&options, sizeof options);
    options.seed = 7;
    options.single_threaded = 1;
    options.max_pools = options.max_targets = options.max_prices = PLACES;
    options.header_prefix = world.text.bytes;
    options.header_prefix_len = world.text.length;
    CHECK_I(lbroute_router_create(&options, &world.router),
            is_prefix(&world.text) ? LBROUTE_OK : LBROUTE_ERR_NAME);
    world.prefix = world.text;
    if (world.router)
        return;
    options.header_prefix_len = world.prefix.length = 0;
    world.prefix.bytes[0] = '\0';
    CHECK_I(lbroute_router_create(&options, &world.router), LBROUTE_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    memset(&world, 0, sizeof world);
    world.next = data;
    world.end = data + size;
    take_text();
    start();
    while (world.next < world.end) {
        world.now += SECOND;
        operate(take());
    }
    lbroute_router_destroy(world.router);
    return 0;
}
