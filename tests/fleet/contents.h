// SPDX-License-Identifier: Apache-2.0
// Cache files of drivers that are not here: what they hold is the test's, and they need no device.
#ifndef WARMPIPE_TESTS_FLEET_CONTENTS_H
#define WARMPIPE_TESTS_FLEET_CONTENTS_H

#include <cstring>
#include <filesystem>
#include <random>
#include <set>
#include <string>

#include "fleet.h"

// Bytes that nothing compresses, the same for the same seed.
inline std::string noise(size_t size, uint64_t seed)
{
    std::mt19937_64 engine(seed);
    std::string text(size, '\0');
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        const uint64_t word = engine();
        memcpy(text.data() + at, &word, std::min(sizeof word, size - at));
    }
    return text;
}

// A program's folder of one device, whether or not the machine has it: `pull` is asked for it.
class Folder {
  public:
    Folder(Machine &machine, const std::string &app, const driver_identity &identity)
        : identity_(identity), path_(machine.root + "/" + app)
    {
        machine.lose_driver();
        std::filesystem::create_directories(path_);
        std::filesystem::permissions(path_, std::filesystem::perms(0700));
        write_file(path_ + "/" + hex_of(identity) + ".wanted", "");
    }

    std::string file() const
    {
        return path_ + "/" + hex_of(identity_) + ".wpcache";
    }

    void write(const std::string &content) const
    {
        write_file(file(), cache_file(identity_, make_blob(content, identity_)));
    }

    // What the layer does with a cache that has killed its process.
    void put_away() const
    {
        const std::string folder = path_ + "/quarantine";
        std::filesystem::create_directories(folder);
        std::filesystem::permissions(folder, std::filesystem::perms(0700));
        std::filesystem::rename(file(), folder + "/" + hex_of(identity_) + ".wpcache");
        remove_parts();
    }

    // A cache is a set of units: pipelines that are compiled together.
    static constexpr size_t unit_size = 4096;

    void write_units(const std::set<uint64_t> &units) const
    {
        std::string content;
        for (const uint64_t unit : units) {
            std::string block = noise(unit_size, unit);
            memcpy(block.data(), &unit, sizeof unit);
            content += block;
        }
        remove_parts();
        write(content);
    }

    // Of the file and the parts, as the next save would merge them.
    std::set<uint64_t> units() const
    {
        std::set<uint64_t> found;
        for (const auto &entry : std::filesystem::directory_iterator(path_)) {
            const std::string ending = entry.path().extension();
            if (ending == ".wpcache" || ending == ".part") {
                const std::string file = read_file(entry.path());
                const size_t count = file.size() / unit_size;
                for (size_t i = 0; i < count; i++) {
                    uint64_t unit;
                    memcpy(&unit, file.data() + file.size() - (i + 1) * unit_size, sizeof unit);
                    found.insert(unit);
                }
            }
        }
        return found;
    }

  private:
    void remove_parts() const
    {
        for (const auto &entry : std::filesystem::directory_iterator(path_)) {
            if (entry.path().extension() == ".part") {
                std::filesystem::remove(entry.path());
            }
        }
    }

    driver_identity identity_;
    std::string path_;
};

#endif
