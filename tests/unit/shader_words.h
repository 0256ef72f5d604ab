// SPDX-License-Identifier: Apache-2.0
// Small SPIR-V modules, put together word by word.
#ifndef WARMPIPE_TESTS_UNIT_SHADER_WORDS_H
#define WARMPIPE_TESTS_UNIT_SHADER_WORDS_H

#include <cstdint>
#include <string>
#include <vector>

using Words = std::vector<uint32_t>;

inline Words instruction(uint32_t op, const Words &operands = {})
{
    Words words = {static_cast<uint32_t>(operands.size() + 1) << 16 | op};
    words.insert(words.end(), operands.begin(), operands.end());
    return words;
}

inline Words literal(const std::string &text)
{
    Words words(text.size() / 4 + 1);
    for (size_t i = 0; i < text.size(); i++) {
        words[i / 4] |= static_cast<uint32_t>(static_cast<unsigned char>(text[i])) << i % 4 * 8;
    }
    return words;
}

inline Words operator+(Words left, const Words &right)
{
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

// A shader with one function %1 that reads the variable %8, of what `types` defines as %6, through
// a function %20 that it calls.
struct Shader {
    enum : uint32_t {
        main = 1,
        none,
        function,
        number = 5, // a type of 32 bits
        pointee,    // what the variable points to
        pointer,
        variable,
        three,     // constants
        specified, // with constantID 7
        called = 20,
        bound = 40
    };

    uint32_t model = 5;
    std::string name = "main";
    uint32_t storage = 2; // Uniform
    Words decorations = decorated(variable, 34, 1) + decorated(variable, 33, 2);
    Words types = block();
    bool calls = true;
    Words inside; // the called function, before what it reads
    Words behind; // more functions

    static Words decorated(uint32_t id, uint32_t kind, uint32_t value)
    {
        return instruction(71, {id, kind, value});
    }
    static Words block(uint32_t id = pointee)
    {
        return instruction(30, {id, number});
    }
    static Words array_of(const Words &type, uint32_t length)
    {
        return type + instruction(28, {pointee, 30, length});
    }
    static Words image(uint32_t dimensions, uint32_t sampled, uint32_t id = pointee)
    {
        return instruction(25, {id, number, dimensions, 0, 0, 0, sampled, 0});
    }

    Words words() const
    {
        Words code = {0x07230203, 0x00010000, 0, bound, 0};
        code = code + instruction(17, {1}) + instruction(14, {0, 1});
        code = code + instruction(15, Words{model, main} + literal(name));
        code = code + decorated(specified, 1, 7) + decorations;
        code = code + instruction(19, {none}) + instruction(33, {function, none});
        code = code + instruction(21, {number, 32, 0}) + instruction(43, {number, three, 3});
        code = code + instruction(50, {number, specified, 5});
        code = code + types + instruction(32, {pointer, storage, pointee});
        code = code + instruction(59, {pointer, variable, storage});
        code = code + function_of(main, 21, calls ? call_of(called, 22) : Words());
        code = code + function_of(called, 23, inside + instruction(61, {pointee, 24, variable}));
        return code + behind;
    }
    static Words function_of(uint32_t id, uint32_t label, const Words &body)
    {
        return instruction(54, {none, id, 0, function}) + instruction(248, {label}) + body +
               instruction(253) + instruction(56);
    }
    static Words call_of(uint32_t id, uint32_t result)
    {
        return instruction(57, {none, result, id});
    }
};

#endif
