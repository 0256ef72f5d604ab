// SPDX-License-Identifier: Apache-2.0
// What warmpipe import refuses of recipes, and says of it.
#include "recipe_files.h"

namespace {

// An entry point renamed, and every digest made right again.
TEST_F(RecipeFiles, WhatNoDriverMaySeeIsLeftOut)
{
    SamplePipeline renamed = a;
    const size_t name = renamed.form.find("main");
    ASSERT_NE(name, std::string::npos);
    renamed.form.replace(name, 4, "fail");
    Batch batch;
    put_pipeline(batch, renamed, today());
    put_pipeline(batch, b, today());
    ship(batch);
    const json imported = report({"import", "--app", "app", file}, 1);
    EXPECT_EQ(imported["pipelines"], 1);
    EXPECT_EQ(imported["refused_records"], 1);
    ASSERT_EQ(imported["refused"].size(), 1u);
    EXPECT_EQ(imported["refused"][0]["kind"], "pipeline");
    EXPECT_EQ(imported["refused"][0]["digest"], hex(renamed.form));
    EXPECT_EQ(imported["refused"][0]["reason"], "bad_entry_point");
    EXPECT_TRUE(has(b));
    EXPECT_FALSE(has(renamed));
    EXPECT_EQ(tool({"verify", file}).exit_status, 1);
}

TEST_F(RecipeFiles, InvalidSpirvIsRefusedCountedAndNamed)
{
    SamplePipeline wrong = Samples::pipeline(3);
    wrong.code[4 * 21] ^= 0x40; // another opcode
    Samples::encode_again(wrong);
    Batch batch;
    put_pipeline(batch, wrong);
    put_pipeline(batch, a);
    ship(batch);

    const json imported = report({"import", "--app", "app", file}, 1);
    EXPECT_EQ(imported["pipelines"], 1);
    EXPECT_EQ(imported["refused_records"], 1);
    EXPECT_EQ(imported["incomplete_pipelines"], 1);
    ASSERT_EQ(imported["refused"].size(), 1u);
    EXPECT_EQ(imported["refused"][0]["kind"], "module");
    EXPECT_EQ(imported["refused"][0]["digest"], hex(wrong.code));
    EXPECT_EQ(imported["refused"][0]["reason"], "invalid_spirv");
    EXPECT_TRUE(has(a));
    EXPECT_FALSE(has(wrong));
}

#ifndef WARMPIPE_SANITIZED

// However little there is: SPIRV-Tools throw, and nothing of ours can catch that.
TEST_F(RecipeFiles, MemoryThatRunsOutInAValidationIsTold)
{
    const SamplePipeline large = Samples::costly_to_validate();
    write(large);
    const std::string verify = "exec " WARMPIPE_TOOL " verify --json " + root;
    ASSERT_EQ(run_shell(verify).exit_status, 0);
    int told = 0;
    for (int kib = 65536; kib > 8192; kib -= kib / 32) {
        const ToolResult result =
            run_shell("ulimit -v " + std::to_string(kib) + "; ulimit -c 0; " + verify);
        if (contains(result.err, "while loading shared libraries")) {
            break; // too little for any program
        }
        EXPECT_LE(result.exit_status, 2) << kib << ": " << result.err;
        if (result.exit_status == 2) {
            EXPECT_EQ(result.out, "{\"error\":\"verify: out of memory\"}\n") << kib;
            told++;
        }
    }
    EXPECT_GT(told, 0);
}

#endif

// As what is of today is for the SPIRV-Tools of Debian 12: nobody can say whether it is valid.
TEST_F(RecipeFiles, SpirvThatIsTooNewIsNotCalledInvalid)
{
    SamplePipeline newer = Samples::pipeline(3);
    const uint32_t declaration[] = {2u << 16 | 17, 60000}; // OpCapability
    newer.code.insert(5 * 4, reinterpret_cast<const char *>(declaration), sizeof declaration);
    Samples::encode_again(newer);
    Batch batch;
    put_pipeline(batch, newer);
    ship(batch);
    const json imported = report({"import", "--app", "app", file}, 1);
    ASSERT_EQ(imported["refused"].size(), 1u);
    EXPECT_EQ(imported["refused"][0]["reason"], "unknown_spirv");
    write_batch(batch, "app");
    EXPECT_EQ(tool({"verify", root}).exit_status, 0) << "the program's own are not damaged";
}

// VK_KHR_maintenance9: bits of 64-bit integers are counted.
TEST_F(RecipeFiles, SpirvThatAFeatureAllowsIsValid)
{
    const uint32_t code[] = {
        0x7230203, 0x10600, 0x70000, 8,       0,       0x20011,    1, 0x20011, 0xb,     0x3000e,
        0,         1,       0x5000f, 5,       1,       0x6e69616d, 0, 0x60010, 1,       0x11,
        1,         1,       1,       0x20013, 2,       0x30021,    3, 2,       0x40015, 4,
        0x40,      0,       0x5002b, 4,       5,       5,          0, 0x50036, 2,       1,
        0,         3,       0x200f8, 6,       0x400cd, 4,          7, 5,       0x100fd, 0x10038,
    };
    Batch batch;
    batch.put(RECIPE_CODE, std::string(reinterpret_cast<const char *>(code), sizeof code));
    put_pipeline(batch, a);
    ship(batch);
    if (SPIRV_TOOLS_MAINTENANCE == 2) {
        EXPECT_EQ(report({"import", "--app", "app", file})["refused"], json::array());
    } else { // those of Debian 12
        const json imported = report({"import", "--app", "app", file}, 1);
        ASSERT_EQ(imported["refused"].size(), 1u);
        EXPECT_EQ(imported["refused"][0]["reason"], "unknown_spirv");
    }
    EXPECT_EQ(tool({"verify", file}).exit_status, 0);
}

TEST_F(RecipeFiles, MalformedRecordsAreRefused)
{
    Batch batch;
    put_pipeline(batch, a);
    batch.put(RECIPE_FORM, "no form").use("no form", sample_environment, today());
    batch.put(RECIPE_ENVIRONMENT, "no environment").use(a.form, "no environment", today());
    ship(batch);
    const json imported = report({"import", "--app", "app", file}, 1);
    EXPECT_EQ(imported["refused"].size(), 2u);
    EXPECT_EQ(imported["pipelines"], 1);
    EXPECT_TRUE(has(a));
}

// A render pass of either sort that names an attachment, or a subpass, which it has not: Mesa's
// drivers read it wherever it would lie.
TEST_F(RecipeFiles, RenderPassesNameWhatTheyHave)
{
    VkAttachmentDescription attachment = {};
    VkAttachmentReference reference = {0, VK_IMAGE_LAYOUT_GENERAL};
    VkSubpassDescription subpass = {};
    subpass.inputAttachmentCount = subpass.colorAttachmentCount = 1;
    subpass.pInputAttachments = subpass.pColorAttachments = &reference;
    VkSubpassDependency dependency = {};
    VkInputAttachmentAspectReference aspect = {};
    VkRenderPassInputAttachmentAspectCreateInfo aspects = {};
    aspects.sType = VK_STRUCTURE_TYPE_RENDER_PASS_INPUT_ATTACHMENT_ASPECT_CREATE_INFO;
    aspects.aspectReferenceCount = 1;
    aspects.pAspectReferences = &aspect;
    VkRenderPassCreateInfo first = {};
    first.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO;
    first.pNext = &aspects;
    first.attachmentCount = first.subpassCount = first.dependencyCount = 1;
    first.pAttachments = &attachment;
    first.pSubpasses = &subpass;
    first.pDependencies = &dependency;

    VkAttachmentDescription2 attachment_2 = {};
    attachment_2.sType = VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_2;
    VkAttachmentReference2 reference_2 = {};
    reference_2.sType = VK_STRUCTURE_TYPE_ATTACHMENT_REFERENCE_2;
    VkSubpassDescriptionDepthStencilResolve resolve = {};
    resolve.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE;
    resolve.pDepthStencilResolveAttachment = &reference_2;
    VkSubpassDescription2 subpass_2 = {};
    subpass_2.sType = VK_STRUCTURE_TYPE_SUBPASS_DESCRIPTION_2;
    subpass_2.pNext = &resolve;
    VkRenderPassCreateInfo2 second = {};
    second.sType = VK_STRUCTURE_TYPE_RENDER_PASS_CREATE_INFO_2;
    second.attachmentCount = second.subpassCount = 1;
    second.pAttachments = &attachment_2;
    second.pSubpasses = &subpass_2;

    Batch batch;
    put_pipeline(batch, a);
    const auto put_both = [&] {
        batch.put(RECIPE_FORM, Samples::encode(&first, {}));
        batch.put(RECIPE_FORM, Samples::encode(&second, {}));
    };
    put_both();
    ship(batch);
    EXPECT_EQ(report({"import", "--app", "app", file})["refused"], json::array());
    reference.attachment = reference_2.attachment = VK_ATTACHMENT_UNUSED;
    put_both();
    ship(batch);
    EXPECT_EQ(report({"import", "--app", "app", file})["refused"], json::array());

    reference.attachment = reference_2.attachment = 1;
    put_both();
    reference.attachment = reference_2.attachment = 0;
    for (uint32_t *number : {&aspect.subpass, &aspect.inputAttachmentIndex, &dependency.srcSubpass,
                             &dependency.dstSubpass}) {
        *number = 1;
        batch.put(RECIPE_FORM, Samples::encode(&first, {}));
        *number = 0;
    }
    ship(batch);
    const json imported = report({"import", "--app", "app", file}, 1);
    EXPECT_EQ(imported["refused"].size(), 6u);
    for (const json &refused : imported["refused"]) {
        EXPECT_EQ(refused["kind"], "form");
        EXPECT_EQ(refused["reason"], "malformed");
    }
}

TEST_F(RecipeFiles, DamageIsLeftOutAndTheRestTaken)
{
    Batch batch;
    put_pipeline(batch, a);
    put_pipeline(batch, b);
    ship(batch);
    std::string content = read_file(file);
    content[32 + 32 + 8] ^= 1; // the SPIR-V of a
    write_file(file, content);
    const std::string named = "'" + file + "': records are damaged, and were dropped (bad_record)";
    const json imported = report({"import", "--app", "app", file}, 1);
    EXPECT_EQ(imported["damaged_records"], 1);
    EXPECT_TRUE(contains(tool({"import", "--app", "app", "-n", file}).err, named));
    const ToolResult merged = tool({"merge", folder.path + "/out", file});
    EXPECT_EQ(merged.exit_status, 1);
    EXPECT_TRUE(contains(merged.err, named)) << merged.err;
    EXPECT_EQ(imported["pipelines"], 1);
    EXPECT_TRUE(has(b));
    EXPECT_FALSE(has(a));
}

// On a terminal the numbers of a row have no names but those that it gives itself.
TEST_F(RecipeFiles, VerifySaysWhatItCounts)
{
    write(a);
    const std::string out = tool({"verify", "-v", root}).out;
    EXPECT_TRUE(
        contains(out, "  1 pipeline; records damaged 0, refused 0; incomplete pipelines 0\n"))
        << out;
    EXPECT_EQ(report({"verify", "-v", root})["files"][0]["damaged_records"], 0);
}

// A download that broke off, wherever it did: the uses come last, so mostly no pipeline is left.
TEST_F(RecipeFiles, AFileThatWasCutIsToldAsSuch)
{
    write(a);
    write(b);
    const std::string whole_file = folder.path + "/whole";
    report({"export", whole_file});
    const std::string whole = read_file(whole_file);
    for (size_t size : {whole.size() / 3, whole.size() / 2, whole.size() - 8}) {
        write_file(file, whole.substr(0, size));
        EXPECT_EQ(report({"import", "--app", "other", file}, 1)["damaged_records"], 1) << size;
        const ToolResult merged = tool({"merge", folder.path + "/out", whole_file, file});
        EXPECT_EQ(merged.exit_status, 1);
        for (const std::string &told :
             {merged.err, tool({"import", "--app", "other", "-n", file}).err}) {
            EXPECT_TRUE(contains(told, "'" + file + "' ends too early")) << told;
            EXPECT_TRUE(contains(told, "(truncated)")) << told;
        }
        EXPECT_EQ(report({"verify", file}, 1)["files"][0]["reason"], "truncated");
        EXPECT_EQ(report({"inspect", file}, 1)["reason"], "truncated");
    }
    EXPECT_TRUE(has(a, "other")) << "only the end was missing";
    write_file(file, whole.substr(0, whole.size() / 3));
    const ToolResult nothing = tool({"import", "--app", "none", file});
    EXPECT_TRUE(contains(nothing.err, "no pipelines in '" + file + "'")) << nothing.err;
    EXPECT_FALSE(contains(nothing.err, "nothing is new")) << nothing.err;
}

// Its process was killed while it wrote.
TEST_F(RecipeFiles, AProgramsOwnSegmentMayEndInATornWrite)
{
    write(a);
    const std::string segment = segments().at(0);
    const std::string whole = read_file(segment);
    write_file(segment, whole.substr(0, whole.size() - 8));
    EXPECT_EQ(report({"verify", segment})["files"][0]["reason"], "ok");
    EXPECT_EQ(report({"verify", root})["files"][0]["reason"], "ok");
    EXPECT_EQ(report({"inspect", segment})["verdict"], "ok");
}

TEST_F(RecipeFiles, WhatIsNoRecipeFileIsNotTaken)
{
    write_file(file, "something else, and longer than a header is");
    ToolResult result = tool({"import", "--app", "app", file});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_TRUE(contains(result.err, "bad_magic")) << result.err;
    EXPECT_EQ(tool({"import", "--app", "app", folder.path}).exit_status, 2);
    EXPECT_EQ(tool({"import", "--app", "app", folder.path + "/missing"}).exit_status, 2);
    EXPECT_FALSE(std::filesystem::exists(root + "/app"));
}

} // namespace
