/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "clocks.h"
#include "replay/parse_number.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: lbroute-mock-engine [OPTION…]\n"
    "\n"
    "An inference server without a model: the interface of vLLM, answers that\n"
    "follow from the prompt alone, and the timing of a measured engine.\n"
    "\n"
    "  --host ADDRESS        where to listen (127.0.0.1)\n"
    "  --port N              0: any (0)\n"
    "  --control-port N      /mock/… alone, never at fault; 0: any (0)\n"
    "  --api-key KEY         asks for this key\n"
    "  --model NAME          a name of the model; may be repeated "
    "(mock-model)\n"
    "  --lora NAME           a LoRA adapter; may be repeated\n"
    "  --lora-slots N        adapters in memory at once; 0: none can be used\n"
    "                        (4 with --lora, else 0)\n"
    "  --lora-load-ms MS     time to load one into a slot (100)\n"
    "  --engine NAME         model and hardware (8b-rtxpro6000)\n"
    "  --cache-tokens N      size of the KV cache (the engine's)\n"
    "  --block-tokens N      tokens of a block (16)\n"
    "  --max-seqs N          most requests that run at once (256)\n"
    "  --step-tokens N       most tokens of a step (2048)\n"
    "  --max-model-len N     longest prompt and answer (what the cache holds)\n"
    "  --answer-tokens N     length of an answer without a limit (16)\n"
    "  --speed X             times as fast as the engine (1)\n"
    "  --instant             answers at once, without the engine\n"
    "  --kv-events PORT      publishes KV events by ZeroMQ; 0: any\n"
    "  --kv-replay PORT      where they can be asked for again; 0: any (0)\n"
    "  --kv-kept N           batches that can be (10000)\n"
    "  --kv-form FORM        array (vLLM to 0.23) or map (array)\n"
    "  --kv-topic TEXT       topic of the events (empty)\n"
    "  --seed N              makes the names of blocks the same in each run\n"
    "  --faults JSON         what goes wrong; POST /mock/faults changes it\n"
    "  --help                this text\n"
    "\n"
    "Prints \"listening on HOST:PORT\", \"control on HOST:PORT\" and, with KV\n"
    "events, \"kv events on tcp://…\" and \"kv replay on tcp://…\".\n"
    "SIGTERM ends it.\n";

enum kind { KIND_WHOLE, KIND_REAL, KIND_TEXT, KIND_SPECIAL };

struct row {
    const char *name;
    enum kind kind;
    size_t offset; /* In struct options. */
    double minimum;
    double maximum;
    bool (*read)(struct options *options, const char *value);
};

static bool read_model(struct options *options, const char *value)
{
    if (!name_is_plain(value))
        return false;
    names_add_model(&options->names, value);
    return true;
}

static bool read_lora(struct options *options, const char *value)
{
    return name_is_plain(value) && names_load(&options->names, value);
}

static bool read_engine(struct options *options, const char *value)
{
    options->engine = engine_spec_find(value, strlen(value));
    return options->engine != NULL;
}

static bool read_kv_events(struct options *options, const char *value)
{
    options->kv_events = true;
    return parse_whole(value, 0, UINT16_MAX, &options->kv_events_port);
}

static bool read_kv_form(struct options *options, const char *value)
{
    options->kv_form = strcmp(value, "map") == 0 ? KV_FORM_MAP : KV_FORM_ARRAY;
    return options->kv_form == KV_FORM_MAP || strcmp(value, "array") == 0;
}

static bool read_instant(struct options *options, const char *value)
{
    (void)value;
    options->instant = true;
    return true;
}

#define WHOLE(name, field, minimum, maximum)                                   \
    {                                                                          \
        name, KIND_WHOLE, offsetof(struct options, field), minimum, maximum,   \
            NULL                                                               \
    }
#define REAL(name, field, minimum, maximum)                                    \
    {                                                                          \
        name, KIND_REAL, offsetof(struct options, field), minimum, maximum,    \
            NULL                                                               \
    }
#define TEXT(name, field)                                                      \
    {                                                                          \
        name, KIND_TEXT, offsetof(struct options, field), 0, 0, NULL           \
    }
#define SPECIAL(name, read)                                                    \
    {                                                                          \
        name, KIND_SPECIAL, 0, 0, 0, read                                      \
    }

static const struct row rows[] = {
    TEXT("host", host),
    WHOLE("port", port, 0, 65535),
    WHOLE("control-port", control_port, 0, 65535),
    TEXT("api-key", api_key),
    SPECIAL("model", read_model),
    SPECIAL("lora", read_lora),
    WHOLE("lora-slots", lora_slots, 0, NAMES_ADAPTERS_MAX),
    REAL("lora-load-ms", lora_load_ms, 0, 1e6),
    SPECIAL("engine", read_engine),
    WHOLE("cache-tokens", cache_tokens, 1, 1e8),
    WHOLE("block-tokens", block_tokens, 1, 4096),
    WHOLE("max-seqs", max_seqs, 1, 65536),
    WHOLE("step-tokens", step_tokens, 1, 1e6),
    WHOLE("max-model-len", max_model_len, 2, 1e8),
    WHOLE("answer-tokens", answer_tokens, 1, 1e6),
    REAL("speed", speed, 1e-3, 1e6),
    SPECIAL("instant", read_instant),
    SPECIAL("kv-events", read_kv_events),
    WHOLE("kv-replay", kv_replay_port, 0, 65535),
    WHOLE("kv-kept", kv_kept, 1, 1e7),
    SPECIAL("kv-form", read_kv_form),
    TEXT("kv-topic", kv_topic),
    WHOLE("seed", seed, 0, 1e15),
    TEXT("faults", faults),
};

enum { ROWS = sizeof rows / sizeof rows[0], HELP = ROWS };

static bool read_row(const struct row *row, struct options *options,
                     const char *value)
{
    void *place = (char *)options + row->offset;

    switch (row->kind) {
    case KIND_WHOLE:
        return parse_whole(value, (uint64_t)row->minimum,
                           (uint64_t)row->maximum, place);
    case KIND_REAL:
        return parse_real(value, row->minimum, row->maximum, place);
    case KIND_TEXT:
        *(const char **)place = value;
        return true;
    default:
        return row->read(options, value);
    }
}

static void set_defaults(struct options *options)
{
    *options = (struct options){
        .host = "127.0.0.1",
        .engine = engine_spec_at(0),
        .block_tokens = 16,
        .lora_slots = UINT64_MAX,
        .lora_load_ms = 100.0,
        .answer_tokens = 16,
        .speed = 1.0,
        .kv_kept = 10000,
        .kv_topic = "",
        .seed = clock_steady() ^ (uint64_t)getpid() << 32,
    };
}

/* What depends on other options. */
static enum options_result complete(struct options *options)
{
    bool adapters = options->names.adapter_count > 0;

    if (options->names.model_count == 0)
        names_add_model(&options->names, "mock-model");
    if (options->lora_slots == UINT64_MAX)
        options->lora_slots = adapters ? 4 : 0;
    if (options->cache_tokens == 0)
        options->cache_tokens = options->engine->cache_tokens;
    if (options->cache_tokens < options->block_tokens) {
        fputs("--cache-tokens: less than a block\n", stderr);
        return OPTIONS_WRONG;
    }
    if (adapters && options->lora_slots == 0) {
        fputs("--lora-slots: none for the adapters\n", stderr);
        return OPTIONS_WRONG;
    }
    return OPTIONS_RUN;
}

static void name_rows(struct option known[ROWS + 2])
{
    memset(known, 0, (ROWS + 2) * sizeof *known);
    for (int i = 0; i < ROWS; i++) {
        known[i].name = rows[i].name;
        known[i].has_arg =
            rows[i].read == read_instant ? no_argument : required_argument;
        known[i].val = i;
    }
    known[HELP].name = "help";
    known[HELP].val = HELP;
}

static enum options_result read_all(struct options *options, int argc,
                                    char **argv)
{
    struct option known[ROWS + 2];
    int at;

    name_rows(known);
    optind = 1;
    while ((at = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (at == HELP) {
            fputs(help, stdout);
            return OPTIONS_DONE;
        }
        if (at == '?')
            return OPTIONS_WRONG;
        if (!read_row(&rows[at], options, optarg)) {
            fprintf(stderr, "--%s: \"%s\" is not possible\n", rows[at].name,
                    optarg);
            return OPTIONS_WRONG;
        }
    }
    if (optind == argc)
        return OPTIONS_RUN;
    fprintf(stderr, "unexpected argument \"%s\"\n", argv[optind]);
    return OPTIONS_WRONG;
}

enum options_result options_read(struct options *options, int argc, char **argv)
{
    enum options_result result;

    set_defaults(options);
    result = read_all(options, argc, argv);
    return result == OPTIONS_RUN ? complete(options) : result;
}

void options_release(struct options *options)
{
    names_release(&options->names);
}
