// SPDX-License-Identifier: Apache-2.0
// Folders that cannot be used, or not be trusted: nothing is read or written there, one line says
// why (another one where recipes were to be written first), and the program goes on.
#include "harness.hpp"
#include "program.hpp"

#include <fstream>

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

class BadDirectoryTest : public LayerTest {
  protected:
    static void program()
    {
        Program().create_compute(0, 4);
    }

    fs::path app() const
    {
        return cache_root() / "test";
    }

    // The line about what is not saved.
    static std::string only_line(const Outcome &outcome)
    {
        std::vector<std::string> lines = outcome.log();
        if (lines.size() == 2 && lines[0].find("not recorded (") != std::string::npos) {
            lines.erase(lines.begin());
        }
        EXPECT_EQ(lines.size(), 1u) << outcome.errors;
        return lines.empty() ? "" : lines[0];
    }

    void expect_unused(const std::string &reason)
    {
        for (int start = 0; start < 2; ++start) {
            const Outcome outcome = run(program);
            EXPECT_EQ(outcome.hits(), 0u);
            EXPECT_EQ(outcome.pipelines().size(), 4u);
            EXPECT_NE(only_line(outcome).find("(" + reason + ")"), std::string::npos)
                << outcome.errors;
            EXPECT_EQ(outcome.stats_of()["cache"]["reason"], reason);
            EXPECT_EQ(outcome.stats_of()["cache"]["saved_bytes"], 0);
            if (fs::exists(cache_root())) {
                EXPECT_EQ(outcome.stats_of()["cache"]["state"], "rejected") << reason;
            }
        }
    }
};

TEST_F(BadDirectoryTest, CannotBeMade)
{
    environment["WARMPIPE_DIR"] = "/proc/warmpipe";
    expect_unused("directory_unusable");
}

TEST_F(BadDirectoryTest, RootIsAFile)
{
    std::ofstream(cache_root()) << "a file";
    expect_unused("directory_unusable");
}

TEST_F(BadDirectoryTest, FolderIsAFile)
{
    fs::create_directories(cache_root());
    std::ofstream(app()) << "a file";
    expect_unused("directory_unusable");
}

TEST_F(BadDirectoryTest, FolderIsALink)
{
    fs::create_directories(cache_root());
    fs::create_directory(folder() / "elsewhere");
    fs::create_directory_symlink(folder() / "elsewhere", app());
    const Outcome outcome = run(program);
    EXPECT_NE(only_line(outcome), "");
    EXPECT_NE(outcome.stats_of()["cache"]["reason"], "");
    EXPECT_TRUE(fs::is_empty(folder() / "elsewhere"));
}

TEST_F(BadDirectoryTest, OthersMayWriteIt)
{
    run(program);
    for (mode_t mode : {0770, 0702, 0777}) {
        ASSERT_EQ(chmod(app().c_str(), mode), 0);
        expect_unused("directory_mode");
    }
    ASSERT_EQ(chmod(app().c_str(), 0755), 0);
    EXPECT_EQ(run(program).hits(), 4u);
}

TEST_F(BadDirectoryTest, IsSomebodyElses)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a folder away";
    }
    run(program);
    ASSERT_EQ(chown(app().c_str(), 12345, 12345), 0);
    expect_unused("directory_owner");
}

// A container in a user namespace, on a volume that others use too: each of them is shown as the
// same user there, and the program is that user.
TEST_F(BadDirectoryTest, IsOfSomebodyWithoutANumberHere)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer has a thread of its own: no user namespace";
#endif
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a folder away";
    }
    const auto as_unknown_user = [] {
        ASSERT_EQ(unshare(CLONE_NEWUSER), 0);
        std::ofstream("/proc/self/uid_map") << "65534 0 1";
        ASSERT_EQ(geteuid(), 65534u);
        program();
    };
    if (system("unshare -U true 2>/dev/null") != 0) {
        GTEST_SKIP() << "no user namespaces here";
    }
    run(program);
    EXPECT_EQ(run(as_unknown_user).hits(), 4u);
    ASSERT_EQ(chmod(app().c_str(), 0755), 0);
    for (const fs::directory_entry &entry : fs::directory_iterator(app())) {
        if (entry.path().extension() == ".wpcache") {
            ASSERT_EQ(chmod(entry.path().c_str(), 0644), 0);
            ASSERT_EQ(chown(entry.path().c_str(), 12345, 12345), 0);
        }
    }
    EXPECT_EQ(run(as_unknown_user).stats_of()["cache"]["reason"], "file_owner");
    ASSERT_EQ(chown(app().c_str(), 12345, 12345), 0);
    const Outcome outcome = run(as_unknown_user);
    EXPECT_EQ(outcome.hits(), 0u);
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "directory_owner");
}

TEST_F(BadDirectoryTest, MayNotBeWritten)
{
    fs::create_directory(cache_root());
    if (!become_unprivileged()) {
        GTEST_SKIP() << "the build tree is not open to other users";
    }
    ASSERT_EQ(chmod(cache_root().c_str(), 0555), 0);
    const Outcome outcome = run(program);
    EXPECT_NE(only_line(outcome), "");
    EXPECT_NE(outcome.stats_of()["cache"]["reason"], "");
    ASSERT_EQ(chmod(cache_root().c_str(), 0755), 0);
    run(program);
    EXPECT_EQ(run(program).hits(), 4u);
}

// Parents are not judged: volumes of containers are often open to all.
TEST_F(BadDirectoryTest, ParentsMayBeOpenToAll)
{
    fs::create_directories(cache_root());
    ASSERT_EQ(chmod(cache_root().c_str(), 0777), 0);
    run(program);
    EXPECT_EQ(run(program).hits(), 4u);
}

TEST_F(BadDirectoryTest, IsNowhere)
{
    for (const char *name : {"WARMPIPE_DIR", "XDG_CACHE_HOME", "HOME"}) {
        environment.erase(name);
    }
    const Outcome outcome = run(program);
    EXPECT_EQ(outcome.stats_of()["cache"]["state"], "off");
    EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "no_directory");
    EXPECT_EQ(outcome.stats_of()["cache"]["saved_bytes"], 0);
    ASSERT_EQ(outcome.log().size(), 1u);
    EXPECT_NE(outcome.log()[0].find("(no_directory)"), std::string::npos) << outcome.log()[0];
}

// "sudo -E": what root made in the caller's home, the caller's own programs could not use.
TEST_F(BadDirectoryTest, IsNotTheHomeOfWhoCalledSudo)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can give a folder away";
    }
    const fs::path home = folder() / "home";
    fs::create_directories(home);
    ASSERT_EQ(chown(home.c_str(), 12345, 12345), 0);
    environment.erase("WARMPIPE_DIR");
    environment.erase("XDG_CACHE_HOME");
    environment["SUDO_UID"] = "12345";
    environment["HOME"] = home.string();
    for (const char *folder : {"", "/nothing/there", "/"}) {
        environment["XDG_CACHE_HOME"] = *folder ? home.string() + folder : "";
        const Outcome outcome = run(program);
        EXPECT_EQ(outcome.stats_of()["cache"]["reason"], "no_directory");
        EXPECT_TRUE(fs::is_empty(home)) << folder;
    }
    environment["HOME"] = (folder() / "own").string();
    fs::create_directories(folder() / "own");
    run(program);
    EXPECT_TRUE(fs::exists(folder() / "own/.cache/warmpipe"));
    environment["HOME"] = home.string();
    // In a container, root's home may well be somebody else's.
    environment["SUDO_UID"] = "12346";
    run(program);
    EXPECT_EQ(run(program).hits(), 4u);
}

TEST_F(BadDirectoryTest, IsNowhereForCachesOfTheProgramToo)
{
    for (const char *name : {"WARMPIPE_DIR", "XDG_CACHE_HOME", "HOME"}) {
        environment.erase(name);
    }
    const Outcome outcome = run([] {
        Program owner;
        for (unsigned i = 0; i < 2; ++i) {
            const VkPipelineCache cache = owner.create_cache();
            owner.create_compute(0, 4, cache);
            owner.destroy_cache(cache);
        }
    });
    ASSERT_EQ(outcome.log().size(), 1u) << outcome.errors;
    EXPECT_NE(outcome.log()[0].find("(no_directory)"), std::string::npos) << outcome.log()[0];
}

} // namespace
