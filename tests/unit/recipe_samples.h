// SPDX-License-Identifier: Apache-2.0
// Recipes that hang together: forms as the encoder writes them, of objects that no driver has seen.
#ifndef WARMPIPE_TESTS_UNIT_RECIPE_SAMPLES_H
#define WARMPIPE_TESTS_UNIT_RECIPE_SAMPLES_H

#include <string>
#include <utility>
#include <vector>

#include "recipes_fixture.h"

extern "C" {
#include "common/codec/canonical.h"
#include "common/driver/environment.h"
}

// A compute pipeline with everything that it refers to.
struct SamplePipeline {
    std::string code;
    std::string module;
    std::string set_layout;
    std::string layout;
    std::string form;
};

class Samples {
  public:
    // Equal arguments give equal bytes. The SPIR-V is valid, and as many words longer than the
    // shortest.
    static SamplePipeline pipeline(uint32_t number, uint32_t words = 20, uint32_t bindings = 1)
    {
        SamplePipeline sample;
        const std::vector<uint32_t> code = spirv(number, words);
        sample.code.assign(reinterpret_cast<const char *>(code.data()), code.size() * 4);

        VkDescriptorSetLayoutBinding binding = {};
        binding.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        binding.descriptorCount = bindings;
        binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
        VkDescriptorSetLayoutCreateInfo set = {};
        set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
        set.bindingCount = 1;
        set.pBindings = &binding;
        sample.set_layout = encode(&set, {});

        const VkDescriptorSetLayout sets[] = {(VkDescriptorSetLayout)1};
        VkPipelineLayoutCreateInfo layout = {};
        layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
        layout.setLayoutCount = 1;
        layout.pSetLayouts = sets;
        sample.layout = encode(&layout, {digest_of(sample.set_layout)});

        encode_again(sample);
        return sample;
    }

    // Of the sample's module and layout.
    static std::string compute(const SamplePipeline &sample)
    {
        VkComputePipelineCreateInfo compute = {};
        compute.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
        compute.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
        compute.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
        compute.stage.module = (VkShaderModule)1;
        compute.stage.pName = "main";
        compute.layout = (VkPipelineLayout)2;
        return encode(&compute, {digest_of(sample.module), digest_of(sample.layout)});
    }

    // After a change of its code: every digest is right again.
    static void encode_again(SamplePipeline &pipeline)
    {
        VkShaderModuleCreateInfo module = {};
        module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
        module.codeSize = pipeline.code.size();
        module.pCode = reinterpret_cast<const uint32_t *>(pipeline.code.data());
        pipeline.module = encode(&module, {});
        pipeline.form = compute(pipeline);
    }

    // Validating its code takes memory.
    static SamplePipeline costly_to_validate()
    {
        SamplePipeline large = pipeline(3);
        const uint32_t extension[] = {2u << 16 | 4, 0}; // OpSourceExtension ""
        std::string all;
        for (int i = 0; i < 100000; i++) {
            all.append(reinterpret_cast<const char *>(extension), sizeof extension);
        }
        large.code.insert(4 * 21, all); // behind the execution mode
        encode_again(large);
        return large;
    }

    static std::vector<uint32_t> spirv(uint32_t number, uint32_t words)
    {
        std::vector<uint32_t> code = {
            0x07230203, 0x00010000, 0,  6,          0,    // header, ids below 6
            0x00020011, 1,                                // OpCapability Shader
            0x0003000e, 0,          1,                    // OpMemoryModel Logical GLSL450
            0x0005000f, 5,          1,  0x6e69616d, 0,    // OpEntryPoint GLCompute %1 "main"
            0x00060010, 1,          17, 1,          1, 1, // OpExecutionMode %1 LocalSize 1 1 1
        };
        // OpString %5, which says nothing but its number
        code.insert(code.end(), {(words + 4) << 16 | 7, 5, 0x20202020 + number});
        code.resize(code.size() + words, 0x20202020);
        code.push_back(0);
        code.insert(code.end(), {
                                    0x00020013, 2,          // %2 = OpTypeVoid
                                    0x00030021, 3, 2,       // %3 = OpTypeFunction %2
                                    0x00050036, 2, 1, 0, 3, // %1 = OpFunction
                                    0x000200f8, 4,          // OpLabel
                                    0x000100fd,             // OpReturn
                                    0x00010038,             // OpFunctionEnd
                                });
        return code;
    }

    // An environment in which nothing is enabled.
    static std::string environment()
    {
        environment_device device = {};
        device.vendor_id = 0x1002;
        device.device_id = 0x7310;
        device.api_version = VK_API_VERSION_1_3;
        VkDeviceCreateInfo info = {};
        info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
        struct bytes encoded = {};
        environment_encode(&device, &info, &encoded);
        std::string text = text_of(encoded);
        bytes_free(&encoded);
        return text;
    }

    // The form; handle n stands for contents[n - 1].
    static std::string encode(const void *info, const std::vector<digest> &contents)
    {
        canonical_context context = {};
        context.resolve = [](void *user, VkObjectType, uint64_t handle, canonical_object *object) {
            const auto &all = *static_cast<const std::vector<digest> *>(user);
            *object = {};
            object->content = all.at(handle - 1);
            object->serial = handle;
            return true;
        };
        context.user = const_cast<std::vector<digest> *>(&contents);
        canonical form = {};
        canonical_encode(&context, info, &form);
        EXPECT_EQ(form.verdict, CANONICAL_SHARE) << form.cause;
        std::string bytes(reinterpret_cast<const char *>(form.key.data), form.size);
        canonical_free(&form);
        return bytes;
    }
};

inline const std::string sample_environment = Samples::environment();

inline void put_objects(Batch &batch, const SamplePipeline &sample)
{
    batch.put(RECIPE_CODE, sample.code)
        .put(RECIPE_FORM, sample.module)
        .put(RECIPE_FORM, sample.set_layout)
        .put(RECIPE_FORM, sample.layout)
        .put(RECIPE_FORM, sample.form)
        .put(RECIPE_ENVIRONMENT, sample_environment);
}

inline void put_pipeline(Batch &batch, const SamplePipeline &sample, uint32_t last_day = 20000,
                         uint32_t days = 1, uint32_t compile_us = 100)
{
    put_objects(batch, sample);
    batch.use(sample.form, sample_environment, last_day, days, compile_us);
}

#endif
