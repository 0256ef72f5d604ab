// SPDX-License-Identifier: Apache-2.0
// What was being replayed when a process died is found by the next one.
#include <sys/resource.h>

#include "mounts.h"
#include "recipes_fixture.h"

extern "C" {
#include "common/recipes/recipes.h"
}

namespace {

const digest identity = digest_of(std::string("identity"));
const digest other = digest_of(std::string("other identity"));
const digest first = digest_of(std::string("first"));
const digest second = digest_of(std::string("second"));

struct CloseCrashes {
    void operator()(recipe_crashes *crashes) const
    {
        recipe_crashes_close(crashes);
    }
};
using Crashes = std::unique_ptr<recipe_crashes, CloseCrashes>;

class RecipeCrashes : public RecipesTest {
  protected:
    Crashes open(const digest &of = identity, unsigned threads = 2)
    {
        recipe_crashes *crashes = nullptr;
        EXPECT_EQ(recipe_crashes_open(root.c_str(), "app", of, threads, &crashes), STATUS_ok);
        return Crashes(crashes);
    }

    // Dies while its second thread is at one of two that it has begun with.
    void crash(const digest &at, const digest &survived)
    {
        EXPECT_EQ(in_child([&] {
                      Crashes crashes = open();
                      bool begun = recipe_crashes_begin(crashes.get(), 0, survived) &&
                                   recipe_crashes_begin(crashes.get(), 1, at);
                      recipe_crashes_end(crashes.get(), 0);
                      kill(getpid(), begun ? SIGKILL : SIGTERM);
                  }),
                  128 + SIGKILL);
    }

    // How many of the two are known to have crashed.
    static size_t count(const Crashes &crashes)
    {
        return static_cast<size_t>(recipe_crashes_have(crashes.get(), first)) +
               static_cast<size_t>(recipe_crashes_have(crashes.get(), second));
    }

    std::vector<std::string> replaying() const
    {
        return names_in(folder, ".replaying");
    }
};

TEST_F(RecipeCrashes, NothingHasCrashedAtFirst)
{
    {
        Crashes crashes = open();
        EXPECT_EQ(count(crashes), 0u);
        EXPECT_FALSE(recipe_crashes_have(crashes.get(), first));
        EXPECT_EQ(replaying().size(), 1u);
        EXPECT_TRUE(recipe_crashes_begin(crashes.get(), 0, first));
        recipe_crashes_end(crashes.get(), 0);
    }
    EXPECT_EQ(replaying().size(), 0u);
    EXPECT_EQ(names_in(folder, ".crashed").size(), 0u);
}

TEST_F(RecipeCrashes, WhatAProcessDiedAtIsRememberedForGood)
{
    crash(first, second);
    for (int i = 0; i < 3; i++) {
        Crashes crashes = open();
        EXPECT_TRUE(recipe_crashes_have(crashes.get(), first));
        EXPECT_FALSE(recipe_crashes_have(crashes.get(), second)) << "it was lived through";
        EXPECT_EQ(count(crashes), 1u);
        EXPECT_EQ(replaying().size(), 1u) << "its own alone";
    }
    crash(second, first);
    Crashes crashes = open();
    EXPECT_TRUE(recipe_crashes_have(crashes.get(), first));
    EXPECT_TRUE(recipe_crashes_have(crashes.get(), second));
}

TEST_F(RecipeCrashes, AnotherDriverMayTryIt)
{
    crash(first, second);
    EXPECT_FALSE(recipe_crashes_have(open(other).get(), first));
    EXPECT_TRUE(recipe_crashes_have(open().get(), first));
}

TEST_F(RecipeCrashes, ALivingProcessIsNotBlamed)
{
    Crashes crashes = open();
    ASSERT_TRUE(recipe_crashes_begin(crashes.get(), 0, first));
    EXPECT_FALSE(recipe_crashes_have(open().get(), first));
    EXPECT_EQ(replaying().size(), 1u);
}

// Many start at once on a new driver, each in a sandbox of its own: nobody has died.
TEST_F(RecipeCrashes, NorIsOneOfAnotherMachineButThoseOfThisOneAre)
{
    Scratch disk;
    on_two_machines(disk.path("disk"), [&](const auto &one, const auto &two) {
        root = one;
        folder = one + "/app/recipes";
        write(Batch().put(RECIPE_FORM, "form"));
        Crashes living = open();
        ASSERT_TRUE(recipe_crashes_begin(living.get(), 0, first));
        root = two;
        EXPECT_EQ(count(open()), 0u);
        EXPECT_EQ(replaying().size(), 1u);
        crash(second, first);
        EXPECT_TRUE(recipe_crashes_have(open().get(), second)) << "at once";
        EXPECT_FALSE(recipe_crashes_have(open().get(), first));
    });
}

// Of two pipelines: after the second death nothing is compiled ahead, until all was gone through.
TEST_F(RecipeCrashes, TheSecondDeathIsOneTooMany)
{
    EXPECT_FALSE(recipe_crashes_are_many(open().get()));
    crash(first, second);
    EXPECT_FALSE(recipe_crashes_are_many(open().get()));
    EXPECT_FALSE(recipe_crashes_are_many(open().get())) << "the same death is counted once";
    crash(second, first);
    EXPECT_FALSE(recipe_crashes_are_many(open(other).get())) << "of another driver";
    for (int i = 0; i < 2; i++) {
        EXPECT_TRUE(recipe_crashes_are_many(open().get()));
        EXPECT_TRUE(recipe_crashes_are_many_of(root.c_str(), "app", identity));
    }
    EXPECT_EQ(recipe_crashes_change(root.c_str(), "app", identity, nullptr), STATUS_ok);
    Crashes crashes = open();
    EXPECT_FALSE(recipe_crashes_are_many(crashes.get()));
    EXPECT_EQ(count(crashes), 2u) << "what crashed is remembered";
}

// Nobody can tell a process that was killed from one that has crashed: the program has asked for
// all of the list.
TEST_F(RecipeCrashes, AreForgottenWhereTheProgramLivesWithThem)
{
    const auto absolve = [&](const std::vector<digest> &pipelines) {
        recipe_crashes_absolve(root.c_str(), "app", identity, pipelines.data(), pipelines.size());
        return !recipe_crashes_have_any(open().get());
    };
    const digest *list = nullptr;
    crash(first, second);
    crash(second, first);
    ASSERT_EQ(recipe_crashes_list(open().get(), &list), 2u);
    EXPECT_FALSE(absolve({first})) << "another has come in between";
    EXPECT_FALSE(absolve({first, other}));
    EXPECT_TRUE(absolve({first, second}));
    EXPECT_FALSE(recipe_crashes_are_many(open().get()));
    // A pipeline that kills only ahead of the program would kill for ever.
    crash(first, second);
    EXPECT_FALSE(recipe_crashes_are_many(open().get()));
    crash(first, second);
    EXPECT_TRUE(recipe_crashes_are_many(open().get()));
    EXPECT_FALSE(absolve({first})) << "once";
    EXPECT_EQ(recipe_crashes_change(root.c_str(), "app", identity, nullptr), STATUS_ok);
    EXPECT_TRUE(absolve({first})) << "warm has gone through all";
}

// Also where `warm` has gone through all of them right after that.
TEST_F(RecipeCrashes, CanBeForgottenOnceMoreAfterAWarmThatFoundNone)
{
    const auto absolve = [&] { recipe_crashes_absolve(root.c_str(), "app", identity, &first, 1); };
    const auto are_many = [&] { return recipe_crashes_are_many(open().get()); };
    crash(first, second);
    crash(first, second);
    EXPECT_TRUE(are_many());
    absolve();
    EXPECT_FALSE(are_many());
    EXPECT_EQ(recipe_crashes_change(root.c_str(), "app", identity, nullptr), STATUS_ok);
    crash(first, second);
    crash(first, second);
    EXPECT_TRUE(are_many());
    absolve();
    EXPECT_FALSE(are_many());
}

TEST_F(RecipeCrashes, AreNotForgottenWhereOneDiedLate)
{
    crash(first, second);
    EXPECT_EQ(in_child([&] {
                  Crashes late = open();
                  recipe_crashes_late(late.get(), 0);
                  kill(getpid(), SIGKILL);
              }),
              128 + SIGKILL);
    EXPECT_TRUE(recipe_crashes_are_many(open().get()));
    recipe_crashes_absolve(root.c_str(), "app", identity, &first, 1);
    EXPECT_TRUE(recipe_crashes_are_many(open().get())) << "nobody knows what it has died in";
}

// Nobody has opened the list in between.
TEST_F(RecipeCrashes, ProcessesThatDieAtOnceAreCountedEach)
{
    EXPECT_EQ(in_child([&] {
                  Crashes outer = open();
                  recipe_crashes_begin(outer.get(), 0, first);
                  kill(getpid(), in_child([&] {
                                     Crashes inner = open();
                                     recipe_crashes_begin(inner.get(), 0, first);
                                     kill(getpid(), SIGKILL);
                                 }) == 128 + SIGKILL
                                     ? SIGKILL
                                     : SIGTERM);
              }),
              128 + SIGKILL);
    EXPECT_EQ(replaying().size(), 2u);
    EXPECT_TRUE(recipe_crashes_are_many_of(root.c_str(), "app", identity));
    EXPECT_EQ(replaying().size(), 0u);
    EXPECT_TRUE(recipe_crashes_are_many(open().get()));
}

// Where nothing can be written, what was found holds for this process.
TEST_F(RecipeCrashes, DeathsThatCannotBeWrittenDownCount)
{
    crash(first, second);
    crash(second, first);
    int lock_fd;
    int folder_fd;
    ASSERT_EQ(recipe_folder_open(root.c_str(), "app", false, &folder_fd), STATUS_ok);
    ASSERT_EQ(file_lock(folder_fd, "lock", 0, &lock_fd), STATUS_ok);
    EXPECT_TRUE(recipe_crashes_are_many(open().get()));
    file_unlock(lock_fd);
    close(folder_fd);
}

// By who replays in child processes.
TEST_F(RecipeCrashes, WhatIsAddedIsNoDeath)
{
    for (const digest &each : {first, second, first}) {
        EXPECT_EQ(recipe_crashes_change(root.c_str(), "app", identity, &each), STATUS_ok);
    }
    Crashes crashes = open();
    EXPECT_EQ(count(crashes), 2u);
    EXPECT_FALSE(recipe_crashes_are_many(crashes.get()));
}

// A program that closes descriptors it does not know, and gets their numbers for files of its own.
TEST_F(RecipeCrashes, NothingIsWrittenIntoAFileOfTheProgram)
{
    const std::string own = scratch.path("own");
    std::ofstream(own) << std::string(100, 'x');
    Crashes crashes = open();
    const int taken = take_descriptor(own, ".replaying");
    ASSERT_GE(taken, 0);
    EXPECT_FALSE(recipe_crashes_begin(crashes.get(), 0, first));
    recipe_crashes_end(crashes.get(), 0);
    crashes.reset();
    EXPECT_EQ(read(own), std::string(100, 'x'));
    EXPECT_EQ(close(taken), 0) << "it was closed";
    EXPECT_EQ(replaying().size(), 0u);
}

TEST_F(RecipeCrashes, AProcessThatWasAtNothingLeavesNothing)
{
    in_child([&] {
        Crashes crashes = open();
        recipe_crashes_begin(crashes.get(), 0, first);
        recipe_crashes_end(crashes.get(), 0);
        kill(getpid(), SIGKILL);
    });
    EXPECT_EQ(replaying().size(), 1u);
    EXPECT_EQ(count(open()), 0u);
    EXPECT_EQ(replaying().size(), 0u);
}

TEST_F(RecipeCrashes, ADamagedListLosesWhatIsDamagedAlone)
{
    crash(first, second);
    crash(second, first);
    open();
    const std::string path = folder + "/" + names_in(folder, ".crashed").at(0);
    std::string list = read(path);
    list[8] ^= 1;
    write_file(path, list);
    EXPECT_EQ(count(open()), 1u);
    write_file(path, "garbage");
    EXPECT_EQ(count(open()), 0u);
}

TEST_F(RecipeCrashes, NoThreadBeyondThoseAskedFor)
{
    Crashes crashes = open(identity, 1000);
    EXPECT_TRUE(recipe_crashes_begin(crashes.get(), RECIPE_CRASHES_THREADS - 1, first));
    EXPECT_FALSE(recipe_crashes_begin(crashes.get(), RECIPE_CRASHES_THREADS, first));
    EXPECT_FALSE(recipe_crashes_begin(open(identity, 1).get(), 1, first));
}

TEST_F(RecipeCrashes, WithoutAFileNothingIsReplayed)
{
    EXPECT_EQ(in_child([&] {
                  const rlimit limit = {100, 100};
                  setrlimit(RLIMIT_FSIZE, &limit);
                  recipe_crashes *crashes = nullptr;
                  const enum status reason =
                      recipe_crashes_open(root.c_str(), "app", identity, 64, &crashes);
                  _exit(reason == STATUS_disk_full ? 0 : 1);
              }),
              0);
    EXPECT_EQ(replaying().size(), 0u);
}

// In a folder that nobody writes, such as a container's image.
TEST_F(RecipeCrashes, WithoutMarksTheKnownOnesAreSkippedAndNothingIsWritten)
{
    crash(first, second);
    const auto before = replaying();
    recipe_crashes *opened = nullptr;
    ASSERT_EQ(recipe_crashes_open(root.c_str(), "app", identity, 0, &opened), STATUS_ok);
    const Crashes crashes(opened);
    EXPECT_TRUE(recipe_crashes_have(crashes.get(), first));
    EXPECT_FALSE(recipe_crashes_have(crashes.get(), second));
    EXPECT_TRUE(recipe_crashes_begin(crashes.get(), 0, second));
    recipe_crashes_end(crashes.get(), 0);
    EXPECT_EQ(replaying(), before);
    EXPECT_EQ(recipe_crashes_open(root.c_str(), "other", identity, 0, &opened), STATUS_no_file);
}

// Its lock belongs to a description that both have.
TEST_F(RecipeCrashes, ACrashIsSeenWhileAChildOfTheProcessLives)
{
    int lives[2]; // the child does, until the test has closed its end
    int forked[2];
    ASSERT_EQ(pipe(lives), 0);
    ASSERT_EQ(pipe(forked), 0);
    EXPECT_EQ(in_child([&] {
                  Crashes crashes = open();
                  char byte = 0;
                  EXPECT_TRUE(recipe_crashes_begin(crashes.get(), 0, first));
                  if (fork() == 0) {
                      close(lives[1]);
                      EXPECT_EQ(::write(forked[1], &byte, 1), 1);
                      _exit(::read(lives[0], &byte, 1) == 0 ? 0 : 1);
                  }
                  EXPECT_EQ(::read(forked[0], &byte, 1), 1);
                  kill(getpid(), SIGKILL);
              }),
              128 + SIGKILL);
    Crashes crashes = open();
    EXPECT_TRUE(recipe_crashes_have(crashes.get(), first));
    for (int end : {lives[0], lives[1], forked[0], forked[1]}) {
        close(end);
    }
}

TEST_F(RecipeCrashes, TheChildOfAForkTouchesNothing)
{
    Crashes crashes = open();
    ASSERT_TRUE(recipe_crashes_begin(crashes.get(), 0, first));
    EXPECT_EQ(in_child([&] {
                  const bool begun = recipe_crashes_begin(crashes.get(), 1, second);
                  recipe_crashes_end(crashes.get(), 0);
                  crashes.reset();
                  _exit(begun ? 1 : 0);
              }),
              0);
    EXPECT_EQ(replaying().size(), 1u);
    EXPECT_NE(read(folder + "/" + replaying().at(0)).find_first_not_of('\0', 8), std::string::npos);
}

} // namespace
