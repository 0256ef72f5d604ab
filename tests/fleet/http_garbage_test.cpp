// SPDX-License-Identifier: Apache-2.0
// What `remote gc` does where a listing is cut, and beside pushes.
#ifdef WARMPIPE_HAVE_CURL
#include "http_remote.h"

namespace {

TEST_F(HttpRemote, APartOfAListingIsNone)
{
    auto place = file_place();
    machine.run(2);
    ASSERT_EQ(push_from(machine, place->url).exit_status, 0);
    ScriptedServer server([&](const std::string &request) {
        const std::string whole = serve_folder(place->data, request);
        return request.rfind("PROPFIND", 0) == 0
                   ? http_answer(
                         "207 Multi-Status",
                         whole.substr(whole.find("<D:"), whole.rfind("</D:") - whole.find("<D:")))
                   : whole;
    });
    const ToolResult result = machine.tool({"remote", "gc", "--remote", server.url()});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_bad_answer): a listing that is cut short"))
        << result.err;
}

// What a listing names is there: it is not asked for one by one, which not all servers allow.
TEST_F(HttpRemote, ADryRunBelievesTheListing)
{
    auto place = file_place();
    machine.run(2);
    ASSERT_EQ(push_from(machine, place->url).exit_status, 0);
    ScriptedServer server([&](const std::string &request) {
        return request.rfind("HEAD", 0) == 0 ? http_answer("405 Method Not Allowed", "")
                                             : serve_folder(place->data, request);
    });
    const ToolResult result = machine.tool(
        {"remote", "rm", "--dry-run", "--json", "--app", "demo", "--remote", server.url()});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(json::parse(result.out)["removed"].size(), 1u) << result.out;
}

// A listing that ends in a folder that cannot be listed: what it had named is guessed as well.
TEST_F(HttpRemote, AGuessThatWasListedCountsOnce)
{
    auto place = file_place();
    machine.run(2);
    ASSERT_EQ(push_from(machine, place->url, {"--recipes"}).exit_status, 0);
    const std::string before = "<D:response><D:href>/v1/head/";
    const std::string after = "</D:href></D:response>";
    ScriptedServer server([&](const std::string &request) {
        const bool is_top = contains(request, "PROPFIND /v1/head/ ");
        const bool is_demo = contains(request, "PROPFIND /v1/head/demo/ ");
        const std::string listed = is_top ? before + "demo/" + after + before + "other/" + after
                                          : before + "demo/recipes" + after;
        return is_top || is_demo                   ? http_answer("207 Multi-Status",
                                                                 "<D:multistatus>" + listed + "</D:multistatus>")
               : request.rfind("PROPFIND", 0) == 0 ? http_answer("405 Method Not Allowed", "")
                                                   : serve_folder(place->data, request);
    });
    const ToolResult result = machine.tool({"remote", "ls", "--json", "--app", "demo", "--remote",
                                            server.url(), "--public-key", keys.open});
    EXPECT_TRUE(contains(result.err, "cannot list")) << result.err;
    EXPECT_EQ(json::parse(result.out)["heads"].size(), 2u) << result.out;
}

// A push, whose own look at what it refers to is over, names an object while others are removed.
TEST_F(HttpRemote, AHeadThatComesDuringACollectionCounts)
{
    auto place = file_place();
    machine.run(4);
    machine.tool({"run", "--dir", machine.root, "--app", "other", "--", PIPELINES_CLIENT,
                  "--graphics", "0", "--compute", "6"});
    ASSERT_EQ(push_from(machine, place->url).exit_status, 0);
    const std::string heads = place->data + "/v1/head";
    std::filesystem::rename(heads, place->data + "/kept");
    std::filesystem::create_directory(heads);
    unsigned removed = 0;
    ScriptedServer server([&](const std::string &request) {
        if (request.rfind("DELETE", 0) == 0 && removed++ == 0) {
            std::filesystem::remove(heads);
            std::filesystem::rename(place->data + "/kept", heads);
            usleep(1100000); // what was read of heads is too old then
        }
        return serve_folder(place->data, request);
    });
    for (int runs = 0; runs < 2; runs++) {
        const ToolResult result =
            machine.tool({"remote", "gc", "--grace", "0s", "--remote", server.url()});
        EXPECT_EQ(result.exit_status, 0) << result.err;
    }
    const auto lock = server.between_requests();
    EXPECT_EQ(removed, 1u);
}

} // namespace
#endif
