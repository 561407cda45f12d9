/* SPDX-License-Identifier: MIT */
/* A look at the router as it will be at some time, without moving it there:
 * for reads, which must change nothing. Between begin and end the lock is
 * held and nothing else may happen. */
#ifndef LBR_STATE_VIEW_H
#define LBR_STATE_VIEW_H

#include "state/router.h"

struct lbr_view {
    struct lbroute_router *router;
    uint64_t at; /* the time asked for, or the router's if that is later */
    struct lbr_ticket *last_expired; /* by then; NULL: none */
};

/* Counts tickets and load of peers that will have expired by then as gone. */
void lbr_view_begin(struct lbr_view *view, struct lbroute_router *router,
                    uint64_t now);

/* Brings a list of groups that was looked at back to the router's own time. */
void lbr_view_restore(struct lbr_view *view, struct lbr_group *groups);

/* The same for one group, or none, that may not have been looked at. */
void lbr_view_restore_one(struct lbr_view *view, struct lbr_group *group);

/* Counts those again. */
void lbr_view_end(struct lbr_view *view);

#endif
