// SPDX-License-Identifier: Apache-2.0
// Loading markers: who died of what, and what is made of it.
#include <sys/file.h>
#include <sys/resource.h>

#include "child.h"
#include "faults.h"
#include "marker_fixture.h"

namespace {

TEST_F(Markers, StandWhileTheirProcessLoads)
{
    {
        Found found(*this);
        EXPECT_EQ(found.folder.fd, -1);
        EXPECT_EQ(found.judge(), MARKER_CLEAR);
        const auto marker = found.take();
        const int fd = marker->guard.file.fd;
        EXPECT_EQ(names().size(), 1u);
        EXPECT_GE(fcntl(fd, F_GETFD), FD_CLOEXEC);
        EXPECT_EQ(judge(), MARKER_CLEAR) << "it is alive";
        marker_drop(marker.get(), folder_path().c_str(), true);
        EXPECT_EQ(fcntl(fd, F_GETFD), -1);
    }
    EXPECT_TRUE(names().empty());
    EXPECT_EQ(judge(), MARKER_CLEAR);
}

TEST_F(Markers, OfTheLivingSayNothing)
{
    std::unique_ptr<Holder> holders[] = {loading(), loading(), loading()};
    EXPECT_EQ(names().size(), 3u);
    EXPECT_EQ(judge(), MARKER_CLEAR);
    EXPECT_EQ(names().size(), 3u);
}

TEST_F(Markers, OfADeadProcessSkipTheBlobForOneStart)
{
    die_loading();
    EXPECT_EQ(judge(), MARKER_FAILED_ONCE);
    EXPECT_EQ(names(), std::vector<std::string>{"aaaaaaaaaaaaaaaa.strike"});
    EXPECT_EQ(judge(), MARKER_CLEAR);
}

TEST_F(Markers, OfASecondDeathInARowCondemn)
{
    die_loading();
    EXPECT_EQ(judge(), MARKER_FAILED_ONCE);
    die_loading();
    for (int i = 0; i < 2; i++) {
        Found found(*this);
        EXPECT_EQ(found.judge(), MARKER_BLOCKED) << "until it is forgotten";
        EXPECT_EQ(found.history.first.generation, generation);
        EXPECT_EQ(found.history.second.generation, generation);
        EXPECT_EQ(found.history.second.failure, found.history.first.id);
        EXPECT_STREQ(found.history.second.program, "unit_tests");
        EXPECT_NE(found.history.first.process, found.history.second.process);
    }
    Found found(*this);
    marker_forget(&found.folder, generation);
    EXPECT_TRUE(names().empty());
}

TEST_F(Markers, OfASurvivedLoadTakeTheStrikeBack)
{
    for (int i = 0; i < 3; i++) {
        die_loading();
        ASSERT_EQ(judge(), MARKER_FAILED_ONCE) << i;
        survive_loading();
        ASSERT_TRUE(names().empty()) << i;
    }
    EXPECT_EQ(judge(), MARKER_CLEAR);
}

TEST_F(Markers, OfALoadThatNeverWasLeaveTheStrike)
{
    die_loading();
    ASSERT_EQ(judge(), MARKER_FAILED_ONCE);
    {
        Found found(*this);
        ASSERT_EQ(found.judge(), MARKER_CLEAR);
        const auto marker = found.take();
        marker_drop(marker.get(), folder_path().c_str(), false);
    }
    EXPECT_EQ(names(), std::vector<std::string>{"aaaaaaaaaaaaaaaa.strike"});
    die_loading();
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

TEST_F(Markers, OfManyThatDieAtOnceAreOneStrike)
{
    {
        std::vector<std::unique_ptr<Holder>> holders;
        for (int i = 0; i < 8; i++) {
            holders.push_back(loading());
        }
    }
    EXPECT_EQ(names().size(), 8u);
    EXPECT_EQ(judge(), MARKER_FAILED_ONCE);
    EXPECT_EQ(names().size(), 1u);
    EXPECT_EQ(judge(), MARKER_CLEAR);
}

TEST_F(Markers, OfOneThatBeganBeforeTheStrikeAreNoSecond)
{
    std::unique_ptr<Holder> early = loading();
    die_loading();
    EXPECT_EQ(judge(), MARKER_FAILED_ONCE);
    early->end();
    EXPECT_EQ(judge(), MARKER_FAILED_ONCE) << "skipped again, not condemned";
    EXPECT_EQ(names(), std::vector<std::string>{"aaaaaaaaaaaaaaaa.strike"});
}

TEST_F(Markers, OfAnEarlierRowAreNoSecond)
{
    die_loading();
    ASSERT_EQ(judge(), MARKER_FAILED_ONCE);
    std::unique_ptr<Holder> early = loading(); // knows the first row's strike
    survive_loading();
    die_loading();
    ASSERT_EQ(judge(), MARKER_FAILED_ONCE); // the second row's
    early->end();
    EXPECT_EQ(judge(), MARKER_FAILED_ONCE);
}

TEST_F(Markers, CountForTheirGenerationAlone)
{
    die_loading(other_generation);
    EXPECT_EQ(judge(), MARKER_CLEAR);
    EXPECT_EQ(judge(other_generation), MARKER_FAILED_ONCE);
    die_loading();
    EXPECT_EQ(judge(other_generation), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_FAILED_ONCE);
}

TEST_F(Markers, FoundByManyAtOnceAreOneStrike)
{
    {
        std::vector<std::unique_ptr<Holder>> holders;
        for (int i = 0; i < 8; i++) {
            holders.push_back(loading());
        }
    }
    int start[2];
    int verdicts[2];
    ASSERT_EQ(pipe(start), 0);
    ASSERT_EQ(pipe(verdicts), 0);
    for (int i = 0; i < 8; i++) {
        if (fork() == 0) {
            close(start[1]);
            char nothing;
            ssize_t count = ::read(start[0], &nothing, 1); // until the other end is closed
            char verdict = static_cast<char>('0' + judge());
            _exit(count == 0 && ::write(verdicts[1], &verdict, 1) == 1 ? 0 : 1);
        }
    }
    close(start[0]);
    close(start[1]);
    for (int i = 0; i < 8; i++) {
        int status = 0;
        ASSERT_GT(wait(&status), 0);
        EXPECT_EQ(status, 0);
        char verdict = 0;
        ASSERT_EQ(::read(verdicts[0], &verdict, 1), 1);
        EXPECT_NE(verdict, '0' + MARKER_BLOCKED);
    }
    close(verdicts[0]);
    close(verdicts[1]);
    EXPECT_EQ(judge(), MARKER_CLEAR);
    EXPECT_EQ(names(), std::vector<std::string>{"aaaaaaaaaaaaaaaa.strike"});
}

TEST_F(Markers, AreSweptWhereTheirGenerationIsNoMore)
{
    die_loading();
    die_loading(other_generation);
    EXPECT_EQ(judge(other_generation), MARKER_FAILED_ONCE);
    die_loading(other_generation);
    std::unique_ptr<Holder> alive = loading(other_generation);
    ASSERT_EQ(names().size(), 4u);
    Found found(*this);
    marker_sweep(&found.folder, &generation, 1);
    EXPECT_EQ(names().size(), 2u) << "that of the first death, and that of the living";
    alive.reset();
    EXPECT_EQ(judge(), MARKER_FAILED_ONCE);
}

TEST_F(Markers, ThatWereNeverArmedAreRemoved)
{
    std::filesystem::create_directory(folder_path());
    write_file(folder_path() + "/0123456789abcdef", "");
    write_file(folder_path() + "/1123456789abcdef", std::string(MARKER_RECORD_SIZE, '\0'));
    // Another's name: somebody has copied it.
    write_file(folder_path() + "/2123456789abcdef", encode(marker_record_of(1, generation, 0)));
    write_file(folder_path() + "/unrelated", "");
    EXPECT_EQ(judge(), MARKER_CLEAR);
    EXPECT_EQ(names(), std::vector<std::string>{"unrelated"});
}

TEST_F(Markers, ThatAreNoFilesSayNothing)
{
    std::filesystem::create_directory(folder_path());
    std::filesystem::create_directory(folder_path() + "/0123456789abcdef");
    std::filesystem::create_symlink("/etc/passwd", folder_path() + "/1123456789abcdef");
    ASSERT_EQ(mkfifo((folder_path() + "/2123456789abcdef").c_str(), 0600), 0);
    std::filesystem::create_symlink("/etc/passwd", folder_path() + "/aaaaaaaaaaaaaaaa.strike");
    EXPECT_EQ(judge(), MARKER_CLEAR);
}

TEST_F(Markers, CannotBeSetInWhatIsNoFolder)
{
    write_file(folder_path(), "a file");
    Found found(*this);
    EXPECT_EQ(found.judge(), MARKER_CLEAR);
    marker marker = {};
    EXPECT_FALSE(marker_take(&found.folder, generation, &found.history, false, &marker));
}

TEST_F(Markers, CloseNoDescriptorThatIsAnotherFilesByNow)
{
    Found found(*this);
    const auto marker = found.take();
    const int number = marker->guard.file.fd;
    close(number); // as daemons do
    write_file(scratch.path("file"), "");
    int fd = open(scratch.path("file").c_str(), O_RDONLY);
    ASSERT_EQ(dup2(fd, number), number);
    marker_drop(marker.get(), folder_path().c_str(), true);
    EXPECT_NE(fcntl(number, F_GETFD), -1);
    EXPECT_TRUE(names().empty());
    close(number);
    if (fd != number) {
        close(fd);
    }
}

// Who dies, and where.

TEST_F(Markers, AreAboutWhatTheirProcessHasSavedAsWell)
{
    EXPECT_EQ(live({{pipeline}, {another}, CRASH_INSIDE, other_generation}), MARKER_CLEAR);
    EXPECT_EQ(judge(other_generation), MARKER_FAILED_ONCE);
    EXPECT_EQ(names(), std::vector<std::string>{"bbbbbbbbbbbbbbbb.strike"});
    follow();
    EXPECT_EQ(names(), std::vector<std::string>{"aaaaaaaaaaaaaaaa.strike"});
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

TEST_F(Markers, AreAboutWhatWasSavedAlsoWhereThereAreNoHardLinks)
{
    EXPECT_EQ(live({{pipeline}, {another}, CRASH_INSIDE, other_generation}), MARKER_CLEAR);
    EXPECT_EQ(judge(other_generation), MARKER_FAILED_ONCE);
    has_hard_links = false;
    follow();
    has_hard_links = true;
    EXPECT_EQ(names(), std::vector<std::string>{"aaaaaaaaaaaaaaaa.strike"});
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

// A write beyond RLIMIT_FSIZE does not fail: it kills. Sandboxes set it to 0.
TEST_F(Markers, AreJudgedWhereNothingMayBeWritten)
{
    EXPECT_EQ(live({{pipeline}}), MARKER_CLEAR);
    run_in_child([&] {
        rlimit limit = {0, 0};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        EXPECT_EQ(judge(), MARKER_FAILED_ONCE);
    });
    EXPECT_EQ(live({{pipeline}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

TEST_F(Markers, AreNotSetWhereNothingMayBeWritten)
{
    run_in_child([&] {
        rlimit limit = {0, 0};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        Found found(*this);
        marker marker = {};
        EXPECT_FALSE(marker_take(&found.folder, generation, &found.history, false, &marker));
    });
    EXPECT_TRUE(names().empty());
}

} // namespace
