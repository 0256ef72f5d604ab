// SPDX-License-Identifier: Apache-2.0
// A checked-in canonical form against the code of today.
#ifndef WARMPIPE_TESTS_CANONICAL_FORM_H
#define WARMPIPE_TESTS_CANONICAL_FORM_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

extern "C" {
#include "common/codec/canonical.h"
}

inline std::string golden(const std::string &name)
{
    std::ifstream in(GOLDEN_DIRECTORY "/canonical/" + name + ".hex");
    EXPECT_TRUE(in) << name;
    return {std::istreambuf_iterator<char>(in), {}};
}

inline std::string hex(const uint8_t *data, size_t size)
{
    std::ostringstream text;
    for (size_t i = 0; i < size; i++) {
        char digits[4];
        std::snprintf(digits, sizeof(digits), "%02x%c", data[i],
                      i % 16 == 15 || i + 1 == size ? '\n' : ' ');
        text << digits;
    }
    return text.str();
}

inline bool resolve(void *, VkObjectType type, uint64_t handle, canonical_object *object)
{
    *object = {};
    object->content = {handle, static_cast<uint64_t>(type)};
    object->serial = handle;
    object->use = {~0ull, ~0ull, ~0ull};
    return true;
}

inline bool find(void *, VkObjectType, digest content, uint64_t *handle)
{
    *handle = content.low;
    return true;
}

inline const uint32_t code[2] = {0x07230203, 0x00010000};

inline bool find_code(void *, digest, size_t size, const void **ret_code)
{
    *ret_code = code;
    return size == sizeof(code);
}

// The create-info has this form, and the form this create-info.
inline void expect_form(const std::string &name, const void *info)
{
    const std::string expected = golden(name);
    canonical_context context = {};
    context.resolve = resolve;
    canonical form = {};
    canonical_encode(&context, info, &form);
    EXPECT_EQ(form.verdict, CANONICAL_SHARE) << form.cause;
    EXPECT_EQ(hex(form.key.data, form.size), expected);

    canonical_sources sources = {find, find_code, nullptr};
    void *decoded = canonical_decode(form.key.data, form.size, &sources);
    ASSERT_NE(decoded, nullptr);
    canonical_encode(&context, decoded, &form);
    EXPECT_EQ(hex(form.key.data, form.size), expected);
    free(decoded);
    canonical_free(&form);
}

inline VkPipelineShaderStageCreateInfo stage(VkShaderStageFlagBits bit, uintptr_t module)
{
    VkPipelineShaderStageCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage = bit;
    info.module = (VkShaderModule)module;
    info.pName = "main";
    return info;
}

#endif
