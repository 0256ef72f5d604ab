// SPDX-License-Identifier: Apache-2.0
// usage: hostile_recipes ROOT APP [NAME]
//
// Adds to what a program recorded pipelines that may kill a driver, in the same environment and
// with every digest right: all, or the one of this name. Prints `OUTCOME<tab>DIGEST<tab>NAME` of
// each, the outcome of its replay or `-` where that is for the driver to say.
#include "shaders.h"

#include <cstdio>
#include <cstring>

extern "C" {
#include "common/codec/canonical.h"
#include "common/recipes/recipes.h"
#include "common/recipes/segment.h"
}

namespace {

struct Records {
    struct bytes bytes = {};
    digest environment = {};

    ~Records()
    {
        bytes_free(&bytes);
    }
    digest put(recipe_kind kind, const void *data, size_t size)
    {
        const digest digest = digest_of(data, size);
        recipe_put_record(&bytes, kind, digest, data, size);
        return digest;
    }
    // The form of a create-info; handle n in it stands for contents[n - 1].
    digest put_form(const void *info, std::vector<digest> contents)
    {
        canonical_context context = {};
        context.resolve = [](void *user, VkObjectType, uint64_t handle, canonical_object *object) {
            *object = {};
            object->content = static_cast<const std::vector<digest> *>(user)->at(handle - 1);
            object->serial = handle;
            return true;
        };
        context.user = &contents;
        canonical form = {};
        canonical_encode(&context, info, &form);
        if (form.verdict != CANONICAL_SHARE) {
            fprintf(stderr, "no form: cause %d\n", static_cast<int>(form.cause));
            exit(1);
        }
        const digest digest = put(RECIPE_FORM, form.key.data, form.size);
        canonical_free(&form);
        return digest;
    }
};

digest put_layout(Records &records, const HostilePipeline &pipeline)
{
    VkDescriptorSetLayoutCreateInfo set = {VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set.bindingCount = static_cast<uint32_t>(pipeline.bindings.size());
    set.pBindings = pipeline.bindings.data();
    const std::vector<VkDescriptorSetLayout> sets(pipeline.sets, (VkDescriptorSetLayout)1);
    VkPipelineLayoutCreateInfo layout = {VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
    layout.setLayoutCount = pipeline.sets;
    layout.pSetLayouts = sets.data();
    layout.pushConstantRangeCount = static_cast<uint32_t>(pipeline.ranges.size());
    layout.pPushConstantRanges = pipeline.ranges.data();
    return records.put_form(&layout, {records.put_form(&set, {})});
}

digest put_pipeline(Records &records, const HostilePipeline &pipeline)
{
    static const uint8_t data[8] = {3};
    VkShaderModuleCreateInfo module = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    module.codeSize = pipeline.code.size() * sizeof pipeline.code[0];
    module.pCode = pipeline.code.data();
    records.put(RECIPE_CODE, module.pCode, module.codeSize);
    VkSpecializationInfo constants = {};
    constants.mapEntryCount = static_cast<uint32_t>(pipeline.constants.size());
    constants.pMapEntries = pipeline.constants.data();
    constants.dataSize = sizeof data;
    constants.pData = data;
    VkComputePipelineCreateInfo info = {VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = pipeline.stage;
    info.stage.module = (VkShaderModule)1;
    info.stage.pName = pipeline.entry.c_str();
    info.stage.pSpecializationInfo = pipeline.constants.empty() ? nullptr : &constants;
    info.layout = (VkPipelineLayout)2;
    return records.put_form(&info, {records.put_form(&module, {}), put_layout(records, pipeline)});
}

// The environment of what was recorded.
bool find_environment(const char *root, const char *app, digest *ret_environment)
{
    struct recipes *recipes = nullptr;
    const recipe_use *uses = nullptr;
    if (recipes_open(root, app, RECIPES_READ, &recipes) != STATUS_ok) {
        return false;
    }
    const bool found = recipes_uses(recipes, &uses) > 0;
    if (found) {
        *ret_environment = uses[0].environment;
    }
    recipes_close(recipes);
    return found;
}

} // namespace

int main(int argc, char **argv)
{
    Records records;
    if (argc < 3 || !find_environment(argv[1], argv[2], &records.environment)) {
        fprintf(stderr, "usage: hostile_recipes ROOT APP [NAME], where something was recorded\n");
        return 2;
    }
    for (const HostilePipeline &pipeline : hostile_pipelines()) {
        if (argc > 3 && pipeline.name != argv[3]) {
            continue;
        }
        // Used on many days, and of no known time, as an import leaves it.
        const recipe_use use = {
            put_pipeline(records, pipeline), records.environment, 20000, 1000, 0, 0, false, false};
        char hex[DIGEST_HEX_SIZE];
        recipe_put_use(&records.bytes, &use);
        digest_format(use.pipeline, hex);
        printf("%s\t%s\t%s\n", pipeline.outcome.empty() ? "-" : pipeline.outcome.c_str(), hex,
               pipeline.name.c_str());
    }
    struct recipe_writer *writer = recipe_writer_new(argv[1], argv[2], UINT64_MAX, 0);
    const enum status status = recipe_writer_append(writer, &records.bytes);
    recipe_writer_close(writer, true);
    if (status != STATUS_ok) {
        fprintf(stderr, "%s\n", status_id(status));
    }
    return status == STATUS_ok ? 0 : 1;
}
