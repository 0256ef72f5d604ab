// SPDX-License-Identifier: Apache-2.0
#include "common/base/clock.h"

/* Called from so many places that the library is smaller without copies of it. */
__attribute__((noinline)) uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * CLOCK_S + (uint64_t)now.tv_nsec;
}
