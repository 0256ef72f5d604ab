// SPDX-License-Identifier: Apache-2.0
// Code made to have the public digest of other code (row 61): it must not get the other's pipeline.
// Such pairs are made by hand in a second: tests/golden/make_collision.py.
#include "harness.hpp"
#include "paths.h"
#include "test_icd.h"
#include "things.hpp"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

extern "C" {
#include "common/base/digest.h"
}

namespace {

std::vector<uint32_t> code_of(const char *name)
{
    const std::vector<uint8_t> bytes =
        read_bytes(std::string(GOLDEN_DIRECTORY "/collision/") + name + ".spv");
    std::vector<uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    return words;
}

// How a program hands its code over.
enum class Delivery { modules_that_live, modules_destroyed_after_use, in_the_stage, both };

class EachWay : public LayerTest, public ::testing::WithParamInterface<Delivery> {
  protected:
    // The pipeline of this code, from a module or from the stage.
    static VkPipeline create(Program &program, const std::vector<uint32_t> &code, bool inlined,
                             std::vector<VkShaderModule> *kept)
    {
        VkShaderModuleCreateInfo info = {VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
        info.codeSize = code.size() * sizeof code[0];
        info.pCode = code.data();
        Batch batch(program, Kind::compute, {0});
        batch.stage(0).module = VK_NULL_HANDLE;
        VkShaderModule module = VK_NULL_HANDLE;
        if (inlined) {
            batch.stage(0).pNext = &info;
        } else {
            EXPECT_EQ(vkCreateShaderModule(program.device, &info, nullptr, &module), VK_SUCCESS);
            batch.stage(0).module = module;
        }
        EXPECT_EQ(batch.create(), VK_SUCCESS);
        if (kept) {
            kept->push_back(module);
        } else {
            vkDestroyShaderModule(program.device, module, nullptr);
        }
        return batch.pipelines[0];
    }
};

const char *title_of(Delivery delivery)
{
    switch (delivery) {
    case Delivery::modules_that_live:
        return "modules_that_live";
    case Delivery::modules_destroyed_after_use:
        return "modules_destroyed_after_use";
    case Delivery::in_the_stage:
        return "in_the_stage";
    default:
        return "both";
    }
}

void PrintTo(Delivery delivery, std::ostream *stream)
{
    *stream << title_of(delivery);
}

INSTANTIATE_TEST_SUITE_P(Of, EachWay,
                         ::testing::Values(Delivery::modules_that_live,
                                           Delivery::modules_destroyed_after_use,
                                           Delivery::in_the_stage, Delivery::both),
                         [](const auto &tested) { return title_of(tested.param); });

TEST_P(EachWay, CodeOfEqualDigestMakesTwoPipelines)
{
    const std::vector<uint32_t> one = code_of("one"), other = code_of("other");
    const size_t size = one.size() * sizeof one[0];
    ASSERT_TRUE(digest_equal(digest_of(one.data(), size), digest_of(other.data(), size)))
        << "the pair collides no more: make it again";
    ASSERT_NE(one, other);
    environment["WPTEST_ICD_RECYCLE"] = "1";
    for (const char *shared : {"all", "pipelines"}) { // modules as well, or each by itself
        environment["WARMPIPE_DEDUP"] = shared;
        const Outcome outcome = run([&] {
            Program program;
            std::vector<VkShaderModule> modules;
            const Delivery delivery = GetParam();
            std::vector<VkShaderModule> *kept =
                delivery == Delivery::modules_that_live ? &modules : nullptr;
            const bool inlined = delivery == Delivery::in_the_stage;
            const VkPipeline first = create(program, one, inlined, kept);
            const VkPipeline second =
                create(program, other, inlined || delivery == Delivery::both, kept);
            EXPECT_NE(first, second) << shared;
            EXPECT_EQ(create(program, one, inlined || delivery == Delivery::both, kept), first)
                << "what is equal is shared all the same";
            EXPECT_EQ(create(program, other, inlined, kept), second);
            for (VkShaderModule module : modules) {
                vkDestroyShaderModule(program.device, module, nullptr);
            }
        });
        EXPECT_EQ(outcome.pipelines().size(), 2u);
        std::filesystem::remove_all(cache_root());
    }
}

// From here on the kernel gives this process no random bytes.
void forbid_getrandom()
{
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

class WithoutRandomBytesTest : public LayerTest {};

TEST_F(WithoutRandomBytesTest, NothingIsSharedAndTheCacheIsGivenAllTheSame)
{
    const Outcome outcome = run([] {
        forbid_getrandom();
        Program program;
        EXPECT_NE(program.module(Kind::compute, 1), program.module(Kind::compute, 1));
        EXPECT_NE(program.create(Kind::compute, 1), program.create(Kind::compute, 1));
    });
    EXPECT_EQ(outcome.stats_of()["pipelines"]["deduplicated"], 0);
    EXPECT_EQ(outcome.stats_of()["modules"]["deduplicated"], 0);
    EXPECT_EQ(outcome.stats_of()["pipelines"]["injected"], 2);
    EXPECT_GT(outcome.stats_of()["cache"]["saved_bytes"], 0);
}

} // namespace
