// SPDX-License-Identifier: Apache-2.0
#ifndef WARMPIPE_TESTS_PATIENCE_HPP
#define WARMPIPE_TESTS_PATIENCE_HPP

#include <cstdint>

extern "C" {
#include "common/base/clock.h"
}

// The patience of this thread to the end of the block.
class Patience {
  public:
    explicit Patience(uint64_t ns) : before_(patience_set(ns))
    {
    }
    ~Patience()
    {
        patience_set(before_);
    }

  private:
    uint64_t before_;
};

#endif
