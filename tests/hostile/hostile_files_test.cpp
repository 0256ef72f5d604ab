// SPDX-License-Identifier: Apache-2.0
// Files of every kind, damaged in every way, put where the product finds them; and all that it does
// with them is done: loaded, merged, compacted, counted, replaced. What it must not do: crash, read
// outside (this is for the sanitizers), take anything for whole that is not, or fail for good.
//
// WARMPIPE_HOSTILE_FILES: how many files are tried in all (4,000).
#include <algorithm>
#include <cstdlib>
#include <random>

#include "recipe_samples.h"
#include "store_fixture.h"

extern "C" {
#include "common/driver/policy.h"
#include "common/files/program.h"
#include "common/recipes/format.h"
#include "common/recipes/merge.h"
#include "common/recipes/recipes.h"
#include "common/settings/config.h"
}

namespace {

namespace fs = std::filesystem;

// In memory where that can be had.
const bool in_memory = access("/dev/shm", W_OK) == 0 && setenv("TEST_TMPDIR", "/dev/shm/", 0) == 0;

constexpr unsigned kinds = 9;

unsigned files_of_a_kind()
{
    const char *wanted = std::getenv("WARMPIPE_HOSTILE_FILES");
    return (wanted ? static_cast<unsigned>(std::atoi(wanted)) : 4000) / kinds + 1;
}

class HostileFiles : public testing::Test {
  protected:
    HostileFiles()
    {
        fs::create_directories(folder());
        for (const std::string &name : {root(), folder()}) {
            chmod(name.c_str(), 0700);
        }
    }

    ~HostileFiles() override
    {
        printf("%u files\n", tried_);
    }

    std::string root() const
    {
        return scratch_.path("root");
    }

    std::string folder() const
    {
        return root() + "/app";
    }

    void put(const std::string &path, const std::string &content)
    {
        fs::create_directories(fs::path(path).parent_path());
        chmod(fs::path(path).parent_path().c_str(), 0700);
        std::ofstream(path, std::ios::binary) << content;
        chmod(path.c_str(), 0600);
    }

    static std::string get(const std::string &path)
    {
        std::ifstream file(path, std::ios::binary);
        std::stringstream content;
        content << file.rdbuf();
        return content.str();
    }

    // The names below the folder that end so.
    std::vector<std::string> files(const std::string &suffix) const
    {
        std::vector<std::string> found;
        for (const auto &entry : fs::recursive_directory_iterator(folder())) {
            const std::string path = entry.path();
            if (entry.is_regular_file() && path.size() >= suffix.size() &&
                path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0) {
                found.push_back(path);
            }
        }
        std::sort(found.begin(), found.end());
        return found;
    }

    size_t draw(size_t below)
    {
        return below ? random_() % below : 0;
    }

    char draw_byte()
    {
        static const std::string telling = std::string("\0\1\x7f\x80\xff\n \"{}[]=#*", 16);
        return draw(2) ? static_cast<char>(random_()) : telling[draw(telling.size())];
    }

    // One damage, or a few, of the kinds that disks, editors and enemies make.
    std::string damage(std::string content)
    {
        for (size_t i = 1 + draw(draw(4) ? 1 : 6); i > 0; i--) {
            const size_t at = draw(content.size() + 1);
            const size_t size = draw(std::min<size_t>(content.size() - at, 64) + 1);
            switch (draw(9)) {
            case 0:
            case 1:
            case 2:
                if (at < content.size()) {
                    content[at] = static_cast<char>(content[at] ^ 1 << draw(8));
                }
                break;
            case 3:
                content.resize(at);
                break;
            case 4:
                content.insert(at, size, draw_byte());
                break;
            case 5:
                std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(at), size, '\0');
                break;
            case 6:
                content.insert(draw(content.size() + 1), content.substr(at, size));
                break;
            case 7:
                content.erase(at, size);
                break;
            default:
                for (size_t k = at; k < at + std::min<size_t>(size, 8); k++) {
                    content[k] = draw_byte();
                }
            }
        }
        tried_++;
        return content;
    }

    // Makes both digests of a cache file right, so that it is its fields that are judged.
    static std::string sign(std::string file)
    {
        if (file.size() >= ENVELOPE_HEADER_SIZE) {
            put_digest(
                file, 880,
                digest_of(file.data() + ENVELOPE_HEADER_SIZE, file.size() - ENVELOPE_HEADER_SIZE));
            put_digest(file, ENVELOPE_HEADER_SIZE - 16,
                       digest_of(file.data(), ENVELOPE_HEADER_SIZE - 16));
        }
        return file;
    }

    // Makes the check and the digest of some records right.
    std::string sign_records(std::string file)
    {
        for (size_t at = 32; at + 32 <= file.size(); at += 8) {
            uint32_t size = 0;
            std::memcpy(&size, &file[at + 4], sizeof size);
            const uint8_t kind = static_cast<uint8_t>(file[at]);
            if (kind >= 1 && kind <= 6 && file[at + 1] == 1 && file[at + 2] == 1 &&
                file[at + 3] == 0 && size <= file.size() - at - 32 && draw(3)) {
                if (kind != 6) {
                    put_digest(file, at + 8, digest_of(&file[at + 32], size));
                }
                const digest check = digest_of(&file[at], 24);
                std::memcpy(&file[at + 24], &check.low, sizeof check.low);
            }
        }
        return file;
    }

    static void put_digest(std::string &file, size_t at, digest digest)
    {
        std::memcpy(&file[at], &digest.low, 8);
        std::memcpy(&file[at + 8], &digest.high, 8);
    }

    // A store's start: what it loads is whole, and its save makes all well again.
    void start(const std::vector<std::string> &whole)
    {
        {
            Store store(root());
            const std::string found = store.load();
            EXPECT_TRUE(found[0] == '<' ||
                        std::find(whole.begin(), whole.end(), found) != whole.end())
                << found;
            store_survived(store.get());
            const enum status saved = store.commit("new");
            EXPECT_TRUE(saved == STATUS_ok || saved == STATUS_suspect) << status_id(saved);
        }
        for (const std::string &path : files("")) {
            fs::remove(path);
        }
    }

    unsigned tried() const
    {
        return tried_;
    }

  private:
    Scratch scratch_;
    std::mt19937 random_{1};
    unsigned tried_ = 0;
};

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
    ASSERT_EQ(program_count(root().c_str(), "app", &more, 1700000000), STATUS_ok);
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
        const enum status counted = program_count(root().c_str(), "app", &more, 1700000001);
        EXPECT_EQ(counted, STATUS_ok) << status_id(counted) << get(path);
        EXPECT_EQ(program_load(root().c_str(), "app", &facts), STATUS_ok) << get(path);
    }
}

std::string recipes_of(unsigned first, unsigned end, bool sealed)
{
    struct bytes file = {};
    struct bytes entries = {};
    recipe_put_header(&file);
    const auto add = [&](unsigned kind, const std::string &data) {
        recipe_index_put(&entries, kind, digest_of(data), file.size);
        recipe_put_record(&file, kind, digest_of(data), data.data(), data.size());
    };
    for (unsigned number = first; number < end; number++) {
        const SamplePipeline sample = Samples::pipeline(number);
        add(RECIPE_CODE, sample.code);
        for (const std::string &form :
             {sample.module, sample.set_layout, sample.layout, sample.form}) {
            add(RECIPE_FORM, form);
        }
        add(RECIPE_ENVIRONMENT, "environment " + std::to_string(number % 2));
        recipe_use use = {digest_of(sample.form),
                          digest_of("environment " + std::to_string(number % 2)),
                          20000,
                          3,
                          1500,
                          false,
                          false};
        recipe_uses uses = {};
        uses.uses = &use;
        uses.count = 1;
        const size_t at = file.size;
        recipe_uses_put(&file, &uses);
        recipe_index_put(&entries, RECIPE_USES, digest_of(file.data + at + 32, 44), at);
    }
    if (sealed) {
        recipe_index_sort(entries.data, entries.size / 24);
        recipe_put_index(&file, entries.data, entries.size / 24, file.size);
    }
    std::string text = text_of(file);
    bytes_free(&file);
    bytes_free(&entries);
    return text;
}

TEST_F(HostileFiles, Segments)
{
    const std::string good = recipes_of(0, 2, false);
    const std::string whole = recipes_of(2, 4, true);
    for (unsigned i = 0; i < 2 * files_of_a_kind(); i++) {
        const std::string bad = damage(draw(2) ? good : whole);
        put(folder() + "/recipes/0000000000000001.wprecipes", draw(2) ? sign_records(bad) : bad);
        put(folder() + "/recipes/0000000000000002.wprecipes", good);
        for (const recipes_access access : {RECIPES_READ, RECIPES_MAP}) {
            struct recipes *recipes = nullptr;
            if (recipes_open(root().c_str(), "app", access, &recipes) != STATUS_ok) {
                ADD_FAILURE() << "the other segment is whole";
                continue;
            }
            const recipe_use *uses;
            const size_t count = recipes_uses(recipes, &uses);
            EXPECT_GE(count, 2u);
            for (size_t k = 0; k < count; k++) {
                const void *data;
                size_t size;
                if (recipes_find(recipes, RECIPE_FORM, uses[k].pipeline, &data, &size)) {
                    EXPECT_TRUE(digest_equal(digest_of(data, size), uses[k].pipeline));
                }
            }
            recipes_close(recipes);
        }
        if (i % 8 == 0) { // more than four are compacted
            for (unsigned k = 3; k < 7; k++) {
                put(folder() + "/recipes/000000000000000" + std::to_string(k) + ".wprecipes",
                    k % 2 ? good : damage(whole));
            }
            recipe_compact(root().c_str(), "app", nullptr);
            struct recipes *recipes = nullptr;
            ASSERT_EQ(recipes_open(root().c_str(), "app", RECIPES_READ, &recipes), STATUS_ok);
            const recipe_use *uses;
            EXPECT_GE(recipes_uses(recipes, &uses), 2u);
            recipes_close(recipes);
            fs::remove_all(folder() + "/recipes");
        }
    }
}

TEST_F(HostileFiles, ListsOfCrashes)
{
    const digest identity = digest_of(std::string("identity"));
    std::string good("wpcrsh\n\1", 8);
    for (const char *name : {"first", "second", "third"}) {
        const digest one = digest_of(std::string(name));
        std::string place(24, '\0');
        put_digest(place, 0, one);
        const digest check = digest_of(place.data(), 16);
        std::memcpy(&place[16], &check.low, 8);
        good += place;
    }
    char hex[DIGEST_HEX_SIZE];
    digest_format(identity, hex);
    for (const char *suffix : {".crashed", ".0123456789abcdef.replaying"}) {
        for (unsigned i = 0; i < files_of_a_kind(); i++) {
            const std::string path = folder() + "/recipes/" + hex + suffix;
            put(path, damage(good));
            recipe_crashes *crashes = nullptr;
            const enum status reason =
                recipe_crashes_open(root().c_str(), "app", identity, 2, &crashes);
            EXPECT_EQ(reason, STATUS_ok) << status_id(reason);
            recipe_crashes_close(crashes);
            fs::remove_all(folder() + "/recipes");
        }
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
