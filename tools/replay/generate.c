/* SPDX-License-Identifier: MIT */
/*
 * All kinds build prompts from parts. A part has a key, and a block is keyed
 * by every part that it or a block before it touches: prompts share exactly
 * the blocks whose whole past is equal, as in a real prefix cache.
 */
#include "generate.h"

#include "block_ids.h"
#include "draw.h"
#include "grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As vLLM's. */
enum { BLOCK_TOKENS = 16 };

/* Separates the draws of each kind from other uses of the seed. */
enum { FIRST_STREAM = 16 };

/* Longest prompt; a session that comes to it ends. */
enum { CONTEXT_LIMIT = 120000 };

/* What part keys start from. */
enum { PART_SHARED = 1, PART_OWN = 2 };

/* A prompt under construction, kept over the turns of a session. */
struct prompt {
    uint64_t key; /* Of everything so far. */
    uint32_t tokens;
    uint32_t *ids; /* Full blocks. */
    size_t id_count;
    size_t id_capacity;
};

struct generation {
    struct workload *workload;
    struct block_ids ids;
    struct draw draw;
    const struct generator_options *options;
    uint64_t own_parts; /* Parts so far that occur once. */
    struct prompt prompt;
};

static void prompt_clear(struct generation *g)
{
    g->prompt.key = 0;
    g->prompt.tokens = 0;
    g->prompt.id_count = 0;
}

static void append_part(struct generation *g, uint64_t part, uint32_t tokens)
{
    struct prompt *prompt = &g->prompt;
    size_t full;

    prompt->key = block_key_mix(prompt->key, part);
    prompt->tokens += tokens;
    full = prompt->tokens / BLOCK_TOKENS;
    prompt->ids = grow_array(prompt->ids, &prompt->id_capacity, full,
                             sizeof *prompt->ids);
    for (; prompt->id_count < full; prompt->id_count++)
        prompt->ids[prompt->id_count] = block_ids_get(
            &g->ids, block_key_mix(prompt->key, prompt->id_count));
}

static void append_shared(struct generation *g, uint64_t part, uint32_t tokens)
{
    append_part(g, block_key_mix(PART_SHARED, part), tokens);
}

static void append_own(struct generation *g, uint32_t tokens)
{
    append_part(g, block_key_mix(PART_OWN, g->own_parts++), tokens);
}

static uint32_t draw_tokens(struct generation *g, double median, double sigma)
{
    double tokens = draw_lognormal(&g->draw, median, sigma);

    return (uint32_t)fmin(fmax(tokens, 1.0), 32768.0);
}

/* Adds a request for the prompt, to which its answer is appended. Returns its
 * index. */
static uint32_t ask(struct generation *g, struct work_request request,
                    uint32_t answer_tokens)
{
    struct work_content content;
    size_t prompt_blocks = g->prompt.id_count;

    request.input_tokens = g->prompt.tokens;
    request.output_tokens = answer_tokens;
    append_own(g, answer_tokens);
    content.prompt = g->prompt.ids;
    content.prompt_count = prompt_blocks;
    content.answer = g->prompt.ids + prompt_blocks;
    content.answer_count = g->prompt.id_count - prompt_blocks;
    workload_add(g->workload, &request, &content);
    return (uint32_t)(g->workload->count - 1);
}

/* A request of the open loop. */
static void ask_once(struct generation *g, double at_s, uint32_t answer_tokens)
{
    struct work_request request = {.at_s = at_s, .follows = WORK_FOLLOWS_NONE};

    ask(g, request, answer_tokens);
}

/* How the turns of a session are drawn. */
struct session_shape {
    double turns; /* Mean. */
    double message_tokens;
    double message_sigma;
    double answer_tokens;
    double answer_sigma;
    double think_s;
    double think_sigma;
};

/* Turns in closed loop on top of the present prompt. */
static void run_session(struct generation *g, double at_s, uint64_t session,
                        const struct session_shape *shape)
{
    uint32_t turns = draw_geometric(&g->draw, shape->turns);
    struct work_request request = {
        .at_s = at_s,
        .follows = WORK_FOLLOWS_NONE,
        .session = block_key_mix(PART_OWN, session),
    };

    for (uint32_t turn = 0; turn < turns && g->prompt.tokens < CONTEXT_LIMIT;
         turn++) {
        append_own(g,
                   draw_tokens(g, shape->message_tokens, shape->message_sigma));
        request.follows =
            ask(g, request,
                draw_tokens(g, shape->answer_tokens, shape->answer_sigma));
        request.at_s =
            draw_lognormal(&g->draw, shape->think_s, shape->think_sigma);
    }
}

/* Conversations of people: one system prompt for all, a history that grows,
 * and at times a long document in the first message. */
static void generate_chat(struct generation *g)
{
    static const struct session_shape shape = {.turns = 5.0,
                                               .message_tokens = 120.0,
                                               .message_sigma = 1.0,
                                               .answer_tokens = 250.0,
                                               .answer_sigma = 0.7,
                                               .think_s = 20.0,
                                               .think_sigma = 0.8};
    double gap = shape.turns / g->options->rate;
    uint64_t session = 0;

    for (double at = draw_exponential(&g->draw, gap);
         at < g->options->duration_s; at += draw_exponential(&g->draw, gap)) {
        prompt_clear(g);
        append_shared(g, 0, 600);
        if (draw_uniform(&g->draw) < 0.3)
            append_own(g, draw_tokens(g, 5000.0, 0.8));
        run_session(g, at, session++, &shape);
    }
}

/* Independent questions to 200 applications, each with a long system prompt of
 * its own; few of them get most of the traffic. All prompts together are more
 * than the cache of one target holds, and less than that of a fleet. */
static void generate_shared(struct generation *g)
{
    enum { APPLICATIONS = 200 };
    double gap = 1.0 / g->options->rate;

    for (double at = draw_exponential(&g->draw, gap);
         at < g->options->duration_s; at += draw_exponential(&g->draw, gap)) {
        uint32_t application = draw_zipf(&g->draw, APPLICATIONS);

        prompt_clear(g);
        append_shared(g, application, 2000 + application % 32 * 250);
        append_own(g, draw_tokens(g, 200.0, 0.8));
        ask_once(g, at, draw_tokens(g, 150.0, 0.7));
    }
}

/* Coding agents: a long prompt with tools, shared by the users of one of four
 * agents, and many short steps that add tool output. */
static void generate_agents(struct generation *g)
{
    static const struct session_shape shape = {.turns = 25.0,
                                               .message_tokens = 700.0,
                                               .message_sigma = 1.2,
                                               .answer_tokens = 150.0,
                                               .answer_sigma = 0.8,
                                               .think_s = 4.0,
                                               .think_sigma = 0.8};
    enum { KINDS = 4, TOOL_TOKENS = 12000 };
    double gap = shape.turns / g->options->rate;
    uint64_t session = 0;

    for (double at = draw_exponential(&g->draw, gap);
         at < g->options->duration_s; at += draw_exponential(&g->draw, gap)) {
        prompt_clear(g);
        append_shared(g, draw_below(&g->draw, KINDS), TOOL_TOKENS);
        run_session(g, at, session++, &shape);
    }
}

/* Questions with four passages out of 2,000, some of them asked for far more
 * often. Only equal leading passages in equal order share blocks. */
static void generate_rag(struct generation *g)
{
    enum { PASSAGES = 2000, PER_PROMPT = 4 };
    double gap = 1.0 / g->options->rate;

    for (double at = draw_exponential(&g->draw, gap);
         at < g->options->duration_s; at += draw_exponential(&g->draw, gap)) {
        prompt_clear(g);
        append_shared(g, PASSAGES, 400);
        for (int i = 0; i < PER_PROMPT; i++) {
            uint32_t passage = draw_zipf(&g->draw, PASSAGES);

            append_shared(g, passage, 400 + passage % 7 * 100);
        }
        append_own(g, draw_tokens(g, 60.0, 0.6));
        ask_once(g, at, draw_tokens(g, 200.0, 0.6));
    }
}

/* Bursts of unrelated prompts: 40 requests on the mean at five times the rate,
 * then a pause that makes up for it. */
static void generate_bursts(struct generation *g)
{
    static const double burst_requests = 40.0;
    static const double burst_speed = 5.0;
    double gap = 1.0 / (g->options->rate * burst_speed);
    double pause =
        burst_requests / g->options->rate * (1.0 - 1.0 / burst_speed);

    for (double at = 0.0; at < g->options->duration_s;
         at += draw_exponential(&g->draw, pause)) {
        uint32_t left = draw_geometric(&g->draw, burst_requests);

        for (; left > 0 && at < g->options->duration_s; left--) {
            prompt_clear(g);
            append_own(g, draw_tokens(g, 1500.0, 1.0));
            ask_once(g, at, draw_tokens(g, 120.0, 1.0));
            at += draw_exponential(&g->draw, gap);
        }
    }
}

/* Long documents asked about in rotation, by one client that waits for each
 * answer and then as long as the rate says. Without affinity an odd number of
 * documents comes to each of two targets in turn. */
static void generate_documents(struct generation *g)
{
    const struct generator_options *options = g->options;
    struct work_request request = {.follows = WORK_FOLLOWS_NONE};
    double questions = fmax(round(options->rate * options->duration_s), 1.0);

    for (uint64_t i = 0; (double)i < questions; i++) {
        prompt_clear(g);
        append_shared(g, options->documents, 400);
        append_shared(g, i % options->documents, options->document_tokens);
        append_own(g, draw_tokens(g, 60.0, 0.6));
        request.follows = ask(g, request, draw_tokens(g, 200.0, 0.6));
        request.at_s = 1.0 / options->rate;
    }
}

typedef void (*generate_function)(struct generation *g);

static const struct generator generators[] = {
    {"chat", "people talking: histories that grow, closed loop", 20.0, false},
    {"shared", "200 applications with long system prompts, open loop", 24.0,
     false},
    {"agents", "coding agents: many steps on long prompts, closed loop", 6.0,
     false},
    {"rag", "questions with retrieved passages, open loop", 20.0, false},
    {"bursts", "unrelated prompts in bursts, open loop", 12.0, false},
    {"documents", "long documents in rotation, one question at a time", 0.15,
     true},
};

/* In the order of `generators`. */
static const generate_function functions[] = {
    generate_chat, generate_shared, generate_agents,
    generate_rag,  generate_bursts, generate_documents,
};

const struct generator *generator_at(size_t index)
{
    return index < sizeof generators / sizeof generators[0] ? &generators[index]
                                                            : NULL;
}

const struct generator *generator_find(const char *name)
{
    const struct generator *generator;

    for (size_t i = 0; (generator = generator_at(i)) != NULL; i++)
        if (strcmp(generator->name, name) == 0)
            return generator;
    return NULL;
}

void generator_run(const struct generator *generator,
                   const struct generator_options *options,
                   struct workload *workload)
{
    size_t index = (size_t)(generator - generators);
    struct generation g = {
        .workload = workload,
        .draw = draw_start(options->seed, FIRST_STREAM + index),
        .options = options,
    };

    workload_init(workload, BLOCK_TOKENS);
    block_ids_init(&g.ids, workload);
    functions[index](&g);
    block_ids_release(&g.ids);
    free(g.prompt.ids);
}
