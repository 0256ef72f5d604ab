// SPDX-License-Identifier: Apache-2.0
// Blobs that are whole and kill a real driver.
#include <cstdlib>
#include <random>

#include "damaged_blobs.hpp"
#include "paths.h"
#include "real_drivers.hpp"

namespace {

// More than the check's share, by hand.
unsigned times(const char *variable, unsigned usual)
{
    const char *value = std::getenv(variable);
    return value ? static_cast<unsigned>(std::strtoul(value, nullptr, 10)) : usual;
}

class RealCrashGuardTest : public RealDriversTest {};

// RADV dies of some damage, late or at once, and lives with other. WARMPIPE_CRASH_DEVICE: another
// device, as tests/drivers/environment names it.
TEST_F(RealCrashGuardTest, DamagedBlobsCostTwoStartsAtMost)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "a sanitizer makes long calls of the driver's short ones";
#endif
    const char *device = std::getenv("WARMPIPE_CRASH_DEVICE");
    use_devices(device ? device : "radv-navi10");
    environment["WARMPIPE_APP"] = "program";
    client();
    const auto file = cache_file();
    const std::vector<uint8_t> good = read_bytes(file);
    const unsigned blobs = times("WARMPIPE_CRASH_BLOBS", 4);
    std::minstd_rand random(times("WARMPIPE_CRASH_SEED", 1));
    unsigned deadly = 0;
    for (unsigned i = 0; i < blobs; ++i) {
        put_back(file, good);
        change_blob(file, [&](std::vector<uint8_t> &blob) {
            for (unsigned byte = 0; byte < 64; ++byte) {
                blob[32 + random() % (blob.size() - 32)] ^=
                    static_cast<uint8_t>(1 + random() % 255);
            }
        });
        const unsigned lost = count_lost([&] {
            const Outcome outcome =
                execute({PIPELINES_CLIENT, "--compute", "20", "--graphics", "10"},
                        {Layer::any, true, 0, true});
            return outcome.status == 0;
        });
        EXPECT_LE(lost, 2u) << "blob " << i;
        deadly += lost > 0;
    }
    RecordProperty("deadly", static_cast<int>(deadly));
    printf("%u of %u blobs were deadly\n", deadly, blobs);
}

} // namespace
