// SPDX-License-Identifier: Apache-2.0
// Programs and the tool among damaged files, through the real loader: one file of what a start
// reads is damaged, then a program starts, and a verb of the tool looks at what is there.
//
// WARMPIPE_HOSTILE_STARTS: how often (100).
#include <cstdlib>
#include <fstream>

#include <unistd.h>

#include "damages.h"
#include "paths.h"
#include "recipes.hpp"
#include "test_icd.h"

extern "C" {
#include "common/base/digest.h"
}

namespace fs = std::filesystem;

namespace {

constexpr unsigned asked_for = 6;

class HostileStartsTest : public RecipesTest, protected Damages {
  protected:
    using Files = std::map<fs::path, std::string>;

    // All files below the caches' root.
    Files files() const
    {
        Files all;
        for (const auto &entry : fs::recursive_directory_iterator(cache_root())) {
            if (entry.is_regular_file()) {
                all[entry.path()] = read_text(entry.path());
            }
        }
        return all;
    }

    void put_back(const Files &all) const
    {
        fs::remove_all(cache_root());
        for (const auto &[path, content] : all) {
            fs::create_directories(path.parent_path());
            write(path, content);
        }
        for (const auto &entry : fs::recursive_directory_iterator(cache_root())) {
            const bool is_folder = entry.is_directory();
            fs::permissions(entry, is_folder ? fs::perms::owner_all
                                             : fs::perms::owner_read | fs::perms::owner_write);
        }
    }

    static void write(const fs::path &path, const std::string &content)
    {
        std::ofstream(path, std::ios::binary) << content;
    }

    // What dead processes have left: a part, a marker, a list of crashes and one to come.
    void add_leftovers()
    {
        const fs::path file = cache_file();
        const std::string identity = file.stem();
        const fs::path app = file.parent_path();
        fs::copy_file(file, app / (identity + ".0123456789abcdef.part"));
        fs::create_directories(app / (identity + ".loading"));
        std::string marker("wpmark\n\1", 8);
        marker += "\1\2\3\4\5\6\7\10" + read_text(file).substr(24, 8) + std::string(52, '\0');
        write(app / (identity + ".loading") / "0807060504030201", marker);
        std::string crashes("wpcrsh\n\1", 8);
        const digest other = digest_of("other", 5);
        const digest check = digest_of(&other, sizeof other);
        crashes.append(reinterpret_cast<const char *>(&other), sizeof other);
        crashes.append(reinterpret_cast<const char *>(&check.low), sizeof check.low);
        write(app / "recipes" / (identity + ".crashed"), crashes);
        write(app / "recipes" / (identity + ".0123456789abcdef.replaying"), crashes);
        write(cache_root() / (".limits." + std::to_string(geteuid())), "1700000000 4096\n");
    }

    static unsigned starts()
    {
        const char *wanted = std::getenv("WARMPIPE_HOSTILE_STARTS");
        return wanted ? static_cast<unsigned>(std::atoi(wanted)) : 100;
    }
};

TEST_F(HostileStartsTest, NothingThatAStartReadsEndsIt)
{
    const auto program = [] { Program().create_compute(0, asked_for); };
    const std::vector<std::vector<std::string>> verbs = {
        {"list"}, {"verify"}, {"stats"}, {"inspect"}, {"prune", "--dry-run"}, {"export", "-"}};
    const fs::path policy = folder() / "policy";
    const std::string good_policy = "[mine]\nvendor = 0x1002\ndevice-name = *x*\ninject = no\n";
    environment["WARMPIPE_POLICY"] = policy;
    write(policy, good_policy);
    run(program);
    add_leftovers();
    const Files good = files();
    ASSERT_GE(good.size(), 8u);
    for (unsigned i = 0; i < starts(); ++i) {
        put_back(good);
        auto one = good.begin();
        std::advance(one, draw(good.size() + 1));
        const fs::path path = one == good.end() ? policy : one->first;
        const std::string bad = damage(one == good.end() ? good_policy : one->second);
        write(path, bad);
        run(program);
        std::vector<std::string> command = {WARMPIPE_TOOL};
        const auto &verb = verbs[draw(verbs.size())];
        command.insert(command.end(), verb.begin(), verb.end());
        Expected any = {Layer::absent};
        any.any_status = true;
        EXPECT_GE(execute(command, any).status, 0) << verb[0] << " was killed";
        write(policy, good_policy);
        if (HasFailure()) {
            const fs::path kept = fs::temp_directory_path() / "hostile-start";
            write(kept, bad);
            FAIL() << path << " as in " << kept;
        }
    }
    printf("%u files\n", tried);
}

} // namespace
