// SPDX-License-Identifier: Apache-2.0
// A graphics pipeline whose canonical form is looked at after each change.
#ifndef WARMPIPE_TESTS_CANONICAL_GRAPHICS_H
#define WARMPIPE_TESTS_CANONICAL_GRAPHICS_H

#include <gtest/gtest.h>

#include "graphics_info.h"
#include "handles.h"

class CanonicalGraphics : public testing::Test {
  protected:
    Handles handles_;
    GraphicsInfo g_;
    canonical form_ = {};

    ~CanonicalGraphics() override
    {
        canonical_free(&form_);
    }

    digest content()
    {
        canonical_encode(&handles_.context, &g_.info, &form_);
        EXPECT_EQ(form_.verdict, CANONICAL_SHARE) << form_.cause;
        return form_.digest;
    }

    // The state's pointer is ignored: garbage in it is the same as NULL, and not followed.
    template <typename T> void expect_ignored(const T *&pointer)
    {
        const T *was = pointer;
        pointer = nullptr;
        digest without = content();
        pointer = nowhere<T>();
        EXPECT_TRUE(digest_equal(without, content()));
        pointer = was;
    }

    // The state counts: a change in it is another pipeline.
    template <typename T> void expect_live(T &value)
    {
        digest before = content();
        T was = value;
        value = static_cast<T>(static_cast<int>(value) ^ 1);
        EXPECT_FALSE(digest_equal(before, content()));
        value = was;
    }

    void expect_doubt()
    {
        canonical_encode(&handles_.context, &g_.info, &form_);
        EXPECT_EQ(form_.verdict, CANONICAL_NODEDUPE);
        EXPECT_EQ(form_.cause, CANONICAL_CAUSE_DOUBT);
        EXPECT_FALSE(form_.complete);
        EXPECT_EQ(canonical_decode(form_.key.data, form_.size, &handles_.sources), nullptr);
    }

    void set_dynamic(std::initializer_list<VkDynamicState> states)
    {
        std::copy(states.begin(), states.end(), g_.dynamic_states);
        g_.dynamic.dynamicStateCount = static_cast<uint32_t>(states.size());
    }
};

#endif
