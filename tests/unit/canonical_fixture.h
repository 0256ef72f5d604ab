// SPDX-License-Identifier: Apache-2.0
// What the tests of the canonical form share.
#ifndef WARMPIPE_TESTS_CANONICAL_FIXTURE_H
#define WARMPIPE_TESTS_CANONICAL_FIXTURE_H

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "graphics_info.h"
#include "handles.h"

class Canonical : public testing::Test {
  protected:
    Handles handles_;
    canonical form_ = {};
    const uint32_t code_[4] = {0x07230203, 0x00010000, 7, 8};

    ~Canonical() override
    {
        canonical_free(&form_);
    }

    const canonical &encode(const void *info)
    {
        canonical_encode(&handles_.context, info, &form_);
        return form_;
    }

    digest content(const void *info)
    {
        EXPECT_NE(encode(info).verdict, CANONICAL_UNKNOWN) << form_.cause;
        return form_.digest;
    }

    std::string bytes(const void *info)
    {
        encode(info);
        return std::string(reinterpret_cast<const char *>(form_.key.data), form_.size);
    }

    bool same(const void *a, const void *b)
    {
        digest first = content(a);
        return digest_equal(first, content(b));
    }

    // The serials in the tail.
    std::vector<uint64_t> tail(const void *info)
    {
        encode(info);
        std::vector<uint64_t> serials((form_.key.size - form_.size) / 8);
        if (!serials.empty()) {
            std::memcpy(serials.data(), form_.key.data + form_.size, serials.size() * 8);
        }
        return serials;
    }

    template <typename T> T *decode(const std::string &form)
    {
        return static_cast<T *>(canonical_decode(form.data(), form.size(), &handles_.sources));
    }

    VkShaderModuleCreateInfo module_info() const
    {
        VkShaderModuleCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        info.codeSize = sizeof(code_);
        info.pCode = code_;
        return info;
    }

    static VkComputePipelineCreateInfo compute_info()
    {
        VkComputePipelineCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
        info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        info.stage.module = (VkShaderModule)11;
        info.stage.pName = "main";
        info.layout = (VkPipelineLayout)12;
        return info;
    }

    void expect(const void *info, canonical_verdict verdict, canonical_cause cause)
    {
        encode(info);
        EXPECT_EQ(form_.verdict, verdict);
        EXPECT_EQ(form_.cause, cause) << form_.cause;
        if (verdict == CANONICAL_UNKNOWN) {
            EXPECT_EQ(form_.key.size, 0u);
            EXPECT_EQ(form_.size, 0u);
        }
    }
};

#endif
