// SPDX-License-Identifier: Apache-2.0
// HTTP: who pushes.
#ifdef WARMPIPE_HAVE_CURL
#include "http_remote.h"

namespace {

TEST_F(HttpRemote, AServerWithoutConditionsWantsASingleWriter)
{
    auto place = nginx_place();
    if (!place) {
        GTEST_SKIP() << "nginx is not installed";
    }
    machine.run(4);
    ToolResult result = push(place->url, {"--recipes"});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_no_conditions)")) << result.err;
    EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
    EXPECT_FALSE(std::filesystem::exists(place->data + "/v1/head"));
    EXPECT_FALSE(std::filesystem::exists(place->data + "/v1/obj"));
    result = machine.tool({"remote", "check", "--remote", place->url, "--secret-key", keys.secret});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.out, "--single-writer")) << result.out;

    // `run` says so as well, and takes the word for it.
    const std::vector<std::string> writer = {"--remote", place->url, "--secret-key", keys.secret};
    EXPECT_TRUE(contains(machine.run(4, writer), "give --single-writer"));
    Machine other;
    std::vector<std::string> single = writer;
    single.push_back("--single-writer");
    EXPECT_FALSE(contains(other.run(2, single), "(remote_no_conditions)"));
    EXPECT_TRUE(std::filesystem::exists(place->data + "/v1/head/demo"));
    std::filesystem::remove_all(place->data + "/v1");

    result = push(place->url, {"--single-writer"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pushed"});
    machine.run(6);
    EXPECT_EQ(rows_of(push(place->url, {"--single-writer"}).out), Rows{"demo blob pushed"});
    std::filesystem::remove_all(machine.root);
    EXPECT_EQ(rows_of(pull(place->url).out), Rows{"demo blob pulled"});
    EXPECT_TRUE(contains(machine.run(6), " 6 hits, 0 misses"));

    // It cannot list: programs are to be named.
    result = machine.tool({"pull", "--remote", place->url, "--public-key", keys.open});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "--app NAME")) << result.err;
    result = machine.tool({"remote", "show", "--json", "--app", "demo", "--remote", place->url,
                           "--public-key", keys.open});
    EXPECT_EQ(json::parse(result.out)["heads"].size(), 1u) << result.err;
    // Of what it may have, what is there would go: no recipes were pushed.
    result = machine.tool(
        {"remote", "rm", "--dry-run", "--json", "--app", "demo", "--remote", place->url});
    EXPECT_EQ(json::parse(result.out)["removed"].size(), 1u) << result.out;
    // Nor does what it has for other devices go: that is said.
    result = machine.tool({"remote", "rm", "--app", "demo", "--remote", place->url});
    EXPECT_TRUE(contains(result.err, "cannot list")) << result.err;
}

// Apache's entity tags are weak for a second after a write: nobody waits for that second.
TEST_F(HttpRemote, AWeakTagWillDoWhereTheServerComparesIt)
{
    const std::unique_ptr<Place> apache = place_of("apache");
    if (!apache) {
        GTEST_SKIP() << "apache is not installed";
    }
    for (int pipelines : {2, 4, 6}) {
        machine.run(pipelines);
        const ToolResult result =
            machine.tool({"push", "--json", "--app", "demo", "--remote", apache->url,
                          "--secret-key", keys.secret, "--dir", machine.root});
        EXPECT_EQ(result.exit_status, 0) << result.err;
        // Reading the head, trying conditions, object, head, and looking again; each step that
        // waits for a strong tag would be one more.
        EXPECT_LE(json::parse(result.out)["requests"], pipelines == 2 ? 18 : 10) << result.out;
    }
}

// As a shared folder and nginx have it: what the URL names need not be there.
TEST_F(HttpRemote, TheFoldersOfTheUrlAreMade)
{
    const std::unique_ptr<Place> apache = place_of("apache");
    if (!apache) {
        GTEST_SKIP() << "apache is not installed";
    }
    machine.run(2);
    const std::string url = apache->url + "/warmpipe/of/service";
    const ToolResult result = push(url);
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pushed"}) << result.err;
    EXPECT_TRUE(std::filesystem::exists(apache->data + "/warmpipe/of/service/v1/head/demo"));
    std::filesystem::remove_all(machine.root);
    EXPECT_EQ(rows_of(pull(url).out), Rows{"demo blob pulled"});
}

// No further up than to the host, and once.
TEST_F(HttpRemote, FoldersThatCannotBeMadeAreTriedOnce)
{
    std::vector<std::string> asked;
    ScriptedServer server([&asked](const std::string &request) {
        asked.push_back(request.substr(0, request.find(" HTTP")));
        return http_answer(request.rfind("PUT", 0) == 0 || request.rfind("MKCOL", 0) == 0
                               ? "409 Conflict"
                               : "404 Not Found");
    });
    const ToolResult result =
        machine.tool({"remote", "check", "--remote", server.url() + "/a/b", "--public-key",
                      keys.open, "--secret-key", keys.secret});
    EXPECT_TRUE(contains(result.out, "(remote_error): HTTP 409")) << result.out;
    const auto lock = server.between_requests();
    const std::vector<std::string> expected = {"GET /a/b/v1/probe", "PROPFIND /a/b/v1/head/",
                                               "PUT /a/b/v1/probe", "MKCOL /a/b/v1/",
                                               "MKCOL /a/b/",       "MKCOL /a/",
                                               "PUT /a/b/v1/probe"};
    EXPECT_EQ(asked, expected);
}

// A push is refused for one reason, and nothing local is lost.
TEST_F(HttpRemote, WhatCannotBeWrittenIsTold)
{
    machine.run(2);
    const std::vector<std::string> before = machine.caches();
    const std::pair<const char *, const char *> cases[] = {
        {"401 Unauthorized", "remote_forbidden"},      {"403 Forbidden", "remote_forbidden"},
        {"405 Method Not Allowed", "remote_error"},    {"409 Conflict", "remote_error"},
        {"413 Payload Too Large", "remote_error"},     {"429 Too Many Requests", "remote_busy"},
        {"500 Internal Server Error", "remote_error"}, {"501 Not Implemented", "remote_error"},
        {"507 Insufficient Storage", "remote_full"},   {"302 Found", "remote_bad_answer"},
    };
    for (const auto &[status, reason] : cases) {
        const std::string text = status;
        ScriptedServer server([text](const std::string &request) {
            return http_answer(request.rfind("PUT", 0) == 0 ? text : "404 Not Found");
        });
        const ToolResult result = push(server.url());
        EXPECT_EQ(result.exit_status, 1) << status;
        const std::string told = std::string("(") + reason + "): HTTP " + text.substr(0, 3);
        EXPECT_TRUE(contains(result.err, told)) << result.err;
        EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
        const ToolResult check = machine.tool(
            {"remote", "check", "--remote", server.url(), "--secret-key", keys.secret});
        EXPECT_TRUE(contains(check.out, told)) << check.out;
    }
    EXPECT_EQ(machine.caches(), before);
}

// One program's cache is too large for the server, or is not for everybody to read there.
TEST_F(HttpRemote, WhatIsRefusedOfOneProgramHoldsUpNoOther)
{
    auto place = apache_place("LimitRequestBody 100000\n");
    if (!place) {
        GTEST_SKIP() << "apache is not installed";
    }
    auto run = [&](const std::string &app, int pipelines) {
        machine.tool({"run", "--dir", machine.root, "--app", app, "--", PIPELINES_CLIENT,
                      "--graphics", "0", "--compute", std::to_string(pipelines)});
    };
    run("a", 10);
    run("b", 3);
    run("c", 2);
    ToolResult result = push(place->url);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "HTTP 413")) << result.err;
    EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
    EXPECT_EQ(rows_of(result.out), (Rows{"a blob failed", "b blob pushed", "c blob pushed"}));

    // Of b the object, and its head as well.
    std::string head, object;
    for (const auto &entry : std::filesystem::directory_iterator(place->data + "/v1/head/b")) {
        head = entry.path();
    }
    object = json::parse(read_file(head).substr(read_file(head).find('{')))["parts"][0]["object"];
    std::filesystem::permissions(place->data + "/v1/obj/" + object, std::filesystem::perms(0));
    auto pull_all = [&] {
        std::filesystem::remove_all(machine.root);
        return machine.tool({"pull", "--json", "--remote", place->url, "--public-key", keys.open,
                             "--dir", machine.root});
    };
    result = pull_all();
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_forbidden)")) << result.err;
    EXPECT_EQ(rows_of(result.out), (Rows{"b blob failed", "c blob pulled"})) << result.err;
    write_file(head, std::string(70000, 'x'));
    result = pull_all();
    EXPECT_TRUE(contains(result.err, "larger than it may be")) << result.err;
    EXPECT_EQ(rows_of(result.out), (Rows{"b blob failed", "c blob pulled"})) << result.err;
}

// It takes the probe, or that and more, and has nothing when it is asked.
TEST_F(HttpRemote, AServerThatKeepsNothingIsToldSo)
{
    machine.run(2);
    for (const bool keeps_probe : {false, true}) {
        bool is_first = true;
        ScriptedServer server([&](const std::string &request) {
            const bool is_probe = contains(request, " /v1/probe ");
            if (request.rfind("PUT", 0) == 0) {
                return http_answer(std::exchange(is_first, false) || !is_probe
                                       ? "201 Created"
                                       : "412 Precondition Failed");
            }
            return is_probe && keeps_probe ? http_answer("200 OK", "probe")
                                           : http_answer("404 Not Found");
        });
        const ToolResult result = push(server.url());
        EXPECT_EQ(result.exit_status, 1);
        EXPECT_TRUE(contains(result.err, "(remote_bad_answer): what was written is not there"))
            << result.err;
        EXPECT_LT(server.requests(), 20);
    }
}

} // namespace
#endif
