/* SPDX-License-Identifier: MIT */
#include "shares.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

enum { MOST = 256 };

static size_t list(struct fleet *fleet, size_t index,
                   lbroute_client_share rows[MOST])
{
    size_t count = 0;

    for (size_t i = 0; i < MOST; i++)
        lbroute_client_share_init(&rows[i], sizeof rows[i]);
    assert_int_equal(lbroute_target_clients(fleet->router,
                                            fleet->targets[index], fleet->now,
                                            rows, MOST, &count),
                     LBROUTE_OK);
    assert_true(count <= MOST);
    return count;
}

lbroute_client_share share_of(struct fleet *fleet, size_t index,
                              const char *client)
{
    lbroute_client_share rows[MOST];
    lbroute_client_share none;
    size_t count = list(fleet, index, rows);
    uint64_t digest = 0;

    if (client != NULL)
        assert_int_equal(lbroute_client_digest(fleet->router, client,
                                               strlen(client), &digest),
                         LBROUTE_OK);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].client == digest)
            return rows[i];
    }
    memset(&none, 0, sizeof none);
    return none;
}

double share_sum(struct fleet *fleet, size_t index, size_t *clients)
{
    lbroute_client_share rows[MOST];
    double sum = 0;

    *clients = list(fleet, index, rows);
    for (size_t i = 0; i < *clients; i++)
        sum += rows[i].blocks;
    return sum;
}

void share_expect(struct fleet *fleet, size_t index, const char *client,
                  double blocks, double share)
{
    lbroute_client_share row = share_of(fleet, index, client);

    assert_near(row.blocks, blocks, 1e-6);
    assert_near(row.share, share, 1e-6);
}
