// SPDX-License-Identifier: Apache-2.0
// The user's policy file: what is read out of it, what is refused and where.
#include "policy_file_fixture.h"

namespace {

TEST(PolicyFileParse, ReadsEveryKey)
{
    File file("[whole.rule_1-a]\n"
              "vendor = 0x10DE\n"
              "device = 4711\n"
              "device-name = GeForce * #2 = ?\n"
              "driver = NVIDIA_PROPRIETARY\n"
              "driver-name = NVIDIA\n"
              "version-from = 470\n"
              "version-below = 470.62.02\n"
              "api-below = 1.3\n"
              "inject = no\n"
              "persist = yes\n"
              "serve = no\n"
              "deduplicate = yes\n"
              "serialize = yes\n"
              "single-cache = no\n"
              "max-blob = 64M\n"
              "source = a test\n");
    ASSERT_TRUE(file.is_good()) << file.error();
    ASSERT_EQ(file.count(), 1u);
    const policy_rule &rule = file.rule();
    EXPECT_STREQ(rule.id, "whole.rule_1-a");
    EXPECT_EQ(rule.line, 1u);
    EXPECT_EQ(rule.vendor_id, 0x10deu);
    EXPECT_EQ(rule.device_id, 4711u);
    EXPECT_STREQ(rule.device_name, "GeForce * #2 = ?");
    EXPECT_EQ(rule.driver_id, static_cast<uint32_t>(VK_DRIVER_ID_NVIDIA_PROPRIETARY));
    EXPECT_STREQ(rule.driver_name, "NVIDIA");
    EXPECT_EQ(rule.version_from, POLICY_NVIDIA_VERSION(470, 0, 0, 0));
    EXPECT_EQ(rule.version_below, POLICY_NVIDIA_VERSION(470, 62, 2, 0));
    EXPECT_EQ(rule.api_below, VK_API_VERSION_1_3);
    EXPECT_EQ(rule.actions, unsigned(POLICY_NO_INJECT | POLICY_NO_SERVE | POLICY_SERIALIZE));
    EXPECT_EQ(rule.lifted,
              unsigned(POLICY_NO_PERSIST | POLICY_NO_DEDUPLICATE | POLICY_SINGLE_CACHE));
    EXPECT_EQ(rule.max_blob, uint64_t(64) << 20);
    EXPECT_STREQ(rule.source, "a test");
}

TEST(PolicyFileParse, EveryActionInBothDirections)
{
    const struct {
        const char *key;
        unsigned action;
        const char *asking;
        const char *lifting;
    } actions[] = {
        {"inject", POLICY_NO_INJECT, "no", "yes"},
        {"persist", POLICY_NO_PERSIST, "no", "yes"},
        {"serve", POLICY_NO_SERVE, "no", "yes"},
        {"deduplicate", POLICY_NO_DEDUPLICATE, "no", "yes"},
        {"serialize", POLICY_SERIALIZE, "yes", "no"},
        {"single-cache", POLICY_SINGLE_CACHE, "yes", "no"},
        {"strict", POLICY_STRICT, "yes", "no"},
        {"snapshot-at-exit", POLICY_SNAPSHOT_AT_EXIT, "yes", "no"},
        {"pipeline-key", POLICY_NO_PIPELINE_KEY, "no", "yes"},
        {"count-costs", POLICY_NO_COUNT_COSTS, "no", "yes"},
    };
    for (const auto &[key, action, asking, lifting] : actions) {
        File asks(std::string("[r]\n") + key + "=" + asking);
        EXPECT_EQ(asks.rule().actions, action) << key;
        EXPECT_EQ(asks.rule().lifted, 0u) << key;
        File lifts(std::string("[r]\n") + key + "=" + lifting);
        EXPECT_EQ(lifts.rule().actions, 0u) << key;
        EXPECT_EQ(lifts.rule().lifted, action) << key;
    }
}

TEST(PolicyFileParse, BlanksCommentsAndLineEnds)
{
    File file("# comment\r\n"
              "\r\n"
              "   \t# indented\n"
              "\t[first]  \r\n"
              "\tpersist\t=\tno\t\r\n"
              "\n"
              "[second]\n"
              "persist=no");
    ASSERT_TRUE(file.is_good()) << file.error();
    ASSERT_EQ(file.count(), 2u);
    EXPECT_STREQ(file.rule(0).id, "first");
    EXPECT_STREQ(file.rule(1).id, "second");
}

// Some editors write it in front of a text of UTF-8.
TEST(PolicyFileParse, AByteOrderMarkIsPassedOver)
{
    File file("\xef\xbb\xbf[rule]\ninject = no\n");
    ASSERT_TRUE(file.is_good()) << file.error();
    EXPECT_STREQ(file.rule().id, "rule");
    EXPECT_TRUE(File("\xef\xbb\xbf").is_good());
    EXPECT_FALSE(File("\xef\xbb").is_good());
    EXPECT_FALSE(File("[rule]\n\xef\xbb\xbfinject = no\n").is_good());
}

TEST(PolicyFileParse, NothingIsNoRules)
{
    for (const char *text : {"", "\n", "# only\n# comments", "\n\n\n"}) {
        File file(text);
        EXPECT_TRUE(file.is_good()) << file.error();
        EXPECT_EQ(file.count(), 0u);
    }
    policy_file file = {};
    policy_file_error error;
    EXPECT_EQ(policy_file_parse(nullptr, 0, &file, &error), STATUS_ok);
    policy_file_free(&file);
}

TEST(PolicyFileParse, VersionsAreReadOnceTheDriverIsKnown)
{
    EXPECT_EQ(
        File("[r]\nversion-from=470\ndriver=nvidia_proprietary\npersist=no").rule().version_from,
        POLICY_NVIDIA_VERSION(470, 0, 0, 0));
    EXPECT_EQ(File("[r]\nversion-from=22.3\nvendor=0x1002\npersist=no").rule().version_from,
              VK_MAKE_API_VERSION(0, 22, 3, 0));
    // What one rule says of its driver says nothing of the next one's.
    EXPECT_EQ(File("[a]\nvendor=0x10de\npersist=no\n[b]\nversion-from=1\npersist=no").error(),
              "5: a version needs a vendor or driver beside it: each writes them differently");
}

TEST(PolicyFileParse, RefusesWithTheLine)
{
    const std::string long_name(64, 'n');
    const struct {
        std::string text;
        std::string error; // its beginning
    } cases[] = {
        {"persist = no", "1: 'persist' before the first '[name]'"},
        {"\n\nnonsense", "3: expected '[name]' or 'key = value'"},
        {"[r]\npersits = no", "2: unknown key 'persits'"},
        {"[r]\nPersist = no", "2: unknown key 'Persist'"},
        {"[r]\n= no", "2: unknown key ''"},
        {"[r]\npersist = maybe", "2: persist = 'maybe': expected yes or no"},
        {"[r]\npersist = No", "2: persist = 'No': expected yes or no"},
        {"[r]\npersist =", "2: persist = '': expected yes or no"},
        {"[r]\npersist = no # why", "2: persist = 'no # why': expected yes or no"},
        {"[r]\npersist = no\npersist = no", "3: a second 'persist' in rule 'r'"},
        {"[r]\ndevice-name =", "2: device-name = '': expected a pattern"},
        {"[r]\nvendor = nvidia", "2: vendor = 'nvidia': expected a number"},
        {"[r]\nvendor = 0", "2: vendor = '0': expected a number"},
        {"[r]\nvendor = 0x", "2: vendor = '0x': expected a number"},
        {"[r]\nvendor = -1", "2: vendor = '-1': expected a number"},
        {"[r]\nvendor = 4294967296", "2: vendor = '4294967296': expected a number"},
        {"[r]\nvendor = 99999999999999999999999",
         "2: vendor = '99999999999999999999999': expected"},
        {"[r]\nvendor = 0x100000000", "2: vendor = '0x100000000': expected a number"},
        {"[r]\ndevice = 12z", "2: device = '12z': expected a number"},
        {"[r]\ndriver = radv", "2: driver = 'radv': expected a VkDriverId, by name or number"},
        {"[r]\napi-below = 1.x", "2: api-below = '1.x': expected a version of Vulkan"},
        {"[r]\napi-below = 0", "2: api-below = '0': expected a version of Vulkan"},
        {"[r]\nmax-blob = 64m", "2: max-blob = '64m': expected a size such as 65536, 512M or 2G"},
        {"[r]\nmax-blob = 0", "2: max-blob = '0': expected a size"},
        {"[r]\nsource = " + std::string(128, 's'), "2: source = 'sss"},
        {"[r]\nvendor=0x10de\nversion-from=470.300\npersist=no",
         "3: '470.300' is no version of this driver"},
        {"[r]\nvendor=0x10de\nversion-below=0\npersist=no", "3: '0' is no version of this driver"},
        {"[r]\nvendor=1\npersist=no\nversion-from=2\nversion-below=1.9\n[s]\nserve=no",
         "5: no version is below '1.9' and from '2' on"},
        {"[r]\nvendor=1\nversion-from=2\nversion-below=2\npersist=no",
         "4: no version is below '2' and from '2' on"},
        {"\n[r]\nvendor = 1\n", "2: rule 'r' says nothing"},
        {"\n[r]\n[s]\npersist=no", "2: rule 'r' says nothing"},
        {"[r]\npersist=no\n[s]\npersist=no\n[r]\npersist=no", "5: a second rule 'r'"},
        {"[default]\npersist=no", "1: a second rule 'default'"},
        {"[]\npersist=no", "1: '': a rule's name is 1 to 63 letters"},
        {"[two words]\npersist=no", "1: 'two words': a rule's name is"},
        {"[" + long_name + "]\npersist=no", "1: 'nnn"},
        {"[r\npersist=no", "1: ']' is missing at the end of the line"},
        {"[r] # comment\npersist=no", "1: ']' is missing at the end of the line"},
        {std::string("[r]\npersist=no\n\0\n", 17), "3: a control character"},
        {"[r]\npersist=\x1bno", "2: a control character"},
        {"[r]\npersist=no\x7f", "2: a control character"},
    };
    for (const auto &[text, error] : cases) {
        File file(text);
        EXPECT_FALSE(file.is_good()) << text;
        EXPECT_EQ(file.error().substr(0, error.size()), error) << text;
    }
    EXPECT_TRUE(File("[" + long_name.substr(1) + "]\npersist=no").is_good());
    EXPECT_TRUE(File("[r]\npersist=no\nsource = " + std::string(127, 's')).is_good());
}

TEST(PolicyFileParse, IsBounded)
{
    std::string most = "";
    for (int i = 0; i < POLICY_FILE_MAX_RULES; i++) {
        most += "[r" + std::to_string(i) + "]\npersist=no\n";
    }
    EXPECT_EQ(File(most).count(), size_t(POLICY_FILE_MAX_RULES));
    EXPECT_EQ(File(most + "[r]\npersist=no").error(), "513: more than 256 rules");

    EXPECT_TRUE(File(std::string(POLICY_FILE_MAX_SIZE, '\n')).is_good());
    EXPECT_EQ(File(std::string(POLICY_FILE_MAX_SIZE + 1, '\n')).error(),
              "0: larger than 65536 bytes");
    // An error quotes a part of what is endless.
    EXPECT_LT(File(std::string(60000, 'x') + "=").error().size(), 170u);
}

} // namespace
