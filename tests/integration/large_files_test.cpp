// SPDX-License-Identifier: Apache-2.0
// Large caches, of which each save writes the whole file.
#include <fstream>

#include "background.hpp"

namespace {

class LargeFilesTest : public BackgroundTest {
  protected:
    static constexpr unsigned large = 24; // MiB: behind such a save the next one waits 22 s

    void SetUp() override
    {
        BackgroundTest::SetUp();
        environment["WPTEST_ICD_RECORD_BYTES"] = std::to_string(1 << 20);
        environment["WARMPIPE_FLUSH_IDLE_MS"] = "1";
        environment["WARMPIPE_PREWARM"] = "off";
    }

    // False: a read has taken so long that there are no more of them.
    bool compile_and_wait_for_look(Program &owner, unsigned number) const
    {
        owner.create_compute(number, number + 1);
        const unsigned long seen = (number + 1ul) << 20;
        for (int i = 0; i < 10000; ++i) {
            const std::string log = read_text(log_path());
            const std::string words = "took a snapshot of ";
            const size_t at = log.rfind(words);
            if (at != std::string::npos && std::stoul(log.substr(at + words.size())) > seen) {
                return true;
            }
            usleep(1000);
        }
        return false;
    }

    unsigned saves() const
    {
        const std::string log = read_text(log_path());
        unsigned count = 0;
        for (size_t at = 0; (at = log.find("info: saved ", at)) != std::string::npos; at++) {
            count++;
        }
        return count;
    }
};

// A game that compiles one now and then. Nobody looks at the caches at its end: what waits to be
// written is the newest all the same.
TEST_F(LargeFilesTest, AreNotWrittenBehindEachPipeline)
{
#ifdef WARMPIPE_SANITIZED
    GTEST_SKIP() << "a sanitizer reads so much for too long";
#endif
    environment["WARMPIPE_POLICY"] = (folder() / "policy").string();
    std::ofstream(folder() / "policy") << "[test]\nsnapshot-at-exit = no\n";
    run([&] {
        leak_from_here_on();
        auto *owner = new Program;
        create_at_once(*owner, 0, large);
        wait_for_flush();
        const unsigned before = saves();
        if (compile_and_wait_for_look(*owner, large) &&
            compile_and_wait_for_look(*owner, large + 1)) { // before it the last would be written
            EXPECT_EQ(saves(), before);
        } else {
            write_bytes(folder() / "busy", {1});
        }
    });
    if (std::filesystem::exists(folder() / "busy")) {
        GTEST_SKIP() << "a machine so busy that reading takes a quarter of a second";
    }
    EXPECT_EQ(hits(0, large + 2), large + 2);
}

} // namespace
