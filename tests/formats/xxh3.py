# SPDX-License-Identifier: Apache-2.0
"""XXH3-128 with seed 0 in plain Python, from the algorithm's specification (xxHash
doc/xxhash_spec.md): slow, and independent of the library that the product is built with."""

import struct

M32 = (1 << 32) - 1
M64 = (1 << 64) - 1
PRIME32_1, PRIME32_2, PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
PRIME64_1, PRIME64_2, PRIME64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
PRIME64_4, PRIME64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def u32(data, at):
    return int.from_bytes(data[at : at + 4], "little")


def u64(data, at):
    return int.from_bytes(data[at : at + 8], "little")


def swap(value, size):
    return int.from_bytes(value.to_bytes(size, "little"), "big")


def fold(a, b):
    product = a * b
    return (product & M64) ^ (product >> 64)


def avalanche(h):
    h ^= h >> 37
    h = h * 0x165667919E3779F9 & M64
    return h ^ h >> 32


def avalanche_xxh64(h):
    h = (h ^ h >> 33) * PRIME64_2 & M64
    h = (h ^ h >> 29) * PRIME64_3 & M64
    return h ^ h >> 32


def hash_1_to_3(data):
    size = len(data)
    low = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
    swapped = swap(low, 4)
    high = (swapped << 13 | swapped >> 19) & M32
    return (avalanche_xxh64(low ^ u32(SECRET, 0) ^ u32(SECRET, 4)),
            avalanche_xxh64(high ^ u32(SECRET, 8) ^ u32(SECRET, 12)))


def hash_4_to_8(data):
    size = len(data)
    keyed = (u32(data, 0) | u32(data, size - 4) << 32) ^ u64(SECRET, 16) ^ u64(SECRET, 24)
    product = keyed * (PRIME64_1 + (size << 2))
    low, high = product & M64, product >> 64 & M64
    high = high + (low << 1) & M64
    low ^= high >> 3
    low ^= low >> 35
    low = low * 0x9FB21C651E98DF25 & M64
    low ^= low >> 28
    return low, avalanche(high)


def hash_9_to_16(data):
    size = len(data)
    first, last = u64(data, 0), u64(data, size - 8)
    product = (first ^ last ^ u64(SECRET, 32) ^ u64(SECRET, 40)) * PRIME64_1
    low, high = product & M64, product >> 64
    low = low + (size - 1 << 54) & M64
    last ^= u64(SECRET, 48) ^ u64(SECRET, 56)
    high = high + last + (last & M32) * (PRIME32_2 - 1) & M64
    low ^= swap(high, 8)
    product = low * PRIME64_2
    return avalanche(product & M64), avalanche((product >> 64) + high * PRIME64_2 & M64)


def mix_16(data, at, secret, seed=0):
    return fold(u64(data, at) ^ (u64(SECRET, secret) + seed & M64),
                u64(data, at + 8) ^ (u64(SECRET, secret + 8) - seed & M64))


def mix_32(low, high, data, one, two, secret):
    low = low + mix_16(data, one, secret) & M64
    low ^= u64(data, two) + u64(data, two + 8) & M64
    high = high + mix_16(data, two, secret + 16) & M64
    high ^= u64(data, one) + u64(data, one + 8) & M64
    return low, high


def finish_middle(low, high, size):
    mixed = low * PRIME64_1 + high * PRIME64_4 + size * PRIME64_2 & M64
    return avalanche(low + high & M64), -avalanche(mixed) & M64


def hash_17_to_128(data):
    size = len(data)
    low, high = size * PRIME64_1 & M64, 0
    for i in reversed(range((size - 1) // 32 + 1)):
        low, high = mix_32(low, high, data, 16 * i, size - 16 * (i + 1), 32 * i)
    return finish_middle(low, high, size)


def hash_129_to_240(data):
    size = len(data)
    low, high = size * PRIME64_1 & M64, 0
    for i in range(4):
        low, high = mix_32(low, high, data, 32 * i, 32 * i + 16, 32 * i)
    low, high = avalanche(low), avalanche(high)
    for i in range(4, size // 32):
        low, high = mix_32(low, high, data, 32 * i, 32 * i + 16, 3 + 32 * (i - 4))
    low, high = mix_32(low, high, data, size - 16, size - 32, 136 - 17 - 16)
    return finish_middle(low, high, size)


def accumulate(lanes, words, secret):
    for i in range(8):
        keyed = words[i] ^ secret[i]
        lanes[i ^ 1] += words[i]
        lanes[i] += (keyed & M32) * (keyed >> 32)


def merge_lanes(lanes, at, start):
    total = start
    for i in range(4):
        total += fold(lanes[2 * i] ^ u64(SECRET, at + 16 * i),
                      lanes[2 * i + 1] ^ u64(SECRET, at + 16 * i + 8))
    return avalanche(total & M64)


def hash_long(data):
    stripe, per_block = 64, (len(SECRET) - 64) // 8
    keys = [struct.unpack_from("<8Q", SECRET, 8 * i) for i in range(per_block + 1)]
    lanes = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1]
    size = len(data)
    for n in range((size - 1) // stripe):
        accumulate(lanes, struct.unpack_from("<8Q", data, n * stripe), keys[n % per_block])
        for i in range(8):
            lanes[i] &= M64
        if n % per_block == per_block - 1:
            lanes = [((lane ^ lane >> 47) ^ key) * PRIME32_1 & M64
                     for lane, key in zip(lanes, keys[per_block])]
    accumulate(lanes, struct.unpack_from("<8Q", data, size - stripe),
               struct.unpack_from("<8Q", SECRET, len(SECRET) - stripe - 7))
    lanes = [lane & M64 for lane in lanes]
    return (merge_lanes(lanes, 11, size * PRIME64_1 & M64),
            merge_lanes(lanes, len(SECRET) - 64 - 11, ~(size * PRIME64_2) & M64))


def digest(data):
    """The digest as a number, its high half first: format(digest(data), "032x") is its text."""
    size = len(data)
    if size == 0:
        low = avalanche_xxh64(u64(SECRET, 64) ^ u64(SECRET, 72))
        high = avalanche_xxh64(u64(SECRET, 80) ^ u64(SECRET, 88))
    elif size <= 3:
        low, high = hash_1_to_3(data)
    elif size <= 8:
        low, high = hash_4_to_8(data)
    elif size <= 16:
        low, high = hash_9_to_16(data)
    elif size <= 128:
        low, high = hash_17_to_128(data)
    elif size <= 240:
        low, high = hash_129_to_240(data)
    else:
        low, high = hash_long(data)
    return high << 64 | low
