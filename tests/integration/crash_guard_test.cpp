// SPDX-License-Identifier: Apache-2.0
// Blobs that are whole and kill the driver, at once or late.
#include <csignal>

#include "crash_guard.hpp"
#include "damaged_blobs.hpp"

namespace {

// The first bytes of a record are its pipeline's: with others there it is nobody's.
void damage_record(const std::filesystem::path &file, unsigned record)
{
    constexpr unsigned record_bytes = 64;
    constexpr unsigned records_at = 48;
    change_blob(file, [&](std::vector<uint8_t> &blob) {
        blob.at(records_at + record * record_bytes + 20) ^= 1;
    });
}

// Saves that have left the file alone.
std::vector<std::filesystem::path> parts_of(const std::filesystem::path &folder)
{
    std::vector<std::filesystem::path> parts;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".part") {
            parts.push_back(entry.path());
        }
    }
    return parts;
}

// Each record in turn: the first pipeline that the program asks for, the last, and all between.
TEST_F(CrashGuardTest, ABlobThatKillsLateIsPutAwayAfterTwoDeaths)
{
    make_good_blob();
    const auto file = cache_file();
    const std::vector<uint8_t> good = read_bytes(file);
    for (unsigned record = 0; record < pipelines; record += 5) {
        std::filesystem::remove_all(cache_root() / "program" / "quarantine");
        put_back(file, good);
        damage_record(cache_file(), record);
        EXPECT_EQ(count_lost([&] { return lives(program); }), 2u) << "record " << record;
        EXPECT_TRUE(is_put_away()) << "record " << record;
        EXPECT_EQ(run(program).hits(), pipelines) << "warm again";
    }
}

// What was loaded is in a cache of the program's by a merge, and kills there.
TEST_F(CrashGuardTest, ABlobThatKillsInACacheThatItWasMergedIntoIsPutAwayAfterTwoDeaths)
{
    make_good_blob();
    damage_record(cache_file(), 3);
    environment["WARMPIPE_APP_CACHE"] = "serve";
    const auto merging = [] {
        Program owner;
        VkPipelineCache served = owner.create_cache();
        VkPipelineCache own = owner.create_cache(owner.cache_data(served));
        owner.create(Kind::compute, 100, served);
        EXPECT_EQ(vkMergePipelineCaches(owner.device, own, 1, &served), VK_SUCCESS);
        owner.create_compute(0, pipelines, own);
        owner.destroy_cache(own);
        owner.destroy_cache(served);
    };
    EXPECT_EQ(count_lost([&] { return lives(merging); }), 2u);
    EXPECT_TRUE(is_put_away());
}

// Where a deferred operation compiles: in the thread that joins it. What that asks of the blob
// nobody knows, so that it takes six deaths.
TEST_F(CrashGuardTest, ABlobThatKillsInAJoinIsPutAwayAfterSixDeaths)
{
    const auto deferring = [] {
        Program owner;
        for (unsigned i = 0; i < pipelines; ++i) {
            Deferred deferred(owner);
            Batch batch(owner, Kind::ray_tracing_khr, {i});
            EXPECT_EQ(batch.create(VK_NULL_HANDLE, nullptr, deferred.operation),
                      VK_OPERATION_DEFERRED_KHR);
            EXPECT_EQ(deferred.join(), VK_SUCCESS);
        }
    };
    run(deferring);
    damage_record(cache_file(), 3);
    EXPECT_EQ(count_lost([&] { return lives(deferring); }), 6u);
    EXPECT_TRUE(is_put_away());
}

// A cache of the program's, which has had nothing of the blob.
TEST_F(CrashGuardTest, AJoinOfWhatHasNothingOfTheBlobSaysNothingOfIt)
{
    environment["WARMPIPE_APP_CACHE"] = "harvest";
    make_good_blob();
    run(
        [] {
            Program owner;
            owner.create(Kind::compute, 0);
            Deferred deferred(owner);
            Batch batch(owner, Kind::ray_tracing_khr, {100});
            EXPECT_EQ(batch.create(owner.create_cache(), nullptr, deferred.operation),
                      VK_OPERATION_DEFERRED_KHR);
            test_icd_on_compile([](void *) { raise(SIGKILL); }, nullptr);
            deferred.join();
        },
        {Layer::any, true, -SIGKILL});
    EXPECT_EQ(state_of_a_start(), "loaded");
}

// What the program makes first is new, is saved, and only then the blob kills.
TEST_F(CrashGuardTest, ABlobThatWasSavedAgainBeforeItKillsIsPutAwayAsWell)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    make_good_blob();
    damage_record(cache_file(), 3);
    environment["WPTEST_ICD_RECORD_BYTES"] = "64";
    unsigned number = 1000;
    EXPECT_LE(count_lost([&] {
                  ++number;
                  return lives([&] {
                      Program owner;
                      owner.create(Kind::compute, number);
                      for (unsigned i = 0; i < pipelines; ++i) {
                          owner.create(Kind::compute, i);
                      }
                  });
              }),
              2u);
}

// What the driver reads of the blob keeps it busy before it dies, at each start, and what is
// compiled before has all calls watched: a death in a long call.
TEST_F(CrashGuardTest, ABlobThatKillsInALongCallIsPutAwayAfterFourDeaths)
{
    make_good_blob();
    unsigned number = 100;
    EXPECT_EQ(count_lost([&] {
                  const unsigned fresh = number++;
                  const Outcome outcome = run(
                      [&, fresh] {
                          leak_from_here_on();
                          static std::filesystem::path root;
                          root = cache_root();
                          auto *owner = new Program;
                          owner->create(Kind::compute, fresh);
                          test_icd_on_call(
                              [](const char *command, void *) {
                                  if (std::string(command) == "vkCreateComputePipelines" &&
                                      is_short_death(find_page(root))) {
                                      wait_while([] { return is_short_death(find_page(root)); });
                                      raise(SIGKILL);
                                  }
                              },
                              nullptr);
                          owner->create(Kind::compute, 3);
                      },
                      {Layer::any, true, 0, true});
                  return outcome.status == 0;
              }),
              4u);
    EXPECT_TRUE(is_put_away());
}

// The start between goes without the blob on all of its devices, else it proves nothing.
TEST_F(CrashGuardTest, ASecondDeviceDoesNotLoadWhatTheFirstHasSkipped)
{
    make_good_blob();
    damage_record(cache_file(), 5);
    EXPECT_EQ(count_lost([&] {
                  return lives([] {
                      Program first;
                      first.create(Kind::compute, 100);
                      program();
                  });
              }),
              2u);
    EXPECT_TRUE(is_put_away());
}

// What the blob holds is in the file of another generation by then, which this device has not
// loaded.
TEST_F(CrashGuardTest, ABlobThatAnotherDeviceHasSavedAgainBeforeItKillsIsPutAwayAsWell)
{
    environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
    make_good_blob();
    damage_record(cache_file(), 5);
    const auto file = cache_file();
    unsigned number = 1000;
    EXPECT_EQ(count_lost([&] {
                  ++number;
                  // Of a start between: one would be taken up, and hold the same, beside the rest.
                  for (const auto &part : parts_of(file.parent_path())) {
                      std::filesystem::remove(part);
                  }
                  return lives([&] {
                      Program first, second;
                      first.create(Kind::compute, 0);
                      second.create(Kind::compute, 0);
                      const std::vector<uint8_t> before = read_bytes(file);
                      first.create(Kind::compute, number);
                      wait_while([&] {
                          return read_bytes(file) == before && parts_of(file.parent_path()).empty();
                      });
                      second.create_compute(1, pipelines);
                  });
              }),
              2u);
    EXPECT_TRUE(is_put_away());
}

TEST_F(CrashGuardTest, ABlobThatKillsAsItIsLoadedIsPutAwayAfterTwoDeaths)
{
    make_good_blob();
    for (unsigned deaths = 0; deaths < 2; ++deaths) {
        environment["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
        run(program, {Layer::any, true, -SIGABRT});
        environment.erase("WPTEST_ICD_CACHE_CREATE");
        EXPECT_EQ(state_of_a_start(), deaths == 0 ? "rejected" : "quarantined");
    }
    EXPECT_TRUE(is_put_away());
}

// It dies of whatever it has made itself: three blobs, two deaths each, are enough for a week.
TEST_F(CrashGuardTest, ADriverThatDiesOfEachBlobIsGivenNoMore)
{
    environment["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
    const auto lost_of = [&](unsigned starts) {
        unsigned lost = 0;
        while (starts-- > 0) {
            lost += !lives(program);
        }
        return lost;
    };
    EXPECT_EQ(lost_of(20), 6u);
    EXPECT_EQ(lost_of(5), 0u);
    const auto cache = run(program).stats_of()["cache"];
    EXPECT_EQ(cache["state"], "quarantined");
    EXPECT_EQ(cache["saved_bytes"], 0);

    // A week later one more of its blobs is tried.
    const auto folder = cache_root() / "program" / "quarantine";
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        std::filesystem::last_write_time(entry, std::filesystem::file_time_type::clock::now() -
                                                    std::chrono::hours(8 * 24));
    }
    EXPECT_EQ(lost_of(10), 2u);
    std::filesystem::remove_all(folder);
    environment.erase("WPTEST_ICD_CACHE_CREATE");
    run(program);
    EXPECT_EQ(run(program).hits(), pipelines);
}

// The start between is ended by somebody as well, but not at once: the program lives without the
// blob.
TEST_F(CrashGuardTest, AStartWithoutTheBlobThatLivesForAWhileIsNotKilledAtItsStart)
{
    make_good_blob();
    for (unsigned deaths = 0; deaths < 2; ++deaths) {
        environment["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
        run(program, {Layer::any, true, -SIGABRT});
        environment.erase("WPTEST_ICD_CACHE_CREATE");
        if (deaths == 0) {
            run(
                [&] {
                    leak_from_here_on();
                    (new Program)->create(Kind::compute, 0);
                    EXPECT_TRUE(find_page(cache_root()).killed) << "if it were now";
                    while (find_page(cache_root()).killed) {
                        usleep(1000);
                    }
                    raise(SIGKILL);
                },
                {Layer::any, true, -SIGKILL});
        }
    }
    EXPECT_EQ(state_of_a_start(), "quarantined");
}

// What it compiles is looked at as ever, and not only when it has lived for so long.
TEST_F(CrashGuardTest, AStartWithoutTheBlobIsSavedBeforeItHasLived)
{
    make_good_blob();
    environment["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
    run(program, {Layer::any, true, -SIGABRT});
    environment.erase("WPTEST_ICD_CACHE_CREATE");
    run([&] {
        Program owner;
        owner.create(Kind::compute, 0);
        wait_while([] { return test_icd_calls("vkGetPipelineCacheData") == 0; });
        EXPECT_TRUE(find_page(cache_root()).killed) << "if it were now";
    });
}

// The same where the program has shut itself in: then no file can be touched to say so.
TEST_F(CrashGuardTest, AStartWithoutTheBlobLivesInASandboxAsWell)
{
    make_good_blob();
    for (unsigned deaths = 0; deaths < 2; ++deaths) {
        environment["WPTEST_ICD_CACHE_CREATE"] = "abort_data";
        run(program, {Layer::any, true, -SIGABRT});
        environment.erase("WPTEST_ICD_CACHE_CREATE");
        if (deaths == 0) {
            run(
                [&] {
                    leak_from_here_on();
                    (new Program)->create(Kind::compute, 0);
                    const int page = open(page_path(cache_root()).c_str(), O_RDONLY | O_CLOEXEC);
                    EXPECT_TRUE(read_page(page).killed) << "if it were now";
                    shut_in();
                    wait_while([page] { return read_page(page).killed; });
                    raise(SIGKILL);
                },
                {Layer::any, true, -SIGKILL});
        }
    }
    EXPECT_EQ(state_of_a_start(), "quarantined");
}

} // namespace
