// SPDX-License-Identifier: Apache-2.0
// What the tests with hostile files share: a folder where the product finds them.
#ifndef WARMPIPE_TESTS_HOSTILE_FILES_H
#define WARMPIPE_TESTS_HOSTILE_FILES_H

#include <cstdlib>

#include "damages.h"
#include "paths.h"
#include "recipe_samples.h"
#include "store_fixture.h"

namespace fs = std::filesystem;

// How often each kind of file is tried.
inline unsigned files_of_a_kind()
{
    constexpr unsigned kinds = 19;
    const char *wanted = std::getenv("WARMPIPE_HOSTILE_FILES");
    return (wanted ? static_cast<unsigned>(std::atoi(wanted)) : 6000) / kinds + 1;
}

// A kept input of a fuzzer, as a start.
inline std::string seed(const std::string &name)
{
    std::ifstream file(WARMPIPE_FUZZ_CORPUS "/" + name, std::ios::binary);
    EXPECT_TRUE(file) << name;
    std::stringstream content;
    content << file.rdbuf();
    return content.str();
}

class HostileFiles : public testing::Test, protected Damages {
  protected:
    HostileFiles()
    {
        fs::create_directories(folder());
        for (const std::string &name : {root(), folder()}) {
            chmod(name.c_str(), 0700);
        }
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

  private:
    Scratch scratch_;
};

#endif
