#include "unique.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "codec/digest.h"

static uint64_t mixed_number(void)
{
    static uint64_t counter;
    struct {
        struct timespec now;
        uint64_t count;
        uint64_t process;
        uint64_t address;
    } sources = {
        .count = __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED),
        .process = (uint64_t)getpid(),
        .address = (uint64_t)(uintptr_t)&sources,
    };
    clock_gettime(CLOCK_REALTIME, &sources.now);
    return digest_of(&sources, sizeof(sources)).low;
}

uint64_t unique_draw(void)
{
    uint64_t number = 0;
    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number)) {
        number = mixed_number();
    }
    return number ? number : 1;
}

void unique_format(uint64_t number, char ret_hex[UNIQUE_HEX_SIZE])
{
    snprintf(ret_hex, UNIQUE_HEX_SIZE, "%016" PRIx64, number);
}
