/* SPDX-License-Identifier: MIT */
/* Natural logarithm and its inverse, out of additions, multiplications and
 * divisions in a fixed order: the same bits on every platform, which those of
 * math libraries are not. Exact to about 1e-14. */
#ifndef LBR_BASE_LOGARITHM_H
#define LBR_BASE_LOGARITHM_H

/* Of a positive finite number. */
double lbr_log(double value);

/* Of a number between -700 and 700. */
double lbr_exp(double value);

#endif
