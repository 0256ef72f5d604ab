// SPDX-License-Identifier: Apache-2.0
// Leases: one machine compiles, others wait for it.
#include <chrono>
#include <csignal>

#include "run_remote.h"
#include "scripted_servers.h"

namespace {

// A device whose cache is at the remote does not wait for another one's lease.
TEST_F(RunRemote, WhoWaitsForALeaseKeepsNobodyElse)
{
    first.run(4, writer());
    const std::string ours = first.caches().at(0).substr(0, 32);
    first.more["WPTEST_ICD_DRIVER_VERSION"] = "2";
    first.run(4, writer());
    std::filesystem::remove(place->data + "/v1/head/demo/" + ours);
    std::filesystem::create_directories(place->data + "/v1/lease/demo");
    write_file(place->data + "/v1/lease/demo/" + ours, held_lease);
    std::vector<std::string> words = {"run", "--dir", second.root, "--app", "demo"};
    for (const std::string &word : reader()) {
        words.push_back(word);
    }
    const std::string lease = place->data + "/v1/lease/demo/" + ours;
    const std::string waits = second.folder.path + "/waits";
    words.insert(words.end(), {"--lease-wait", "300s", "--", "/bin/sh", "-c",
                               the_program + " 2>/dev/null & while ! ls " + second.root +
                                   "/demo/*.asked; do sleep 0.02; done >/dev/null 2>&1; "
                                   "WPTEST_ICD_DRIVER_VERSION=2 " +
                                   the_program + "; ls " + second.root + "/demo/*.asked > " +
                                   waits + "; rm " + lease + "; wait"});
    const ToolResult result = second.tool(words);
    EXPECT_TRUE(contains(result.err, " 4 hits, 0 misses")) << result.err;
    EXPECT_TRUE(contains(read_file(waits), ours)) << "it was to wait meanwhile";
    EXPECT_EQ(second.caches().size(), 2u);
}

// A program that is ended while it waits for a lease ends the tool.
TEST_F(RunRemote, ASignalEndsTheWaitForALease)
{
    first.run(4, writer());
    const std::string head = place->data + "/v1/head/demo";
    std::string identity;
    for (const auto &entry : std::filesystem::directory_iterator(head)) {
        const std::string name = entry.path().filename();
        identity = name == "recipes" ? identity : name;
    }
    std::filesystem::remove_all(head);
    std::filesystem::create_directories(place->data + "/v1/lease/demo");
    write_file(place->data + "/v1/lease/demo/" + identity, held_lease);
    std::vector<std::string> words = {"run", "--quiet", "--dir", second.root, "--app", "demo"};
    for (const std::string &word : reader()) {
        words.push_back(word);
    }
    // The program is ended when it has asked.
    words.insert(words.end(),
                 {"--lease-wait", "100s", "--", "/bin/sh", "-c",
                  the_program + " & until ls " + second.root +
                      "/demo/*.asked; do sleep 0.02; done >/dev/null 2>&1; kill -TERM $!; wait; "
                      "kill -TERM $$"});
    const auto start = std::chrono::steady_clock::now();
    const ToolResult result = second.tool(words);
    EXPECT_EQ(result.exit_status, 128 + SIGTERM);
    EXPECT_FALSE(contains(result.err, "remote_timeout")) << result.err;
    EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
    EXPECT_FALSE(something_is_asked(second.root + "/demo"));
}

#ifdef WARMPIPE_HAVE_CURL

// Whether the process is neither gone nor a zombie. It may go while it is looked at.
bool is_alive(const std::string &pid)
{
    try {
        const std::string status = read_file("/proc/" + pid + "/status");
        return contains(status, "State:") && !contains(status, "State:\tZ");
    } catch (const std::ios_base::failure &) {
        return false;
    }
}

// Who pulls is ended after it has taken the lease, before it is told so: it is given back all the
// same. Nor is it the remote's fault that nothing was pulled.
TEST_F(RunRemote, ALeaseThatNobodyKnowsOfIsGivenBack)
{
    const std::string taken = second.folder.path + "/taken";
    const std::string puller = second.folder.path + "/puller";
    std::map<std::string, std::string> values;
    ScriptedServer server([&](const std::string &request) {
        const std::string method = request.substr(0, request.find(' '));
        const size_t at = method.size() + 1;
        const std::string path = request.substr(at, request.find(' ', at) - at);
        const bool is_there = values.count(path) > 0;
        if (method == "GET") {
            return is_there ? http_answer("200 OK", values[path], "ETag: \"x\"\r\n")
                            : http_answer("404 Not Found");
        }
        if (method == "DELETE") {
            values.erase(path);
            return http_answer("204 No Content");
        }
        if (contains(request, "If-Match:") || (contains(request, "If-None-Match:") && is_there)) {
            return http_answer("412 Precondition Failed");
        }
        values[path] = request.substr(request.find("\r\n\r\n") + 4);
        if (contains(path, "/lease/")) {
            write_file(taken, "");
            while (is_alive(lines_of(read_file(puller)).at(0))) {
                usleep(5000);
            }
        }
        return http_answer("201 Created");
    });
    const ToolResult result = second.tool(
        {"run", "--quiet", "--dir", second.root, "--app", "demo", "--remote", server.url(),
         "--secret-key", keys.secret, "--lease-wait", "300s", "--", "/bin/sh", "-c",
         "echo " + the_puller + " > " + puller + "; " + the_program + " & until [ -e " + taken +
             " ]; do sleep 0.02; done; kill -KILL $!; kill -TERM $PPID; exec sleep 20"});
    EXPECT_EQ(result.exit_status, 128 + SIGTERM);
    EXPECT_EQ(result.err, "");
    const auto lock = server.between_requests();
    for (const auto &[path, value] : values) {
        EXPECT_FALSE(contains(path, "/lease/")) << path;
    }
}

// Whoever took it may have died long ago.
TEST_F(RunRemote, ALeaseOfUnknownAgeIsNotWaitedFor)
{
    ScriptedServer server([](const std::string &request) {
        return contains(request, "/v1/lease/") ? http_answer("200 OK", held_lease)
                                               : http_answer("404 Not Found");
    });
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(contains(
        first.run(4, {"--remote", server.url(), "--public-key", keys.open, "--lease-wait", "40s"}),
        " 0 hits, 4 misses"));
    EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

#endif

// A lease is no lock: its time, or the time that one waits, ends it.
TEST_F(RunRemote, ALeaseEndsByItself)
{
    first.run(4, {"--remote", place->url, "--secret-key", keys.secret, "--lease-wait", "20s"});
    std::string identity;
    for (const auto &entry : std::filesystem::directory_iterator(place->data + "/v1/head/demo")) {
        const std::string name = entry.path().filename();
        identity = name == "recipes" ? identity : name;
    }
    const std::string path = place->data + "/v1/lease/demo/" + identity;
    EXPECT_FALSE(std::filesystem::exists(path)) << "it was not given back";
    std::filesystem::remove_all(place->data + "/v1/head/demo");

    // Held by a machine that died: readers and writers wait so long and no longer.
    std::filesystem::create_directories(place->data + "/v1/lease/demo");
    write_file(path, held_lease);
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::string> options = reader();
    options.insert(options.end(), {"--lease-wait", "700ms"});
    EXPECT_TRUE(contains(second.run(4, options), " 0 hits, 4 misses"));
    const auto waited = std::chrono::steady_clock::now() - start;
    EXPECT_GE(waited, std::chrono::milliseconds(700));
    EXPECT_LE(waited, std::chrono::seconds(10));
    EXPECT_EQ(read_file(path), held_lease);

    // Its time is over, it was taken by a clock that is right again, or it is nonsense: nobody
    // waits.
    for (const auto &[text, minutes] : std::vector<std::pair<std::string, int>>{
             {held_lease, -11},
             {held_lease, 500000},
             {"warmpipe lease v1 0123456789abcdef 999999\n", 0},
             {"x", 0}}) {
        Machine machine;
        write_file(path, text);
        std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() +
                                                   std::chrono::minutes(minutes));
        options.back() = "60s";
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_TRUE(contains(machine.run(4, options), " 0 hits, 4 misses")) << text;
        EXPECT_LE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30)) << text;
    }
    options = writer();
    options.insert(options.end(), {"--lease-wait", "60s"});
    Machine machine;
    EXPECT_TRUE(contains(machine.run(4, options), " 0 hits, 4 misses"));
    EXPECT_FALSE(std::filesystem::exists(path)) << "it was taken over, and given back";
}

// Who cannot write a lease does not wait for one.
TEST_F(RunRemote, ALeaseThatCannotBeWrittenIsNotWaitedFor)
{
    std::filesystem::create_directories(place->data + "/v1");
    std::filesystem::create_symlink("/no/such/folder", place->data + "/v1/lease");
    std::vector<std::string> options = writer();
    options.insert(options.end(), {"--lease-wait", "60s"});
    const auto start = std::chrono::steady_clock::now();
    first.run(4, options);
    EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

} // namespace
