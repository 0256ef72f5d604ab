// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "common/driver/policy.h"
}

namespace {

constexpr uint64_t mib = 1 << 20;

driver_identity identity_of(uint32_t vendor, uint32_t driver, uint32_t version)
{
    driver_identity identity = {};
    identity.vendor_id = vendor;
    identity.driver_id = driver;
    identity.driver_version = version;
    identity.api_version = VK_MAKE_API_VERSION(0, 1, 3, 0);
    identity.pointer_size = 8;
    std::strcpy(identity.device_name, "device");
    return identity;
}

policy decide(const driver_identity &identity, bool use_table = true)
{
    struct policy policy;
    policy_decide(&identity, use_table, nullptr, &policy);
    return policy;
}

// As the user's file would have it; the rules get the lines 1, 2, and so on.
policy decide_with(const driver_identity &identity, std::vector<policy_rule> rules,
                   bool use_table = true)
{
    unsigned line = 0;
    for (policy_rule &rule : rules) {
        rule.id = rule.id ? rule.id : "mine";
        rule.source = rule.source ? rule.source : "";
        rule.line = ++line;
    }
    policy_file file = {};
    file.rules = rules.data();
    file.count = rules.size();
    struct policy policy;
    policy_decide(&identity, use_table, &file, &policy);
    return policy;
}

driver_identity nvidia(uint32_t major, uint32_t minor, uint32_t secondary, uint32_t tertiary)
{
    return identity_of(0x10de, VK_DRIVER_ID_NVIDIA_PROPRIETARY,
                       (major << 22) | (minor << 14) | (secondary << 6) | tertiary);
}

driver_identity amd(uint32_t patch)
{
    return identity_of(0x1002, VK_DRIVER_ID_AMD_PROPRIETARY, VK_MAKE_API_VERSION(0, 2, 0, patch));
}

void expect_default(const policy &policy)
{
    EXPECT_TRUE(policy.persist);
    EXPECT_TRUE(policy.inject);
    EXPECT_TRUE(policy.serve);
    EXPECT_TRUE(policy.deduplicate);
    EXPECT_FALSE(policy.serialize);
    EXPECT_FALSE(policy.single_cache);
    EXPECT_STREQ(policy.rule, "default");
    EXPECT_STREQ(policy.source, "");
}

TEST(Policy, GivesAnUnknownDriverEverything)
{
    policy policy = decide(identity_of(0x10005, VK_DRIVER_ID_MESA_LLVMPIPE, 1));
    expect_default(policy);
    EXPECT_EQ(policy.max_blob, 512 * mib);
}

TEST(Policy, GivesMesaDriversEverything)
{
    const uint32_t mesa = VK_MAKE_API_VERSION(0, 22, 3, 6);
    expect_default(decide(identity_of(0x1002, VK_DRIVER_ID_MESA_RADV, mesa)));
    expect_default(decide(identity_of(0x8086, VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, mesa)));
    expect_default(decide(identity_of(0x5143, VK_DRIVER_ID_MESA_TURNIP, mesa)));
    // NVK has NVIDIA's vendor id, but none of its driver's bugs.
    expect_default(decide(identity_of(0x10de, 24, VK_MAKE_API_VERSION(0, 24, 1, 0))));
}

TEST(Policy, KeepsBlobsSmallIn32BitPrograms)
{
    driver_identity identity = identity_of(0x1002, VK_DRIVER_ID_MESA_RADV, 1);
    identity.pointer_size = 4;
    EXPECT_EQ(decide(identity).max_blob, 64 * mib);
    EXPECT_EQ(decide(identity, false).max_blob, 64 * mib);
}

TEST(Policy, TheTableCanBeSwitchedOff)
{
    driver_identity identity = nvidia(470, 57, 2, 0);
    ASSERT_TRUE(decide(identity).single_cache);
    policy policy = decide(identity, false);
    expect_default(policy);
    EXPECT_EQ(policy.max_blob, 512 * mib);
}

TEST(PolicyTable, NoReadOfVenusIsTooSlow)
{
    const driver_identity venus = identity_of(0x1002, 22, VK_MAKE_API_VERSION(0, 26, 2, 0));
    EXPECT_FALSE(decide(venus).count_costs);
    EXPECT_TRUE(decide(venus, false).count_costs);
    EXPECT_TRUE(decide(amd(230)).count_costs);
}

TEST(PolicyTable, NvidiasDriverIsNotAskedForItsPipelineKey)
{
    const policy policy = decide(nvidia(550, 0, 0, 0));
    EXPECT_FALSE(policy.pipeline_key);
    EXPECT_TRUE(policy.inject);
    EXPECT_TRUE(decide(nvidia(550, 0, 0, 0), false).pipeline_key);
    EXPECT_TRUE(decide(identity_of(0x10de, 24, VK_MAKE_API_VERSION(0, 26, 2, 0))).pipeline_key);
    EXPECT_TRUE(decide(amd(230)).pipeline_key);
}

TEST(PolicyTable, TheKeyOfIntelsDriverIsAskedForWhereItIsMadeOfWhatWasWritten)
{
    const auto asked_for = [](uint32_t driver, uint32_t minor) {
        return decide(identity_of(0x8086, driver, VK_MAKE_API_VERSION(0, 26, minor, 6)))
            .pipeline_key;
    };
    EXPECT_FALSE(asked_for(VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, 1));
    EXPECT_TRUE(asked_for(VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, 0));
    EXPECT_TRUE(asked_for(VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, 2));
    EXPECT_TRUE(asked_for(VK_DRIVER_ID_MESA_LLVMPIPE, 1));
}

TEST(PolicyTable, SnapshotsAtExitAreForDriversThatWereTried)
{
    const struct {
        uint32_t vendor, driver, first, before;
    } tried[] = {
        {0x1002, VK_DRIVER_ID_MESA_RADV, VK_MAKE_API_VERSION(0, 22, 3, 6),
         VK_MAKE_API_VERSION(0, 22, 3, 5)},
        {0x8086, VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, VK_MAKE_API_VERSION(0, 22, 3, 6),
         VK_MAKE_API_VERSION(0, 22, 3, 5)},
        {0x10de, 24, VK_MAKE_API_VERSION(0, 26, 2, 0), VK_MAKE_API_VERSION(0, 26, 1, 9)},
        {0x5143, VK_DRIVER_ID_MESA_TURNIP, VK_MAKE_API_VERSION(0, 26, 2, 0),
         VK_MAKE_API_VERSION(0, 26, 1, 9)},
        {0x14e4, VK_DRIVER_ID_MESA_V3DV, VK_MAKE_API_VERSION(0, 26, 2, 0),
         VK_MAKE_API_VERSION(0, 26, 1, 9)},
        {0x13b5, VK_DRIVER_ID_MESA_PANVK, VK_MAKE_API_VERSION(0, 26, 2, 0),
         VK_MAKE_API_VERSION(0, 26, 1, 9)},
        {0x10005, 26, VK_MAKE_API_VERSION(0, 26, 2, 0), VK_MAKE_API_VERSION(0, 26, 1, 9)},
    };
    for (const auto &driver : tried) {
        const policy policy = decide(identity_of(driver.vendor, driver.driver, driver.first));
        EXPECT_TRUE(policy.snapshot_at_exit) << driver.driver;
        EXPECT_STREQ(policy.rule, "default") << "nothing is taken from it";
        EXPECT_FALSE(
            decide(identity_of(driver.vendor, driver.driver, driver.before)).snapshot_at_exit);
        // A driver that does not tell who it is may be any.
        EXPECT_FALSE(decide(identity_of(driver.vendor, 0, driver.first)).snapshot_at_exit);
        EXPECT_FALSE(decide(identity_of(driver.vendor, driver.driver, driver.first), false)
                         .snapshot_at_exit);
    }
    EXPECT_FALSE(decide(nvidia(550, 0, 0, 0)).snapshot_at_exit);
}

TEST(PolicyTable, RowsAreComplete)
{
    std::set<std::string> ids;
    for (size_t i = 0; i < policy_table_size; i++) {
        const policy_rule &rule = policy_table[i];
        EXPECT_TRUE(ids.insert(rule.id).second) << rule.id << " stands twice";
        EXPECT_STRNE(rule.source, "") << rule.id;
        EXPECT_TRUE(rule.vendor_id != 0 || rule.driver_id != 0)
            << rule.id << " matches all drivers";
        EXPECT_TRUE(rule.actions != 0 || rule.max_blob != 0) << rule.id << " does nothing";
        EXPECT_TRUE(rule.version_below == 0 || rule.version_from < rule.version_below) << rule.id;
    }
    EXPECT_EQ(ids.count("default"), 0u);
}

TEST(PolicyTable, QualcommBeforeVulkan1066)
{
    driver_identity identity = identity_of(0x5143, 0, 1);
    identity.api_version = VK_MAKE_API_VERSION(0, 1, 0, 65);
    policy policy = decide(identity);
    EXPECT_STREQ(policy.rule, "qualcomm-before-1.0.66");
    EXPECT_STREQ(policy.source, "ncnn gpu.cpp");
    EXPECT_FALSE(policy.inject);
    EXPECT_FALSE(policy.persist);
    EXPECT_FALSE(policy.serve);
    EXPECT_FALSE(policy.deduplicate);

    identity.api_version = VK_MAKE_API_VERSION(0, 1, 0, 66);
    expect_default(decide(identity));
}

TEST(PolicyTable, ImaginationDxt48)
{
    driver_identity identity = identity_of(0x1010, VK_DRIVER_ID_IMAGINATION_PROPRIETARY, 1);
    std::strcpy(identity.device_name, "PowerVR D-Series DXT-48-1536 MC1");
    policy policy = decide(identity);
    EXPECT_STREQ(policy.rule, "imagination-dxt-48");
    EXPECT_FALSE(policy.persist);
    EXPECT_TRUE(policy.inject);
    EXPECT_TRUE(policy.serve);
    EXPECT_TRUE(policy.deduplicate);

    std::strcpy(identity.device_name, "PowerVR D-Series DXT-32-1024 MC1");
    expect_default(decide(identity));
    std::strcpy(identity.device_name, "PowerVR D-Series DXT-48-1536 MC1");
    identity.vendor_id = 0x1002;
    expect_default(decide(identity));
}

TEST(PolicyTable, NvidiaBefore441)
{
    policy policy = decide(nvidia(440, 255, 255, 63));
    EXPECT_STREQ(policy.rule, "nvidia-before-441");
    EXPECT_TRUE(policy.serialize);
    EXPECT_FALSE(decide(nvidia(441, 0, 0, 0)).serialize);
    EXPECT_TRUE(decide(nvidia(1, 0, 0, 0)).serialize);
}

TEST(PolicyTable, Nvidia470)
{
    EXPECT_FALSE(decide(nvidia(469, 255, 255, 63)).single_cache);
    policy policy = decide(nvidia(470, 0, 0, 0));
    EXPECT_STREQ(policy.rule, "nvidia-470-before-470.62.02");
    EXPECT_TRUE(policy.single_cache);
    EXPECT_TRUE(decide(nvidia(470, 62, 1, 63)).single_cache);
    EXPECT_FALSE(decide(nvidia(470, 62, 2, 0)).single_cache);

    EXPECT_FALSE(decide(nvidia(470, 63, 0, 63)).single_cache);
    policy = decide(nvidia(470, 63, 1, 0));
    EXPECT_STREQ(policy.rule, "nvidia-470.63.01");
    EXPECT_TRUE(policy.single_cache);
    EXPECT_TRUE(decide(nvidia(470, 63, 1, 63)).single_cache);
    EXPECT_FALSE(decide(nvidia(470, 63, 2, 0)).single_cache);
}

TEST(PolicyTable, NvidiaLargeBlob)
{
    policy policy = decide(nvidia(550, 54, 14, 0));
    EXPECT_STREQ(policy.rule, "nvidia-large-blob");
    EXPECT_EQ(policy.max_blob, 256 * mib);
    EXPECT_TRUE(policy.persist);
    EXPECT_FALSE(policy.serialize);
}

TEST(PolicyTable, AmdProprietary2022)
{
    EXPECT_FALSE(decide(amd(219)).serialize);
    policy policy = decide(amd(220));
    EXPECT_STREQ(policy.rule, "amd-proprietary-2022");
    EXPECT_TRUE(policy.serialize);
    EXPECT_TRUE(decide(amd(226)).serialize);
    EXPECT_TRUE(decide(amd(259)).serialize);
    EXPECT_FALSE(decide(amd(260)).serialize);

    driver_identity open = amd(226);
    open.driver_id = VK_DRIVER_ID_AMD_OPEN_SOURCE;
    expect_default(decide(open));
}

TEST(PolicyTable, SeveralRowsNarrowTogetherAndTheFirstIsNamed)
{
    policy policy = decide(nvidia(470, 57, 2, 0));
    EXPECT_STREQ(policy.rule, "nvidia-470-before-470.62.02");
    EXPECT_TRUE(policy.single_cache);
    EXPECT_EQ(policy.max_blob, 256 * mib);

    driver_identity small = nvidia(470, 57, 2, 0);
    small.pointer_size = 4;
    EXPECT_EQ(decide(small).max_blob, 64 * mib);
}

// An instance of Vulkan 1.0 cannot ask who the driver is.
TEST(PolicyTable, ADriverThatCannotBeNamedGetsItsVendorsRules)
{
    driver_identity identity = nvidia(440, 82, 0, 0);
    identity.driver_id = 0;
    EXPECT_TRUE(decide(identity).serialize);
    identity.vendor_id = 0x1002;
    EXPECT_FALSE(decide(identity).serialize);

    const uint32_t mesa = VK_MAKE_API_VERSION(0, 22, 3, 6);
    expect_default(decide(identity_of(0x1002, 0, mesa)));
    expect_default(decide(identity_of(0x8086, 0, mesa)));
}

policy_rule asking(unsigned actions)
{
    policy_rule rule = {};
    rule.actions = actions;
    return rule;
}

policy_rule lifting(unsigned actions)
{
    policy_rule rule = {};
    rule.lifted = actions;
    return rule;
}

TEST(PolicyRule, EveryActionNarrowsItsField)
{
    const driver_identity identity = identity_of(1, 0, 0);
    policy policy = decide_with(identity, {asking(POLICY_NO_PERSIST)});
    EXPECT_FALSE(policy.persist);
    EXPECT_TRUE(policy.inject && policy.serve && policy.deduplicate);
    EXPECT_FALSE(policy.serialize || policy.single_cache);

    policy = decide_with(identity, {asking(POLICY_NO_SERVE)});
    EXPECT_FALSE(policy.serve);
    EXPECT_TRUE(policy.inject && policy.persist && policy.deduplicate);

    policy = decide_with(identity, {asking(POLICY_NO_DEDUPLICATE)});
    EXPECT_FALSE(policy.deduplicate);
    EXPECT_TRUE(policy.inject && policy.persist && policy.serve);

    policy = decide_with(identity, {asking(POLICY_NO_INJECT)});
    EXPECT_FALSE(policy.inject || policy.persist || policy.serve);
    EXPECT_TRUE(policy.deduplicate);

    policy = decide_with(identity, {asking(POLICY_SERIALIZE)});
    EXPECT_TRUE(policy.serialize);
    EXPECT_FALSE(policy.single_cache);

    policy = decide_with(identity, {asking(POLICY_SINGLE_CACHE)});
    EXPECT_TRUE(policy.single_cache);
    EXPECT_FALSE(policy.serialize);
}

TEST(PolicyRule, MatchesByEveryFieldThatItNames)
{
    driver_identity identity = identity_of(0x1002, VK_DRIVER_ID_MESA_RADV, 100);
    identity.device_id = 0x7310;
    std::strcpy(identity.driver_name, "radv");
    policy_rule rule = {};
    EXPECT_TRUE(policy_rule_matches(&rule, &identity)) << "one that names nothing is for all";

    rule.vendor_id = 0x1002;
    rule.device_id = 0x7310;
    rule.driver_id = VK_DRIVER_ID_MESA_RADV;
    rule.driver_name = "RADV*";
    rule.device_name = "d?vice";
    rule.api_below = VK_MAKE_API_VERSION(0, 1, 3, 1);
    rule.version_from = 100;
    rule.version_below = 101;
    EXPECT_TRUE(policy_rule_matches(&rule, &identity));

    const std::vector<void (*)(driver_identity &)> changes = {
        [](driver_identity &i) { i.vendor_id++; },
        [](driver_identity &i) { i.device_id++; },
        [](driver_identity &i) { i.driver_id++; },
        [](driver_identity &i) { i.driver_name[0] = 'x'; },
        [](driver_identity &i) { std::strcpy(i.device_name, "devices"); },
        [](driver_identity &i) { i.api_version = VK_MAKE_API_VERSION(0, 1, 3, 1); },
        [](driver_identity &i) { i.driver_version--; },
        [](driver_identity &i) { i.driver_version++; },
    };
    for (size_t i = 0; i < changes.size(); i++) {
        driver_identity other = identity;
        changes[i](other);
        EXPECT_FALSE(policy_rule_matches(&rule, &other)) << "change " << i;
    }
}

TEST(PolicyRule, AnUnnamedDriverIsMatchedByItsVendorAlone)
{
    driver_identity identity = identity_of(0x1002, 0, 100);
    policy_rule rule = {};
    rule.driver_id = VK_DRIVER_ID_MESA_RADV;
    rule.driver_name = "radv";
    EXPECT_FALSE(policy_rule_matches(&rule, &identity));
    rule.vendor_id = 0x1002;
    EXPECT_TRUE(policy_rule_matches(&rule, &identity));
}

TEST(PolicyFile, WidensWhatTheTableForbids)
{
    const driver_identity identity = nvidia(470, 57, 2, 0);
    policy_rule rule = lifting(POLICY_SINGLE_CACHE);
    rule.max_blob = 1024 * mib;
    policy policy = decide_with(identity, {rule});
    EXPECT_FALSE(policy.single_cache);
    EXPECT_EQ(policy.max_blob, 1024 * mib);
    EXPECT_STREQ(policy.rule, "mine");
    EXPECT_STREQ(policy.source, "line 1 of the policy file");

    driver_identity qualcomm = identity_of(0x5143, 0, 1);
    qualcomm.api_version = VK_MAKE_API_VERSION(0, 1, 0, 65);
    policy = decide_with(qualcomm, {lifting(POLICY_NO_INJECT)});
    EXPECT_TRUE(policy.inject && policy.persist && policy.serve);
    EXPECT_FALSE(policy.deduplicate) << "what the file does not speak of stays the table's";
}

TEST(PolicyFile, NothingIsKeptWithoutACache)
{
    driver_identity qualcomm = identity_of(0x5143, 0, 1);
    qualcomm.api_version = VK_MAKE_API_VERSION(0, 1, 0, 65);
    policy policy = decide_with(qualcomm, {lifting(POLICY_NO_PERSIST | POLICY_NO_SERVE)});
    EXPECT_FALSE(policy.inject || policy.persist || policy.serve);
}

TEST(PolicyFile, TheLaterRuleWins)
{
    const driver_identity identity = identity_of(1, 0, 0);
    policy_rule last = lifting(POLICY_NO_PERSIST);
    last.id = "last";
    last.source = "the manual";
    policy policy = decide_with(identity, {asking(POLICY_NO_PERSIST | POLICY_SERIALIZE), last});
    EXPECT_TRUE(policy.persist);
    EXPECT_TRUE(policy.serialize) << "of which the later one says nothing";
    EXPECT_STREQ(policy.rule, "last");
    EXPECT_STREQ(policy.source, "the manual");
    policy = decide_with(identity, {last, asking(POLICY_NO_PERSIST)});
    EXPECT_FALSE(policy.persist);

    policy_rule small = {};
    small.max_blob = mib;
    policy_rule large = {};
    large.max_blob = 2 * mib;
    EXPECT_EQ(decide_with(identity, {small, large}).max_blob, 2 * mib);
}

TEST(PolicyFile, RulesOfOthersDoNothing)
{
    policy_rule rule = asking(POLICY_NO_INJECT);
    rule.vendor_id = 2;
    policy policy = decide_with(identity_of(1, 0, 0), {rule});
    expect_default(policy);
}

TEST(PolicyFile, StandsWithoutTheTableToo)
{
    policy policy = decide_with(nvidia(470, 57, 2, 0), {asking(POLICY_SERIALIZE)}, false);
    EXPECT_FALSE(policy.single_cache);
    EXPECT_TRUE(policy.serialize);
}

} // namespace
