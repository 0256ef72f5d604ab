// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

extern "C" {
#include "common/base/log.h"
}

#include "child.h"
#include "scratch.h"

namespace {

using Lines = std::vector<std::string>;

constexpr size_t longest_line = 2048;

void log_at_every_level()
{
    log_error("e %d", 1);
    log_warn("w %d", 2);
    log_info("i %d", 3);
    log_debug("d %d", 4);
}

TEST(Log, BeforeConfigureWarnAndAbove)
{
    EXPECT_EQ(run_in_child(log_at_every_level).lines(),
              (Lines{"warmpipe: error: e 1", "warmpipe: warn: w 2"}));
}

TEST(Log, EachLevelIncludesTheOnesAbove)
{
    const Lines all = {"warmpipe: error: e 1", "warmpipe: warn: w 2", "warmpipe: info: i 3",
                       "warmpipe: debug: d 4"};
    for (int level = LOG_LEVEL_OFF; level <= LOG_LEVEL_DEBUG; level++) {
        const ChildResult result = run_in_child([level] {
            log_configure(static_cast<enum log_level>(level), nullptr);
            for (int other = LOG_LEVEL_OFF; other <= LOG_LEVEL_DEBUG; other++) {
                EXPECT_EQ(log_enabled(static_cast<enum log_level>(other)),
                          other != LOG_LEVEL_OFF && other <= level);
            }
            log_at_every_level();
        });
        EXPECT_EQ(result.lines(), Lines(all.begin(), all.begin() + level)) << level;
    }
}

TEST(Log, OnlyTheFirstConfigureCounts)
{
    Scratch scratch;
    const ChildResult result = run_in_child([&] {
        log_configure(LOG_LEVEL_ERROR, nullptr);
        log_configure(LOG_LEVEL_DEBUG, scratch.path("log").c_str());
        log_at_every_level();
    });
    EXPECT_EQ(result.lines(), (Lines{"warmpipe: error: e 1"}));
    EXPECT_FALSE(std::filesystem::exists(scratch.path("log")));
}

size_t open_descriptors()
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory)) {
        count++;
    }
    closedir(directory);
    return count;
}

TEST(Log, AppendsToAPrivateFileAndHoldsNoDescriptor)
{
    Scratch scratch;
    for (int run = 0; run < 2; run++) {
        const ChildResult result = run_in_child([&] {
            umask(0);
            const size_t before = open_descriptors();
            log_configure(LOG_LEVEL_INFO, scratch.path("log").c_str());
            log_at_every_level();
            EXPECT_EQ(open_descriptors(), before);
        });
        EXPECT_EQ(result.standard_error, "");
    }
    const std::string once = "warmpipe: error: e 1\nwarmpipe: warn: w 2\nwarmpipe: info: i 3\n";
    EXPECT_EQ(scratch.read("log"), once + once);
    struct stat status;
    ASSERT_EQ(stat(scratch.path("log").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
}

TEST(Log, OffMakesNoFile)
{
    Scratch scratch;
    run_in_child([&] {
        log_configure(LOG_LEVEL_OFF, scratch.path("log").c_str());
        log_at_every_level();
    });
    EXPECT_FALSE(std::filesystem::exists(scratch.path("log")));
}

TEST(Log, FileThatCannotBeOpenedIsToldOnce)
{
    const Scratch scratch;
    const std::string log = scratch.path("none/log");
    const ChildResult result = run_in_child([&] {
        log_configure(LOG_LEVEL_WARN, log.c_str());
        log_at_every_level();
    });
    EXPECT_EQ(result.lines(), (Lines{"warmpipe: error: cannot write log file '" + log +
                                         "': No such file or directory (no_file)",
                                     "warmpipe: error: e 1", "warmpipe: warn: w 2"}));
}

TEST(Log, FileThatCannotBeOpenedIsToldAtOnce)
{
    const Scratch scratch;
    const ChildResult result =
        run_in_child([&] { log_configure(LOG_LEVEL_ERROR, scratch.path("none/log").c_str()); });
    EXPECT_EQ(result.lines().size(), 1u);
}

TEST(Log, FileThatGoesAwayLaterIsToldOnce)
{
    Scratch scratch;
    const std::string directory = scratch.path("d");
    std::filesystem::create_directory(directory);
    const ChildResult result = run_in_child([&] {
        log_configure(LOG_LEVEL_WARN, (directory + "/log").c_str());
        log_error("first");
        std::filesystem::remove_all(directory);
        log_error("second");
        log_error("third");
    });
    EXPECT_EQ(result.lines(), (Lines{"warmpipe: error: cannot write log file '" + directory +
                                         "/log': No such file or directory (no_file)",
                                     "warmpipe: error: second", "warmpipe: error: third"}));
}

TEST(Log, FollowsNoSymbolicLink)
{
    Scratch scratch;
    std::ofstream(scratch.path("victim")) << "precious";
    std::filesystem::create_symlink("victim", scratch.path("log"));
    const ChildResult result = run_in_child([&] {
        log_configure(LOG_LEVEL_WARN, scratch.path("log").c_str());
        log_error("text");
    });
    EXPECT_EQ(scratch.read("victim"), "precious");
    ASSERT_EQ(result.lines().size(), 2u);
    EXPECT_EQ(result.lines()[1], "warmpipe: error: text");
}

TEST(Log, PipeWithoutAReaderStopsNobody)
{
    Scratch scratch;
    ASSERT_EQ(mkfifo(scratch.path("log").c_str(), 0600), 0);
    const ChildResult result = run_in_child([&] {
        log_configure(LOG_LEVEL_WARN, scratch.path("log").c_str());
        log_error("text");
    });
    EXPECT_EQ(result.lines().back(), "warmpipe: error: text");
}

std::string logged(const std::string &text)
{
    const ChildResult result = run_in_child([&] { log_error("%s", text.c_str()); });
    const std::string start = "warmpipe: error: ";
    EXPECT_EQ(result.standard_error.substr(0, start.size()), start);
    EXPECT_EQ(result.lines().size(), 1u);
    EXPECT_EQ(result.standard_error.back(), '\n');
    return result.lines()[0].substr(start.size());
}

TEST(Log, StringsCannotForgeLinesOrSteerTerminals)
{
    EXPECT_EQ(logged("a\nwarmpipe: error: b"), "a\\nwarmpipe: error: b");
    EXPECT_EQ(logged("\t\r\x01\x7f"), "\\t\\x0d\\x01\\x7f");
    EXPECT_EQ(logged("\x1b[31mred"), "\\x1b[31mred");
    EXPECT_EQ(logged("\xc2\x9b"
                     "31m"),
              "\\xc2\\x9b31m");
    EXPECT_EQ(logged("\xe2\x80\xa8|\xe2\x80\xa9"), "\\xe2\\x80\\xa8|\\xe2\\x80\\xa9");
    EXPECT_EQ(logged("\u202e|\u2066"), "\\xe2\\x80\\xae|\\xe2\\x81\\xa6");
    EXPECT_EQ(logged("\xff|\xc3|\xed\xa0\x80"), "\\xff|\\xc3|\\xed\\xa0\\x80");
}

TEST(Log, OrdinaryTextIsKept)
{
    EXPECT_EQ(logged("'/tmp/é/漢字/😀' 100%"), "'/tmp/é/漢字/😀' 100%");
    EXPECT_EQ(logged("\u00a0|\u2027|\u202f"), "\u00a0|\u2027|\u202f");
    EXPECT_EQ(logged(""), "");
}

TEST(Log, CutsLongLinesAndSaysSo)
{
    const std::string mark = " [...]";
    const size_t frame = strlen("warmpipe: error: \n");
    const std::string fits(longest_line - frame - mark.size(), 'x');
    EXPECT_EQ(logged(fits), fits);
    for (const std::string &text :
         {fits + "y", std::string(5000, 'x'), std::string(2000, '\n'), std::string(1 << 20, 'x')}) {
        const std::string line = logged(text);
        EXPECT_LE(line.size() + frame, longest_line);
        ASSERT_GT(line.size(), mark.size());
        EXPECT_EQ(line.substr(line.size() - mark.size()), mark);
    }
}

TEST(Log, NeverCutsACharacterWhenEscapesNeedTheRoom)
{
    std::string text;
    for (int i = 0; i < 300; i++) {
        text += "\n\xe6\xbc\xa2";
    }
    for (int pad = 0; pad < 6; pad++) {
        const std::string line = logged(std::string(static_cast<size_t>(pad) + 600, 'x') + text);
        for (size_t i = 0; i < line.size(); i++) {
            if (line[i] == '\xe6') {
                EXPECT_EQ(line.substr(i, 3), "\xe6\xbc\xa2");
            }
        }
    }
}

TEST(Log, OneWriteForEachLine)
{
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    run_in_child([&] {
        dup2(ends[1], STDERR_FILENO);
        log_error("%s", std::string(5000, 'x').c_str());
        log_warn("second");
    });
    char buffer[8192];
    EXPECT_EQ(recv(ends[0], buffer, sizeof buffer, 0), static_cast<ssize_t>(longest_line));
    EXPECT_EQ(recv(ends[0], buffer, sizeof buffer, 0),
              static_cast<ssize_t>(strlen("warmpipe: warn: second\n")));
    close(ends[0]);
    close(ends[1]);
}

TEST(Log, KeepsErrno)
{
    const Scratch scratch;
    const std::string log = scratch.path("none/log");
    run_in_child([&] {
        log_configure(LOG_LEVEL_WARN, log.c_str());
        close(STDERR_FILENO);
        errno = ERANGE;
        log_error("nowhere to go");
        EXPECT_EQ(errno, ERANGE);
    });
    run_in_child([&] {
        errno = ERANGE;
        log_configure(LOG_LEVEL_WARN, log.c_str());
        EXPECT_EQ(errno, ERANGE);
    });
}

void break_standard_error()
{
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
}

TEST(Log, AClosedPipeDoesNotKillTheProgram)
{
    run_in_child([] {
        break_standard_error();
        signal(SIGPIPE, SIG_DFL);
        log_error("nobody reads this");
        sigset_t pending;
        sigset_t mask;
        EXPECT_EQ(sigpending(&pending), 0);
        EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
        EXPECT_EQ(pthread_sigmask(SIG_SETMASK, nullptr, &mask), 0);
        EXPECT_EQ(sigismember(&mask, SIGPIPE), 0);
    });
}

// Whoever reads it may have stopped, or be gone while others hold its end.
TEST(Log, AFullPipeIsNotWaitedForWithoutEnd)
{
    const ChildResult result = run_in_child([] {
        int ends[2];
        ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
        dup2(ends[1], STDERR_FILENO);
        const std::vector<char> page(4096, 'x');
        while (write(STDERR_FILENO, page.data(), page.size()) > 0) {
        }
        ASSERT_EQ(fcntl(STDERR_FILENO, F_SETFL, 0), 0);
        alarm(60);                       // else it would wait for ever
        for (int i = 0; i < 1000; i++) { // only the first line waits
            log_error("nobody reads this");
        }
        std::vector<char> rest(1 << 20);
        EXPECT_GT(read(ends[0], rest.data(), rest.size()), 4096);
        log_error("read");
        const ssize_t size = read(ends[0], rest.data(), rest.size());
        EXPECT_EQ(std::string(rest.data(), size > 0 ? static_cast<size_t>(size) : 0),
                  "warmpipe: error: read\n");
    });
    EXPECT_EQ(result.status, 0);
}

// A filter of system calls that lets nobody wait for room.
TEST(Log, IsWrittenWhereNothingMayBeWaitedFor)
{
    constexpr int unsupported = 77;
    const ChildResult result = run_in_child([] {
        std::vector<sock_filter> filter = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
        for (const unsigned call : {
                 unsigned(SYS_ppoll),
#ifdef SYS_poll
                 unsigned(SYS_poll),
#endif
             }) {
            filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
            filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
        }
        filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
        const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
        ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) {
            _exit(unsupported);
        }
        log_error("told");
    });
    if (WIFEXITED(result.status) && WEXITSTATUS(result.status) == unsupported) {
        GTEST_SKIP() << "no filters of system calls here (qemu-user)";
    }
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.lines(), Lines{"warmpipe: error: told"});
}

// Standard error, and a log file, at the limit of RLIMIT_FSIZE: SIGXFSZ would end the program.
TEST(Log, AFileSizeLimitDoesNotKillTheProgram)
{
    Scratch scratch;
    const ChildResult result = run_in_child([&] {
        const int fd = open(scratch.path("errors").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ASSERT_GE(fd, 0);
        ASSERT_EQ(dup2(fd, STDERR_FILENO), STDERR_FILENO);
        const struct rlimit limit = {0, 0};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        signal(SIGXFSZ, SIG_DFL);
        log_error("to standard error");
        log_configure(LOG_LEVEL_WARN, scratch.path("log").c_str());
        log_error("to the file");
        sigset_t pending;
        EXPECT_EQ(sigpending(&pending), 0);
        EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
    });
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(scratch.read("errors"), "");
}

TEST(Log, ALineThatDoesNotFitIsTakenBack)
{
    Scratch scratch;
    run_in_child([&] {
        log_configure(LOG_LEVEL_WARN, scratch.path("log").c_str());
        log_error("fits");
        const struct rlimit limit = {50, RLIM_INFINITY};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        log_error("half of this lies beyond the limit");
    });
    EXPECT_EQ(scratch.read("log"), "warmpipe: error: fits\n");
}

TEST(Log, ASignalThatWasPendingBeforeStaysPending)
{
    run_in_child([] {
        break_standard_error();
        sigset_t sigpipe;
        sigemptyset(&sigpipe);
        sigaddset(&sigpipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &sigpipe, nullptr);
        raise(SIGPIPE);
        log_error("nobody reads this");
        sigset_t pending;
        EXPECT_EQ(sigpending(&pending), 0);
        EXPECT_EQ(sigismember(&pending, SIGPIPE), 1);
    });
}

TEST(Log, ThreadsDoNotMixLines)
{
    Scratch scratch;
    run_in_child([&] {
        log_configure(LOG_LEVEL_WARN, scratch.path("log").c_str());
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; i++) {
            threads.emplace_back([i] {
                for (int j = 0; j < 100; j++) {
                    log_warn("%s", std::string(500, static_cast<char>('a' + i)).c_str());
                }
            });
        }
        for (std::thread &thread : threads) {
            thread.join();
        }
    });
    std::ifstream file(scratch.path("log"));
    size_t count = 0;
    for (std::string line; std::getline(file, line); count++) {
        ASSERT_EQ(line, "warmpipe: warn: " + std::string(500, line.back()));
    }
    EXPECT_EQ(count, 800u);
}

} // namespace
