#include "real_drivers.hpp"

#include <sys/utsname.h>

namespace fs = std::filesystem;

static fs::path find_manifest(const std::string &driver)
{
    struct utsname machine;
    uname(&machine);
    for (const fs::path folder :
         {"/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d"}) {
        for (const std::string &name :
             {driver + "_icd." + machine.machine + ".json", driver + "_icd.json"}) {
            if (fs::exists(folder / name)) {
                return folder / name;
            }
        }
    }
    return {};
}

void RealDriversTest::use_drivers(const std::vector<std::string> &names)
{
    std::string list;
    for (const std::string &name : names) {
        const fs::path manifest = find_manifest(name);
        if (manifest.empty()) {
            GTEST_SKIP() << "no Vulkan driver " << name;
        }
        list += (list.empty() ? "" : ":") + manifest.string();
    }
    environment["VK_DRIVER_FILES"] = environment["VK_ICD_FILENAMES"] = list;
    // Their locks cannot be seen, so what they protect would look like races.
    environment["TSAN_OPTIONS"] += ":ignore_noninstrumented_modules=1";
    // Else Mesa's own disk cache answers before the compiler does.
    environment["MESA_SHADER_CACHE_DISABLE"] = "true";
}

void RealDriversTest::use_radv(const std::string &family)
{
    use_drivers({"radeon"});
    environment["RADV_FORCE_FAMILY"] = family;
}

void RealDriversTest::use_radv_raytracing()
{
    use_radv("navi21");
    environment["RADV_PERFTEST"] = "rt";
}

void RealDriversTest::use_lavapipe()
{
    use_drivers({"lvp"});
}

ClientRun RealDriversTest::client(const std::vector<std::string> &options, Layer layer)
{
    std::vector<std::string> command = {PIPELINES_CLIENT, "--compute", "20", "--graphics", "10"};
    command.insert(command.end(), options.begin(), options.end());
    ClientRun run{execute(command, {layer, true, 0}), {}};
    run.said = json::parse(run.outcome.output, nullptr, false);
    EXPECT_TRUE(run.said.is_object()) << run.outcome.output << run.outcome.errors;
    if (run.said.is_object()) {
        EXPECT_EQ(run.said["failed_calls"], 0);
    }
    return run;
}

ClientRun RealDriversTest::plain_client(const std::vector<std::string> &options)
{
    const std::string enabled = environment["WARMPIPE_ENABLE"];
    environment.erase("WARMPIPE_ENABLE");
    const ClientRun run = client(options, Layer::absent);
    environment["WARMPIPE_ENABLE"] = enabled;
    return run;
}

void RealDriversTest::expect_warm(const ClientRun &run, unsigned pipelines, unsigned device)
{
    EXPECT_EQ(run.cache(device)["state"], "loaded");
    EXPECT_EQ(run.cache(device)["saved_bytes"], 0);
    EXPECT_EQ(run.pipelines(device)["requested"], pipelines);
    EXPECT_EQ(run.pipelines(device)["driver_hits"], pipelines);
    EXPECT_EQ(run.pipelines(device)["driver_misses"], 0);
}
