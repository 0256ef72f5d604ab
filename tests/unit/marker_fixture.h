// SPDX-License-Identifier: Apache-2.0
// A folder of loading markers, and processes that load, live and die there.
#ifndef WARMPIPE_TESTS_MARKER_FIXTURE_H
#define WARMPIPE_TESTS_MARKER_FIXTURE_H

#include <future>
#include <memory>
#include <thread>

#include "disk_fixture.h"
#include "holder.h"
#include "scratch.h"

extern "C" {
#include "common/blobs/marker.h"
#include "common/blobs/trial.h"
}

constexpr uint64_t generation = 0xaaaaaaaaaaaaaaaa;
constexpr uint64_t other_generation = 0xbbbbbbbbbbbbbbbb;
constexpr uint64_t pipeline = 0x1111111111111111;
constexpr uint64_t another = 0x2222222222222222;
constexpr uint64_t third = 0x3333333333333333;

inline std::string encode(const marker_record &record)
{
    struct bytes bytes = {};
    marker_record_put(&bytes, &record);
    std::string text(reinterpret_cast<char *>(bytes.data), bytes.size);
    bytes_free(&bytes);
    return text;
}

class Markers : public testing::Test {
  protected:
    // The folder as a process finds it that starts now.
    class Found {
      public:
        explicit Found(const Markers &markers)
        {
            directory_fd_ = open(markers.scratch.path("").c_str(), O_RDONLY | O_DIRECTORY);
            marker_folder_open(directory_fd_, "loading", &folder);
        }
        ~Found()
        {
            marker_folder_close(&folder);
            close(directory_fd_);
        }
        Found(const Found &) = delete;
        Found &operator=(const Found &) = delete;

        marker_verdict judge(uint64_t of = generation)
        {
            return marker_judge(&folder, of, &history);
        }

        std::unique_ptr<marker> take(uint64_t of = generation)
        {
            auto taken = std::make_unique<marker>();
            EXPECT_TRUE(marker_take(&folder, of, &history, false, taken.get()));
            return taken;
        }

        marker_folder folder;
        marker_history history = {};

      private:
        int directory_fd_;
    };

    std::string folder_path() const
    {
        return scratch.path("loading");
    }

    // The blob of the other generation is saved again, as this one.
    void follow() const
    {
        const int directory_fd = open(scratch.path("").c_str(), O_RDONLY | O_DIRECTORY);
        marker_follow(directory_fd, "loading", other_generation, generation);
        marker_forget_failure(directory_fd, "loading", other_generation);
        close(directory_fd);
    }

    std::vector<std::string> names() const
    {
        return names_in(folder_path());
    }

    // A process that loads, with what it finds, and lives.
    std::unique_ptr<Holder> loading(uint64_t of = generation) const
    {
        return std::make_unique<Holder>([&] {
            Found found(*this);
            found.judge(of);
            die_in(found.take(of).release(), {CRASH_KEY_LOAD});
        });
    }

    void die_loading(uint64_t of = generation) const
    {
        loading(of)->end();
    }

    marker_verdict judge(uint64_t of = generation) const
    {
        return Found(*this).judge(of);
    }

    void survive_loading() const
    {
        Found found(*this);
        found.judge();
        const auto marker = found.take();
        call(*marker, CRASH_KEY_LOAD);
        marker_drop(marker.get(), folder_path().c_str(), true);
    }

    static void call(marker &marker, uint64_t key)
    {
        const crash_call call = crash_guard_raise(&marker.guard, key, CRASH_INSIDE);
        crash_guard_lower(&marker.guard, &call);
    }

    // Enters the calls, each on a thread of its own, and stays there.
    static void die_in(marker *marker, std::initializer_list<uint64_t> keys,
                       crash_state state = CRASH_INSIDE)
    {
        for (uint64_t key : keys) {
            std::promise<void> entered;
            std::thread([&entered, marker, key, state] {
                crash_guard_raise(&marker->guard, key, state);
                entered.set_value();
                pause();
            }).detach();
            entered.get_future().wait();
        }
    }

    struct Life {
        std::initializer_list<uint64_t> inside; // where it dies
        std::initializer_list<uint64_t> returned = {};
        crash_state state = CRASH_INSIDE;
        uint64_t saved = 0;
        bool is_long = false;
    };

    // A process that loads if it may, lives and dies.
    marker_verdict live(const Life &life) const
    {
        marker_verdict verdict = judge();
        if (verdict == MARKER_CLEAR) {
            Holder([&] {
                Found found(*this);
                EXPECT_EQ(found.judge(), MARKER_CLEAR);
                marker *marker = found.take().release();
                call(*marker, CRASH_KEY_LOAD);
                for (uint64_t key : life.returned) {
                    call(*marker, key);
                }
                marker->guard.page->saved = life.saved;
                die_in(marker, life.inside, life.state);
                crash_watch watch = {};
                for (uint64_t now_ns = 1; life.is_long && now_ns < CLOCK_S;
                     now_ns += CRASH_LONG_NS) {
                    crash_guard_watch(&marker->guard, &watch, now_ns);
                }
            }).end();
        }
        return verdict;
    }

    enum class Without { killed, passes, lives, ends };

    // The start that finds a death and goes without the blob.
    marker_verdict go_without(Without how, uint64_t of = generation) const
    {
        marker_verdict verdict = MARKER_CLEAR;
        Found found(*this);
        verdict = found.judge(of);
        Holder([&] {
            auto *taken = new marker();
            EXPECT_TRUE(marker_take(&found.folder, of, &found.history, true, taken));
            if (how == Without::passes) {
                call(*taken, pipeline);
            } else if (how == Without::lives) {
                crash_guard_end(&taken->guard);
            } else if (how == Without::ends) {
                marker_drop(taken, folder_path().c_str(), false);
                return;
            }
            die_in(taken, {third});
        }).end();
        return verdict;
    }

    // A day passes since the last process was killed without the blob.
    void forget_the_killed() const
    {
        const timespec times[2] = {{1, 0}, {1, 0}};
        EXPECT_EQ(utimensat(AT_FDCWD, (folder_path() + "/killed").c_str(), times, 0), 0);
    }

    Scratch scratch;
};

#endif
