/* SPDX-License-Identifier: MIT */
#include "models/least_squares.h"

#include <string.h>

static void put_reals(struct lbr_writer *writer, const double *values,
                      size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        lbr_put_real(writer, values[i]);
}

static void get_reals(struct lbr_reader *reader, double *values, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        values[i] = lbr_get_real(reader);
}

void lbr_plane_save(const struct lbr_plane *plane, struct lbr_writer *writer)
{
    lbr_put_real(writer, plane->base);
    lbr_put_real(writer, plane->per_queue);
    lbr_put_real(writer, plane->per_input);
}

void lbr_plane_load(struct lbr_plane *plane, struct lbr_reader *reader)
{
    plane->base = lbr_get_real(reader);
    plane->per_queue = lbr_get_real(reader);
    plane->per_input = lbr_get_real(reader);
    lbr_demand(reader, lbr_plane_is_sound(plane));
}

void lbr_least_squares_save(const struct lbr_least_squares *model,
                            struct lbr_writer *writer)
{
    if (!model->samples || !lbr_least_squares_is_sound(model)) {
        lbr_put_times(writer, 0);
        return;
    }
    lbr_put_times(writer, model->samples);
    lbr_plane_save(&model->plane, writer);
    put_reals(writer, model->info, 6);
    put_reals(writer, model->moments, 3);
    put_reals(writer, model->pivots, 3);
    put_reals(writer, model->lower, 3);
    lbr_put_real(writer, model->usual_error);
    lbr_put_real(writer, model->level);
    lbr_put_u8(writer, (uint8_t)model->pinned);
}

void lbr_least_squares_load(struct lbr_least_squares *model,
                            struct lbr_reader *reader)
{
    memset(model, 0, sizeof *model);
    model->samples = lbr_get_times(reader);
    if (!model->samples)
        return;
    lbr_plane_load(&model->plane, reader);
    get_reals(reader, model->info, 6);
    get_reals(reader, model->moments, 3);
    get_reals(reader, model->pivots, 3);
    get_reals(reader, model->lower, 3);
    model->usual_error = lbr_get_real(reader);
    model->level = lbr_get_real(reader);
    model->pinned = lbr_get_u8(reader);
    lbr_demand(reader, lbr_least_squares_is_sound(model));
}
