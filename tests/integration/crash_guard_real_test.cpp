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

// RADV dies of some damage, late or at once, and lives with other.
TEST_F(RealCrashGuardTest, DamagedBlobsCostTwoStartsAtMost)
{
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the sanitizer makes long calls of the driver's short ones";
#endif
    use_radv();
    environment["WARMPIPE_APP"] = "program";
    // A crash ends the process at once, and not after a report: that makes a long call of a short
    // one.
    for (const char *options : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) {
        environment[options] += ":handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0";
    }
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
