/* SPDX-License-Identifier: MIT */
#include "support/test.h"

void test_real_range(double value, double low, double high, const char *text,
                     const char *file, int line)
{
    if (value >= low && value <= high)
        return;
    print_error("%s is %.9g, outside %.9g..%.9g\n", text, value, low, high);
    _fail(file, line);
}
