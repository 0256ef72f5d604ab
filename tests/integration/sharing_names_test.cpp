// SPDX-License-Identifier: Apache-2.0
// Names and tags on a shared handle: the program guards each handle that it names, but cannot know
// that two of them are one.
#include "harness.hpp"
#include "things.hpp"

namespace {

class SharingNamesTest : public LayerTest {};

struct Naming {
    const char *title;
    const char *command;
    void (*name)(const Program &program, uint64_t handle, const char *text);
};

void PrintTo(const Naming &naming, std::ostream *stream)
{
    *stream << naming.title;
}

constexpr VkObjectType module_type = VK_OBJECT_TYPE_SHADER_MODULE;
constexpr VkDebugReportObjectTypeEXT marker_type = VK_DEBUG_REPORT_OBJECT_TYPE_SHADER_MODULE_EXT;

const Naming namings[] = {
    {"utils_name", "vkSetDebugUtilsObjectNameEXT",
     [](const Program &program, uint64_t handle, const char *text) {
         const VkDebugUtilsObjectNameInfoEXT info = {
             VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT, nullptr, module_type, handle,
             text};
         EXPECT_EQ(program.command<PFN_vkSetDebugUtilsObjectNameEXT>(
                       "vkSetDebugUtilsObjectNameEXT")(program.device, &info),
                   VK_SUCCESS);
     }},
    {"utils_tag", "vkSetDebugUtilsObjectTagEXT",
     [](const Program &program, uint64_t handle, const char *text) {
         const VkDebugUtilsObjectTagInfoEXT info = {
             VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_TAG_INFO_EXT,
             nullptr,
             module_type,
             handle,
             1,
             1,
             text};
         EXPECT_EQ(program.command<PFN_vkSetDebugUtilsObjectTagEXT>("vkSetDebugUtilsObjectTagEXT")(
                       program.device, &info),
                   VK_SUCCESS);
     }},
    {"marker_name", "vkDebugMarkerSetObjectNameEXT",
     [](const Program &program, uint64_t handle, const char *text) {
         const VkDebugMarkerObjectNameInfoEXT info = {
             VK_STRUCTURE_TYPE_DEBUG_MARKER_OBJECT_NAME_INFO_EXT, nullptr, marker_type, handle,
             text};
         EXPECT_EQ(program.command<PFN_vkDebugMarkerSetObjectNameEXT>(
                       "vkDebugMarkerSetObjectNameEXT")(program.device, &info),
                   VK_SUCCESS);
     }},
    {"marker_tag", "vkDebugMarkerSetObjectTagEXT",
     [](const Program &program, uint64_t handle, const char *text) {
         const VkDebugMarkerObjectTagInfoEXT info = {
             VK_STRUCTURE_TYPE_DEBUG_MARKER_OBJECT_TAG_INFO_EXT,
             nullptr,
             marker_type,
             handle,
             1,
             1,
             text};
         EXPECT_EQ(program.command<PFN_vkDebugMarkerSetObjectTagEXT>(
                       "vkDebugMarkerSetObjectTagEXT")(program.device, &info),
                   VK_SUCCESS);
     }},
};

class EachNaming : public SharingNamesTest, public ::testing::WithParamInterface<Naming> {};

INSTANTIATE_TEST_SUITE_P(Of, EachNaming, ::testing::ValuesIn(namings),
                         [](const auto &naming) { return naming.param.title; });

ProgramOptions with_names()
{
    ProgramOptions options;
    options.instance_extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    options.device_extensions = {VK_EXT_DEBUG_MARKER_EXTENSION_NAME};
    return options;
}

// vk.xml: the object is externally synchronized. The test driver notices two at once.
TEST_P(EachNaming, IsOneAtATimeForOneDriverObject)
{
    const Outcome outcome = run([&] {
        Program program(with_names());
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) {
            threads.emplace_back([&] {
                Things things(program);
                const uint64_t handle = things.create(Thing::module, 1);
                for (int repeat = 0; repeat < 200; ++repeat) {
                    GetParam().name(program, handle, "name");
                }
                things.destroy(Thing::module, handle);
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    });
    EXPECT_EQ(outcome.calls(GetParam().command), 1600u);
}

TEST_P(EachNaming, ReachesTheDriverAndTheLastOneWins)
{
    const Outcome outcome = run([&] {
        Program program(with_names());
        Things things(program);
        const uint64_t one = things.create(Thing::module, 1);
        const uint64_t two = things.create(Thing::module, 1);
        EXPECT_EQ(one, two);
        GetParam().name(program, one, "first");
        GetParam().name(program, two, "second");
        things.destroy(Thing::module, one);
        things.destroy(Thing::module, two);
    });
    EXPECT_EQ(outcome.events(GetParam().command).size(), 2u);
    if (std::string(GetParam().title).find("name") != std::string::npos) {
        EXPECT_EQ(outcome.events(GetParam().command).back()["name"], "second");
    }
}

// A stage's name in its chain is no part of the pipeline.
TEST_F(SharingNamesTest, AStageThatIsNamedIsStillTheSame)
{
    run([] {
        Program program(with_names());
        Batch plain(program, Kind::compute, {1});
        Batch named(program, Kind::compute, {1});
        VkDebugUtilsObjectNameInfoEXT name = {VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT};
        name.objectType = VK_OBJECT_TYPE_SHADER_MODULE;
        name.pObjectName = "a stage";
        named.stage(0).pNext = &name;
        EXPECT_EQ(plain.create(), VK_SUCCESS);
        EXPECT_EQ(named.create(), VK_SUCCESS);
        EXPECT_EQ(plain.pipelines[0], named.pipelines[0]);
    });
}

} // namespace
