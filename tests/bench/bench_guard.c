// SPDX-License-Identifier: Apache-2.0
/* What the crash guard adds to a driver call that uses a blob: raising and lowering it, again and
 * again. Prints one JSON object; exit 0: the limit is met, 1: it is not. */
#include <fcntl.h>
#include <stdio.h>

#include "common/blobs/crash_page.h"
#include "pairs.h"

#define ROUNDS   2000
#define CALLS    2000
#define LIMIT_NS 5.0

/* The best mean of a round, in ns. */
static double time_calls(const char *folder)
{
    static struct crash_guard guard;
    const struct bytes record = {0};
    const struct crash_keys known = {0};
    char path[4096];
    double best = 1e9;
    snprintf(path, sizeof path, "%s/page", folder);
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || !crash_guard_open(&guard, fd, 1, &record, &known)) {
        fprintf(stderr, "no page in '%s'\n", folder);
        return -1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        const double start = pairs_now();
        for (uint64_t i = 0; i < CALLS; i++) {
            const struct crash_call call =
                crash_guard_raise(&guard, CRASH_KEY_FIRST_PIPELINE + i, CRASH_INSIDE);
            __asm__ volatile("" : : "r"(&call) : "memory"); /* the driver's call */
            crash_guard_lower(&guard, &call);
        }
        const double mean = (pairs_now() - start) / CALLS;
        best = mean < best ? mean : best;
    }
    crash_guard_close(&guard);
    crash_page_remove_elsewhere(1);
    return best;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: bench_guard FOLDER\n");
        return 2;
    }
    const double ns = time_calls(argv[1]);
    if (ns < 0) {
        return 2;
    }
    printf("{\"name\":\"guard.call\",\"says\":\"raising and lowering the crash guard, in ns\","
           "\"limit\":\"≤ %g\",\"met\":%s,\"value\":%.2f}\n",
           LIMIT_NS, ns <= LIMIT_NS ? "true" : "false", ns);
    return ns <= LIMIT_NS ? 0 : 1;
}
