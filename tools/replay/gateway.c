/* SPDX-License-Identifier: MIT */
#include "gateway.h"

#include "grow.h"

#include <stdlib.h>

bool gateway_is_empty(const struct gateway *gateway)
{
    return gateway->head == gateway->tail;
}

void gateway_push(struct gateway *gateway, uint32_t request)
{
    gateway->queue = grow_array(gateway->queue, &gateway->capacity,
                                gateway->tail + 1, sizeof *gateway->queue);
    gateway->queue[gateway->tail++] = request;
}

uint32_t gateway_first(const struct gateway *gateway)
{
    return gateway->queue[gateway->head];
}

void gateway_pop(struct gateway *gateway)
{
    gateway->head++;
}

void gateway_release(struct gateway *gateway)
{
    free(gateway->queue);
}
