// SPDX-License-Identifier: Apache-2.0
// When what is on disk is looked after.
#include "quota_fixture.h"

extern "C" {
#include "common/base/clock.h"
#include "common/settings/config.h"
#include "layer/worker/maintenance.h"
}

namespace {

// A device whose program's folder is over its limit by one old file.
class Maintenance : public testing::Test {
  protected:
    void SetUp() override
    {
        root_.add(old_, 1000, 99 * day);
        config settings = {};
        settings.root = path_.data();
        settings.max_size = 10;
        settings.max_total = unlimited;
        maintenance_ = maintenance_new(&settings, "app");
        ASSERT_TRUE(maintenance_);
        maintenance_wrote(maintenance_, 1000);
    }
    bool has_old() const
    {
        return root_.has(old_);
    }

    maintenance *maintenance_ = nullptr;

  private:
    const Root root_;
    const std::string old_ = "app/" + id('a') + ".wpcache";
    std::string path_ = root_.path;
};

// Another save, or the end of the device, may follow soon: until then nothing is done twice, and
// the end waits neither for the rest nor for a thread that gives way.
TEST_F(Maintenance, RestsAfterASaveUnlessTheDeviceEnds)
{
    const uint64_t start_ns = clock_now_ns();
    maintenance_start(maintenance_);
    bool is_kept = true;
    while (is_kept && clock_now_ns() - start_ns < CLOCK_S / 4) {
        is_kept = has_old();
        std::this_thread::yield();
    }
    EXPECT_TRUE(is_kept || clock_now_ns() - start_ns >= CLOCK_S); // on a machine that stood still
    maintenance_finish(maintenance_);
    EXPECT_FALSE(has_old());
}

// A program that goes on.
TEST_F(Maintenance, IsDoneWhileTheDeviceLives)
{
    maintenance_start(maintenance_);
    while (has_old()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    maintenance_finish(maintenance_);
}

} // namespace
