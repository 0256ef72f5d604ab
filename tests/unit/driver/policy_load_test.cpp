// SPDX-License-Identifier: Apache-2.0
// From the settings to the policy: which file is read, and what is said of one that cannot be.
#include <fstream>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "child.h"
#include "scratch.h"

extern "C" {
#include "common/driver/policy.h"
}

namespace {

struct Settings {
    explicit Settings(const std::string &path)
    {
        config.policy_path = const_cast<char *>(path.c_str());
    }
    struct config config = {};
};

driver_identity nvidia()
{
    driver_identity identity = {};
    identity.vendor_id = 0x10de;
    identity.driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
    identity.driver_version = POLICY_NVIDIA_VERSION(470, 57, 2, 0);
    identity.api_version = VK_API_VERSION_1_2;
    identity.pointer_size = 8;
    return identity;
}

// `times` decisions in a process of its own.
void decide(const std::string &path, const std::string &expected_rule,
            const std::vector<std::string> &expected_log, int times = 1)
{
    ChildResult result = run_in_child([&] {
        Settings settings(path);
        const driver_identity identity = nvidia();
        struct policy policy;
        for (int i = 0; i < times; i++) {
            policy_of_settings(&settings.config, &identity, &policy);
        }
        EXPECT_EQ(std::string(policy.rule), expected_rule);
    });
    EXPECT_EQ(result.lines(), expected_log);
}

void write(const std::string &path, const std::string &text)
{
    std::ofstream(path, std::ios::binary) << text;
}

const char table_rule[] = "nvidia-470-before-470.62.02";

TEST(PolicyLoad, TheFileDecides)
{
    Scratch scratch;
    write(scratch.path("policy"), "[mine]\nvendor = 0x10de\nsingle-cache = no\n");
    decide(scratch.path("policy"), "mine", {});
    // As files of a volume are.
    std::filesystem::create_symlink("policy", scratch.path("link"));
    decide(scratch.path("link"), "mine", {});
}

TEST(PolicyLoad, WithoutAFileTheTableDecides)
{
    struct config config = {};
    const driver_identity identity = nvidia();
    struct policy policy;
    policy_of_settings(&config, &identity, &policy);
    EXPECT_STREQ(policy.rule, table_rule);
    config.policy_none = true;
    policy_of_settings(&config, &identity, &policy);
    EXPECT_STREQ(policy.rule, "default");
}

TEST(PolicyLoad, ADamagedFileIsToldOnceWithItsLine)
{
    Scratch scratch;
    const std::string path = scratch.path("policy");
    write(path, "[mine]\nsingle-cache = no\n\npersits = yes\n");
    decide(path, table_rule,
           {"warmpipe: warn: policy file '" + path +
            "', line 4: unknown key 'persits'; the built-in table is used (bad_policy_file)"},
           3);
}

TEST(PolicyLoad, AFileThatCannotBeReadIsTold)
{
    Scratch scratch;
    const std::string none = scratch.path("none");
    decide(none, table_rule,
           {"warmpipe: warn: policy file '" + none +
            "': cannot be read: No such file or "
            "directory; the built-in table is used (bad_policy_file)"});
    const std::string folder = scratch.path("folder");
    std::filesystem::create_directory(folder);
    decide(folder, table_rule,
           {"warmpipe: warn: policy file '" + folder +
            "': cannot be read: not a regular file; "
            "the built-in table is used (bad_policy_file)"});
    // Nobody will ever write to it: opening or reading it must not wait.
    const std::string fifo = scratch.path("fifo");
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    decide(fifo, table_rule,
           {"warmpipe: warn: policy file '" + fifo +
            "': cannot be read: not a regular file; "
            "the built-in table is used (bad_policy_file)"});
    decide("/dev/zero", table_rule,
           {"warmpipe: warn: policy file '/dev/zero': cannot be read: not a regular file; "
            "the built-in table is used (bad_policy_file)"});
    const std::string huge = scratch.path("huge");
    write(huge, std::string(POLICY_FILE_MAX_SIZE + 1, '#'));
    decide(huge, table_rule,
           {"warmpipe: warn: policy file '" + huge +
            "': larger than 65536 bytes; the built-in table "
            "is used (bad_policy_file)"});
}

} // namespace
