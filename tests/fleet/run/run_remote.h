// SPDX-License-Identifier: Apache-2.0
// Two machines that share a folder through `run --remote`.
#ifndef WARMPIPE_TESTS_FLEET_RUN_RUN_REMOTE_H
#define WARMPIPE_TESTS_FLEET_RUN_RUN_REMOTE_H

#include "fleet.h"

class RunRemote : public testing::Test {
  protected:
    Keys keys;
    Machine first;
    Machine second;
    std::unique_ptr<Place> place = file_place();

    std::vector<std::string> writer()
    {
        return {"--remote", place->url, "--secret-key", keys.secret};
    }

    std::vector<std::string> reader()
    {
        return {"--remote", place->url, "--public-key", keys.open};
    }
};

// The puller, as the program's shell sees it.
inline const std::string the_puller =
    "$(cat /proc/$PPID/task/$PPID/children | tr ' ' '\n' | grep -v \"^$$\\$\")";

inline const std::string the_program = PIPELINES_CLIENT " --graphics 0 --compute 4";

inline bool something_is_asked(const std::string &folder)
{
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename();
        if (entry.path().extension() == ".asked" || name.compare(0, 6, "asked.") == 0) {
            return true;
        }
    }
    return false;
}

inline const std::string held_lease = "warmpipe lease v1 0123456789abcdef 600\n";

#endif
