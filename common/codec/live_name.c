// SPDX-License-Identifier: Apache-2.0
#include "common/codec/canonical.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>

#include "common/codec/table.h"

static struct live_key process_key;
static bool process_has_key;

/* Does not wait where the kernel has no entropy yet, so early after boot. */
static void live_key_draw(void)
{
    ssize_t drawn;
    do {
        drawn = getrandom(&process_key, sizeof process_key, GRND_NONBLOCK);
    } while (drawn < 0 && errno == EINTR);
    process_has_key = drawn == (ssize_t)sizeof process_key;
}

const struct live_key *live_key_of_process(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, live_key_draw);
    return process_has_key ? &process_key : NULL;
}

struct sip_state {
    uint64_t v[4];
};

static inline uint64_t sip_rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

static inline void sip_rounds(struct sip_state *state, int count)
{
    uint64_t *v = state->v;
    while (count-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = sip_rotate(v[1], 13) ^ v[0];
        v[3] = sip_rotate(v[3], 16) ^ v[2];
        v[0] = sip_rotate(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = sip_rotate(v[1], 17) ^ v[2];
        v[3] = sip_rotate(v[3], 21) ^ v[0];
        v[2] = sip_rotate(v[2], 32);
    }
}

static inline void sip_word(struct sip_state *state, uint64_t word)
{
    state->v[3] ^= word;
    sip_rounds(state, 2);
    state->v[0] ^= word;
}

static inline uint64_t sip_fold(const struct sip_state *state)
{
    return state->v[0] ^ state->v[1] ^ state->v[2] ^ state->v[3];
}

__attribute__((noinline)) struct digest live_hash(const struct live_key *key, const void *data,
                                                  size_t size)
{
    struct sip_state state = {{
        UINT64_C(0x736f6d6570736575) ^ key->words[0],
        UINT64_C(0x646f72616e646f6d) ^ key->words[1] ^ 0xee,
        UINT64_C(0x6c7967656e657261) ^ key->words[0],
        UINT64_C(0x7465646279746573) ^ key->words[1],
    }};
    const uint8_t *bytes = data;
    size_t left = size;
    uint64_t word;
    for (; left >= sizeof word; bytes += sizeof word, left -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        sip_word(&state, form_u64(word));
    }
    word = (uint64_t)size << 56;
    for (size_t i = 0; i < left; i++) {
        word |= (uint64_t)bytes[i] << (8 * i);
    }
    sip_word(&state, word);
    state.v[2] ^= 0xee;
    sip_rounds(&state, 4);
    struct digest hash = {.low = sip_fold(&state)};
    state.v[1] ^= 0xdd;
    sip_rounds(&state, 4);
    hash.high = sip_fold(&state);
    return hash;
}

struct digest live_name(const struct live_key *key, const void *form, size_t form_size,
                        const void *code, size_t code_size)
{
    struct digest name = live_hash(key, form, form_size);
    if (code_size > 0) {
        const struct digest both[2] = {name, live_hash(key, code, code_size)};
        name = live_hash(key, both, sizeof both);
    }
    return name;
}
