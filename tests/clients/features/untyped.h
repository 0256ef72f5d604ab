// SPDX-License-Identifier: Apache-2.0
/* SPIR-V that adds two words of a buffer through pointers without a type. Written out, for the
 * compilers of GLSL that many systems have do not know SPV_KHR_untyped_pointers.
 *
 *     layout(local_size_x = 64) in;
 *     layout(constant_id = 0) const uint start = 1;
 *     layout(set = 0, binding = 0) buffer Block { uint values[]; };
 *     values[start] += values[8]; */
#ifndef FEATURES_UNTYPED_H
#define FEATURES_UNTYPED_H

#include <stdint.h>

#include "words.h"

enum untyped_id {
    UNTYPED_MAIN = 1,
    UNTYPED_VALUES,
    UNTYPED_START,
    UNTYPED_WORDS,
    UNTYPED_BLOCK,
    UNTYPED_VOID,
    UNTYPED_FUNCTION,
    UNTYPED_UINT,
    UNTYPED_ZERO,
    UNTYPED_EIGHT,
    UNTYPED_POINTER,
    UNTYPED_ENTRY,
    UNTYPED_PLACE,
    UNTYPED_OTHER_PLACE,
    UNTYPED_A,
    UNTYPED_B,
    UNTYPED_SUM,
    UNTYPED_BOUND
};

/* clang-format off: an instruction a line */
static const uint32_t untyped_code[] = {
    0x07230203,
    0x00010500,
    0,
    UNTYPED_BOUND,
    0,
    INSTRUCTION(17, 1),    /* OpCapability Shader */
    INSTRUCTION(17, 4473), /* UntypedPointersKHR */
    INSTRUCTION(10, TEXT('S', 'P', 'V', '_'), TEXT('K', 'H', 'R', '_'), TEXT('u', 'n', 't', 'y'),
                TEXT('p', 'e', 'd', '_'), TEXT('p', 'o', 'i', 'n'), TEXT('t', 'e', 'r', 's'),
                0),        /* OpExtension */
    INSTRUCTION(14, 0, 1), /* OpMemoryModel Logical GLSL450 */
    INSTRUCTION(15, 5, UNTYPED_MAIN, TEXT('m', 'a', 'i', 'n'), 0,
                UNTYPED_VALUES),                 /* OpEntryPoint GLCompute */
    INSTRUCTION(16, UNTYPED_MAIN, 17, 64, 1, 1), /* LocalSize */
    INSTRUCTION(71, UNTYPED_START, 1, 0),        /* OpDecorate SpecId */
    INSTRUCTION(71, UNTYPED_WORDS, 6, 4),        /* ArrayStride */
    INSTRUCTION(72, UNTYPED_BLOCK, 0, 35, 0),    /* Offset */
    INSTRUCTION(71, UNTYPED_BLOCK, 2),           /* Block */
    INSTRUCTION(71, UNTYPED_VALUES, 34, 0),      /* DescriptorSet */
    INSTRUCTION(71, UNTYPED_VALUES, 33, 0),      /* Binding */
    INSTRUCTION(19, UNTYPED_VOID),
    INSTRUCTION(33, UNTYPED_FUNCTION, UNTYPED_VOID),
    INSTRUCTION(21, UNTYPED_UINT, 32, 0),
    INSTRUCTION(50, UNTYPED_UINT, UNTYPED_START, 1), /* OpSpecConstant */
    INSTRUCTION(43, UNTYPED_UINT, UNTYPED_ZERO, 0),
    INSTRUCTION(43, UNTYPED_UINT, UNTYPED_EIGHT, 8),
    INSTRUCTION(29, UNTYPED_WORDS, UNTYPED_UINT),
    INSTRUCTION(30, UNTYPED_BLOCK, UNTYPED_WORDS),
    INSTRUCTION(4417, UNTYPED_POINTER, 12), /* OpTypeUntypedPointerKHR StorageBuffer */
    INSTRUCTION(4418, UNTYPED_POINTER, UNTYPED_VALUES, 12, UNTYPED_BLOCK), /* -VariableKHR */
    INSTRUCTION(54, UNTYPED_VOID, UNTYPED_MAIN, 0, UNTYPED_FUNCTION),
    INSTRUCTION(248, UNTYPED_ENTRY),
    /* OpUntypedAccessChainKHR */
    INSTRUCTION(4419, UNTYPED_POINTER, UNTYPED_PLACE, UNTYPED_BLOCK, UNTYPED_VALUES, UNTYPED_ZERO,
                UNTYPED_START),
    INSTRUCTION(4419, UNTYPED_POINTER, UNTYPED_OTHER_PLACE, UNTYPED_BLOCK, UNTYPED_VALUES,
                UNTYPED_ZERO, UNTYPED_EIGHT),
    INSTRUCTION(61, UNTYPED_UINT, UNTYPED_A, UNTYPED_PLACE), /* OpLoad */
    INSTRUCTION(61, UNTYPED_UINT, UNTYPED_B, UNTYPED_OTHER_PLACE),
    INSTRUCTION(128, UNTYPED_UINT, UNTYPED_SUM, UNTYPED_A, UNTYPED_B), /* OpIAdd */
    INSTRUCTION(62, UNTYPED_PLACE, UNTYPED_SUM),                       /* OpStore */
    ALONE(253),
    ALONE(56),
};
/* clang-format on */

#endif
