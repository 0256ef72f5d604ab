// SPDX-License-Identifier: Apache-2.0
#include "trace.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

int64_t start_of(const json &event)
{
    return std::llround(event["ts"].get<double>() * 1000);
}

int64_t end_of(const json &event)
{
    return start_of(event) + std::llround(event["dur"].get<double>() * 1000);
}

// Earlier first, and of two that begin at once the longer.
static bool stands_before(const json &a, const json &b)
{
    return std::make_pair(start_of(a), -end_of(a)) < std::make_pair(start_of(b), -end_of(b));
}

static void expect_nested(std::vector<json> spans)
{
    std::stable_sort(spans.begin(), spans.end(), stands_before);
    std::vector<json> open;
    for (const json &span : spans) {
        while (!open.empty() && end_of(open.back()) <= start_of(span)) {
            open.pop_back();
        }
        if (!open.empty()) {
            EXPECT_LE(end_of(span), end_of(open.back())) << open.back() << "\n" << span;
        }
        open.push_back(span);
    }
}

Trace::Trace(const std::filesystem::path &path)
{
    const std::string text = read_text(path);
    const json whole = json::parse(text, nullptr, false);
    if (!whole.is_array()) {
        ADD_FAILURE() << path << " is no array: ..." << text.substr(text.size() - text.size() / 8);
        return;
    }
    events.assign(whole.begin(), whole.end());
    std::map<std::pair<int, int>, std::vector<json>> threads;
    for (const json &event : events) {
        if (event["ph"] == "X") {
            threads[{event["pid"].get<int>(), event["tid"].get<int>()}].push_back(event);
        }
    }
    for (const auto &thread : threads) {
        expect_nested(thread.second);
    }
}

std::vector<json> Trace::of(const std::string &category, const std::string &name) const
{
    std::vector<json> found;
    for (const json &event : events) {
        if (event.value("cat", "") == category && (name.empty() || event["name"] == name)) {
            found.push_back(event);
        }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const json &a, const json &b) { return start_of(a) < start_of(b); });
    return found;
}

size_t Trace::count(const std::string &category, const std::string &result) const
{
    size_t count = 0;
    for (const json &event : of(category)) {
        count += event["args"].value("result", "") == result;
    }
    return count;
}

std::vector<std::string> Trace::names(const std::string &what) const
{
    std::set<std::string> found;
    for (const json &event : events) {
        if (event["ph"] == "M" && event["name"] == what) {
            found.insert(event["args"]["name"].get<std::string>());
        }
    }
    return {found.begin(), found.end()};
}
