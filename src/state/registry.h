/* SPDX-License-Identifier: MIT */
/* Names, and which groups a target belongs to. */
#ifndef LBR_STATE_REGISTRY_H
#define LBR_STATE_REGISTRY_H

#include "state/router.h"

struct lbr_pool *lbr_pool_named(struct lbroute_router *router,
                                struct lbr_text name);
struct lbr_target *lbr_target_named(struct lbroute_router *router,
                                    struct lbr_text name);
struct lbr_model *lbr_model_named(struct lbroute_router *router,
                                  struct lbr_text name);

/* Makes a pool without strategy or parameters. Returns 0, LBROUTE_ERR_LIMIT or
 * LBROUTE_ERR_NO_MEMORY. */
int lbr_pool_create(struct lbroute_router *router, struct lbr_text name,
                    struct lbr_pool **pool);

/* Frees an empty pool. */
void lbr_pool_destroy(struct lbroute_router *router, struct lbr_pool *pool);

/* Makes a target that is in no group and serves no model; its name is
 * registered. Returns as lbr_pool_create(). */
int lbr_target_create(struct lbroute_router *router, struct lbr_text name,
                      struct lbr_target **target);

/* Frees a target that is in no group. */
void lbr_target_destroy(struct lbroute_router *router,
                        struct lbr_target *target);

/* Where a target belongs. */
struct lbr_place {
    struct lbr_pool *pool; /* the router's `loose` for none */
    struct lbr_text tier;
    struct lbr_text model; /* empty: none */
};

/* Puts a target into the groups of |place|, out of those where it is. Returns
 * 0 or LBROUTE_ERR_NO_MEMORY; then it stays where it was. */
int lbr_target_settle(struct lbroute_router *router, struct lbr_target *target,
                      const struct lbr_place *place);

/* Takes a target out of its groups. */
void lbr_target_unsettle(struct lbroute_router *router,
                         struct lbr_target *target);

#endif
