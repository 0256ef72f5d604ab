// SPDX-License-Identifier: Apache-2.0
// Commands with several names: whichever a program takes, the object is the same one.
#include "harness.hpp"
#include "test_icd.h"
#include "things.hpp"

namespace {

// Names by which one kind of object is created, and destroyed.
struct Names {
    const char *title;
    Thing thing;
    std::vector<const char *> create;
    std::vector<const char *> destroy;
};

void PrintTo(const Names &names, std::ostream *stream)
{
    *stream << names.title;
}

const Names all_names[] = {
    {"module", Thing::module, {"vkCreateShaderModule"}, {"vkDestroyShaderModule"}},
    {"set_layout",
     Thing::set_layout,
     {"vkCreateDescriptorSetLayout"},
     {"vkDestroyDescriptorSetLayout"}},
    {"pipeline_layout",
     Thing::pipeline_layout,
     {"vkCreatePipelineLayout"},
     {"vkDestroyPipelineLayout"}},
    {"update_template",
     Thing::update_template,
     {"vkCreateDescriptorUpdateTemplate", "vkCreateDescriptorUpdateTemplateKHR"},
     {"vkDestroyDescriptorUpdateTemplate", "vkDestroyDescriptorUpdateTemplateKHR"}},
    {"sampler", Thing::sampler, {"vkCreateSampler"}, {"vkDestroySampler"}},
    {"conversion",
     Thing::conversion,
     {"vkCreateSamplerYcbcrConversion", "vkCreateSamplerYcbcrConversionKHR"},
     {"vkDestroySamplerYcbcrConversion", "vkDestroySamplerYcbcrConversionKHR"}},
    {"render_pass", Thing::render_pass, {"vkCreateRenderPass"}, {"vkDestroyRenderPass"}},
    {"render_pass_2",
     Thing::render_pass_2,
     {"vkCreateRenderPass2", "vkCreateRenderPass2KHR"},
     {"vkDestroyRenderPass"}},
    {"pipeline", Thing::pipeline, {"vkCreateComputePipelines"}, {"vkDestroyPipeline"}},
};

class EachName : public LayerTest, public ::testing::WithParamInterface<Names> {};

INSTANTIATE_TEST_SUITE_P(Of, EachName, ::testing::ValuesIn(all_names),
                         [](const auto &names) { return names.param.title; });

ProgramOptions with_aliases()
{
    ProgramOptions options;
    options.device_extensions = {VK_KHR_DESCRIPTOR_UPDATE_TEMPLATE_EXTENSION_NAME,
                                 VK_KHR_SAMPLER_YCBCR_CONVERSION_EXTENSION_NAME,
                                 VK_KHR_CREATE_RENDERPASS_2_EXTENSION_NAME};
    return options;
}

// Otherwise a destruction would pass by the count of references.
TEST_P(EachName, IsOurs)
{
    run([] {
        Program program(with_aliases());
        for (const auto &list : {GetParam().create, GetParam().destroy}) {
            for (const char *name : list) {
                const PFN_vkVoidFunction ours = vkGetDeviceProcAddr(program.device, name);
                EXPECT_NE(ours, nullptr) << name;
                EXPECT_NE(ours, test_icd_command(name)) << name;
                EXPECT_EQ(ours, vkGetDeviceProcAddr(program.device, list[0])) << name;
            }
        }
        program.create_compute(0, 1);
    });
}

TEST_P(EachName, IsNullWhereTheDriverHasNone)
{
    for (const auto &list : {GetParam().create, GetParam().destroy}) {
        for (const char *name : list) {
            environment["WPTEST_ICD_WITHOUT"] = name;
            run([name] {
                VkInstance instance = VK_NULL_HANDLE;
                EXPECT_EQ(try_instance(VK_API_VERSION_1_3, &instance), VK_SUCCESS);
                VkDevice device = VK_NULL_HANDLE;
                EXPECT_EQ(try_device(instance, with_aliases().device_extensions, &device),
                          VK_SUCCESS);
                EXPECT_EQ(vkGetDeviceProcAddr(device, name), nullptr) << name;
                vkDestroyDevice(device, nullptr);
                vkDestroyInstance(instance, nullptr);
            });
        }
    }
}

class AliasTest : public LayerTest {};

TEST_F(AliasTest, TemplatesOfBothNamesAreOne)
{
    const char *const creates[] = {"vkCreateDescriptorUpdateTemplate",
                                   "vkCreateDescriptorUpdateTemplateKHR"};
    const char *const destroys[] = {"vkDestroyDescriptorUpdateTemplate",
                                    "vkDestroyDescriptorUpdateTemplateKHR"};
    const Outcome outcome = run([&] {
        Program program(with_aliases());
        Things things(program);
        VkDescriptorUpdateTemplateEntry entry = {};
        entry.descriptorCount = 1;
        entry.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        VkDescriptorSetLayout set =
            handle_of<VkDescriptorSetLayout>(things.create(Thing::set_layout, 1));
        VkDescriptorUpdateTemplateCreateInfo info = {
            VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO};
        info.descriptorUpdateEntryCount = 1;
        info.pDescriptorUpdateEntries = &entry;
        info.descriptorSetLayout = set;
        std::vector<VkDescriptorUpdateTemplate> made;
        for (const char *name : creates) {
            made.emplace_back();
            EXPECT_EQ(program.command<PFN_vkCreateDescriptorUpdateTemplate>(name)(
                          program.device, &info, nullptr, &made.back()),
                      VK_SUCCESS);
        }
        EXPECT_EQ(made[0], made[1]);
        for (const char *name : destroys) {
            EXPECT_EQ(test_icd_calls("vkDestroyDescriptorUpdateTemplate"), 0u) << name;
            program.command<PFN_vkDestroyDescriptorUpdateTemplate>(name)(program.device, made[0],
                                                                         nullptr);
        }
        things.destroy(Thing::set_layout, value_of(set));
    });
    EXPECT_EQ(outcome.calls("vkCreateDescriptorUpdateTemplate"), 1u);
    EXPECT_EQ(outcome.calls("vkDestroyDescriptorUpdateTemplate"), 1u);
}

} // namespace
