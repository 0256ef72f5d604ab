// SPDX-License-Identifier: Apache-2.0
/* program.json as hostile as it likes: it is refused or read within its bounds, and what a save
 * keeps of it reads back, the same every time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/files/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct program_facts facts = {.caches = PROGRAM_CACHES_READ_BACK};
    enum status reason = program_decode(data, size, &facts);
    require(reason == STATUS_ok || facts.caches == PROGRAM_CACHES_READ_BACK,
            "a refusal leaves the facts as they were");
    require(facts.caches >= PROGRAM_CACHES_UNKNOWN && facts.caches <= PROGRAM_CACHES_READ_BACK,
            "known facts");

    struct bytes once = {0};
    struct bytes twice = {0};
    program_encode(&facts, data, size, &once);
    struct program_facts again = {0};
    require(program_decode(once.data, once.size, &again) == STATUS_ok, "what is written is read");
    require(again.app_caches.kept == facts.app_caches.kept &&
                again.app_caches.answer_count == facts.app_caches.answer_count,
            "another history comes back");
    require(again.caches == facts.caches && again.since == facts.since &&
                memcmp(&again.counters, &facts.counters, sizeof facts.counters) == 0,
            "it says the same");
    require(once.size <= PROGRAM_FILE_LIMIT, "it is not too large");
    program_encode(&again, once.data, once.size, &twice);
    require(once.size == twice.size && memcmp(once.data, twice.data, once.size) == 0,
            "a second save changes nothing");
    bytes_free(&once);
    bytes_free(&twice);
    return 0;
}
