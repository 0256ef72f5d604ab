// SPDX-License-Identifier: Apache-2.0
// A store whose cache data is a set of words: merging is the union. Like a driver's cache, what a
// process has grows by what it loads and creates, not by what it merges for a save.
#ifndef WARMPIPE_TESTS_UNIT_STORE_FIXTURE_H
#define WARMPIPE_TESTS_UNIT_STORE_FIXTURE_H

#include <memory>
#include <sstream>

#include "disk_fixture.h"
#include "holder.h"
#include "scratch.h"

extern "C" {
#include "common/blobs/store.h"
}

using Words = std::set<std::string>;

inline Words words_of(const std::string &text)
{
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
}

inline std::string text_of(const Words &words)
{
    std::string text;
    for (const std::string &word : words) {
        text += (text.empty() ? "" : " ") + word;
    }
    return text;
}

class Store {
  public:
    explicit Store(const std::string &root, store_options options = {},
                   const driver_identity &identity = sample_identity())
        : identity_(identity)
    {
        options.root = root.c_str();
        options.app = options.app ? options.app : "app";
        options.max_blob = options.max_blob ? options.max_blob : 1 << 20;
        store_.reset(store_open(&options, &identity));
    }

    store *get()
    {
        return store_.get();
    }

    void close()
    {
        store_.reset();
    }

    // The payload, or the reason's id in angle brackets. The driver has taken it; the marker
    // stands.
    std::string load()
    {
        store_blob blob;
        enum status reason = store_load(get(), &blob);
        if (reason != STATUS_ok) {
            return "<" + std::string(status_id(reason)) + ">";
        }
        std::string payload = payload_of(blob.data, blob.size);
        own_.merge(words_of(payload));
        EXPECT_TRUE(digest_equal(blob.digest, digest_of(blob.data, blob.size)));
        store_blob_free(&blob);
        const crash_call call = begin_call(CRASH_KEY_LOAD);
        crash_guard_lower(store_guard(get()), &call);
        return payload;
    }

    // A driver call that uses what was loaded.
    crash_call begin_call(uint64_t key, crash_state state = CRASH_INSIDE)
    {
        return crash_guard_raise(store_guard(get()), key, state);
    }

    void call(uint64_t key)
    {
        const crash_call call = begin_call(key);
        crash_guard_lower(store_guard(get()), &call);
    }

    // Saves what this process has, the words among it, merged with what store_begin gives.
    enum status commit(const std::string &words)
    {
        store_foreign foreign;
        enum status reason = store_begin(get(), &foreign);
        if (reason != STATUS_ok) {
            return reason;
        }
        Words merged = add(words);
        store_merging(get());
        for (size_t i = 0; i < foreign.count; i++) {
            merged.merge(words_of(payload_of(foreign.blobs[i].data, foreign.blobs[i].size)));
        }
        store_merged(get());
        std::string blob = make_blob(text_of(merged), identity_);
        return store_commit(get(), blob.data(), blob.size());
    }

    void end_outgrown(bool merged)
    {
        store_foreign foreign;
        ASSERT_EQ(store_begin(get(), &foreign), STATUS_ok);
        store_end_outgrown(get(), merged);
    }

    enum status commit_unmerged(const std::string &words)
    {
        std::string blob = make_blob(text_of(add(words)), identity_);
        return store_commit_unmerged(get(), blob.data(), blob.size());
    }

  private:
    const Words &add(const std::string &words)
    {
        own_.merge(words_of(words));
        return own_;
    }

    struct Close {
        void operator()(store *store) const
        {
            store_close(store);
        }
    };
    driver_identity identity_;
    Words own_;
    std::unique_ptr<store, Close> store_;
};

// A folder of one program, and the processes that save there one after the other.
class StoreTest : public testing::Test {
  protected:
    std::string root() const
    {
        return scratch.path("root");
    }

    std::string folder() const
    {
        return root() + "/app";
    }

    std::string file() const
    {
        return store_path(Store(root()).get());
    }

    std::vector<std::string> names(const std::string &suffix) const
    {
        return names_in(folder(), suffix);
    }

    std::vector<std::string> parts() const
    {
        return names_in(folder(), ".part");
    }

    std::string file_content() const
    {
        return scratch.read("root/app/" + std::filesystem::path(file()).filename().string());
    }

    // What the next process finds.
    std::string load() const
    {
        return Store(root()).load();
    }

    // A process that does its work and ends.
    void save(const std::string &words) const
    {
        Store store(root());
        store.load();
        ASSERT_EQ(store.commit(words), STATUS_ok);
    }

    // Another process, in the middle of a commit.
    std::unique_ptr<Holder> hold_lock() const
    {
        return std::make_unique<Holder>([&] {
            Store *other = new Store(root()); // never closed
            store_foreign foreign;
            ASSERT_EQ(store_begin(other->get(), &foreign), STATUS_ok);
        });
    }

    // A process that began with nothing and may not merge: its save becomes a part.
    void leave_part(const std::string &words) const
    {
        Store store(root());
        ASSERT_EQ(store.commit_unmerged(words), STATUS_ok);
        ASSERT_TRUE(store_has_part(store.get()));
    }

    Scratch scratch;
};

#endif
