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
        config settings = {};
        settings.root = path_.data();
        settings.max_size = 10;
        settings.max_total = unlimited;
        maintenance_ = maintenance_new(&settings, "app");
        ASSERT_TRUE(maintenance_);
    }

    void save()
    {
        root_.add(old_, 1000, 99 * day);
        maintenance_wrote(maintenance_, 1000);
        maintenance_start(maintenance_);
    }

    bool has_old() const
    {
        return root_.has(old_);
    }

    void wait_until_done() const
    {
        while (has_old()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    maintenance *maintenance_ = nullptr;

  private:
    const Root root_;
    const std::string old_ = "app/" + id('a') + ".wpcache";
    std::string path_ = root_.path;
};

// A program that ends within the second may never destroy its device: the first is not put off.
// Until the next, more may follow soon; the end of a device waits for no rest.
TEST_F(Maintenance, RestsAfterTheFirstTimeUnlessTheDeviceEnds)
{
    save();
    wait_until_done();
    const uint64_t start_ns = clock_now_ns();
    save();
    bool is_kept = true;
    while (is_kept && clock_now_ns() - start_ns < CLOCK_S / 4) {
        is_kept = has_old();
        std::this_thread::yield();
    }
    EXPECT_TRUE(is_kept || clock_now_ns() - start_ns >= CLOCK_S); // on a machine that stood still
    maintenance_finish(maintenance_, true);
    EXPECT_FALSE(has_old());
}

TEST_F(Maintenance, GoesOnWhileTheDeviceLives)
{
    for (int i = 0; i < 2; i++) {
        save();
        wait_until_done();
    }
    maintenance_finish(maintenance_, true);
}

} // namespace
