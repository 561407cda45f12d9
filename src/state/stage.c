/* SPDX-License-Identifier: MIT */
#include "state/stage.h"

#define KIND 9
#define CHUNK_BITS 3

void lbr_stages_init(struct lbr_stages *stages, struct lbr_memory *memory,
                     uint32_t limit)
{
    lbr_slab_init(&stages->slab, memory, KIND, sizeof(struct lbr_stage),
                  CHUNK_BITS, limit);
    lbr_list_init(&stages->under_way);
    stages->idle = NULL;
}

size_t lbr_stages_estimate(uint32_t limit)
{
    return lbr_slab_estimate(sizeof(struct lbr_stage), CHUNK_BITS, limit) +
           (size_t)limit * LBR_TEXT_LONGEST;
}

/* ---- stages ---- */

int lbr_stage_create(struct lbr_stages *stages,
                     const lbroute_scorer_options *options, lbroute_pool pool,
                     struct lbr_link *list, struct lbr_stage **out)
{
    struct lbr_stage *stage;
    struct lbr_text name;
    void *object;
    int result;

    if (!lbr_text_copy(stages->slab.memory,
                       lbr_text(options->name, options->name_len), &name))
        return LBROUTE_ERR_NO_MEMORY;
    result = lbr_slab_take(&stages->slab, &object);
    if (result) {
        lbr_text_free(stages->slab.memory, name);
        return result;
    }
    stage = object;
    stage->pool = pool;
    stage->options = *options;
    stage->options.name = name.bytes;
    stage->name = name;
    stage->runs = 0;
    stage->calls = stage->errors = stage->not_finite = 0;
    lbr_list_append(list, &stage->siblings);
    *out = stage;
    return LBROUTE_OK;
}

struct lbr_stage *lbr_stage_find(const struct lbr_stages *stages,
                                 lbroute_scorer handle)
{
    struct lbr_stage *stage = lbr_slab_find(&stages->slab, handle);

    return stage && stage->pool ? stage : NULL;
}

struct lbr_stage *lbr_stage_named(const struct lbr_link *list,
                                  struct lbr_text name)
{
    const struct lbr_link *link;

    for (link = list->next; link != list; link = link->next) {
        struct lbr_stage *stage = LBR_OWNER(link, struct lbr_stage, siblings);

        if (lbr_text_equal(stage->name, name))
            return stage;
    }
    return NULL;
}

void lbr_stage_remove(struct lbr_stage *stage, struct lbr_link *dead)
{
    lbr_list_remove(&stage->siblings);
    stage->pool = 0;
    if (!stage->runs)
        lbr_list_append(dead, &stage->siblings);
}

static void call_destructor(const struct lbr_stage *stage)
{
    if (stage->options.destroy)
        stage->options.destroy(stage->options.user);
}

static void free_stages(struct lbr_stages *stages, struct lbr_link *dead)
{
    while (!lbr_list_empty(dead)) {
        struct lbr_stage *stage =
            LBR_OWNER(dead->next, struct lbr_stage, siblings);

        lbr_list_remove(&stage->siblings);
        lbr_text_free(stages->slab.memory, stage->name);
        lbr_slab_give(&stages->slab, stage);
    }
}

void lbr_stages_bury(struct lbr_stages *stages, struct lbr_lock *lock,
                     struct lbr_link *dead)
{
    const struct lbr_link *link;

    if (lbr_list_empty(dead))
        return;
    for (link = dead->next; link != dead; link = link->next)
        call_destructor(LBR_OWNER(link, struct lbr_stage, siblings));
    lbr_lock_take(lock);
    free_stages(stages, dead);
    lbr_lock_give(lock);
}

/* ---- runs ---- */

#define ROW_BYTES (sizeof(lbroute_candidate) + 2 * sizeof(double))

static void free_run(struct lbr_stages *stages, struct lbr_run *run)
{
    struct lbr_memory *memory = stages->slab.memory;

    lbr_memory_free(memory, run->candidates, run->capacity, ROW_BYTES);
    lbr_memory_free(memory, run->calls, stages->slab.limit, sizeof *run->calls);
    lbr_memory_free(memory, run, 1, sizeof *run);
}

static struct lbr_run *new_run(struct lbr_stages *stages)
{
    struct lbr_run *run = lbr_memory_new(stages->slab.memory, 1, sizeof *run);

    if (!run)
        return NULL;
    run->calls = lbr_memory_new(stages->slab.memory, stages->slab.limit,
                                sizeof *run->calls);
    if (run->calls)
        return run;
    free_run(stages, run);
    return NULL;
}

static int reserve_rows(struct lbr_stages *stages, struct lbr_run *run,
                        uint32_t rows)
{
    void *block;

    if (rows <= run->capacity)
        return 1;
    block = lbr_memory_new(stages->slab.memory, rows, ROW_BYTES);
    if (!block)
        return 0;
    lbr_memory_free(stages->slab.memory, run->candidates, run->capacity,
                    ROW_BYTES);
    run->candidates = block;
    run->scores = (void *)(run->candidates + rows);
    run->sums = run->scores + rows;
    run->capacity = rows;
    return 1;
}

static void put_aside(struct lbr_stages *stages, struct lbr_run *run)
{
    run->next = stages->idle;
    stages->idle = run;
}

struct lbr_run *lbr_run_take(struct lbr_stages *stages, uint32_t rows)
{
    struct lbr_run *run = stages->idle;

    if (run)
        stages->idle = run->next;
    else
        run = new_run(stages);
    if (!run)
        return NULL;
    if (!reserve_rows(stages, run, rows)) {
        put_aside(stages, run);
        return NULL;
    }
    run->thread = lbr_lock_thread();
    run->explains = run->filtered = 0;
    run->weights = 0;
    run->call_count = run->kept = run->count = 0;
    lbr_list_append(&stages->under_way, &run->link);
    return run;
}

void lbr_run_hold(struct lbr_run *run, struct lbr_stage *stage)
{
    struct lbr_call *call = &run->calls[run->call_count++];

    call->stage = stage;
    call->what = stage->options;
    call->outcome = LBR_CALL_NONE;
    stage->runs++;
}

static void count_call(const struct lbr_call *call)
{
    struct lbr_stage *stage = call->stage;

    stage->calls += call->outcome != LBR_CALL_NONE;
    stage->errors += call->outcome == LBR_CALL_FAILED;
    stage->not_finite += call->outcome == LBR_CALL_NOT_FINITE;
}

void lbr_run_give(struct lbr_stages *stages, struct lbr_run *run,
                  struct lbr_link *dead)
{
    uint32_t i;

    for (i = 0; i < run->call_count; i++) {
        struct lbr_stage *stage = run->calls[i].stage;

        if (!run->explains)
            count_call(&run->calls[i]);
        if (!--stage->runs && !stage->pool)
            lbr_list_append(dead, &stage->siblings);
    }
    lbr_list_remove(&run->link);
    put_aside(stages, run);
}

int lbr_stages_inside(const struct lbr_stages *stages)
{
    const struct lbr_link *link = stages->under_way.next;

    for (; link != &stages->under_way; link = link->next)
        if (LBR_OWNER(link, struct lbr_run, link)->thread == lbr_lock_thread())
            return 1;
    return 0;
}

void lbr_stages_destroy(struct lbr_stages *stages)
{
    struct lbr_stage *stage = NULL;

    while ((stage = lbr_slab_next(&stages->slab,
                                  stage ? stage->slot.handle : 0)) != NULL) {
        call_destructor(stage);
        lbr_text_free(stages->slab.memory, stage->name);
    }
    while (stages->idle) {
        struct lbr_run *run = stages->idle;

        stages->idle = run->next;
        free_run(stages, run);
    }
    lbr_slab_destroy(&stages->slab);
}
