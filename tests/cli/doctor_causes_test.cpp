// SPDX-License-Identifier: Apache-2.0
// What keeps programs from starting warm, and that doctor names each cause: a problem, with what to
// do about it, and exit status 1.
#include <iterator>

#include "doctor_fixture.h"

namespace {

// A layer's library and manifest, as a package would put them below the home directory.
class DoctorManifest : public Doctor {
  protected:
    void put_manifest(const std::string &name, const std::string &library, bool in_config = false)
    {
        const std::string below =
            folder.path + (in_config ? "/.config" : "/.local/share") + "/vulkan/implicit_layer.d";
        std::filesystem::create_directories(below);
        write_file(below + "/" + name,
                   R"({"file_format_version":"1.2.0","layer":{"library_path":")" + library +
                       R"(","name":"VK_LAYER_WARMPIPE_pipeline_cache","type":"GLOBAL",
                       "api_version":"1.3.239","implementation_version":"1","description":"x",
                       "enable_environment":{"WARMPIPE_ENABLE":"1"},
                       "disable_environment":{"WARMPIPE_DISABLE":""}}})");
    }

    std::string put_library(const std::string &name, const std::string &content)
    {
        write_file(folder.path + "/" + name, content);
        return folder.path + "/" + name;
    }

    // The manifest of a library of this content.
    void put_layer(const std::string &content)
    {
        put_manifest("VkLayer_warmpipe.json", put_library("lib.so", content));
    }

    // The start of a library for programs of the other width.
    static std::string other_width()
    {
        std::string start = std::string("\177ELF\1\1\1", 7) + std::string(64, '\0');
        start[4] = sizeof(void *) == 4 ? 2 : 1;
        return start;
    }

    // A program's folder with a cache in it.
    void put_program(mode_t mode)
    {
        const std::string app = folder.path + "/root/app";
        std::filesystem::create_directories(app);
        write_file(app + "/" + hex_of(sample_identity()) + ".wpcache", make_file(make_blob("x")));
        chmod(app.c_str(), mode);
    }
};

// What breaks it, each with the finding that names the cause.
struct Breakage {
    const char *name;
    Environment variables; // @ is the test's folder
    const char *check;
    const char *finding;
    void (*prepare)(class DoctorNames &) = nullptr;
};

void PrintTo(const Breakage &breakage, std::ostream *out)
{
    *out << breakage.name;
}

class DoctorNames : public DoctorManifest, public testing::WithParamInterface<Breakage> {
  public:
    using DoctorManifest::folder;
    using DoctorManifest::other_width;
    using DoctorManifest::put_layer;
    using DoctorManifest::put_library;
    using DoctorManifest::put_manifest;
    using DoctorManifest::put_program;
};

TEST_P(DoctorNames, TheCause)
{
    std::filesystem::create_directories(folder.path + "/full/.cache/mesa_shader_cache");
    write_file(folder.path + "/full/.cache/mesa_shader_cache/data", std::string(4096, 'x'));
    write_file(folder.path + "/file", "");
    Environment variables = GetParam().variables;
    for (auto &[name, value] : variables) {
        if (value.rfind("@", 0) == 0) {
            value = folder.path + value.substr(1);
        }
    }
    if (GetParam().prepare) {
        GetParam().prepare(*this);
    }
    std::string finding = std::string("problem: ") + GetParam().finding;
    for (size_t at; (at = finding.find('@')) != std::string::npos;) {
        finding.replace(at, 1, folder.path);
    }
    expect(findings(variables, 1), GetParam().check, finding);
}

const char *const nvidia = "4"; // VK_DRIVER_ID_NVIDIA_PROPRIETARY

const Breakage breakages[] = {
    {"all_layers_disabled",
     {{"VK_LOADER_LAYERS_DISABLE", "~all~"}},
     "variable",
     "VK_LOADER_LAYERS_DISABLE=~all~: the loader does not load the layer"},
    {"implicit_layers_disabled",
     {{"VK_LOADER_LAYERS_DISABLE", "~implicit~"}},
     "variable",
     "VK_LOADER_LAYERS_DISABLE=~implicit~"},
    {"layer_disabled_by_pattern",
     {{"VK_LOADER_LAYERS_DISABLE", "other,*WARMPIPE*"}},
     "variable",
     "VK_LOADER_LAYERS_DISABLE=other,*WARMPIPE*"},
    {"layer_barred_by_a_file",
     {{"XDG_DATA_HOME", "@/share"}},
     "run",
     "the loader does not load the layer even under 'warmpipe run': "
     "@/share/vulkan/implicit_layer.d/VkLayer_override.json",
     [](DoctorNames &test) {
         const std::string folder = test.folder.path + "/share/vulkan/implicit_layer.d";
         std::filesystem::create_directories(folder);
         write_file(folder + "/VkLayer_override.json", R"({"file_format_version":"1.1.2","layer":{
             "name":"VK_LAYER_LUNARG_override","type":"GLOBAL","api_version":"1.3.0",
             "implementation_version":"1","description":"","component_layers":[],
             "blacklisted_layers":["VK_LAYER_WARMPIPE_pipeline_cache"],
             "disable_environment":{"DISABLE_OVERRIDE":"1"}}})");
     }},
    {"driver_files_to_nowhere",
     {{"VK_DRIVER_FILES", "/nowhere.json"}},
     "variable",
     "VK_DRIVER_FILES names '/nowhere.json'"},
    {"layer_path_to_nowhere",
     {{"VK_LAYER_PATH", "/nowhere"}},
     "variable",
     "VK_LAYER_PATH names '/nowhere'"},
    {"prewarm_maybe",
     {{"WARMPIPE_PREWARM", "maybe"}},
     "variable",
     "WARMPIPE_PREWARM='maybe' is ignored: expected auto"},
    {"relative_directory",
     {{"WARMPIPE_DIR", "relative"}},
     "variable",
     "WARMPIPE_DIR='relative' is ignored: expected an absolute path"},
    {"relative_cache_home",
     {{"XDG_CACHE_HOME", "relative"}},
     "variable",
     "XDG_CACHE_HOME='relative' is not an absolute path"},
    {"relative_data_home",
     {{"XDG_DATA_HOME", "relative"}},
     "variable",
     "XDG_DATA_HOME='relative' is not an absolute path"},
    {"policy_to_nowhere",
     {{"WARMPIPE_POLICY", "/nowhere"}},
     "variable",
     "WARMPIPE_POLICY names '/nowhere', which is ignored: cannot be read: No such file or "
     "directory; correct or unset it"},
    {"policy_that_is_none",
     {{"WARMPIPE_POLICY", "@/policy"}},
     "variable",
     "WARMPIPE_POLICY names '@/policy', which is ignored: line 2: ",
     [](DoctorNames &test) { write_file(test.folder.path + "/policy", "# rules\ninject = no\n"); }},
    {"limit_without_its_unit",
     {{"WARMPIPE_MAX_SIZE", "4"}},
     "variable",
     "WARMPIPE_MAX_SIZE=4: so few bytes keep no cache"},
    {"log_to_nowhere",
     {{"WARMPIPE_LOG", "info:/nowhere/log"}},
     "variable",
     "WARMPIPE_LOG names '/nowhere/log', which cannot be written"},
    {"statistics_into_a_folder",
     {{"WARMPIPE_STATS", "@"}},
     "variable",
     "WARMPIPE_STATS names '@', which cannot be written"},
    {"trace_into_a_folder",
     {{"WARMPIPE_TRACE", "@"}},
     "variable",
     "WARMPIPE_TRACE names '@', which cannot be written"},
    {"layer_misspelt",
     {{"VK_INSTANCE_LAYERS", "VK_LAYER_WARMPIPE"}},
     "variable",
     "VK_INSTANCE_LAYERS names 'VK_LAYER_WARMPIPE', which is no layer"},
    {"enable_true",
     {{"WARMPIPE_ENABLE", "true"}},
     "variable",
     "WARMPIPE_ENABLE='true': the loader accepts only 1"},
    {"disable", {{"WARMPIPE_DISABLE", "0"}}, "variable", "WARMPIPE_DISABLE is set"},
    {"directory_is_a_file", {{"WARMPIPE_DIR", "@/file"}}, "directory", "@/file cannot be used"},
    {"directory_below_a_file",
     {{"WARMPIPE_DIR", "@/file/below"}},
     "directory",
     "@/file/below cannot be created"},
    {"mesa_cache_off",
     {{"WPTEST_ICD_DRIVER_ID", mesa}, {"MESA_SHADER_CACHE_DISABLE", "true"}},
     "driver_disk_cache",
     "MESA_SHADER_CACHE_DISABLE switches the driver's own cache off"},
    {"mesa_cache_full",
     {{"WPTEST_ICD_DRIVER_ID", mesa},
      {"HOME", "@/full"},
      {"XDG_CACHE_HOME", ""},
      {"MESA_SHADER_CACHE_MAX_SIZE", "4K"}},
     "driver_disk_cache",
     "the driver's own cache in @/full/.cache is full"},
    {"mesa_cache_without_a_place",
     {{"WPTEST_ICD_DRIVER_ID", mesa}, {"MESA_SHADER_CACHE_DIR", "@/file/below"}},
     "driver_disk_cache",
     "the driver cannot write its own cache in @/file/below"},
    {"caches_in_a_container",
     {{"container", "podman"}, {"WARMPIPE_DIR", "/dev/shm/warmpipe-test"}},
     "directory",
     "/dev/shm/warmpipe-test is lost with this container"},
    {"nvidia_cache_off",
     {{"WPTEST_ICD_DRIVER_ID", nvidia}, {"__GL_SHADER_DISK_CACHE", "0"}},
     "driver_disk_cache",
     "__GL_SHADER_DISK_CACHE=0 switches the driver's own cache off"},
    {"nvidia_cache_folder_missing",
     {{"WPTEST_ICD_DRIVER_ID", nvidia}, {"__GL_SHADER_DISK_CACHE_PATH", "@/missing"}},
     "driver_disk_cache",
     "__GL_SHADER_DISK_CACHE_PATH names @/missing"},
    {"nvidia_cache_full",
     {{"WPTEST_ICD_DRIVER_ID", nvidia},
      {"__GL_SHADER_DISK_CACHE_PATH", "@/full"},
      {"__GL_SHADER_DISK_CACHE_SIZE", "4096"}},
     "driver_disk_cache",
     "the driver's own cache in @/full is full"},
    {"nvidia_without_home",
     {{"WPTEST_ICD_DRIVER_ID", nvidia}, {"HOME", ""}, {"XDG_CACHE_HOME", ""}},
     "driver_disk_cache",
     "HOME is not set: the driver's own cache is off"},
    {"mesa_cache_lost_with_the_container",
     {{"WPTEST_ICD_DRIVER_ID", mesa},
      {"container", "podman"},
      {"MESA_SHADER_CACHE_DIR", "/dev/shm"}},
     "driver_disk_cache",
     "the driver's own cache in /dev/shm is lost with this container"},
    {"nvidia_cache_lost_with_the_container",
     {{"WPTEST_ICD_DRIVER_ID", nvidia},
      {"container", "podman"},
      {"__GL_SHADER_DISK_CACHE_PATH", "/dev/shm"}},
     "driver_disk_cache",
     "the driver's own cache in /dev/shm is lost with this container"},
    {"manifest_is_no_json",
     {},
     "manifest",
     "@/.local/share/vulkan/implicit_layer.d/VkLayer_warmpipe.json (implicit) is not a manifest",
     [](DoctorNames &test) {
         test.put_layer("");
         write_file(test.folder.path +
                        "/.local/share/vulkan/implicit_layer.d/VkLayer_warmpipe.json",
                    "{\"layer\": {");
     }},
    {"library_is_missing",
     {},
     "manifest",
     "@/.local/share/vulkan/implicit_layer.d/VkLayer_warmpipe.json (implicit) names a library "
     "that does not exist: @/gone.so",
     [](DoctorNames &test) {
         test.put_manifest("VkLayer_warmpipe.json", test.folder.path + "/gone.so");
     }},
    {"library_is_empty",
     {},
     "manifest",
     "@/.local/share/vulkan/implicit_layer.d/VkLayer_warmpipe.json (implicit) names a library "
     "that cannot be loaded: ",
     [](DoctorNames &test) { test.put_layer(""); }},
    {"library_is_garbage",
     {},
     "manifest",
     "@/.local/share/vulkan/implicit_layer.d/VkLayer_warmpipe.json (implicit) names a library "
     "that cannot be loaded: ",
     [](DoctorNames &test) { test.put_layer("garbage"); }},
    {"library_is_no_layer",
     {},
     "manifest",
     "@/.local/share/vulkan/implicit_layer.d/VkLayer_warmpipe.json (implicit) names a library "
     "that cannot be loaded: it is not a Vulkan layer",
     [](DoctorNames &test) { test.put_manifest("VkLayer_warmpipe.json", TEST_ICD_LIBRARY); }},
    {"library_of_the_other_width",
     {},
     "manifest",
     "@/.local/share/vulkan/implicit_layer.d/VkLayer_warmpipe.json (implicit) is for ",
     [](DoctorNames &test) { test.put_layer(test.other_width()); }},
    {"settings_file_open_to_all",
     {},
     "variable",
     "'@/.local/share/vulkan/settings.d/vk_layer_settings.txt' is not read: ",
     [](DoctorNames &test) {
         const std::string below = test.folder.path + "/.local/share/vulkan/settings.d";
         std::filesystem::create_directories(below);
         write_file(below + "/vk_layer_settings.txt", "");
         chmod((below + "/vk_layer_settings.txt").c_str(), 0666);
     }},
    {"settings_file_too_large",
     {{"VK_LAYER_SETTINGS_PATH", "@/settings.txt"}},
     "variable",
     "'@/settings.txt' is not read: larger than the limit (too_large)",
     [](DoctorNames &test) {
         write_file(test.folder.path + "/settings.txt", std::string((1 << 20) + 1, '#'));
     }},
    {"two_copies",
     {},
     "manifest",
     "two copies of the layer, and it depends on the loader which one is used: @/first.so, "
     "@/second.so",
     [](DoctorNames &test) {
         const std::string library = read_file(WARMPIPE_LIBRARY);
         test.put_manifest("a.json", test.put_library("first.so", library), true);
         test.put_manifest("b.json", test.put_library("second.so", library));
     }},
    {"two_copies_one_of_a_package",
     {{"LD_LIBRARY_PATH", "@/lib"}},
     "manifest",
     "two copies of the layer, and it depends on the loader which one is used: @/first.so, "
     "@/lib/libVkLayer_warmpipe.so",
     [](DoctorNames &test) {
         const std::string library = read_file(WARMPIPE_LIBRARY);
         std::filesystem::create_directory(test.folder.path + "/lib");
         test.put_library("lib/libVkLayer_warmpipe.so", library);
         test.put_manifest("a.json", test.put_library("first.so", library), true);
         test.put_manifest("b.json", "libVkLayer_warmpipe.so");
     }},
    {"program_folder_open_to_all",
     {},
     "cache",
     "'@/root/app' is neither read nor written",
     [](DoctorNames &test) { test.put_program(0777); }},
    {"program_is_a_link",
     {},
     "cache",
     "'@/root/link' is neither read nor written: it is no folder (symlink)",
     [](DoctorNames &test) {
         test.put_program(0700);
         std::filesystem::create_directory_symlink("app", test.folder.path + "/root/link");
     }},
    {"program_is_a_file",
     {},
     "cache",
     "'@/root/app' is neither read nor written: it is no folder (directory_unusable)",
     [](DoctorNames &test) {
         std::filesystem::create_directory(test.folder.path + "/root");
         write_file(test.folder.path + "/root/app", "");
     }},
    {"recipes_open_to_all",
     {},
     "cache",
     "'@/root/app/recipes' is neither read nor written",
     [](DoctorNames &test) {
         const std::string recipes = test.folder.path + "/root/app/recipes";
         test.put_program(0700);
         std::filesystem::create_directory(recipes);
         chmod(recipes.c_str(), 0777);
     }},
};

static_assert(std::size(breakages) >= 24);

INSTANTIATE_TEST_SUITE_P(Of, DoctorNames, testing::ValuesIn(breakages),
                         [](const auto &tested) { return std::string(tested.param.name); });

} // namespace
