// SPDX-License-Identifier: Apache-2.0
// sync, beside programs that know nothing of it.
#include <csignal>

#include "run_remote.h"

namespace {

// Until a signal ends it, whose process writes its number into the machine's folder.
ToolResult run_sidecar(Machine &machine, const std::string &url, const std::string &secret,
                       const std::string &options = "--app demo --interval 1h")
{
    return run_program({"/bin/sh", "-c",
                        "echo $$ > " + machine.folder.path + "/pid; exec " + WARMPIPE_TOOL +
                            " sync --json " + options + " --remote " + url + " --secret-key " +
                            secret + " --dir " + machine.root},
                       machine.environment());
}

// A sidecar that can push takes the lease of what a program looks for, until it has pushed it.
TEST_F(RunRemote, ASidecarHasTheLeaseOfWhatAProgramCompiles)
{
    first.run(4);
    const std::string folder = first.root + "/demo/";
    const std::string cache = first.caches().at(0);
    const std::string lease = place->data + "/v1/lease/demo/" + cache.substr(0, cache.find('.'));
    std::filesystem::rename(folder + cache, first.folder.path + "/later");
    first.lose_driver();
    ToolResult result;
    std::thread sidecar([&] { result = run_sidecar(first, place->url, keys.secret); });
    while (!std::filesystem::exists(lease)) {
        usleep(10000);
    }
    std::filesystem::rename(first.folder.path + "/later", folder + cache);
    while (std::filesystem::exists(lease)) {
        usleep(10000);
    }
    EXPECT_TRUE(std::filesystem::exists(place->data + "/v1/head/demo"));
    kill(std::stoi(read_file(first.folder.path + "/pid")), SIGTERM);
    sidecar.join();
    EXPECT_EQ(result.exit_status, 0) << result.err;
}

// What could not be sent is sent later, though nothing has changed here.
TEST_F(RunRemote, SyncPushesAgainWhatItCouldNotSend)
{
    const std::string objects = place->data + "/v1/obj";
    const std::string said = first.folder.path + "/said";
    first.run(4);
    std::filesystem::create_directories(place->data + "/v1");
    std::filesystem::create_symlink("/no/such/folder", objects);
    std::thread sidecar([&] {
        run_program({"/bin/sh", "-c",
                     "echo $$ > " + first.folder.path + "/pid; exec " + WARMPIPE_TOOL +
                         " sync --app demo --interval 1s --remote " + place->url +
                         " --secret-key " + keys.secret + " --dir " + first.root + " 2> " + said},
                    first.environment());
    });
    while (!contains(read_file(said), "(remote_error)")) {
        usleep(10000);
    }
    std::filesystem::remove(objects);
    while (!std::filesystem::exists(place->data + "/v1/head/demo")) {
        usleep(10000);
    }
    kill(std::stoi(read_file(first.folder.path + "/pid")), SIGTERM);
    sidecar.join();
    EXPECT_TRUE(contains(second.run(4, reader()), " 4 hits, 0 misses"));
}

// A sidecar beside two starts of a program: what was saved is there, and a signal ends it.
TEST_F(RunRemote, SyncPushesWhatIsSavedAndEndsOnASignal)
{
    std::filesystem::create_directories(first.root);
    ToolResult result;
    std::thread sidecar([&] { result = run_sidecar(first, place->url, keys.secret); });
    first.run(4);
    while (!std::filesystem::exists(place->data + "/v1/head/demo")) {
        usleep(10000);
    }
    // Not yet seen, when the signal comes.
    first.run(6);
    kill(std::stoi(read_file(first.folder.path + "/pid")), SIGTERM);
    sidecar.join();
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_GE(json::parse(result.out)["pushes"], 2) << result.out;
    EXPECT_TRUE(contains(second.run(6, reader()), " 6 hits, 0 misses"));
}

// What nobody asks for any more nobody compiles: others would wait for it in vain.
TEST_F(RunRemote, ASidecarHasNoLeaseOfWhatWasLookedForLongAgo)
{
    const std::string folder = first.root + "/demo/";
    const std::string leases = place->data + "/v1/lease/demo/";
    std::filesystem::create_directories(folder);
    std::filesystem::permissions(folder, std::filesystem::perms(0700));
    auto wanted = [&](char digit) { return std::string(32, digit); };
    for (const char digit : {'a', 'b', 'c', 'd', 'e'}) {
        const std::string file = folder + wanted(digit) + ".wanted";
        write_file(file, "");
        if (digit != 'e') {
            std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() -
                                                       std::chrono::hours(24));
        }
    }
    first.lose_driver();
    ToolResult result;
    std::thread sidecar([&] { result = run_sidecar(first, place->url, keys.secret); });
    while (!std::filesystem::exists(leases + wanted('e'))) {
        usleep(10000);
    }
    for (const char digit : {'a', 'b', 'c', 'd'}) {
        EXPECT_FALSE(std::filesystem::exists(leases + wanted(digit))) << digit;
    }
    kill(std::stoi(read_file(first.folder.path + "/pid")), SIGTERM);
    sidecar.join();
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(json::parse(result.out)["pulls"], 1) << result.out;
}

// Of many programs one changes its folder all the time.
TEST_F(RunRemote, SyncPushesThoughTheFoldersAreNeverQuiet)
{
    first.run(4);
    const std::string other = first.root + "/other";
    std::filesystem::create_directories(other + "/recipes");
    std::filesystem::permissions(other, std::filesystem::perms(0700));
    std::atomic_bool ended = false;
    std::thread busy([&] {
        for (int i = 0; !ended; i++) {
            write_file(other + "/recipes/" + std::to_string(i % 100), "");
            std::filesystem::remove(other + "/recipes/" + std::to_string(i % 100));
            usleep(50000);
        }
    });
    ToolResult result;
    std::thread sidecar(
        [&] { result = run_sidecar(first, place->url, keys.secret, "--interval 1s"); });
    int waited = 0;
    while (!std::filesystem::exists(place->data + "/v1/head/demo") && waited++ < 6000) {
        usleep(10000);
    }
    EXPECT_LT(waited, 6000) << "it was not pushed before the end";
    kill(std::stoi(read_file(first.folder.path + "/pid")), SIGTERM);
    ended = true;
    busy.join();
    sidecar.join();
    EXPECT_EQ(result.exit_status, 0) << result.err;
}

// Of drivers that keep nothing no cache ever comes: their leases are over after some minutes.
TEST_F(RunRemote, LeasesThatAreOverLeaveRoomForOthers)
{
    const std::string folder = first.root + "/demo/";
    const std::string leases = place->data + "/v1/lease/demo/";
    std::filesystem::create_directories(folder);
    std::filesystem::permissions(folder, std::filesystem::perms(0700));
    auto name = [](char digit) { return std::string(32, digit); };
    for (const char digit : {'a', 'b', 'c', 'd'}) {
        write_file(folder + name(digit) + ".wanted", "");
    }
    first.lose_driver();
    ToolResult result;
    std::thread sidecar([&] { result = run_sidecar(first, place->url, keys.secret); });
    for (const char digit : {'a', 'b', 'c', 'd'}) {
        while (!std::filesystem::exists(leases + name(digit))) {
            usleep(10000);
        }
    }
    std::filesystem::remove_all(leases);
    for (const char digit : {'a', 'b', 'c', 'd'}) {
        std::filesystem::remove(folder + name(digit) + ".wanted");
    }
    write_file(folder + name('e') + ".wanted", "");
    int waited = 0;
    while (!std::filesystem::exists(leases + name('e')) && waited++ < 500) {
        usleep(10000);
    }
    EXPECT_LT(waited, 500) << "it has no lease";
    kill(std::stoi(read_file(first.folder.path + "/pid")), SIGTERM);
    sidecar.join();
    EXPECT_EQ(result.exit_status, 0) << result.err;
}

} // namespace
