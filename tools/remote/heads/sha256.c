// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/heads/head.h"

#include <endian.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)

#include <cpuid.h>
#include <immintrin.h>

#define SHA256_BLOCK 64

/* What the functions below are compiled for, and may only run on. */
#define SHA256_TARGET __attribute__((target("sha,sse4.1")))

static bool sha256_has_instructions(void)
{
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;
    const bool has_sse =
        __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSSE3) != 0 && (c & bit_SSE4_1) != 0;
    return has_sse && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA) != 0;
}

static const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The eight words of the state, as the instructions want them: a, b, e, f and c, d, g, h. */
struct sha256_state {
    __m128i abef;
    __m128i cdgh;
};

SHA256_TARGET static void sha256_block(struct sha256_state *state, const uint8_t *block)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const struct sha256_state before = *state;
    __m128i abef = before.abef;
    __m128i cdgh = before.cdgh;
    __m128i words[4]; /* the sixteen latest of the schedule */
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) { /* four rounds each */
        __m128i *next = &words[i % 4];
        if (i < 4) {
            *next =
                _mm_shuffle_epi8(_mm_loadu_si128((const __m128i_u *)(block + 16 * i)), big_endian);
        } else {
            const __m128i last = words[(i + 3) % 4];
            const __m128i seven_ago = _mm_alignr_epi8(last, words[(i + 2) % 4], 4);
            const __m128i sum =
                _mm_add_epi32(_mm_sha256msg1_epu32(*next, words[(i + 1) % 4]), seven_ago);
            *next = _mm_sha256msg2_epu32(sum, last);
        }
        const __m128i added = _mm_add_epi32(
            *next, _mm_loadu_si128((const __m128i_u *)(sha256_constants + (ptrdiff_t)4 * i)));
        cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
        abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
    }
    state->abef = _mm_add_epi32(abef, before.abef);
    state->cdgh = _mm_add_epi32(cdgh, before.cdgh);
}

SHA256_TARGET static void sha256_with_instructions(const uint8_t *data, size_t size,
                                                   uint8_t ret_digest[SHA256_SIZE])
{
    struct sha256_state state = {
        _mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f, (int)0x9b05688c),
        _mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19),
    };
    uint8_t end[2 * SHA256_BLOCK] = {0};
    uint32_t words[8];
    const uint64_t bits = htobe64((uint64_t)size << 3);
    const size_t rest = size % SHA256_BLOCK;
    const size_t end_size = rest + 9 > SHA256_BLOCK ? sizeof end : SHA256_BLOCK;
    for (size_t at = 0; at + SHA256_BLOCK <= size; at += SHA256_BLOCK) {
        sha256_block(&state, data + at);
    }
    if (rest > 0) {
        memcpy(end, data + (size - rest), rest);
    }
    end[rest] = 0x80;
    memcpy(end + end_size - sizeof bits, &bits, sizeof bits);
    for (size_t at = 0; at < end_size; at += SHA256_BLOCK) {
        sha256_block(&state, end + at);
    }
    _mm_storeu_si128((__m128i_u *)words, state.abef);
    _mm_storeu_si128((__m128i_u *)(words + 4), state.cdgh);
    static const int places[8] = {3, 2, 7, 6, 1, 0, 5, 4}; /* of a, b, c … in them */
    for (int i = 0; i < 8; i++) {
        const uint32_t word = htobe32(words[places[i]]);
        memcpy(ret_digest + (ptrdiff_t)4 * i, &word, sizeof word);
    }
}

void sha256(const void *data, size_t size, uint8_t ret_digest[SHA256_SIZE])
{
    if (sha256_has_instructions()) {
        sha256_with_instructions(data, size, ret_digest);
    } else {
        crypto_hash_sha256(ret_digest, data, size);
    }
}

#else

void sha256(const void *data, size_t size, uint8_t ret_digest[SHA256_SIZE])
{
    crypto_hash_sha256(ret_digest, data, size);
}

#endif
