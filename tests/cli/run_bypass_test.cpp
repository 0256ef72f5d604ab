// SPDX-License-Identifier: Apache-2.0
// What `warmpipe run` says of programs that bypass the loader, and that whoever watches them is in
// nobody's way.
#include "paths.h"
#include "tool.h"

#include <csignal>

namespace {

// Nobody watches there (LeavesNoZombieInAContainerThatReapsNobody).
bool first_process_reaps_nobody()
{
    unsigned long minded = 0;
    bool has_threads = false;
    for (const std::string &line : lines_of(read_file("/proc/1/status"))) {
        has_threads |= line.rfind("Threads:", 0) == 0 && line != "Threads:\t1";
        for (const char *name : {"SigBlk:", "SigIgn:", "SigCgt:"}) {
            minded |= line.rfind(name, 0) == 0 ? std::stoul(line.substr(7), nullptr, 16) : 0;
        }
    }
    return has_threads || (minded >> (SIGCHLD - 1) & 1) == 0;
}

// In a container of its own, whose first process is a shell, where the one here reaps nobody.
ToolResult run_where_ends_are_seen(std::vector<std::string> words, const std::string &directory)
{
    if (first_process_reaps_nobody()) {
        words.insert(words.begin(), {"/usr/bin/unshare", "--fork", "--pid", "--mount-proc",
                                     "/bin/bash", "-c", "\"$@\"; exit $?", "bash"});
    }
    return run_program(words, {{"tool", WARMPIPE_TOOL}}, directory);
}

// Why no program here can be seen to bypass the loader; "": it can.
std::string reason_to_skip()
{
#ifdef WARMPIPE_SANITIZED
    return "a plain program cannot load a library that needs a sanitizer's runtime";
#else
    return run_where_ends_are_seen({"/bin/true"}, ".").exit_status == 0
               ? ""
               : "the first process reaps nobody, and there are no namespaces here";
#endif
}

// A library that has the name of a driver's.
std::string driver_in(const TemporaryFolder &folder)
{
    const std::string driver = folder.path + "/libvulkan_test.so";
    std::filesystem::copy_file(TEST_ICD_LIBRARY, driver);
    return driver;
}

// The loader opens the drivers when a program asks for their extensions, as GLFW and SDL do at the
// start, and keeps them open until there is an instance: with it comes the layer.
TEST(Run, DoesNotTellOfAProgramThatHasTheLoaderAndNoInstanceYet)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "a plain program cannot load a library that needs a sanitizer's runtime";
#endif
    TemporaryFolder folder;
    const std::string driver = driver_in(folder);
    const std::string loader = folder.path + "/libvulkan.so.1";
    std::filesystem::copy_file(TEST_ICD_LIBRARY, loader); // its name is looked at alone
    const ToolResult result =
        run_shell("$tool run -- env 'LD_PRELOAD=" + driver + ":" + loader + "' sleep 5",
                  folder.path); // looked at after 1, 2 and 4 seconds
    EXPECT_EQ(result.exit_status, 0);
    EXPECT_EQ(result.err, "");
}

// The program has a driver's library, and ends once it has been told of; the watcher is not its
// child.
TEST(Run, TellsOfAProgramThatBypassesTheLoader)
{
    if (const std::string reason = reason_to_skip(); !reason.empty()) {
        GTEST_SKIP() << reason;
    }
    TemporaryFolder folder;
    const std::string driver = driver_in(folder);
    write_file(folder.path + "/program", R"(
        children=none
        [ ! -e /proc/$$/task/$$/children ] || read -r children </proc/$$/task/$$/children
        until grep -q "has loaded libvulkan_test.so without the layer" messages; do sleep 0.1; done
        [ -z "$children" ] || [ "$children" = none ])");
    const ToolResult result = run_where_ends_are_seen(
        {"/bin/sh", "-c",
         "timeout 60 $tool run -- env LD_PRELOAD=" + driver + " sh program 2>messages; echo $?"},
        folder.path);
    EXPECT_EQ(result.out, "0\n") << read_file(folder.path + "/messages");
    EXPECT_EQ(lines_of(read_file(folder.path + "/messages")).size(), 1u);
}

// What waits for any child must not wait for one of ours.
TEST(Run, LeavesNoChildToTheFirstProcessOfAContainer)
{
    const std::vector<std::string> container = {"/usr/bin/unshare", "--fork", "--pid",
                                                "--mount-proc"};
    std::vector<std::string> words = container;
    words.push_back("/bin/true");
    if (run_program(words).exit_status != 0) {
        GTEST_SKIP() << "no namespaces here";
    }
    words = container;
    const std::string children = "/proc/1/task/1/children";
    if (!std::filesystem::exists(children)) {
        GTEST_SKIP() << "the kernel tells no children";
    }
    words.insert(words.end(), {WARMPIPE_TOOL, "run", "--", "/bin/sh", "-c",
                               "read -r found <" + children + "; echo \"$$:$found\""});
    EXPECT_EQ(run_program(words).out, "1:\n");
}

// Its first process only sleeps, and others are entered from outside; or it has threads, and waits
// for what it has started itself.
TEST(Run, LeavesNoZombieInAContainerThatReapsNobody)
{
    TemporaryFolder folder;
    write_file(folder.path + "/sleeps", "import time; open('ready', 'w'); time.sleep(600)");
    write_file(folder.path + "/has_threads",
               "import signal, threading, time\n"
               "signal.signal(signal.SIGCHLD, lambda *of_a_child: None)\n"
               "threading.Thread(target=time.sleep, args=(600,)).start()\n"
               "open('ready', 'w')\n"
               "while True: time.sleep(600)\n");
    write_file(folder.path + "/enter", R"sh(
        unshare --fork --pid --mount-proc python3 "$1" &
        until [ -n "$first" ] && [ -e ready ]; do
            kill -0 $! 2>/dev/null || exit 77
            read -r first <"/proc/$!/task/$!/children"
        done
        nsenter --target "$first" --pid --mount sh -c '
            for i in 1 2 3 4 5 6 7 8 9 10; do $tool run -- true; done
            grep -l "^State:.Z" /proc/[0-9]*/status | wc -l'
        kill -9 "$first"; rm ready)sh");
    for (const std::string first : {"sleeps", "has_threads"}) {
        const ToolResult result =
            run_shell("timeout 60 sh enter " + first + " 2>messages", folder.path);
        if (result.exit_status == 77) {
            GTEST_SKIP() << "no namespaces here";
        }
        EXPECT_EQ(result.out, "0\n") << first << read_file(folder.path + "/messages");
    }
}

// As ncnn does where VK_DRIVER_FILES is set.
TEST(Run, SaysThatAProgramOpensTheDriverItself)
{
    if (const std::string reason = reason_to_skip(); !reason.empty()) {
        GTEST_SKIP() << reason;
    }
    TemporaryFolder folder;
    const std::string driver = driver_in(folder);
    const std::string errors = folder.path + "/errors";
    const std::string script = "import ctypes, time\nctypes.CDLL('" + driver +
                               "')\nfor i in range(600):\n"
                               "    if 'without the layer' in open('" +
                               errors + "').read(): break\n    time.sleep(0.1)\n";
    const ToolResult result =
        run_where_ends_are_seen({"/bin/sh", "-c", "exec \"$0\" run -- python3 -c \"$1\" 2>\"$2\"",
                                 WARMPIPE_TOOL, script, errors},
                                ".");
    EXPECT_EQ(result.exit_status, 0);
    std::ifstream stream(errors);
    const std::string told{std::istreambuf_iterator<char>(stream), {}};
    EXPECT_TRUE(contains(told, "libvulkan_test.so without the layer")) << told;
}

} // namespace
