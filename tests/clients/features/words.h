// SPDX-License-Identifier: Apache-2.0
/* SPIR-V that is written out, an instruction a line. */
#ifndef FEATURES_WORDS_H
#define FEATURES_WORDS_H

#include <stdint.h>

#define INSTRUCTION(opcode, ...)                                                                   \
    ((uint32_t)sizeof((const uint32_t[]){__VA_ARGS__}) / 4 + 1) << 16 | (opcode), __VA_ARGS__
#define ALONE(opcode) 1u << 16 | (opcode)
#define TEXT(a, b, c, d)                                                                           \
    ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

#endif
