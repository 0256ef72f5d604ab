// SPDX-License-Identifier: Apache-2.0
/* SPIR-V that adds to a matrix the product of itself with itself, 16 by 16 half floats, by a
 * subgroup. Written out, for the compilers of GLSL that many systems have do not know
 * SPV_KHR_cooperative_matrix.
 *
 *     layout(local_size_x = 64) in;
 *     layout(constant_id = 0) const uint start = 1;
 *     layout(set = 0, binding = 0) buffer Block { uint values[]; };
 *     coopMatLoad(a, values, start, 8, RowMajor);  // and b, c
 *     coopMatStore(coopMatMulAdd(a, b, c), values, start, 8, RowMajor); */
#ifndef FEATURES_MATRIX_H
#define FEATURES_MATRIX_H

#include <stdint.h>

#include "words.h"

enum matrix_id {
    ID_MAIN = 1,
    ID_VALUES,
    ID_START,
    ID_WORDS,
    ID_BLOCK,
    ID_VOID,
    ID_FUNCTION,
    ID_UINT,
    ID_HALF,
    ID_ZERO,
    ID_ONE,
    ID_TWO,
    ID_SUBGROUP,
    ID_EIGHT,
    ID_SIXTEEN,
    ID_BLOCK_POINTER,
    ID_WORD_POINTER,
    ID_TYPE_A,
    ID_TYPE_B,
    ID_TYPE_C,
    ID_ENTRY,
    ID_PLACE,
    ID_A,
    ID_B,
    ID_C,
    ID_SUM,
    ID_BOUND
};

/* clang-format off: an instruction a line */
static const uint32_t matrix_code[] = {
    0x07230203,
    0x00010500,
    0,
    ID_BOUND,
    0,
    INSTRUCTION(17, 1),    /* OpCapability Shader */
    INSTRUCTION(17, 9),    /* Float16 */
    INSTRUCTION(17, 5345), /* VulkanMemoryModel */
    INSTRUCTION(17, 6022), /* CooperativeMatrixKHR */
    INSTRUCTION(10, TEXT('S', 'P', 'V', '_'), TEXT('K', 'H', 'R', '_'), TEXT('c', 'o', 'o', 'p'),
                TEXT('e', 'r', 'a', 't'), TEXT('i', 'v', 'e', '_'), TEXT('m', 'a', 't', 'r'),
                TEXT('i', 'x', 0, 0)), /* OpExtension */
    INSTRUCTION(14, 0, 3),             /* OpMemoryModel Logical Vulkan */
    INSTRUCTION(15, 5, ID_MAIN, TEXT('m', 'a', 'i', 'n'), 0,
                ID_VALUES),                 /* OpEntryPoint GLCompute */
    INSTRUCTION(16, ID_MAIN, 17, 64, 1, 1), /* LocalSize */
    INSTRUCTION(71, ID_START, 1, 0),        /* OpDecorate SpecId */
    INSTRUCTION(71, ID_WORDS, 6, 4),        /* ArrayStride */
    INSTRUCTION(72, ID_BLOCK, 0, 35, 0),    /* Offset */
    INSTRUCTION(71, ID_BLOCK, 2),           /* Block */
    INSTRUCTION(71, ID_VALUES, 34, 0),      /* DescriptorSet */
    INSTRUCTION(71, ID_VALUES, 33, 0),      /* Binding */
    INSTRUCTION(19, ID_VOID),
    INSTRUCTION(33, ID_FUNCTION, ID_VOID),
    INSTRUCTION(21, ID_UINT, 32, 0),
    INSTRUCTION(22, ID_HALF, 16),
    INSTRUCTION(50, ID_UINT, ID_START, 1), /* OpSpecConstant */
    INSTRUCTION(43, ID_UINT, ID_ZERO, 0),
    INSTRUCTION(43, ID_UINT, ID_ONE, 1),
    INSTRUCTION(43, ID_UINT, ID_TWO, 2),
    INSTRUCTION(43, ID_UINT, ID_SUBGROUP, 3),
    INSTRUCTION(43, ID_UINT, ID_EIGHT, 8),
    INSTRUCTION(43, ID_UINT, ID_SIXTEEN, 16),
    INSTRUCTION(29, ID_WORDS, ID_UINT),
    INSTRUCTION(30, ID_BLOCK, ID_WORDS),
    INSTRUCTION(32, ID_BLOCK_POINTER, 12, ID_BLOCK), /* StorageBuffer */
    INSTRUCTION(32, ID_WORD_POINTER, 12, ID_UINT),
    INSTRUCTION(59, ID_BLOCK_POINTER, ID_VALUES, 12),
    /* OpTypeCooperativeMatrixKHR: scope, rows, columns, use */
    INSTRUCTION(4456, ID_TYPE_A, ID_HALF, ID_SUBGROUP, ID_SIXTEEN, ID_SIXTEEN, ID_ZERO),
    INSTRUCTION(4456, ID_TYPE_B, ID_HALF, ID_SUBGROUP, ID_SIXTEEN, ID_SIXTEEN, ID_ONE),
    INSTRUCTION(4456, ID_TYPE_C, ID_HALF, ID_SUBGROUP, ID_SIXTEEN, ID_SIXTEEN, ID_TWO),
    INSTRUCTION(54, ID_VOID, ID_MAIN, 0, ID_FUNCTION),
    INSTRUCTION(248, ID_ENTRY),
    INSTRUCTION(65, ID_WORD_POINTER, ID_PLACE, ID_VALUES, ID_ZERO, ID_START),
    /* OpCooperativeMatrixLoadKHR, -MulAddKHR, -StoreKHR */
    INSTRUCTION(4457, ID_TYPE_A, ID_A, ID_PLACE, ID_ZERO, ID_EIGHT),
    INSTRUCTION(4457, ID_TYPE_B, ID_B, ID_PLACE, ID_ZERO, ID_EIGHT),
    INSTRUCTION(4457, ID_TYPE_C, ID_C, ID_PLACE, ID_ZERO, ID_EIGHT),
    INSTRUCTION(4459, ID_TYPE_C, ID_SUM, ID_A, ID_B, ID_C),
    INSTRUCTION(4458, ID_PLACE, ID_SUM, ID_ZERO, ID_EIGHT),
    ALONE(253),
    ALONE(56),
};
/* clang-format on */

#endif
