// SPDX-License-Identifier: Apache-2.0
// The recipes of docs/FLEET.md, as far as namespaces can play containers: each has no network, an
// empty home, and shares with others what is mounted alone.
#include <csignal>

#include "fleet.h"

namespace {

class Deployment : public testing::Test {
  protected:
    Keys keys;
    TemporaryFolder volume; // of one pod
    TemporaryFolder share;  // of all

    void SetUp() override
    {
        if (run_program({"/usr/bin/unshare", "-rn", "/bin/true"}).exit_status != 0) {
            GTEST_SKIP() << "no namespaces";
        }
    }

    // A container that has a driver, or has none.
    ToolResult container(std::vector<std::string> words, bool has_driver,
                         const std::string &pid_file = "/dev/null")
    {
        Machine machine;
        if (!has_driver) {
            machine.lose_driver();
        }
        words.insert(words.begin(), {"/usr/bin/unshare", "-rn", "/bin/sh", "-c",
                                     "echo $$ > \"$0\"; exec \"$@\"", pid_file, WARMPIPE_TOOL});
        return run_program(words, machine.environment());
    }

    std::vector<std::string> with_remote(const std::string &verb, bool can_push)
    {
        std::vector<std::string> words = {verb, "--remote", "file://" + share.path};
        words.insert(words.end(), {can_push ? "--secret-key" : "--public-key",
                                   can_push ? keys.secret : keys.open});
        words.insert(words.end(), {"--app", "service", "--dir", volume.path});
        return words;
    }

    std::string service(int pipelines, std::vector<std::string> words = {})
    {
        words = words.empty()
                    ? std::vector<std::string>{"run", "--dir", volume.path, "--app", "service"}
                    : words;
        words.insert(words.end(), {"--", PIPELINES_CLIENT, "--graphics", "0", "--compute",
                                   std::to_string(pipelines)});
        const ToolResult result = container(words, true);
        EXPECT_EQ(result.exit_status, 0) << result.err;
        return result.err;
    }
};

// Kubernetes: an init container, the service, and a sidecar that has no driver.
TEST_F(Deployment, AnInitContainerAndASidecar)
{
    // A first deployment: there is nothing yet, and that is no failure.
    EXPECT_EQ(container(with_remote("pull", false), true).exit_status, 0);
    const std::string pid_file = volume.path + ".pid";
    ToolResult sidecar;
    std::thread runs([&] {
        std::vector<std::string> words = with_remote("sync", true);
        words.insert(words.end(), {"--interval", "1h"});
        sidecar = container(words, false, pid_file);
    });
    EXPECT_TRUE(contains(service(4), " 0 hits, 4 misses"));
    while (!std::filesystem::exists(share.path + "/v1/head/service")) {
        usleep(10000);
    }
    kill(std::stoi(read_file(pid_file)), SIGTERM);
    runs.join();
    EXPECT_EQ(sidecar.exit_status, 0) << sidecar.err;
    std::filesystem::remove(pid_file);

    // Another pod, with a volume of its own.
    std::filesystem::remove_all(volume.path + "/service");
    EXPECT_EQ(container(with_remote("pull", false), true).exit_status, 0);
    EXPECT_TRUE(contains(service(4), " 4 hits, 0 misses"));
}

// Redis that was restarted without its data, say.
TEST_F(Deployment, ASidecarSendsAgainWhatTheRemoteHasLost)
{
    const std::string pid_file = volume.path + ".pid";
    const std::string head = share.path + "/v1/head/service";
    ToolResult sidecar;
    EXPECT_TRUE(contains(service(4), " 0 hits, 4 misses"));
    std::thread runs([&] {
        std::vector<std::string> words = with_remote("sync", true);
        words.insert(words.end(), {"--interval", "1s", "--json"});
        sidecar = container(words, false, pid_file);
    });
    auto is_there = [&] {
        std::error_code none;
        for (const auto &entry : std::filesystem::directory_iterator(head, none)) {
            if (entry.path().filename().string().find_first_not_of("0123456789abcdef") ==
                std::string::npos) {
                return true;
            }
        }
        return false;
    };
    for (int rounds = 0; rounds < 2; rounds++) {
        while (!is_there()) {
            usleep(10000);
        }
        if (rounds == 0) {
            std::filesystem::remove_all(head);
        }
    }
    kill(std::stoi(read_file(pid_file)), SIGTERM);
    runs.join();
    EXPECT_EQ(sidecar.exit_status, 0) << sidecar.err;
    EXPECT_EQ(json::parse(sidecar.out)["pushes"], 2) << sidecar.out;
    std::filesystem::remove(pid_file);
}

// CI: jobs of pull requests read, the job after the merge writes; none keeps a folder.
TEST_F(Deployment, JobsThatReadAndOneThatWrites)
{
    EXPECT_TRUE(contains(service(4, with_remote("run", false)), " 0 hits, 4 misses"));
    EXPECT_FALSE(std::filesystem::exists(share.path + "/v1"));
    EXPECT_EQ(container(with_remote("push", false), true).exit_status, 2);
    std::filesystem::remove_all(volume.path + "/service");
    EXPECT_TRUE(contains(service(4, with_remote("run", true)), " 0 hits, 4 misses"));
    std::filesystem::remove_all(volume.path + "/service");
    EXPECT_TRUE(contains(service(6, with_remote("run", false)), " 4 hits, 2 misses"));
}

// As the first process of a container, where an orphan has nobody else.
TEST_F(Deployment, OrphansAreReaped)
{
    Machine machine;
    std::vector<std::string> words = {"/usr/bin/unshare", "-r", "--fork", "--pid", "--mount-proc"};
    std::vector<std::string> nothing = words;
    nothing.push_back("/bin/true");
    if (run_program(nothing).exit_status != 0) {
        GTEST_SKIP() << "no namespaces of processes";
    }
    words.push_back(WARMPIPE_TOOL);
    for (const std::string &word : with_remote("run", false)) {
        words.push_back(word);
    }
    words.insert(words.end(), {"--", "/bin/bash", "-c",
                               "for i in 1 2 3; do (setsid sleep 0.1 &); done; sleep 1; "
                               "grep -l '^State:.Z' /proc/[1-9]*/status; exit 3"});
    const ToolResult result = run_program(words, machine.environment());
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.exit_status, 3) << result.err;
}

} // namespace
