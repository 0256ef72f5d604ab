// SPDX-License-Identifier: Apache-2.0
// HTTP: what servers do that do not do what is asked for. Real ones where they do it on demand.
#ifdef WARMPIPE_HAVE_CURL
#include <csignal>

#include "http_remote.h"

namespace {

// libcurl is loaded for a remote that needs it, and no other start pays for it.
TEST_F(HttpRemote, WithoutItsLibraryItSaysSo)
{
    const std::string folder = keys.open + ".libraries";
    std::filesystem::create_directories(folder);
    for (const char *name : {"/libcurl.so.4", "/libcurl-gnutls.so.4"}) {
        write_file(folder + name, "no library");
    }
    const Environment environment = {{"HOME", machine.root}, {"LD_LIBRARY_PATH", folder}};
    ToolResult result = run_tool({"pull", "--remote", "http://127.0.0.1:1/", "--public-key",
                                  keys.open, "--dir", machine.root, "--app", "demo"},
                                 environment);
    EXPECT_NE(result.exit_status, 0);
    EXPECT_TRUE(contains(result.err, "(remote_unsupported): ")) << result.err;
    EXPECT_TRUE(contains(result.err, "libcurl.so.4")) << result.err;
    EXPECT_EQ(run_tool({"--version"}, environment).exit_status, 0);
}

// A certificate of the test's own authority, for localhost.
TEST_F(HttpRemote, CertificatesAreVerified)
{
    if (!is_installed("/usr/bin/openssl")) {
        GTEST_SKIP() << "openssl is not installed";
    }
    const std::string folder = keys.folder.path;
    const ToolResult made = run_shell(
        "set -e; cd " + folder +
        "; export HOME=$PWD RANDFILE=$PWD/rnd\n"
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj "
        "/CN=test\n"
        "for name in localhost elsewhere; do\n"
        "openssl req -newkey rsa:2048 -nodes -keyout $name.key -out $name.csr -subj /CN=$name\n"
        "echo subjectAltName=DNS:$name > $name.ext\n"
        "openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
        "-extfile $name.ext -out $name.pem\n"
        "done");
    ASSERT_EQ(made.exit_status, 0) << made.err;
    auto place_of = [&](const std::string &name, const std::string &more = "") {
        return apache_place("SSLEngine on\nSSLSessionCache none\nSSLCertificateFile " + folder +
                                "/" + name + ".pem\nSSLCertificateKeyFile " + folder + "/" + name +
                                ".key\n" + more,
                            "https", "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so\n");
    };
    auto place = place_of("localhost");
    if (!place) {
        GTEST_SKIP() << "apache is not installed";
    }
    expect_refused(place->url, "remote_tls");
    machine.more["CURL_CA_BUNDLE"] = folder + "/ca.pem";
    machine.run(4);
    EXPECT_EQ(rows_of(push(place->url).out), Rows{"demo blob pushed"});
    std::filesystem::remove_all(machine.root);
    EXPECT_EQ(rows_of(pull(place->url).out), Rows{"demo blob pulled"});
    std::filesystem::remove_all(machine.root);
    expect_refused(place_of("elsewhere")->url, "remote_tls");
    // One that wants to see ours: there is none.
    const std::string asks =
        "SSLVerifyClient require\nSSLCACertificateFile " + folder + "/ca.pem\n";
    expect_refused(place_of("localhost", asks)->url, "remote_tls");
}

// It has no certificate that could be wrong.
TEST_F(HttpRemote, AServerOfPlainHttpIsToldApartFromACertificate)
{
    RawServer server(
        [](const std::string &) { return http_answer("400 Bad Request") + "hang up"; });
    const ToolResult result = pull("https://localhost:" + std::to_string(server.port()));
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "no secure connection with the remote (remote_tls): "))
        << result.err;
    EXPECT_TRUE(contains(result.err, "wrong version number") ||
                contains(result.err, "unexpected TLS packet"))
        << result.err;
    EXPECT_FALSE(contains(result.err, "certificate")) << result.err;
}

TEST_F(HttpRemote, APasswordComesFromNetrc)
{
    const std::string folder = keys.folder.path;
    // "hunter2", by `htpasswd -nbs`.
    write_file(folder + "/passwords", "user:{SHA}87u9ZqY9S/F0eUBXjsPQEDUw4h0=\n");
    std::filesystem::permissions(folder, std::filesystem::perms(0755));
    std::string modules;
    for (const std::string name : {"authn_core", "authn_file", "authz_user", "auth_basic"}) {
        modules += "LoadModule " + name + "_module /usr/lib/apache2/modules/mod_" + name + ".so\n";
    }
    auto place = apache_place("<Location />\nAuthType Basic\nAuthName x\nAuthUserFile " + folder +
                                  "/passwords\nRequire valid-user\n</Location>\n",
                              "http", modules);
    if (!place) {
        GTEST_SKIP() << "apache is not installed";
    }
    expect_refused(place->url, "remote_forbidden");
    write_file(folder + "/netrc", "machine localhost login user password hunter2\n");
    machine.more["NETRC"] = folder + "/netrc";
    const ToolResult result = pull(place->url);
    EXPECT_EQ(result.exit_status, 0) << result.err << read_file(place->log);
    EXPECT_EQ(rows_of(result.out), Rows());
}

TEST_F(HttpRemote, StatusesAreTold)
{
    const std::pair<const char *, const char *> cases[] = {
        {"401 Unauthorized", "remote_forbidden"},   {"403 Forbidden", "remote_forbidden"},
        {"429 Too Many Requests", "remote_busy"},   {"500 Internal Server Error", "remote_error"},
        {"503 Service Unavailable", "remote_busy"}, {"302 Found", "remote_bad_answer"},
    };
    for (const auto &[status, reason] : cases) {
        const std::string text = status;
        // One request, or one a head: nothing is asked again of who says no.
        expect_refused([text](const std::string &) { return http_answer(text, "no"); }, reason);
    }
    ToolResult result;
    {
        ScriptedServer server(
            [](const std::string &) { return http_answer("404 Not Found", "<html>"); });
        result = pull(server.url());
        EXPECT_EQ(server.requests(), 2) << "a blob, and recipes";
    }
    EXPECT_EQ(result.exit_status, 0) << result.err;
}

// Who reads the document alone has the reason, as with what is wrong usage.
TEST_F(HttpRemote, DocumentsSayWhatFailed)
{
    machine.run(2);
    ScriptedServer server([](const std::string &) { return http_answer("403 Forbidden"); });
    const std::string pid = machine.folder.path + "/pid";
    const std::vector<std::vector<std::string>> commands = {
        {"pull", "--dir", machine.root, "--app", "demo", "--insecure"},
        {"pull", "--dir", machine.root, "--public-key", keys.open},
        {"push", "--dir", machine.root, "--secret-key", keys.secret},
        {"sync", "--dir", machine.root, "--public-key", keys.open},
        {"remote", "ls"},
        {"remote", "show"},
        {"remote", "rm", "--app", "demo"},
        {"remote", "gc"},
    };
    for (const std::vector<std::string> &command : commands) {
        std::vector<std::string> words = {"/bin/sh", "-c", "echo $$ > \"$0\"; exec \"$@\"", pid,
                                          WARMPIPE_TOOL};
        words.insert(words.end(), command.begin(), command.end());
        words.insert(words.end(), {"--json", "--remote", server.url()});
        const int before = server.requests();
        std::thread ends([&] {
            while (command[0] == "sync" && server.requests() == before) {
                usleep(1000);
            }
            if (command[0] == "sync") {
                kill(std::stoi(read_file(pid)), SIGTERM);
            }
        });
        const ToolResult result = run_program(words, machine.environment());
        ends.join();
        EXPECT_EQ(result.exit_status, 1) << command[0];
        const json told = json::parse(result.out);
        ASSERT_TRUE(told.contains("error")) << command[0] << result.out;
        EXPECT_TRUE(contains(told["error"], "(remote_forbidden): HTTP 403")) << result.out;
        EXPECT_EQ("warmpipe: " + std::string(told["error"]), lines_of(result.err).back());
        for (const json &row : told.value("results", json::array())) {
            EXPECT_EQ(row["result"], "failed");
            EXPECT_EQ(row["reason"], "remote_forbidden");
        }
    }
}

TEST_F(HttpRemote, DocumentsOfWhatWentWellNameNoFailure)
{
    ScriptedServer server([](const std::string &) { return http_answer("404 Not Found"); });
    const json told = json::parse(pull(server.url()).out);
    EXPECT_FALSE(told.contains("error")) << told;
    auto place = file_place();
    machine.run(2);
    const json pushed = json::parse(push(place->url).out);
    EXPECT_FALSE(pushed.contains("error")) << pushed;
    EXPECT_EQ(pushed["results"][0]["reason"], "ok");
}

// A page that says what failed may be as long as it likes, announced or not.
TEST_F(HttpRemote, StatusesAreToldWhereThePageIsLong)
{
    const std::string page(200000, 'x');
    for (const std::string headers :
         {"Content-Length: 200000\r\nConnection: close\r\n", "Connection: close\r\n"}) {
        ScriptedServer server([&](const std::string &) {
            return "HTTP/1.1 404 Not Found\r\n" + headers + "\r\n" + page;
        });
        const ToolResult result = pull(server.url());
        EXPECT_EQ(result.exit_status, 0) << result.err;
        expect_refused(
            [&](const std::string &) {
                return "HTTP/1.1 503 Service Unavailable\r\n" + headers + "\r\n" + page;
            },
            "remote_busy");
    }
}

TEST_F(HttpRemote, AServerThatIsBusyIsAskedAgainWhenItSays)
{
    int left = 1;
    ScriptedServer server([&left](const std::string &) {
        return left-- > 0 ? http_answer("429 Too Many Requests", "", "Retry-After: 1\r\n")
                          : http_answer("404 Not Found");
    });
    const ToolResult result = pull(server.url());
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(server.requests(), 3);
    // Not if that is long.
    expect_refused(
        [](const std::string &) {
            return http_answer("503 Service Unavailable", "", "Retry-After: 3600\r\n");
        },
        "remote_busy");
    // Milliseconds of which 64 bits do not hold.
    expect_refused(
        [](const std::string &) {
            return http_answer("503 Service Unavailable", "", "Retry-After: 10000000000000000\r\n");
        },
        "remote_busy");
}

TEST_F(HttpRemote, PagesAndLiesAreNotTaken)
{
    expect_refused(
        [](const std::string &) {
            return http_answer("200 OK", "<html>Log in</html>", "Content-Type: text/html\r\n");
        },
        "remote_bad_answer");
    // Ends early.
    expect_refused(
        [](const std::string &) { return "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort"; },
        "remote_unreachable");
    // Too much, announced and not.
    expect_refused(
        [](const std::string &) {
            return "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nx";
        },
        "remote_bad_answer", 2);
    expect_refused(
        [](const std::string &) {
            return "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + std::string(100000, 'x');
        },
        "remote_bad_answer", 2);
    expect_refused([](const std::string &) { return "what?\r\n\r\n"; }, "remote_bad_answer");
    expect_refused([](const std::string &) { return ""; }, "remote_unreachable");
}

// Apache sends the size of one value and bytes of the next where that comes while it answers.
TEST_F(HttpRemote, AHeadThatIsReplacedMeanwhileIsReadAgain)
{
    const auto place = file_place();
    const Keys strangers;
    unsigned torn = 0;
    unsigned reads = 0;
    machine.run(2);
    ASSERT_EQ(push_from(machine, place->url).exit_status, 0);
    ScriptedServer server([&](const std::string &request) {
        const std::string whole = serve_folder(place->data, request);
        if (request.rfind("GET /v1/head/", 0) != 0 || contains(whole, " 404 ") || ++reads > torn) {
            return whole;
        }
        const std::string head = whole.substr(whole.find("\r\n\r\n") + 4);
        return http_answer("200 OK", reads % 2 ? head.substr(0, head.size() - 8)
                                               : head + std::string(8, '\0'));
    });
    const auto pull_torn = [&](unsigned times, const std::string &key) {
        Machine other;
        {
            const auto lock = server.between_requests();
            torn = times;
            reads = 0;
        }
        return other.tool({"pull", "--json", "--remote", server.url(), "--public-key", key, "--dir",
                           other.root, "--app", "demo"});
    };
    const auto count_reads = [&] {
        const auto lock = server.between_requests();
        return reads;
    };
    for (unsigned times : {1u, 2u}) {
        const ToolResult result = pull_torn(times, keys.open);
        EXPECT_EQ(rows_of(result.out), Rows{"demo blob pulled"}) << result.err;
        EXPECT_EQ(count_reads(), times + 1);
    }
    // Not forever; and what stays as it is was not torn.
    EXPECT_TRUE(contains(pull_torn(1000, keys.open).err, "(remote_untrusted_head)"));
    EXPECT_EQ(count_reads(), 3u);
    EXPECT_TRUE(contains(pull_torn(0, strangers.open).err, "(remote_untrusted_head)"));
    EXPECT_EQ(count_reads(), 2u);
}

// The head is there, and the transfer of what it names ends, or stops, halfway.
TEST_F(HttpRemote, WhatBreaksOffIsNotTaken)
{
    auto place = file_place();
    Machine writer;
    writer.run(4);
    ASSERT_EQ(push_from(writer, place->url).exit_status, 0);
    auto serve = [&](const std::string &request) {
        const std::string path = request.substr(4, request.find(" HTTP") - 4);
        const std::string text =
            std::filesystem::exists(place->data + path) ? read_file(place->data + path) : "";
        const std::string answer = http_answer(text.empty() ? "404 Not Found" : "200 OK", text);
        return contains(path, "/obj/") ? answer.substr(0, answer.size() - text.size() / 2) : answer;
    };
    expect_refused(serve, "remote_unreachable");

    // What lies here stays as it is, and the program starts in time.
    machine.run(2);
    const std::vector<std::string> before = machine.caches();
    RawServer slow(serve);
    const ToolResult result =
        machine.tool({"run", "--dir", machine.root, "--app", "demo", "--remote-wait", "300ms",
                      "--remote", "http://localhost:" + std::to_string(slow.port()), "--public-key",
                      keys.open, "--", PIPELINES_CLIENT, "--graphics", "0", "--compute", "2"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(contains(result.err, "(remote_timeout)")) << result.err;
    EXPECT_TRUE(contains(result.err, " 2 hits, 0 misses")) << result.err;
    EXPECT_EQ(machine.caches(), before);
}

TEST_F(HttpRemote, RedirectionsAreBounded)
{
    ScriptedServer server([](const std::string &request) {
        return http_answer("302 Found", "",
                           "Location: " + request.substr(4, request.find(" HTTP") - 4) + "x\r\n");
    });
    expect_refused(server.url(), "remote_bad_answer");
    EXPECT_LE(server.requests(), 12);
    // To another kind of place.
    expect_refused(
        [](const std::string &) {
            return http_answer("302 Found", "", "Location: file:///etc/passwd\r\n");
        },
        "remote_bad_answer");
}

TEST_F(HttpRemote, APasswordGoesToNoOtherHost)
{
    std::string seen;
    ScriptedServer other([&seen](const std::string &request) {
        seen += request;
        return http_answer("404 Not Found");
    });
    std::string first;
    ScriptedServer server([&](const std::string &request) {
        first += request;
        const std::string path = request.substr(4, request.find(" HTTP") - 4);
        const std::string to = "http://127.0.0.1" + other.url().substr(strlen("http://localhost"));
        return http_answer("302 Found", "", "Location: " + to + path + "\r\n");
    });
    write_file(keys.folder.path + "/netrc", "machine localhost login user password hunter2\n");
    machine.more["NETRC"] = keys.folder.path + "/netrc";
    const ToolResult result = pull(server.url());
    EXPECT_EQ(result.exit_status, 0) << result.err;
    const auto lock = server.between_requests();
    const auto other_lock = other.between_requests();
    EXPECT_TRUE(contains(first, "Authorization: Basic")) << first;
    EXPECT_TRUE(contains(seen, "GET /v1/head/demo/")) << seen;
    EXPECT_FALSE(contains(seen, "Authorization")) << seen;
}

TEST_F(HttpRemote, WhoDoesNotAnswerIsNotAskedTwice)
{
    expect_refused("http://localhost:" + std::to_string(free_port()), "remote_unreachable");
    expect_refused("http://does-not-exist.invalid", "remote_unreachable");
}

} // namespace
#endif
