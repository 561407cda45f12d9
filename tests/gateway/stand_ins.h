/* SPDX-License-Identifier: MIT */
/*
 * What the admin port asks of the parts of the gateway that the stage does
 * without: these definitions are linked before the library's.
 */
#ifndef TESTS_GATEWAY_STAND_INS_H
#define TESTS_GATEWAY_STAND_INS_H

struct stage;

extern struct stage *stand_ins_stage; /* The only one. */

/* Defined by the stage. */
void stage_serve_waiting(struct stage *stage);

#endif
