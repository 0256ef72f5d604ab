// SPDX-License-Identifier: Apache-2.0
// Which deaths in calls of the driver are of the blob, by the pipelines that were asked for.
#include "marker_fixture.h"

namespace {

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

// In a hit of the blob that takes long: somebody's kill, once; a blob that keeps the driver busy,
// where it happens again.
TEST_F(Markers, OfDeathsInALongCallTheSecondSkipsTheBlobAndTheFourthBlocks)
{
    const Life life = {{pipeline}, {another}, CRASH_INSIDE, 0, true};
    EXPECT_EQ(live(life), MARKER_CLEAR);
    EXPECT_EQ(live(life), MARKER_CLEAR);
    for (int i = 0; i < 2; i++) {
        EXPECT_EQ(go_without(Without::ends), MARKER_FAILED_ONCE) << i;
        EXPECT_EQ(live(life), MARKER_CLEAR) << i;
    }
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

TEST_F(Markers, OfDeathsInLongCallsAtOtherPipelinesOrForWhatIsNewNoneCounts)
{
    for (uint64_t i = 0; i < 9; i++) {
        EXPECT_EQ(live({{pipeline + i}, {}, CRASH_INSIDE, 0, true}), MARKER_CLEAR) << i;
    }
    EXPECT_EQ(live({{}, {pipeline + 8}}), MARKER_CLEAR);
    for (int i = 0; i < 9; i++) {
        EXPECT_EQ(live({{pipeline}, {}, CRASH_INSIDE_OTHER, 0, true}), MARKER_CLEAR) << i;
    }
    EXPECT_EQ(judge(), MARKER_CLEAR);
    EXPECT_TRUE(names().empty());
}

// Where it is killed without the blob as well, it takes more.
TEST_F(Markers, OfDeathsInALongCallFourSayLittleWhereTheProgramDiesWithoutTheBlobAsWell)
{
    const Life life = {{pipeline}, {another}, CRASH_INSIDE, 0, true};
    EXPECT_EQ(live(life), MARKER_CLEAR);
    EXPECT_EQ(live(life), MARKER_CLEAR);
    for (int i = 0; i < 4; i++) {
        EXPECT_EQ(go_without(Without::passes), MARKER_FAILED_ONCE) << i;
        EXPECT_EQ(live(life), MARKER_CLEAR) << i;
    }
    EXPECT_EQ(judge(), MARKER_BLOCKED);
}

TEST_F(Markers, OfAShortDeathBehindALongOneIsTheFirst)
{
    EXPECT_EQ(live({{pipeline}, {another}, CRASH_INSIDE, 0, true}), MARKER_CLEAR);
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
    EXPECT_EQ(live({}), MARKER_FAILED_ONCE);
    EXPECT_EQ(live({{pipeline}, {another}}), MARKER_CLEAR);
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
        EXPECT_TRUE(marker_take(&found.folder, generation, &found.history, true, new marker()));
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
        EXPECT_TRUE(marker_take(&found.folder, generation, &found.history, true, new marker()));
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
    EXPECT_EQ(trial_begin(fd, "loading", generation, &trial), STATUS_ok);
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

} // namespace
