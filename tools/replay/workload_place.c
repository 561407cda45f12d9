/* SPDX-License-Identifier: MIT */
#include "workload_place.h"

#include "block_ids.h"
#include "draw.h"

double workload_place(const struct work_request *request, size_t index,
                      uint64_t seed, uint64_t stream)
{
    uint64_t owner =
        request->session != 0 ? request->session : block_key_mix(index, index);
    struct draw draw = draw_start(seed, block_key_mix(stream, owner));

    return draw_uniform(&draw);
}
