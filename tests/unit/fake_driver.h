// SPDX-License-Identifier: Apache-2.0
// A driver that counts: it makes handles, knows which are alive, and whether what a pipeline is
// made of still was when it was made.
#ifndef WARMPIPE_TESTS_FAKE_DRIVER_H
#define WARMPIPE_TESTS_FAKE_DRIVER_H

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "common/replay/replay.h"
}

class FakeDriver {
  public:
    static FakeDriver &get()
    {
        static FakeDriver driver;
        return driver;
    }

    void reset()
    {
        *this = FakeDriver();
    }

    std::map<std::string, int> made;
    std::map<uint64_t, std::string> alive;
    std::vector<std::string> destroyed;
    VkResult result = VK_SUCCESS; // of pipelines
    bool hit = false;
    int with_feedback = 0;
    std::vector<VkPipeline> libraries; // of the last graphics pipeline
    std::vector<std::string> stages;   // of all pipelines: "module", or sTypes and size of the code
    VkPipelineCache cache = VK_NULL_HANDLE;
    size_t most_alive = 0;

    static VkDevice device()
    {
        return reinterpret_cast<VkDevice>(uintptr_t{0xd});
    }

    static replay_commands commands()
    {
        replay_commands c = {};
        c.create_shader_module = create<VkShaderModuleCreateInfo, VkShaderModule>;
        c.create_descriptor_set_layout =
            create<VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout>;
        c.create_pipeline_layout = create<VkPipelineLayoutCreateInfo, VkPipelineLayout>;
        c.create_sampler = create<VkSamplerCreateInfo, VkSampler>;
        c.create_sampler_ycbcr_conversion =
            create<VkSamplerYcbcrConversionCreateInfo, VkSamplerYcbcrConversion>;
        c.create_render_pass = create<VkRenderPassCreateInfo, VkRenderPass>;
        c.create_render_pass_2 = create<VkRenderPassCreateInfo2, VkRenderPass>;
        c.destroy_shader_module = destroy<VkShaderModule>;
        c.destroy_descriptor_set_layout = destroy<VkDescriptorSetLayout>;
        c.destroy_pipeline_layout = destroy<VkPipelineLayout>;
        c.destroy_sampler = destroy<VkSampler>;
        c.destroy_sampler_ycbcr_conversion = destroy<VkSamplerYcbcrConversion>;
        c.destroy_render_pass = destroy<VkRenderPass>;
        c.destroy_pipeline = destroy<VkPipeline>;
        c.create_compute_pipelines = create_pipeline<VkComputePipelineCreateInfo>;
        c.create_graphics_pipelines = create_pipeline<VkGraphicsPipelineCreateInfo>;
        c.create_ray_tracing_pipelines_khr = create_rays;
        c.create_ray_tracing_pipelines_nv = create_pipeline<VkRayTracingPipelineCreateInfoNV>;
        return c;
    }

  private:
    uint64_t next_ = 1000;

    template <typename Handle> Handle give(const char *name)
    {
        next_ += 8;
        made[name]++;
        alive[next_] = name;
        most_alive = std::max(most_alive, alive.size());
        return (Handle)next_;
    }

    template <typename Handle> static void expect_alive(Handle handle)
    {
        if (handle) {
            EXPECT_TRUE(get().alive.count((uint64_t)handle));
        }
    }

    static const char *name(VkStructureType stype)
    {
        switch (stype) {
        case VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO:
            return "module";
        case VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO:
            return "set_layout";
        case VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO:
            return "layout";
        case VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO:
            return "sampler";
        case VK_STRUCTURE_TYPE_SAMPLER_YCBCR_CONVERSION_CREATE_INFO:
            return "conversion";
        case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO:
            return "render_pass";
        case VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2:
            return "render_pass_2";
        case VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO:
            return "compute";
        case VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO:
            return "graphics";
        case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_KHR:
            return "rays";
        case VK_STRUCTURE_TYPE_RAY_TRACING_PIPELINE_CREATE_INFO_NV:
            return "rays_nv";
        default:
            return "?";
        }
    }

    static void look_at(const VkPipelineLayoutCreateInfo *info)
    {
        for (uint32_t i = 0; i < info->setLayoutCount; i++) {
            expect_alive(info->pSetLayouts[i]);
        }
    }

    static void look_at(const VkPipelineShaderStageCreateInfo &stage)
    {
        expect_alive(stage.module);
        std::string found = stage.module ? "module" : "";
        for (auto *s = static_cast<const VkBaseInStructure *>(stage.pNext); s; s = s->pNext) {
            found += ' ' + std::to_string(s->sType);
            if (s->sType == VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO) {
                auto *code = reinterpret_cast<const VkShaderModuleCreateInfo *>(s);
                found += ':' + std::to_string(code->codeSize);
                EXPECT_EQ(code->pCode[0], 0x07230203u);
            }
        }
        get().stages.push_back(found);
    }

    static void look_at(const VkComputePipelineCreateInfo *info)
    {
        look_at(info->stage);
        expect_alive(info->layout);
    }

    static void look_at(const VkGraphicsPipelineCreateInfo *info)
    {
        expect_alive(info->layout);
        expect_alive(info->renderPass);
        for (uint32_t i = 0; i < info->stageCount; i++) {
            look_at(info->pStages[i]);
        }
        get().libraries.clear();
        for (auto *s = static_cast<const VkBaseInStructure *>(info->pNext); s; s = s->pNext) {
            if (s->sType == VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR) {
                auto *list = reinterpret_cast<const VkPipelineLibraryCreateInfoKHR *>(s);
                get().libraries.assign(list->pLibraries, list->pLibraries + list->libraryCount);
            }
        }
        for (VkPipeline library : get().libraries) {
            expect_alive(library);
        }
    }

    static void look_at(const void *)
    {
    }

    template <typename Info, typename Handle>
    static VKAPI_ATTR VkResult VKAPI_CALL create(VkDevice device, const Info *info,
                                                 const VkAllocationCallbacks *, Handle *handle)
    {
        EXPECT_EQ(device, FakeDriver::device());
        look_at(info);
        *handle = get().give<Handle>(name(info->sType));
        return VK_SUCCESS;
    }

    template <typename Handle>
    static VKAPI_ATTR void VKAPI_CALL destroy(VkDevice, Handle handle,
                                              const VkAllocationCallbacks *)
    {
        auto found = get().alive.find((uint64_t)handle);
        ASSERT_NE(found, get().alive.end());
        get().destroyed.push_back(found->second);
        get().alive.erase(found);
    }

    template <typename Info>
    static VKAPI_ATTR VkResult VKAPI_CALL create_pipeline(VkDevice, VkPipelineCache cache,
                                                          uint32_t count, const Info *info,
                                                          const VkAllocationCallbacks *,
                                                          VkPipeline *pipeline)
    {
        EXPECT_EQ(count, 1u);
        get().cache = cache;
        *pipeline = VK_NULL_HANDLE;
        look_at(info);
        auto *first = static_cast<const VkBaseInStructure *>(info->pNext);
        if (first && first->sType == VK_STRUCTURE_TYPE_PIPELINE_CREATION_FEEDBACK_CREATE_INFO) {
            get().with_feedback++;
            reinterpret_cast<const VkPipelineCreationFeedbackCreateInfo *>(first)
                ->pPipelineCreationFeedback->flags =
                VK_PIPELINE_CREATION_FEEDBACK_VALID_BIT |
                (get().hit ? VK_PIPELINE_CREATION_FEEDBACK_APPLICATION_PIPELINE_CACHE_HIT_BIT : 0);
        }
        if (get().result == VK_SUCCESS) {
            *pipeline = get().give<VkPipeline>(name(info->sType));
        }
        return get().result;
    }

    static VKAPI_ATTR VkResult VKAPI_CALL create_rays(VkDevice device,
                                                      VkDeferredOperationKHR deferred,
                                                      VkPipelineCache cache, uint32_t count,
                                                      const VkRayTracingPipelineCreateInfoKHR *info,
                                                      const VkAllocationCallbacks *allocator,
                                                      VkPipeline *pipeline)
    {
        EXPECT_EQ(deferred, VkDeferredOperationKHR(VK_NULL_HANDLE));
        return create_pipeline(device, cache, count, info, allocator, pipeline);
    }
};

#endif
