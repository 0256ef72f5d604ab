// SPDX-License-Identifier: Apache-2.0
// Recipes in memory: forms by their digests, made of create-infos as a program has them. A handle
// in a create-info is one that an earlier create-info was given.
#ifndef WARMPIPE_TESTS_RECIPE_BOOK_H
#define WARMPIPE_TESTS_RECIPE_BOOK_H

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "handles.h"

extern "C" {
#include "common/replay/replay.h"
}

class RecipeBook {
  public:
    using Key = std::pair<uint64_t, uint64_t>;

    std::map<Key, std::string> forms;
    std::map<Key, std::string> codes;
    std::map<std::pair<Key, Key>, unsigned> inline_stages; // by environment and pipeline
    Handles handles;

    ~RecipeBook()
    {
        canonical_free(&form_);
    }

    static Key key(digest d)
    {
        return {d.low, d.high};
    }

    digest write(const void *info, bool complete = true)
    {
        canonical_encode(&handles.context, info, &form_);
        EXPECT_NE(form_.verdict, CANONICAL_UNKNOWN) << form_.cause;
        EXPECT_EQ(form_.complete, complete);
        forms[key(form_.digest)].assign(reinterpret_cast<char *>(form_.key.data), form_.size);
        if (form_.code) {
            codes[key(form_.code_digest)].assign(static_cast<const char *>(form_.code),
                                                 form_.code_size);
        }
        return form_.digest;
    }

    template <typename Handle> Handle make(const void *info)
    {
        return (Handle)handles.handle_of(write(info));
    }

    replay_source source()
    {
        return {find, find_inline_stages, this};
    }

  private:
    canonical form_ = {};

    static unsigned find_inline_stages(void *user, digest environment, digest pipeline)
    {
        auto &all = static_cast<RecipeBook *>(user)->inline_stages;
        auto found = all.find({key(environment), key(pipeline)});
        return found == all.end() ? 0 : found->second;
    }

    static bool find(void *user, bool is_code, digest content, const void **data, size_t *size)
    {
        auto &book = *static_cast<RecipeBook *>(user);
        auto &where = is_code ? book.codes : book.forms;
        auto found = where.find(key(content));
        if (found == where.end()) {
            return false;
        }
        *data = found->second.data();
        *size = found->second.size();
        return true;
    }
};

#endif
