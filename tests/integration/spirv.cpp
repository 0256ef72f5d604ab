// SPDX-License-Identifier: Apache-2.0
// The smallest valid shaders, assembled by hand: the tests need code that differs, not code that
// does something.
#include "program.hpp"

namespace {

enum Opcode : uint32_t {
    OpString = 7,
    OpExtension = 10,
    OpMemoryModel = 14,
    OpEntryPoint = 15,
    OpExecutionMode = 16,
    OpCapability = 17,
    OpTypeVoid = 19,
    OpTypeFunction = 33,
    OpFunction = 54,
    OpFunctionEnd = 56,
    OpLabel = 248,
    OpReturn = 253
};

enum Id : uint32_t { IdMain = 1, IdVoid, IdFunction, IdLabel, IdNumber, IdBound };

class Assembler {
  public:
    void add(Opcode opcode, const std::vector<uint32_t> &operands = {})
    {
        words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
        words.insert(words.end(), operands.begin(), operands.end());
    }

    std::vector<uint32_t> words = {0x07230203, 0x00010400, 0, IdBound, 0};
};

std::vector<uint32_t> literal(const std::string &text)
{
    std::vector<uint32_t> words(text.size() / 4 + 1);
    for (size_t i = 0; i < text.size(); ++i) {
        words[i / 4] |= static_cast<uint32_t>(static_cast<unsigned char>(text[i])) << i % 4 * 8;
    }
    return words;
}

std::vector<uint32_t> operator+(std::vector<uint32_t> left, const std::vector<uint32_t> &right)
{
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

} // namespace

std::vector<uint32_t> shader_code(Kind kind, unsigned number)
{
    constexpr uint32_t shader = 1, ray_tracing_nv = 5340, ray_tracing_khr = 4479;
    constexpr uint32_t vertex = 0, gl_compute = 5, ray_generation = 5313, local_size = 17;
    Assembler code;
    code.add(OpCapability, {shader});
    if (kind == Kind::ray_tracing_khr) {
        code.add(OpCapability, {ray_tracing_khr});
        code.add(OpExtension, literal("SPV_KHR_ray_tracing"));
    } else if (kind == Kind::ray_tracing_nv) {
        code.add(OpCapability, {ray_tracing_nv});
        code.add(OpExtension, literal("SPV_NV_ray_tracing"));
    }
    code.add(OpMemoryModel, {0, 1});
    const uint32_t model = kind == Kind::compute    ? gl_compute
                           : kind == Kind::graphics ? vertex
                                                    : ray_generation;
    code.add(OpEntryPoint, std::vector<uint32_t>{model, IdMain} + literal("main"));
    if (kind == Kind::compute) {
        code.add(OpExecutionMode, {IdMain, local_size, 1, 1, 1});
    }
    code.add(OpString, std::vector<uint32_t>{IdNumber} + literal(std::to_string(number)));
    code.add(OpTypeVoid, {IdVoid});
    code.add(OpTypeFunction, {IdFunction, IdVoid});
    code.add(OpFunction, {IdVoid, IdMain, 0, IdFunction});
    code.add(OpLabel, {IdLabel});
    code.add(OpReturn);
    code.add(OpFunctionEnd);
    return code.words;
}
