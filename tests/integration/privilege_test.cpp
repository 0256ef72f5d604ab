// SPDX-License-Identifier: Apache-2.0
// Programs with elevated privileges (AT_SECURE): the layer passes everything through, and reads and
// writes nothing.
#include "harness.hpp"
#include "paths.h"

#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

class PrivilegeTest : public LayerTest {
  protected:
    void SetUp() override
    {
#ifdef WARMPIPE_SANITIZED
        GTEST_SKIP() << "sanitizers do not work in programs with privileges";
#endif
    }

    // The probe, in this test's folder, where it can be given other rights.
    fs::path copy_probe()
    {
        const fs::path copy = folder() / "probe";
        fs::copy_file(SECURE_PROBE, copy);
        EXPECT_EQ(chmod(folder().c_str(), 0711), 0);
        return copy;
    }

    // A library where every user may read it, as the build folder may not be.
    fs::path copy_library(const fs::path &library)
    {
        const fs::path copy = folder() / library.filename();
        fs::copy_file(library, copy, fs::copy_options::overwrite_existing);
        EXPECT_EQ(chmod(copy.c_str(), 0644), 0);
        return copy;
    }

    Outcome probe(const fs::path &probe, Layer layer)
    {
        return execute({probe, copy_library(WARMPIPE_LIBRARY), copy_library(TEST_ICD_LIBRARY)},
                       {layer, true, 0});
    }

    void expect_nothing(const Outcome &outcome)
    {
        EXPECT_EQ(outcome.pipelines().size(), 1u);
        EXPECT_EQ(outcome.pipelines().at(0)["cache"], "0");
        EXPECT_EQ(outcome.calls("vkCreatePipelineCache"), 0u);
        EXPECT_FALSE(fs::exists(cache_root()));
    }
};

// Without privileges the probe's layer does work.
TEST_F(PrivilegeTest, OrdinaryProgramsAreServed)
{
    const Outcome outcome = probe(copy_probe(), Layer::works);
    EXPECT_EQ(outcome.output, "0\n");
    EXPECT_EQ(outcome.calls("vkCreatePipelineCache"), 1u);
    EXPECT_EQ(cache_files().size(), 1u);
}

TEST_F(PrivilegeTest, SetUserId)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a program to another user";
    }
    const fs::path copy = copy_probe();
    ASSERT_EQ(chown(copy.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(copy.c_str(), 04755), 0);
    ASSERT_EQ(chmod(folder().c_str(), 0777), 0);
    const Outcome outcome = probe(copy, Layer::any);
    if (outcome.output == "0\n") {
        GTEST_SKIP() << "set-user-ID programs have no effect on this file system";
    }
    EXPECT_TRUE(outcome.stats.empty());
    expect_nothing(outcome);
}

TEST_F(PrivilegeTest, FileCapabilities)
{
    const fs::path copy = copy_probe();
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a program capabilities";
    }
    if (!become_unprivileged()) {
        GTEST_SKIP() << "the build tree is not open to other users";
    }
    if (std::system(("setcap cap_net_raw+ep " + copy.string()).c_str()) != 0) {
        GTEST_SKIP() << "setcap does not work here";
    }
    const Outcome outcome = probe(copy, Layer::any);
    if (outcome.output == "0\n") {
        GTEST_SKIP() << "file capabilities have no effect on this file system";
    }
    EXPECT_TRUE(outcome.stats.empty());
    expect_nothing(outcome);
}

} // namespace
