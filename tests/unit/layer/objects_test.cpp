// SPDX-License-Identifier: Apache-2.0
// The table of live objects: references as creations, single flight, handles that come twice.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include "asleep.h"

extern "C" {
#include "layer/dedup/objects.h"
}

namespace {

constexpr VkObjectType kModule = VK_OBJECT_TYPE_SHADER_MODULE;
constexpr VkObjectType kPipeline = VK_OBJECT_TYPE_PIPELINE;

// The parts that a creation may take in single flight.
constexpr objects_flight kWaits = {true, false, true, false};
constexpr objects_flight kAlone = {false, false, false, false};
constexpr objects_flight kHot = {true, false, true, true};
constexpr objects_flight kNeedsHot = {true, true, true, false};

// A key over a text: the digest can be forced to collide.
class Key {
  public:
    explicit Key(std::string text, VkObjectType type = kModule, bool collide = false)
        : text_(std::move(text)), part_{text_.data(), text_.size()}
    {
        key_.type = type;
        facts_.content = digest_of(text_.data(), text_.size());
        key_.digest = collide ? digest{1, 1} : facts_.content;
        key_.parts = &part_;
        key_.part_count = 1;
    }
    Key(const Key &) = delete;
    const canonical_object *facts() const
    {
        return &facts_;
    }
    const object_key *get() const
    {
        return &key_;
    }

  private:
    std::string text_;
    iovec part_;
    object_key key_{};
    canonical_object facts_{};
};

class Objects : public testing::Test {
  protected:
    void SetUp() override
    {
        objects = objects_new();
    }
    void TearDown() override
    {
        objects_delete(objects);
    }

    // Claims and, where nobody has it, publishes `handle`. Returns what the program would get.
    uint64_t create(const Key &key, uint64_t handle)
    {
        object *found = nullptr;
        switch (objects_claim(objects, key.get(), key.facts(), &kWaits, &found)) {
        case OBJECTS_HIT:
            return object_handle(found);
        case OBJECTS_CREATE:
            objects_publish(objects, found, handle, {}, false);
            return handle;
        default:
            ADD_FAILURE() << "alone";
            return 0;
        }
    }

    bool is_known(uint64_t handle)
    {
        canonical_object facts{};
        return objects_resolve(objects, kModule, handle, &facts);
    }

    ::objects *objects = nullptr;
};

TEST_F(Objects, ReferencesAreCreations)
{
    Key key("a");
    EXPECT_EQ(create(key, 10), 10u);
    EXPECT_EQ(create(key, 11), 10u);
    EXPECT_EQ(create(key, 12), 10u);
    EXPECT_FALSE(objects_release(objects, kModule, 10));
    EXPECT_FALSE(objects_release(objects, kModule, 10));
    EXPECT_TRUE(objects_release(objects, kModule, 10));
    EXPECT_FALSE(is_known(10));
    EXPECT_EQ(create(key, 13), 13u) << "a destroyed object is not served";
}

TEST_F(Objects, TypeAndBytesDecideNotTheDigest)
{
    Key a("a", kModule, true), b("b", kModule, true), c("a", kPipeline, true);
    EXPECT_EQ(create(a, 1), 1u);
    EXPECT_EQ(create(b, 2), 2u);
    EXPECT_EQ(create(c, 3), 3u);
    EXPECT_EQ(create(b, 9), 2u);
}

TEST_F(Objects, PartsAreComparedAcrossTheirBounds)
{
    iovec two[2] = {{const_cast<char *>("ab"), 2}, {const_cast<char *>("c"), 1}};
    object_key key{};
    key.type = kModule;
    key.digest = digest_of("abc", 3);
    key.parts = two;
    key.part_count = 2;
    canonical_object facts{};
    object *claim = nullptr;
    ASSERT_EQ(objects_claim(objects, &key, &facts, &kWaits, &claim), OBJECTS_CREATE);
    objects_publish(objects, claim, 4, {}, false);
    EXPECT_EQ(create(Key("abc"), 5), 4u);
    EXPECT_EQ(create(Key("abcd"), 6), 6u);
    EXPECT_EQ(create(Key("ab"), 7), 7u);
}

TEST_F(Objects, ARecycledHandleIsANewObject)
{
    Key a("a"), b("b");
    create(a, 10);
    canonical_object first{}, second{};
    ASSERT_TRUE(objects_resolve(objects, kModule, 10, &first));
    EXPECT_TRUE(objects_release(objects, kModule, 10));
    EXPECT_FALSE(objects_resolve(objects, kModule, 10, &second));
    create(b, 10);
    ASSERT_TRUE(objects_resolve(objects, kModule, 10, &second));
    EXPECT_NE(first.serial, second.serial);
    EXPECT_TRUE(digest_equal(second.content, b.facts()->content));
}

TEST_F(Objects, TheDriverMayReturnOneHandleForTwoCreations)
{
    Key a("a"), b("b");
    create(a, 10);
    create(b, 10); // another content, the same handle: two driver creations
    EXPECT_EQ(create(a, 11), 10u);
    int down = 0;
    for (int i = 0; i < 3; ++i) {
        down += objects_release(objects, kModule, 10);
    }
    EXPECT_EQ(down, 2);
    EXPECT_FALSE(is_known(10));
}

TEST_F(Objects, EqualValuesOfTwoTypesAreTwoObjects)
{
    create(Key("a", kModule), 10);
    create(Key("p", kPipeline), 10);
    EXPECT_TRUE(objects_release(objects, kModule, 10));
    EXPECT_TRUE(objects_release(objects, kPipeline, 10));
}

TEST_F(Objects, AdoptedObjectsAreKnownAndNeverShared)
{
    Key a("a");
    objects_adopt(objects, kModule, 20, a.facts(), nullptr);
    objects_adopt(objects, kModule, 21, nullptr, nullptr);
    canonical_object facts{};
    ASSERT_TRUE(objects_resolve(objects, kModule, 20, &facts));
    EXPECT_TRUE(digest_equal(facts.content, a.facts()->content));
    EXPECT_FALSE(objects_resolve(objects, kModule, 21, &facts));
    EXPECT_EQ(create(a, 22), 22u);
    EXPECT_TRUE(objects_release(objects, kModule, 20));
    EXPECT_TRUE(objects_release(objects, kModule, 21));
    EXPECT_TRUE(objects_release(objects, kModule, 99)) << "unknown handles are the driver's";
}

TEST_F(Objects, ARenderPassKeepsWhatItsSubpassesUse)
{
    canonical_object facts{};
    facts.use = {3, 1, 2};
    objects_adopt(objects, VK_OBJECT_TYPE_RENDER_PASS, 5, &facts, nullptr);
    canonical_object found{};
    ASSERT_TRUE(objects_resolve(objects, VK_OBJECT_TYPE_RENDER_PASS, 5, &found));
    EXPECT_EQ(found.use.known, 3u);
    EXPECT_EQ(found.use.color, 1u);
    EXPECT_EQ(found.use.depth_stencil, 2u);
}

TEST_F(Objects, OneThreadCreatesTheOthersWait)
{
    Key key("a");
    object *claim = nullptr;
    ASSERT_EQ(objects_claim(objects, key.get(), key.facts(), &kWaits, &claim), OBJECTS_CREATE);
    object *none = nullptr;
    EXPECT_EQ(objects_claim(objects, key.get(), key.facts(), &kAlone, &none), OBJECTS_ALONE);
    std::vector<std::thread> threads;
    std::atomic<int> hits{0};
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            object *mine = nullptr;
            if (objects_claim(objects, key.get(), key.facts(), &kWaits, &mine) == OBJECTS_HIT &&
                object_handle(mine) == 33) {
                ++hits;
            }
        });
    }
    objects_publish(objects, claim, 33, {}, false);
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(hits, 8);
}

TEST_F(Objects, AnAbandonedClaimIsTakenUpByOneWaiter)
{
    Key key("a");
    object *claim = nullptr;
    ASSERT_EQ(objects_claim(objects, key.get(), key.facts(), &kWaits, &claim), OBJECTS_CREATE);
    std::atomic<int> created{0}, hits{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            object *mine = nullptr;
            if (objects_claim(objects, key.get(), key.facts(), &kWaits, &mine) == OBJECTS_CREATE) {
                ++created;
                objects_publish(objects, mine, 44, {}, false);
            } else {
                hits += object_handle(mine) == 44;
            }
        });
    }
    objects_abandon(objects, claim);
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(created, 1);
    EXPECT_EQ(hits, 3);
}

// Whoever finds a claim like this one does not wait for it, but creates alone.
void expect_not_awaited(objects *objects, const objects_flight &owner, const objects_flight &other)
{
    Key key("a", kPipeline);
    object *claim = nullptr, *found = nullptr;
    ASSERT_EQ(objects_claim(objects, key.get(), key.facts(), &owner, &claim), OBJECTS_CREATE);
    EXPECT_EQ(objects_claim(objects, key.get(), key.facts(), &other, &found), OBJECTS_ALONE);
    EXPECT_EQ(found, claim);
    objects_publish(objects, claim, 7, {}, owner.in_device_cache);
    EXPECT_EQ(objects_claim(objects, key.get(), key.facts(), &other, &found), OBJECTS_HIT);
}

TEST_F(Objects, ACallOfSeveralIsNotWaitedFor)
{
    expect_not_awaited(objects, kAlone, kWaits);
}

TEST_F(Objects, WhoNeedsTheHotCacheDoesNotWaitForWhatGoesElsewhere)
{
    expect_not_awaited(objects, kWaits, kNeedsHot);
}

TEST_F(Objects, WhoNeedsTheHotCacheWaitsForWhatGoesThere)
{
    Key key("a", kPipeline);
    object *claim = nullptr;
    ASSERT_EQ(objects_claim(objects, key.get(), key.facts(), &kHot, &claim), OBJECTS_CREATE);
    std::thread other([&] {
        object *found = nullptr;
        EXPECT_EQ(objects_claim(objects, key.get(), key.facts(), &kNeedsHot, &found), OBJECTS_HIT);
        EXPECT_TRUE(object_is_in_device_cache(found));
    });
    objects_publish(objects, claim, 7, {}, true);
    other.join();
}

// Creations have taken microseconds so far: one that never ends is not waited for without end.
TEST_F(Objects, AWaitIsBoundedByWhatCreationsTake)
{
    create(Key("quick", kPipeline), 1);
    Key key("a", kPipeline);
    object *claim = nullptr, *found = nullptr;
    ASSERT_EQ(objects_claim(objects, key.get(), key.facts(), &kWaits, &claim), OBJECTS_CREATE);
    std::thread other([&] {
        EXPECT_EQ(objects_claim(objects, key.get(), key.facts(), &kWaits, &found), OBJECTS_ALONE);
    });
    other.join();
    objects_abandon(objects, claim);
}

// It may not run for as long as others do. Should it be waited for, it would publish, and be found.
TEST_F(Objects, AThreadOfLowerPriorityIsNotWaitedFor)
{
    Key key("a", kPipeline);
    object *found = nullptr;
    const pid_t waiting = gettid();
    std::atomic<bool> claimed{false}, answered{false};
    std::thread idle([&] {
        object *claim = nullptr;
        EXPECT_EQ(objects_claim(objects, key.get(), key.facts(), &kWaits, &claim), OBJECTS_CREATE);
        const sched_param parameter = {};
        EXPECT_EQ(sched_setscheduler(0, SCHED_IDLE, &parameter), 0);
        claimed = true;
        while (!answered && !is_asleep(waiting)) {
        }
        objects_publish(objects, claim, 7, {}, false);
    });
    while (!claimed) {
    }
    EXPECT_EQ(objects_claim(objects, key.get(), key.facts(), &kWaits, &found), OBJECTS_ALONE);
    answered = true;
    idle.join();
}

// 16 threads create and destroy a few contents; a driver beneath counts what it gave out and never
// reuses a handle while it is out.
TEST_F(Objects, StormKeepsTheDriversBooks)
{
    std::mutex lock;
    std::map<uint64_t, std::string> out; // live driver handles
    std::vector<uint64_t> unused;        // recycled first, as drivers do
    uint64_t next = 1;
    std::atomic<int> wrong{0};
    auto driver_create = [&](const std::string &text) {
        std::lock_guard guard(lock);
        uint64_t handle = unused.empty() ? next++ : unused.back();
        if (!unused.empty()) {
            unused.pop_back();
        }
        out[handle] = text;
        return handle;
    };
    auto driver_destroy = [&](uint64_t handle) {
        std::lock_guard guard(lock);
        wrong += out.erase(handle) != 1;
        unused.push_back(handle);
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 16; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937 random(t);
            std::vector<std::pair<uint64_t, std::string>> mine;
            for (int i = 0; i < 3000; ++i) {
                if (mine.size() < 8 && random() % 2) {
                    std::string text(1, char('a' + random() % 6));
                    Key key(text);
                    uint64_t handle = 0;
                    object *found = nullptr;
                    switch (objects_claim(objects, key.get(), key.facts(), &kWaits, &found)) {
                    case OBJECTS_CREATE:
                        handle = driver_create(text);
                        objects_publish(objects, found, handle, {}, false);
                        break;
                    case OBJECTS_HIT:
                        handle = object_handle(found);
                        break;
                    case OBJECTS_ALONE: // it has waited long enough
                        handle = driver_create(text);
                        objects_adopt(objects, kModule, handle, key.facts(), nullptr);
                        break;
                    }
                    {
                        std::lock_guard guard(lock);
                        wrong += !out.count(handle) || out[handle] != text;
                    }
                    mine.emplace_back(handle, text);
                } else if (!mine.empty()) {
                    uint64_t handle = mine.back().first;
                    mine.pop_back();
                    if (objects_release(objects, kModule, handle)) {
                        driver_destroy(handle);
                    }
                }
            }
            for (auto &[handle, text] : mine) {
                if (objects_release(objects, kModule, handle)) {
                    driver_destroy(handle);
                }
            }
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(out.empty());
    for (uint64_t handle = 1; handle < next; ++handle) {
        EXPECT_FALSE(is_known(handle));
    }
}

} // namespace
