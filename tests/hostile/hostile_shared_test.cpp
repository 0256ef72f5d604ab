// SPDX-License-Identifier: Apache-2.0
// What the tool reads of others: the heads of a remote, and traces of programs.
#include "hostile_files.h"

#pragma GCC diagnostic ignored "-Wshadow" // in C a struct may have the name of a function
extern "C" {
#include "tools/remote/heads/head.h"
#include "tools/report/report.h"

const struct report_piece report_pieces[REPORT_PIECES] = {};
}

namespace {

class HostileShared : public testing::Test, protected Damages {};

TEST_F(HostileShared, Heads)
{
    const std::vector<std::string> good = {seed("head/blob"), seed("head/grown"),
                                           seed("head/recipes")};
    for (unsigned i = 0; i < files_of_a_kind(); i++) {
        const std::string bad = damage(good[draw(good.size())]);
        const auto head = std::make_unique<struct head>();
        if (head_parse(exactly(bad).get(), bad.size(), head.get()) == STATUS_ok) {
            struct bytes text = {};
            head_encode(head.get(), &text);
            EXPECT_EQ(text_of(text), bad) << "what is accepted is what is written";
            bytes_free(&text);
        }
    }
}

TEST_F(HostileShared, Traces)
{
    const std::vector<std::string> good = {seed("trace/cold-and-warm"), seed("trace/hostile"),
                                           seed("trace/others")};
    for (unsigned i = 0; i < files_of_a_kind(); i++) {
        const std::string bad = damage(good[draw(good.size())]);
        struct trace_runs runs = {};
        struct report report;
        struct bytes page = {};
        trace_runs_add(&runs, exactly(bad).get(), bad.size());
        trace_runs_finish(&runs);
        report_of_runs(&runs, nullptr, &report);
        report_page(&page, &report, &runs);
        EXPECT_FALSE(page.failed);
        bytes_free(&page);
        report_free(&report);
        trace_runs_free(&runs);
    }
}

} // namespace
