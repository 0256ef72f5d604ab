// SPDX-License-Identifier: Apache-2.0
// Files of every kind, damaged in every way, put where the product finds them; and all that it does
// with them is done: loaded, merged, compacted, counted, replaced. What it must not do: crash, read
// outside (this is for the sanitizers), take anything for whole that is not, or fail for good.
//
// WARMPIPE_HOSTILE_FILES: how many files are tried in all (6,000).
#include "hostile_files.h"

extern "C" {
#include "common/driver/policy.h"
#include "common/files/program.h"
#include "common/quota/quota.h"
#include "common/settings/config.h"
}

namespace {

// Says at the end how many there were.
class Total : public testing::Environment {
  public:
    void TearDown() override
    {
        printf("%u files\n", tried);
    }
};
const testing::Environment *const total = testing::AddGlobalTestEnvironment(new Total);

TEST_F(HostileFiles, CacheFilesAndParts)
{
    Store(root()).commit("old");
    Store beside(root());
    Store(root()).commit("file");
    ASSERT_EQ(beside.commit_unmerged("part"), STATUS_ok);
    const std::string name = files(".wpcache").at(0);
    const std::string part_name = files(".part").at(0);
    const std::string file = get(name);
    const std::string part = get(part_name);
    for (unsigned i = 0; i < files_of_a_kind(); i++) {
        // Signed ones may be accepted, for they are whole: of those any words may come.
        const bool is_signed = draw(2);
        const std::string bad = damage(file);
        put(name, is_signed ? sign(bad) : bad);
        put(part_name, part);
        if (is_signed) {
            Store store(root());
            store_blob blob;
            if (store_load(store.get(), &blob) == STATUS_ok) {
                store_blob_free(&blob);
            }
            store_survived(store.get());
            store.commit("new");
        } else {
            start({"file old", bad == file ? "file old" : "<"});
        }
        put(name, file);
        put(part_name, draw(2) ? sign(damage(part)) : damage(part));
        start({"file old"});
    }
}

TEST_F(HostileFiles, MarkersAndStrikes)
{
    Store(root()).commit("words");
    const std::string name = files(".wpcache").at(0);
    const std::string file = get(name);
    for (const bool is_strike : {false, true}) {
        for (unsigned i = 0; i < files_of_a_kind(); i++) {
            put(name, file);
            {
                Store store(root());
                store.load();
            }
            const std::string loading = name.substr(0, name.size() - 8) + ".loading/";
            std::string marker("wpmark\n\1", 8);
            marker += "\1\2\3\4\5\6\7\10" + file.substr(24, 8) + std::string(8 + 8 + 4 + 32, '\0');
            uint64_t generation = 0;
            std::memcpy(&generation, &file[24], sizeof generation);
            char own[32];
            snprintf(own, sizeof own, "%016llx%s",
                     is_strike ? static_cast<unsigned long long>(generation)
                               : 0x0807060504030201ull,
                     is_strike ? ".strike" : "");
            put(loading + own, damage(marker));
            start({"words"});
        }
    }
}

TEST_F(HostileFiles, WhatIsKnownOfTheProgram)
{
    const program_counters more = {};
    ASSERT_EQ(program_count(root().c_str(), "app", &more, 1700000000, nullptr), STATUS_ok);
    const std::string path = folder() + "/program.json";
    const std::string good =
        R"({"format":1,"app_caches":"read_back","app_caches_kept":1,"app_caches_read_runs":3,)"
        R"("app_caches_answers":"0123456789abcdef0123456789abcdef 0123456789abcdef0123456789abcdee-",)"
        R"("since":          1760000000,"starts":                  12,"requests":                2880,)"
        R"("shared":                   1,"driver_hits":                   2,"more":[{"a":[1.5e3,null]}]})";
    for (unsigned i = 0; i < files_of_a_kind(); i++) {
        put(path, damage(good));
        program_facts facts;
        program_load(root().c_str(), "app", &facts);
        const enum status counted =
            program_count(root().c_str(), "app", &more, 1700000001, nullptr);
        EXPECT_EQ(counted, STATUS_ok) << status_id(counted) << get(path);
        EXPECT_EQ(program_load(root().c_str(), "app", &facts), STATUS_ok) << get(path);
    }
}

// A page of a process that is gone, which says what it died in.
TEST_F(HostileFiles, CrashPages)
{
    Store(root()).commit("words");
    const std::string name = files(".wpcache").at(0);
    const std::string file = get(name);
    const std::string loading = name.substr(0, name.size() - 8) + ".loading/";
    std::string page;
    {
        Store store(root());
        store.load();
        store.begin_call(4711);
        for (const auto &entry : fs::directory_iterator(loading)) {
            page = get(entry.path());
        }
    }
    ASSERT_GT(page.size(), 1000u) << "a page, and no plain record";
    for (unsigned i = 0; i < files_of_a_kind(); i++) {
        put(name, file);
        std::string bad = damage(page);
        if (draw(2) && bad.size() >= 128) { // where it says most
            const size_t at = draw(160);
            bad[std::min(at, bad.size() - 1)] = draw_byte();
        }
        put(loading + "0807060504030201", bad);
        start({"words"});
    }
}

// Of a file that was merged with what was pulled, and names the file from before.
TEST_F(HostileFiles, MarksOfTrials)
{
    const std::string payload(64, '1');
    store_options options = {};
    options.pulled = payload.c_str();
    Store(root()).commit("old");
    ASSERT_EQ(Store(root(), options).commit_unmerged("theirs"), STATUS_ok);
    {
        Store store(root());
        store.load();
        ASSERT_EQ(store.commit("more"), STATUS_ok);
    }
    const std::string victim = root() + "/victim";
    put(victim, "");
    const std::string name = files(".wpcache").at(0);
    const std::string kept_name = files(".part").at(0);
    const std::string mark_name = files(".trial").at(0);
    const std::string file = get(name);
    const std::string kept = get(kept_name);
    const std::string marks[] = {get(mark_name), payload + "\nkept ../victim\n",
                                 payload + "\nkept " + fs::path(name).filename().string() + "\n"};
    for (unsigned i = 0; i < files_of_a_kind(); i++) {
        put(name, file);
        put(kept_name, kept);
        put(mark_name, damage(marks[draw(3)]));
        if (draw(2)) { // one that is proven
            Store store(root());
            store.load();
            store.call(CRASH_KEY_FIRST_PIPELINE);
        }
        start({"more old theirs"});
    }
    EXPECT_TRUE(fs::exists(victim));
}

TEST_F(HostileFiles, WhatIsKnownOfAllFolders)
{
    Store(root()).commit("words");
    const std::string limits = root() + "/.limits." + std::to_string(geteuid());
    const std::string folder = root();
    const quota_limits quota = {folder.c_str(), "app", 1 << 20, 1 << 20};
    for (unsigned i = 0; i < files_of_a_kind(); i++) {
        put(limits, damage("1700000000 4096\n"));
        quota_outcome outcome = {};
        quota_enforce(&quota, 100, &outcome);
        EXPECT_EQ(outcome.identities, 0u) << get(limits);
    }
}

TEST_F(HostileFiles, SettingsAndPolicies)
{
    const std::string settings =
        "# comment\nwarmpipe.enable = 1\nwarmpipe.dir = /a/b # c\nmax = 1G\n";
    const std::string policy = "[mine]\nvendor = 0x1002\ndevice-name = *x*\ninject = no\n"
                               "[other]\ndriver-version = 1.2.3\nserialize = yes\n";
    for (unsigned i = 0; i < files_of_a_kind(); i++) {
        const std::string one = damage(settings);
        settings_file_each(
            one.data(), one.size(), "",
            [](const char *, const char *, unsigned line, void *) { EXPECT_GT(line, 0u); },
            nullptr);
        const std::string two = damage(policy);
        policy_file file = {};
        policy_file_error error;
        if (policy_file_parse(two.data(), two.size(), &file, &error) == STATUS_ok) {
            policy_file_free(&file);
        }
    }
}

} // namespace
