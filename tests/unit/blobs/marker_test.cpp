// SPDX-License-Identifier: Apache-2.0
// Loading markers: who died of what, and what is made of it.
#include <future>
#include <memory>
#include <thread>

#include <sys/file.h>
#include <sys/resource.h>

#include "child.h"
#include "disk_fixture.h"
#include "faults.h"
#include "holder.h"
#include "scratch.h"

extern "C" {
#include "common/blobs/marker.h"
#include "common/blobs/trial.h"
}

namespace {

std::string encode(const marker_record &record)
{
    struct bytes bytes = {};
    marker_record_put(&bytes, &record);
    std::string text(reinterpret_cast<char *>(bytes.data), bytes.size);
    bytes_free(&bytes);
    return text;
}

bool parse(const std::string &text, marker_record *ret_record)
{
    std::vector<char> memory(text.begin(), text.end());
    return marker_record_parse(memory.data(), memory.size(), ret_record);
}

TEST(MarkerRecord, RoundTrips)
{
    marker_record written = marker_record_of(1, 2, 3);
    EXPECT_EQ(written.process, static_cast<uint32_t>(getpid()));
    EXPECT_STREQ(written.program, "unit_tests");
    const std::string text = encode(written);
    ASSERT_EQ(text.size(), static_cast<size_t>(MARKER_RECORD_SIZE));
    marker_record read = {};
    ASSERT_TRUE(parse(text, &read));
    EXPECT_EQ(read.id, 1u);
    EXPECT_EQ(read.generation, 2u);
    EXPECT_EQ(read.failure, 3u);
    EXPECT_EQ(read.loaded_at, written.loaded_at);
    EXPECT_EQ(read.process, written.process);
    EXPECT_STREQ(read.program, written.program);
}

TEST(MarkerRecord, IsWholeOrNone)
{
    const std::string text = encode(marker_record_of(1, 2, 3));
    marker_record read = {};
    for (size_t size = 0; size < text.size(); size++) {
        EXPECT_FALSE(parse(text.substr(0, size), &read)) << size;
    }
    EXPECT_FALSE(parse(text + "x", &read));
    for (size_t i = 0; i < MARKER_MAGIC_SIZE; i++) {
        std::string changed = text;
        changed[i] ^= 1;
        EXPECT_FALSE(parse(changed, &read)) << i;
    }
    EXPECT_FALSE(parse(std::string(MARKER_RECORD_SIZE, '\0'), &read));
    EXPECT_FALSE(parse(encode(marker_record_of(0, 2, 3)), &read));
    EXPECT_EQ(read.id, 0u);
}

TEST(MarkerRecord, TellsNoTerminalWhatToDo)
{
    std::string text = encode(marker_record_of(1, 2, 3));
    text.replace(text.size() - MARKER_PROGRAM_SIZE, MARKER_PROGRAM_SIZE,
                 std::string("\x1b[2J\n\xff") + std::string(MARKER_PROGRAM_SIZE, 'x'), 0,
                 MARKER_PROGRAM_SIZE);
    marker_record read = {};
    ASSERT_TRUE(parse(text, &read));
    EXPECT_EQ(std::string(read.program), "?[2J??" + std::string(MARKER_PROGRAM_SIZE - 7, 'x'));
}

constexpr uint64_t generation = 0xaaaaaaaaaaaaaaaa;
constexpr uint64_t other_generation = 0xbbbbbbbbbbbbbbbb;
constexpr uint64_t pipeline = 0x1111111111111111;
constexpr uint64_t another = 0x2222222222222222;
constexpr uint64_t third = 0x3333333333333333;

class Markers : public testing::Test {
  protected:
    // The folder as a process finds it that starts now.
    class Found {
      public:
        explicit Found(const Markers &markers)
        {
            directory_fd_ = open(markers.scratch.path("").c_str(), O_RDONLY | O_DIRECTORY);
            marker_folder_open(directory_fd_, "loading", &folder);
        }
        ~Found()
        {
            marker_folder_close(&folder);
            close(directory_fd_);
        }
        Found(const Found &) = delete;
        Found &operator=(const Found &) = delete;

        marker_verdict judge(uint64_t of = generation)
        {
            return marker_judge(&folder, of, &history);
        }

        std::unique_ptr<marker> take(uint64_t of = generation)
        {
            auto taken = std::make_unique<marker>();
            EXPECT_TRUE(marker_take(&folder, of, &history, taken.get()));
            return taken;
        }

        marker_folder folder;
        marker_history history = {};

      private:
        int directory_fd_;
    };

    std::string folder_path() const
    {
        return scratch.path("loading");
    }

    // The blob of the other generation is saved again, as this one.
    void follow() const
    {
        const int directory_fd = open(scratch.path("").c_str(), O_RDONLY | O_DIRECTORY);
        marker_follow(directory_fd, "loading", other_generation, generation);
        marker_forget_failure(directory_fd, "loading", other_generation);
        close(directory_fd);
    }

    std::vector<std::string> names() const
    {
        return names_in(folder_path());
    }

    // A process that loads, with what it finds, and lives.
    std::unique_ptr<Holder> loading(uint64_t of = generation) const
    {
        return std::make_unique<Holder>([&] {
            Found found(*this);
            found.judge(of);
            die_in(found.take(of).release(), {CRASH_KEY_LOAD});
        });
    }

    void die_loading(uint64_t of = generation) const
    {
        loading(of)->end();
    }

    marker_verdict judge(uint64_t of = generation) const
    {
        return Found(*this).judge(of);
    }

    void survive_loading() const
    {
        Found found(*this);
        found.judge();
        const auto marker = found.take();
        call(*marker, CRASH_KEY_LOAD);
        marker_drop(marker.get(), folder_path().c_str(), true);
    }

    static void call(marker &marker, uint64_t key)
    {
        const crash_call call = crash_guard_raise(&marker.guard, key, CRASH_INSIDE);
        crash_guard_lower(&marker.guard, &call);
    }

    // Enters the calls, each on a thread of its own, and stays there.
    static void die_in(marker *marker, std::initializer_list<uint64_t> keys,
                       crash_state state = CRASH_INSIDE)
    {
        for (uint64_t key : keys) {
            std::promise<void> entered;
            std::thread([&entered, marker, key, state] {
                crash_guard_raise(&marker->guard, key, state);
                entered.set_value();
                pause();
            }).detach();
            entered.get_future().wait();
        }
    }

    struct Life {
        std::initializer_list<uint64_t> inside; // where it dies
        std::initializer_list<uint64_t> returned = {};
        crash_state state = CRASH_INSIDE;
        uint64_t saved = 0;
    };

    // A process that loads if it may, lives and dies.
    marker_verdict live(const Life &life) const
    {
        marker_verdict verdict = judge();
        if (verdict == MARKER_CLEAR) {
            Holder([&] {
                Found found(*this);
                EXPECT_EQ(found.judge(), MARKER_CLEAR);
                marker *marker = found.take().release();
                call(*marker, CRASH_KEY_LOAD);
                for (uint64_t key : life.returned) {
                    call(*marker, key);
                }
                marker->guard.page->saved = life.saved;
                die_in(marker, life.inside, life.state);
            }).end();
        }
        return verdict;
    }

    enum class Without { killed, passes, lives, ends };

    // The start that finds a death and goes without the blob.
    marker_verdict go_without(Without how, uint64_t of = generation) const
    {
        marker_verdict verdict = MARKER_CLEAR;
        Found found(*this);
        verdict = found.judge(of);
        Holder([&] {
            auto *taken = new marker();
            EXPECT_TRUE(marker_take_without(&found.folder, of, &found.history, taken));
            if (how == Without::passes) {
                call(*taken, pipeline);
            } else if (how == Without::lives) {
                crash_guard_end(&taken->guard);
            } else if (how == Without::ends) {
                marker_drop(taken, folder_path().c_str(), false);
                return;
            }
            die_in(taken, {third});
        }).end();
        return verdict;
    }

    // A day passes since the last process was killed without the blob.
    void forget_the_killed() const
    {
        const timespec times[2] = {{1, 0}, {1, 0}};
        EXPECT_EQ(utimensat(AT_FDCWD, (folder_path() + "/killed").c_str(), times, 0), 0);
    }

    Scratch scratch;
};

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
    EXPECT_FALSE(marker_take(&found.folder, generation, &found.history, &marker));
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

TEST_F(Markers, OfAProcessThatDiesOutsideOfCallsSayNothing)
{
    for (int i = 0; i < 5; i++) {
        EXPECT_EQ(live({{}, {pipeline}}), MARKER_CLEAR) << i;
    }
    EXPECT_EQ(judge(), MARKER_CLEAR);
    EXPECT_TRUE(names().empty());
}

TEST_F(Markers, OfASecondDeathAtOnePipelineBlock)
{
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

TEST_F(Markers, OfAThirdDeathBlockWhereverItWas)
{
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(live({{another}, {third}}), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{another}, {third}}), MARKER_CLEAR);
    EXPECT_EQ(live({}), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{third}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

TEST_F(Markers, OfASecondDeathBeforeACreationHasReturnedBlock)
{
    EXPECT_EQ(live({{pipeline}}), MARKER_CLEAR);
    EXPECT_EQ(live({{another}}), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{another}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

// One of the threads is to blame: what both deaths have in common.
TEST_F(Markers, OfDeathsWithSeveralThreadsInsideBlockByOnePipeline)
{
    EXPECT_EQ(live({{third, pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(live({}), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{pipeline, another}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

// What a later process has done and lived, is not what the first has died of.
TEST_F(Markers, OfADeathAreDisprovedByTheSamePipeline)
{
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR) << i;
        EXPECT_EQ(live({}), MARKER_FAILED_ONCE) << i;
        EXPECT_EQ(live({{}, {pipeline}}), MARKER_CLEAR) << i;
    }
    EXPECT_EQ(judge(), MARKER_CLEAR);
    EXPECT_TRUE(names().empty());
}

TEST_F(Markers, OfADeathAreNotDisprovedByOtherPipelines)
{
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(live({}), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{}, {another, third}}), MARKER_CLEAR);
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

// Somebody ends the program at every start: with the blob and without.
TEST_F(Markers, OfDeathsProveNothingWhereTheProgramDiesWithoutTheBlobAsWell)
{
    for (crash_state state : {CRASH_INSIDE, CRASH_INSIDE_OTHER}) {
        for (int i = 0; i < 9; i++) {
            EXPECT_EQ(live({{pipeline}, {}, state}), MARKER_CLEAR) << i;
            EXPECT_EQ(go_without(Without::killed), MARKER_FAILED_ONCE) << i;
        }
        EXPECT_EQ(live({{}, {pipeline}}), MARKER_CLEAR);
        EXPECT_EQ(judge(), MARKER_CLEAR);
        EXPECT_EQ(names(), std::vector<std::string>{"killed"});
    }
    Found found(*this);
    marker_sweep(&found.folder, nullptr, 0);
    EXPECT_TRUE(names().empty());
}

// Programs that always end soon and not in order.
TEST_F(Markers, OfFiveDeathsBlockWhereTheProgramComesFartherWithoutTheBlob)
{
    for (int i = 0; i < 4; i++) {
        EXPECT_EQ(live({{pipeline}}), MARKER_CLEAR) << i;
        EXPECT_EQ(go_without(Without::passes), MARKER_FAILED_ONCE) << i;
    }
    EXPECT_EQ(live({{pipeline}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

TEST_F(Markers, OfDeathsElsewhereBeginAnewWhereTheProgramDiesWithoutTheBlobAsWell)
{
    for (uint64_t i = 0; i < 9; i++) {
        EXPECT_EQ(live({{pipeline + i}, {another}}), MARKER_CLEAR) << i;
        EXPECT_EQ(go_without(Without::killed), MARKER_FAILED_ONCE) << i;
    }
    EXPECT_EQ(live({{pipeline + 8}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(go_without(Without::lives), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{pipeline + 8}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(go_without(Without::lives), MARKER_FAILED_ONCE) << "others were killed today";
    forget_the_killed();
    EXPECT_EQ(live({{pipeline + 8}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED) << "it lives without";
}

// Nobody knows yet what becomes of it.
TEST_F(Markers, OfASecondDeathWaitForTheProcessThatGoesWithoutTheBlob)
{
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    Holder without([&] {
        Found found(*this);
        EXPECT_EQ(found.judge(), MARKER_FAILED_ONCE);
        EXPECT_TRUE(marker_take_without(&found.folder, generation, &found.history, new marker()));
    });
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_FAILED_ONCE);
}

TEST_F(Markers, OfASecondDeathBlockWhereTheProgramLivesWithoutTheBlob)
{
    for (Without how : {Without::lives, Without::ends}) {
        EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
        EXPECT_EQ(go_without(how), MARKER_FAILED_ONCE);
        EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
        Found found(*this);
        EXPECT_EQ(found.judge(), MARKER_BLOCKED);
        marker_forget(&found.folder, generation);
    }
    EXPECT_TRUE(names().empty());
}

// It was to tell of another death.
TEST_F(Markers, OfAProcessWithoutTheBlobTellOfTheDeathThatItNames)
{
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    auto early = std::make_unique<Holder>([&] {
        Found found(*this);
        EXPECT_EQ(found.judge(), MARKER_FAILED_ONCE);
        EXPECT_TRUE(marker_take_without(&found.folder, generation, &found.history, new marker()));
    });
    EXPECT_EQ(live({{}, {pipeline}}), MARKER_CLEAR);
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    early->end();
    EXPECT_EQ(go_without(Without::lives), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

// Killed while something is compiled that the blob does not hold: no matter how often.
TEST_F(Markers, OfDeathsAtPipelinesThatAreNotInTheBlobNeverBlock)
{
    for (uint64_t i = 0; i < 6; i++) {
        EXPECT_EQ(live({{pipeline + i}, {another}, CRASH_INSIDE_OTHER}), MARKER_CLEAR) << i;
        EXPECT_EQ(live({}), MARKER_FAILED_ONCE) << i;
    }
    EXPECT_EQ(live({{another}, {third}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_FAILED_ONCE) << "the first that counts";
}

TEST_F(Markers, OfDeathsAtOnePipelineBlockEvenIfItIsNotKnownToBeInTheBlob)
{
    for (int i = 0; i < 5; i++) {
        EXPECT_EQ(live({{pipeline}, {another}, CRASH_INSIDE_OTHER}), MARKER_CLEAR) << i;
        EXPECT_EQ(live({}), MARKER_FAILED_ONCE) << i;
    }
    EXPECT_EQ(live({{pipeline}, {another}, CRASH_INSIDE_OTHER}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

// What another machine has compiled nobody here knows: all of it may be in the blob.
TEST_F(Markers, OfDeathsOfABlobOnTrialBlockWhateverIsKnownToBeInIt)
{
    const int fd = open(scratch.path("").c_str(), O_RDONLY | O_DIRECTORY);
    trial trial = {};
    EXPECT_TRUE(trial_begin(fd, "loading", generation, &trial));
    close(fd);
    EXPECT_EQ(live({{pipeline}, {another}, CRASH_INSIDE_OTHER}), MARKER_CLEAR);
    EXPECT_EQ(go_without(Without::lives), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{pipeline}, {another}, CRASH_INSIDE_OTHER}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

TEST_F(Markers, OfOneThatIsKnownToBeInTheBlobByTheSecondDeathBlockAtTheThird)
{
    EXPECT_EQ(live({{pipeline}, {another}, CRASH_INSIDE_OTHER}), MARKER_CLEAR);
    EXPECT_EQ(live({}), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(live({}), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

// What is saved holds what was loaded.
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
        EXPECT_FALSE(marker_take(&found.folder, generation, &found.history, &marker));
    });
    EXPECT_TRUE(names().empty());
}

} // namespace
