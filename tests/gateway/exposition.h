/* SPDX-License-Identifier: MIT */
/*
 * A strict reader of Prometheus text: what a page breaks is told by a failing
 * test.
 */
#ifndef TESTS_GATEWAY_EXPOSITION_H
#define TESTS_GATEWAY_EXPOSITION_H

#include <stddef.h>

/** Checks a page: each line is HELP, TYPE or a sample; a family is announced
 * once, before its samples, which stand together; no series twice; counters
 * are not negative; histograms add up. Returns the number of samples. */
size_t exposition_check(const char *page);

/** The value of the series as it stands on the page; fails without it. */
double exposition_value(const char *page, const char *series);

#endif
