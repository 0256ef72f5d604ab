// SPDX-License-Identifier: Apache-2.0
// A compute shader in SPIR-V, put together word by word, and parts for it.
#ifndef WARMPIPE_TESTS_DRIVERS_HOSTILE_SHADER_H
#define WARMPIPE_TESTS_DRIVERS_HOSTILE_SHADER_H

#include <cstdint>
#include <functional>
#include <vector>

using Words = std::vector<uint32_t>;

inline Words operator+(Words left, const Words &right)
{
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

inline Words op(uint32_t code, const Words &operands = {})
{
    return Words{static_cast<uint32_t>(operands.size() + 1) << 16 | code} + operands;
}

// Ids of the shader below; those from 100 on are free.
enum : uint32_t {
    MAIN = 1,
    VOID,
    FUNCTION_TYPE,
    UINT,
    FLOAT,
    BLOCK,
    BLOCK_POINTER,
    BUFFER,
    ZERO,
    UINT_POINTER,
    BOOL,
    ONE,
    SPECIAL, // constantID 7
    HUGE_LENGTH,
    TRUE_CONSTANT,
    LABEL,
    ELEMENT,
    END_LABEL,
    FREE = 100
};

constexpr uint32_t UNIFORM = 2, PUSH_CONSTANT = 9;

// A shader that writes 1 into a storage buffer, and what is added to it.
struct Shader {
    uint32_t bound = 100000;
    Words capabilities = op(17, {1});
    uint32_t model = 5;
    Words modes = op(16, {MAIN, 17, 1, 1, 1});
    Words decorations;
    uint32_t set = 0;
    Words block = op(30, {BLOCK, UINT});
    Words buffer =
        op(32, {BLOCK_POINTER, UNIFORM, BLOCK}) + op(59, {BLOCK_POINTER, BUFFER, UNIFORM});
    Words types;
    Words variables; // of the function
    Words body;
    Words access = op(65, {UINT_POINTER, ELEMENT, BUFFER, ZERO}) + op(62, {ELEMENT, ONE});
    Words end = op(253);
    Words functions;

    Words words() const
    {
        return Words{0x07230203, 0x00010300, 0, bound, 0} + capabilities + op(14, {0, 1}) +
               op(15, {model, MAIN, 0x6e69616d, 0}) + modes + op(71, {BLOCK, 3}) +
               op(72, {BLOCK, 0, 35, 0}) + op(71, {BUFFER, 34, set}) + op(71, {BUFFER, 33, 0}) +
               op(71, {SPECIAL, 1, 7}) + decorations + op(19, {VOID}) +
               op(33, {FUNCTION_TYPE, VOID}) + op(21, {UINT, 32, 0}) + op(22, {FLOAT, 32}) +
               op(20, {BOOL}) + op(43, {UINT, ZERO, 0}) + op(43, {UINT, ONE, 1}) +
               op(50, {UINT, SPECIAL, 5}) + op(43, {UINT, HUGE_LENGTH, 0x20000000}) +
               op(41, {BOOL, TRUE_CONSTANT}) + block + buffer +
               op(32, {UINT_POINTER, UNIFORM, UINT}) + types +
               op(54, {VOID, MAIN, 0, FUNCTION_TYPE}) + op(248, {LABEL}) + variables + body +
               access + end + op(56) + functions;
    }
};

inline Words call(uint32_t function, uint32_t result)
{
    return op(57, {VOID, result, function});
}

inline Words function(uint32_t id, uint32_t label, const Words &body)
{
    return op(54, {VOID, id, 0, FUNCTION_TYPE}) + op(248, {label}) + body + op(253) + op(56);
}

// From `FREE` on, each with this body; the last is empty.
inline Words chain_of_functions(uint32_t count,
                                const std::function<Words(uint32_t next, uint32_t at)> &body)
{
    Words words;
    for (uint32_t i = 0; i < count; i++) {
        words = words + function(FREE + i, FREE + 20000 + i, body(FREE + i + 1, i));
    }
    return words + function(FREE + count, FREE + 20000 + count, {});
}

// `count` ifs, each in the one before.
inline Words nested_ifs(uint32_t count)
{
    Words words;
    for (uint32_t i = 0; i < count; i++) {
        words = words + op(247, {FREE + 2 * i, 0}) +
                op(250, {TRUE_CONSTANT, FREE + 2 * i + 1, FREE + 2 * i}) +
                op(248, {FREE + 2 * i + 1});
    }
    for (uint32_t i = count; i-- > 0;) {
        words = words + op(249, {FREE + 2 * i}) + op(248, {FREE + 2 * i});
    }
    return words;
}

inline Words chain_of_structs(uint32_t count)
{
    Words words = op(30, {FREE, UINT});
    for (uint32_t i = 1; i < count; i++) {
        words = words + op(30, {FREE + i, FREE + i - 1});
    }
    return words;
}

inline Words straight_line(uint32_t count)
{
    Words words = op(61, {UINT, FREE, ELEMENT});
    for (uint32_t i = 1; i < count; i++) {
        words = words + op(132, {UINT, FREE + i, FREE + i - 1, FREE + i - 1});
    }
    return words;
}

#endif
