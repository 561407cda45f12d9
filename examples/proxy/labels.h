/* SPDX-License-Identifier: MIT */
/*
 * Words for the router's codes, the same in metrics, JSON and page, and texts
 * that any reader of UTF-8 takes.
 */
#ifndef LBROUTE_PROXY_LABELS_H
#define LBROUTE_PROXY_LABELS_H

#include <stddef.h>
#include <stdint.h>

/** Of an `LBROUTE_EVENT_`: "success", …; 0 is "open". */
const char *label_outcome(int kind);
/** Of a result of lbroute_pick(): "ok", "queued", "saturated", … */
const char *label_result(int result);
/** Of an `LBROUTE_GAUGE_`. */
const char *label_gauge(int gauge);
/** Of an `LBROUTE_KV_SOURCE_`. */
const char *label_kv_state(int state);
/** Of an `LBROUTE_ADMISSION_`. */
const char *label_admission(int mode);
/** Of an `LBROUTE_LATENCY_`. */
const char *label_latency(int kind);
/** Of an `LBROUTE_MEDIUM_`. */
const char *label_medium(int medium);
/** Of a bit among `LBROUTE_CAUSE_`. */
const char *label_cause(unsigned cause);

/** Copies a name that may hold any bytes: what is no UTF-8 becomes "?", and a
 * cut never leaves half a character. */
void clean_text(char *out, size_t size, const char *text);

#endif
