// SPDX-License-Identifier: Apache-2.0
// Pulls that take longer than a program waits, and pushes longer than who has asked for the end.
#include <climits>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fleet.h"
#include "scripted_servers.h"

#ifdef WARMPIPE_HAVE_CURL

namespace {

class Ends : public testing::Test {
  protected:
    Keys keys;
    Machine first;
    Machine second;
    std::unique_ptr<Place> place = file_place();

    // What lies at the place, once the test has let the request pass; written just now.
    std::string serve(const std::string &request)
    {
        const std::string now = ": Thu, 01 Jan 2026 00:00:00 GMT\r\n";
        const std::string path = request.substr(4, request.find(' ', 4) - 4);
        const std::string file = place->data + path;
        return request.substr(0, 4) == "GET " && std::filesystem::is_regular_file(file)
                   ? http_answer("200 OK", read_file(file),
                                 "ETag: \"x\"\r\nDate" + now + "Last-Modified" + now)
                   : http_answer("404 Not Found");
    }

    // first has compiled and pushed four pipelines.
    void share()
    {
        first.run(4, {"--remote", place->url, "--secret-key", keys.secret});
    }

    ToolResult run(const std::string &url, std::vector<std::string> options,
                   const std::string &script)
    {
        std::vector<std::string> words = {"run",      "--dir", second.root,    "--app",  "demo",
                                          "--remote", url,     "--public-key", keys.open};
        words.insert(words.end(), options.begin(), options.end());
        words.insert(words.end(), {"--", "/bin/sh", "-c", script});
        return second.tool(words);
    }

    // Whoever is asked to end while the remote says nothing does so in a few seconds, not in the
    // thirty of a push or a stall. What the tool says is `status`. A program of `run` makes the
    // file ready as soon as it may be asked.
    void end(std::vector<std::string> words, const std::string &scheme, int status)
    {
        Machine machine;
        machine.run(2);
        int port;
        const int silent = listen_somewhere(&port);
        const std::string pid = machine.folder.path + "/pid";
        const std::string ready = machine.folder.path + "/ready";
        std::string command = "cd " + machine.folder.path + "; echo $$ > pid; exec " WARMPIPE_TOOL;
        words.insert(words.begin() + 1,
                     {"--dir", machine.root, "--app", "demo", "--secret-key", keys.secret,
                      "--remote", scheme + "://localhost:" + std::to_string(port)});
        for (const std::string &word : words) {
            command += " '" + word + "'";
        }
        ToolResult result;
        const auto run_tool = [&] {
            result = run_program({"/bin/sh", "-c", command}, machine.environment());
        };
        std::thread tool(run_tool);
        const int connection = accept4(silent, nullptr, nullptr, SOCK_CLOEXEC);
        // A server that may want a name is greeted while the program runs, which is asked as well.
        while (words[0] == "run" && !std::filesystem::exists(ready)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        const auto start = std::chrono::steady_clock::now();
        kill(std::stoi(read_file(pid)), SIGTERM);
        tool.join();
        EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(20))
            << words[0] << " " << scheme;
        EXPECT_EQ(result.exit_status, status) << words[0] << " " << scheme << ": " << result.err;
        close(connection);
        close(silent);
    }
};

TEST_F(Ends, WhoAsksForItDoesNotWaitForARemote)
{
    std::vector<std::thread> threads;
    std::vector<std::string> schemes = {"http"};
#ifdef WARMPIPE_HAVE_HIREDIS
    schemes.push_back("redis");
#endif
    for (const std::string &scheme : schemes) {
        threads.emplace_back([=] {
            end({"run", "--", "/bin/sh", "-c", "trap : TERM; : > ready; exit 7"}, scheme, 7);
        });
        threads.emplace_back([=] { end({"sync"}, scheme, 1); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
}

// The kernel may take long to end the process beside the program: who has done its work is not
// waited for, and keeps nobody who reads what the tool says.
TEST_F(Ends, TheEndOfWhoPullsIsNotWaitedFor)
{
    share();
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "a library before the sanitizer's";
#endif
    second.more["LD_PRELOAD"] = LATE_END;
    EXPECT_TRUE(contains(
        second.run(4, {"--remote", place->url, "--public-key", keys.open, "--remote-wait", "1h"}),
        " 4 hits, 0 misses"));
}

// Nor does it hold what it was handed: a lock of the caller's is free again.
TEST_F(Ends, WhoPullsHoldsNoLockOfTheCallers)
{
    share();
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "a library before the sanitizer's";
#endif
    const std::string path = second.folder.path + "/lock";
    second.more["LD_PRELOAD"] = LATE_END;
    for (const bool is_old : {false, true}) {
        if (is_old) {
            second.more["NO_CLOSE_RANGE"] = "1";
        }
        const int lock = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        ASSERT_EQ(flock(lock, LOCK_EX), 0);
        const int handed_on = dup(lock); // without O_CLOEXEC
        second.run(4, {"--remote", place->url, "--public-key", keys.open, "--remote-wait", "1h"});
        close(handed_on);
        close(lock);
        const int other = open(path.c_str(), O_RDWR | O_CLOEXEC);
        EXPECT_EQ(flock(other, LOCK_EX | LOCK_NB), 0) << strerror(errno) << is_old;
        close(other);
    }
}

// A remote that says nothing at all does not get the half minute of a push: neither one that a pull
// of this run has found so, nor one that nobody has asked yet.
TEST_F(Ends, APushToASilentRemoteIsShort)
{
    first.run(2);
    auto end = [&](const std::string &scheme, const std::string &program) {
        int port;
        const int silent = listen_somewhere(&port);
        const auto start = std::chrono::steady_clock::now();
        const ToolResult result =
            first.tool({"run", "--quiet", "--dir", first.root, "--app", "demo", "--secret-key",
                        keys.secret, "--remote", scheme + "://localhost:" + std::to_string(port),
                        "--remote-wait", "200ms", "--", "/bin/sh", "-c", program + "; exit 3"});
        EXPECT_EQ(result.exit_status, 3) << result.err;
        EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
        EXPECT_TRUE(contains(result.err, "(remote_timeout)")) << result.err;
        EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(15)) << scheme;
        close(silent);
    };
    std::thread asked([&] { end("http", std::string(PIPELINES_CLIENT) + " --compute 2"); });
#ifdef WARMPIPE_HAVE_HIREDIS
    std::thread other([&] { end("redis", ":"); });
    other.join();
#endif
    end("http", ":");
    asked.join();
}

// Who sends an answer slowly is not silent.
TEST_F(Ends, APushToASlowRemoteIsNotCut)
{
    share();
    int port;
    const int listener = listen_somewhere(&port);
    std::thread server([&] {
        for (int fd; (fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; close(fd)) {
            char buffer[4096];
            const ssize_t size = read(fd, buffer, sizeof buffer);
            const std::string answer = serve(std::string(buffer, size > 0 ? size_t(size) : 0));
            for (size_t at = 0; at < answer.size(); at += answer.size() / 8 + 1) {
                send(fd, answer.data() + at, std::min(answer.size() / 8 + 1, answer.size() - at),
                     MSG_NOSIGNAL);
                std::this_thread::sleep_for(std::chrono::milliseconds(800));
            }
        }
    });
    const ToolResult result = first.tool(
        {"run", "--quiet", "--dir", first.root, "--app", "demo", "--secret-key", keys.secret,
         "--remote", "http://localhost:" + std::to_string(port), "--", "/bin/sh", "-c", ":"});
    EXPECT_FALSE(contains(result.err, "(remote_timeout)")) << result.err;
    shutdown(listener, SHUT_RDWR);
    server.join();
    close(listener);
}

// The program is asked to end first, and does: what follows is part of the same end.
TEST_F(Ends, APushAfterTheEndThatWasAskedForIsAsShort)
{
    first.run(2);
    int port;
    const int silent = listen_somewhere(&port);
    const auto start = std::chrono::steady_clock::now();
    const ToolResult result =
        first.tool({"run", "--dir", first.root, "--app", "demo", "--secret-key", keys.secret,
                    "--remote", "http://localhost:" + std::to_string(port), "--", "/bin/sh", "-c",
                    "trap 'exit 3' TERM; kill -TERM $PPID; while :; do sleep 0.02; done"});
    EXPECT_EQ(result.exit_status, 3) << result.err;
    EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
    close(silent);
}

// The program went on without the cache, which then lies beside its own for the next save.
TEST_F(Ends, APullGoesOnBehindAProgramThatDidNotWait)
{
    share();
    const std::string went_on = second.folder.path + "/went on";
    int asked = 0;
    ScriptedServer server([&](const std::string &request) {
        while (contains(request, "GET /v1/obj/") && asked++ == 0 &&
               !std::filesystem::exists(went_on)) {
            asked = 0;
            usleep(10000);
        }
        return serve(request);
    });
    const ToolResult result =
        run(server.url(), {"--remote-wait", "1s"}, // a busy machine takes some of it to start
            PIPELINES_CLIENT " --graphics 0 --compute 2; touch '" + went_on +
                "'; for i in $(seq 600); do ls " + second.root +
                "/demo/*.part && exit 0; sleep 0.05; done 2>/dev/null; exit 1");
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(contains(result.err, " 0 hits, 2 misses")) << result.err;
    EXPECT_TRUE(contains(result.err, "(remote_timeout)")) << result.err;
}

// Nor do a pull that nobody needs any more, or a server that wants to be asked later.
TEST_F(Ends, WhoAsksForItWaitsForNoPull)
{
    const std::string program =
        "trap \"exit 7\" TERM; : > ready; " PIPELINES_CLIENT " --graphics 0 --compute 2;"
        "while :; do sleep 0.02; done";
    end({"run", "--remote-wait", "60s", "--", "/bin/sh", "-c", program}, "http", 7);
}

TEST_F(Ends, WhoAsksForItDoesNotComeBackLater)
{
    first.run(2);
    const std::string pid = first.folder.path + "/pid";
    std::once_flag once;
    std::thread killer;
    ScriptedServer server([&](const std::string &) {
        std::call_once(once, [&] {
            killer = std::thread([&] {
                sleep(1); // by then it waits
                kill(std::stoi(read_file(pid)), SIGTERM);
            });
        });
        return http_answer("503 Service Unavailable", "", "Retry-After: 9\r\n");
    });
    const auto start = std::chrono::steady_clock::now();
    const ToolResult result = run_program(
        {"/bin/sh", "-c", "echo $$ > \"$0\"; exec \"$@\"", pid, WARMPIPE_TOOL, "sync", "--dir",
         first.root, "--app", "demo", "--secret-key", keys.secret, "--remote", server.url()},
        first.environment());
    killer.join();
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_busy)")) << result.err;
    EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
}

// Nor does a name of which the name server says nothing.
TEST_F(Ends, WhoAsksForItWaitsForNoName)
{
    first.run(2);
    const std::string server = "import os, signal, socket, sys, time\n"
                               "names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                               "names.bind(('127.0.0.1', 53))\n"
                               "if not os.fork():\n"
                               "    names.recv(512)\n"
                               "    time.sleep(0.5)\n" // the name is asked for, and waited for
                               "    os.kill(os.getppid(), signal.SIGTERM)\n"
                               "    os._exit(0)\n"
                               "os.execv(sys.argv[1], sys.argv[1:])\n";
    const std::string configuration = first.folder.path + "/resolv.conf";
    write_file(configuration, "nameserver 127.0.0.1\noptions timeout:15 attempts:2\n");
    // libldap, which comes with libcurl, asks for the machine's own name when it is loaded.
    char own[HOST_NAME_MAX + 1] = "";
    ASSERT_EQ(gethostname(own, sizeof own), 0);
    const std::string hosts = first.folder.path + "/hosts";
    write_file(hosts, std::string("127.0.0.1 localhost ") + own + "\n");
    std::vector<std::string> schemes = {"http"};
#ifdef WARMPIPE_HAVE_HIREDIS
    schemes.push_back("redis");
#endif
    const std::string names = "mount --bind \"$0\" /etc/resolv.conf && "
                              "mount --bind \"$1\" /etc/hosts && ip link set lo up || exit 77;"
                              "shift; exec \"$@\"";
    for (const std::string &scheme : schemes) {
        const auto start = std::chrono::steady_clock::now();
        std::vector<std::string> words = {"/usr/bin/unshare", "-rmn", "/bin/sh", "-c", names};
        words.insert(words.end(), {configuration, hosts, "/usr/bin/python3", "-c", server});
        words.insert(words.end(), {WARMPIPE_TOOL, "sync", "--dir", first.root, "--app", "demo"});
        words.insert(words.end(), {"--secret-key", keys.secret});
        words.insert(words.end(), {"--remote", scheme + "://nowhere.example"});
        const ToolResult result = run_program(words, first.environment());
        if (result.exit_status == 77 || contains(result.err, "unshare")) {
            GTEST_SKIP() << result.err;
        }
        EXPECT_EQ(result.exit_status, 1) << result.err;
        EXPECT_TRUE(contains(result.err, "(remote_timeout)")) << result.err;
        EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(12)) << scheme;
    }
}

// A question of which another run was asked before waits for that alone, whatever else is asked.
TEST_F(Ends, AQuestionThatWaitsIsNotForgottenForAnother)
{
    const std::string folder = second.root + "/demo/";
    const std::string served = folder + "asked.0123456789abcdef.tmp";
    second.run(1);
    write_file(served, "");
    const int fd = open(served.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(flock(fd, LOCK_EX), 0);
    for (int i = 1; i <= 6; i++) {
        write_file(folder + std::string(32, static_cast<char>('0' + i)) + ".0123456789abcdef.asked",
                   "");
    }
    const ToolResult result =
        run(place->url, {"--remote-wait", "1s"},
            R"(token=${WARMPIPE_ASK#*:}; token=${token%%:*}; cd "${WARMPIPE_ASK#*:*:}" || exit 3
               answered() { n=0
                            while [ -e "$1" ]; do sleep 0.02; n=$((n + 1)); [ $n -lt 500 ] || exit 4
                            done; }
               for i in 1 2 3 4 5 6; do
                   late=$i$i$i$i$i$i$i$i; late=$late$late$late$late.$token.asked
                   other=${i}aaaaaaa; other=$other$other$other$other.$token.asked
                   : > $late; sleep 0.1; [ -e $late ] || exit 5
                   : > $other; answered $other; answered $late
               done)");
    EXPECT_EQ(result.exit_status, 0) << result.err;
    close(fd);
}

// Of two runs in one folder that want the same at once, one pulls it.
TEST_F(Ends, OneRunPullsForAllOfAFolder)
{
    share();
    const std::string cache = second.root + "/demo/";
    std::atomic<int> objects = 0;
    ScriptedServer server([&](const std::string &request) {
        if (contains(request, "GET /v1/obj/") && objects++ == 0) {
            auto asked = [&] {
                int count = 0;
                for (const auto &entry : std::filesystem::directory_iterator(cache)) {
                    count += entry.path().extension() == ".asked";
                }
                return count;
            };
            while (asked() < 2) {
                usleep(1000);
            }
        }
        return serve(request);
    });
    std::vector<std::thread> threads;
    std::vector<std::string> ends(2);
    for (std::string &end : ends) {
        threads.emplace_back([&] {
            end = run(server.url(), {"--remote-wait", "60s"},
                      PIPELINES_CLIENT " --graphics 0 --compute 4")
                      .err;
        });
        // Two that ask within one tick of the kernel's clock may both pull.
        while (objects < 1) {
            usleep(1000);
        }
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const std::string &end : ends) {
        EXPECT_TRUE(contains(end, " 4 hits, 0 misses")) << end;
    }
    EXPECT_EQ(objects, 1);
    EXPECT_EQ(second.caches().size(), 1u);
}

// Who waits for another's lease has that time for the pull, too.
TEST_F(Ends, ALeaseWaitsForALongPull)
{
    share();
    std::string identity;
    for (const auto &entry : std::filesystem::directory_iterator(place->data + "/v1/head/demo")) {
        const std::string name = entry.path().filename();
        identity = name == "recipes" ? identity : name;
    }
    const std::string head = place->data + "/v1/head/demo/" + identity;
    const std::string later = first.folder.path + "/later";
    std::filesystem::rename(head, later);
    std::filesystem::remove(place->data + "/v1/head/demo/recipes");
    std::filesystem::create_directories(place->data + "/v1/lease/demo");
    write_file(place->data + "/v1/lease/demo/" + identity,
               "warmpipe lease v1 0123456789abcdef 600\n");
    ScriptedServer server([&](const std::string &request) {
        if (contains(request, "GET /v1/lease/") && std::filesystem::exists(later)) {
            const std::string answer = serve(request);
            std::filesystem::rename(later, head); // its holder has pushed meanwhile
            return answer;
        }
        if (contains(request, "GET /v1/obj/")) {
            sleep(3); // longer than one look at a lease
        }
        return serve(request);
    });
    const ToolResult result = run(server.url(), {"--remote-wait", "20s", "--lease-wait", "100s"},
                                  PIPELINES_CLIENT " --graphics 0 --compute 4");
    EXPECT_TRUE(contains(result.err, " 4 hits, 0 misses")) << result.err;
}

} // namespace

#endif
