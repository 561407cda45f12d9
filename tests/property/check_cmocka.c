/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check.h"

static void fail_test(void)
{
    fail();
}

int check_use_cmocka(void **state)
{
    (void)state;
    check_set_handler(fail_test);
    return 0;
}
