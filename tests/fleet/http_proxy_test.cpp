// SPDX-License-Identifier: Apache-2.0
// What stands between a server and us: proxies that keep, rename and compress.
#ifdef WARMPIPE_HAVE_CURL
#include "http_remote.h"

namespace {

// A proxy on the way may hold what never changes, and nothing else.
TEST_F(HttpRemote, OnlyObjectsMayComeFromACache)
{
    auto place = file_place();
    Machine writer;
    writer.run(4);
    ASSERT_EQ(push_from(writer, place->url).exit_status, 0);
    unsigned objects = 0, others = 0;
    ScriptedServer server([&](const std::string &request) {
        const std::string path = request.substr(4, request.find(" HTTP") - 4);
        const bool is_object = contains(path, "/v1/obj/");
        EXPECT_EQ(contains(request, "Cache-Control: no-cache\r\n"), !is_object) << request;
        (is_object ? objects : others)++;
        return std::filesystem::exists(place->data + path)
                   ? http_answer("200 OK", read_file(place->data + path))
                   : http_answer("404 Not Found");
    });
    EXPECT_EQ(rows_of(pull(server.url()).out), Rows{"demo blob pulled"});
    const auto lock = server.between_requests();
    EXPECT_GT(objects, 0u);
    EXPECT_GT(others, 0u);
}

// A proxy in front of the server takes a part of the path away, and the server does not know.
TEST_F(HttpRemote, AListingMayNameThePathsOfTheServerBehind)
{
    auto place = file_place();
    machine.run(2);
    ASSERT_EQ(push_from(machine, place->url).exit_status, 0);
    std::string outside;
    ScriptedServer server([&](const std::string &request) {
        if (!contains(request, " /cache/v1/")) {
            outside += request;
            return http_answer("404 Not Found");
        }
        // Or adds one; and a name that would lead elsewhere.
        std::string whole =
            serve_folder(place->data, std::string(request).erase(request.find("/cache"), 6));
        for (size_t at = 0; (at = whole.find("<D:href>", at)) != std::string::npos; at += 8) {
            whole.insert(at + 8, "/cache/inner");
        }
        whole = whole.substr(whole.find("\r\n\r\n") + 4);
        return request.rfind("PROPFIND", 0) == 0
                   ? http_answer("207 Multi-Status",
                                 whole.insert(whole.rfind("</D:"),
                                              "<D:href>/cache/v1/head/../../../admin/</D:href>"))
                   : http_answer("200 OK", whole);
    });
    const ToolResult result = machine.tool(
        {"remote", "ls", "--json", "--remote", server.url() + "/cache", "--public-key", keys.open});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(json::parse(result.out)["heads"].size(), 1u) << result.out;
    const auto lock = server.between_requests();
    EXPECT_EQ(outside, "");
}

// Proxies do, unasked: the tag is another one then.
TEST_F(HttpRemote, WhatIsCompressedUnaskedIsUnpacked)
{
    auto place = file_place();
    Machine writer;
    writer.run(4);
    ASSERT_EQ(push_from(writer, place->url).exit_status, 0);
    std::string asked;
    ScriptedServer server([&](const std::string &request) {
        asked = request;
        const std::string path = place->data + request.substr(4, request.find(" HTTP") - 4);
        const std::string packed = place->data + "/packed";
        if (!std::filesystem::exists(path)) {
            return http_answer("404 Not Found");
        }
        EXPECT_EQ(std::system(("gzip -c '" + path + "' >'" + packed + "'").c_str()), 0);
        return http_answer("200 OK", read_file(packed), "Content-Encoding: gzip\r\n");
    });
    const ToolResult result = pull(server.url());
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(machine.caches(), writer.caches());
    {
        const auto lock = server.between_requests();
        EXPECT_TRUE(contains(asked, "Accept-Encoding: identity\r\n")) << asked;
    }

    // A name that is none is not heeded.
    std::filesystem::remove_all(machine.root);
    ScriptedServer chunked([&](const std::string &request) {
        const std::string whole = serve_folder(place->data, request);
        return std::string(whole).insert(whole.find("\r\n") + 2,
                                         "Content-Encoding: aws-chunked\r\n");
    });
    EXPECT_EQ(rows_of(pull(chunked.url()).out), Rows{"demo blob pulled"});
}

} // namespace
#endif
