#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes two valid compute shaders of equal XXH3-128 (seed 0, the library's own secret), one of which
writes 1 and the other 2.

XXH3 multiplies, in each of eight lanes of a stripe of 64 bytes, the halves of (data ^ secret), and
adds the data itself to the neighbouring lane. Where the lower half of the data equals that of the
secret, the product is zero whatever the upper half is; so two such words in the same lane of two
stripes may exchange their upper halves, and the state stays what it was. Here they are the two
constants of 64 bits.

The secret is read from the installed xxhash.h. Run it in this folder; the files are checked in.
"""

import re
import struct

MAGIC, VERSION, BOUND = 0x07230203, 0x00010000, 32
ONE, OTHER = 10, 11  # the two constants
STRIPE_WORDS = 16
SECRET_STEP = 8  # bytes of the secret from one stripe to the next


def secret():
    with open("/usr/include/xxhash.h", encoding="utf-8") as header:
        body = re.search(r"kSecret\[[A-Z0-9_]+\] = \{([^}]*)\}", header.read()).group(1)
    return bytes(int(byte, 16) for byte in re.findall(r"0x[0-9a-f]{2}", body))


def op(code, *operands):
    return [len(operands) + 1 << 16 | code, *operands]


def secret_half(word):
    """The lower half of the secret's word that meets these two words of the module."""
    stripe, place = divmod(word, STRIPE_WORDS)
    offset = stripe * SECRET_STEP + place * 4
    return struct.unpack_from("<I", secret(), offset)[0]


def constant(words, name, upper):
    """OpConstant %ulong: its literal, lower half first, begins the fourth word."""
    literal = len(words) + 3
    assert literal % 2 == 0
    return op(43, 4, name, secret_half(literal), upper)


def module(first, second):
    words = [MAGIC, VERSION, 0, BOUND, 0]
    words += op(17, 1) + op(17, 11)  # OpCapability Shader, Int64
    words += op(14, 0, 1)  # OpMemoryModel Logical GLSL450
    words += op(15, 5, 1, 0x6E69616D, 0)  # OpEntryPoint GLCompute %1 "main"
    words += op(16, 1, 17, 1, 1, 1)  # OpExecutionMode LocalSize
    words += op(72, 6, 0, 35, 0) + op(71, 6, 3)  # Offset 0, BufferBlock
    words += op(71, 9, 34, 0) + op(71, 9, 33, 0)  # DescriptorSet 0, Binding 0
    words += op(19, 2) + op(33, 3, 2)  # void, void()
    words += op(21, 4, 64, 0) + op(21, 5, 32, 0)  # ulong, uint
    words += op(30, 6, 4) + op(32, 7, 2, 6) + op(32, 8, 2, 4)  # struct, pointers
    words += op(59, 7, 9, 2) + op(43, 5, 12, 0)  # OpVariable, OpConstant %uint 0
    here = len(words)
    words += constant(words, ONE, first)
    # Up to the same lane of the next stripe.
    words += op(43, 5, 13, 1) + op(43, 5, 14, 2) + op(1, 5, 15)  # constants, OpUndef
    assert len(words) == here + STRIPE_WORDS
    words += constant(words, OTHER, second)
    words += op(54, 2, 1, 0, 3) + op(248, 16)  # OpFunction, OpLabel
    words += op(65, 8, 17, 9, 12) + op(62, 17, ONE)  # OpAccessChain, OpStore
    words += op(253) + op(56)  # OpReturn, OpFunctionEnd
    assert len(words) - STRIPE_WORDS > here + STRIPE_WORDS + 4, "the last stripe is read twice"
    return struct.pack(f"<{len(words)}I", *words)


for name, halves in {"one": (1, 2), "other": (2, 1)}.items():
    with open(f"collision/{name}.spv", "wb") as file:
        file.write(module(*halves))
