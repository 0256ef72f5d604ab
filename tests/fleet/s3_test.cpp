// SPDX-License-Identifier: Apache-2.0
// S3: against s3rver of npm, which checks neither signatures nor conditions, and against a scripted
// one that computes each signature anew (AWS Signature Version 4) and honours conditions.
#ifdef WARMPIPE_HAVE_CURL
#include <algorithm>
#include <sodium.h>

#include "fleet.h"
#include "scripted_servers.h"

namespace {

std::string sha256_hex(const std::string &text)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof digest + 1];
    crypto_hash_sha256(digest, reinterpret_cast<const unsigned char *>(text.data()), text.size());
    return sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
}

std::string hmac(const std::string &key, const std::string &text)
{
    crypto_auth_hmacsha256_state state;
    unsigned char code[crypto_auth_hmacsha256_BYTES];
    crypto_auth_hmacsha256_init(&state, reinterpret_cast<const unsigned char *>(key.data()),
                                key.size());
    crypto_auth_hmacsha256_update(&state, reinterpret_cast<const unsigned char *>(text.data()),
                                  text.size());
    crypto_auth_hmacsha256_final(&state, code);
    return std::string(reinterpret_cast<char *>(code), sizeof code);
}

std::string between(const std::string &text, const std::string &before, const std::string &after)
{
    const size_t begin = text.find(before);
    if (begin == std::string::npos) {
        return "";
    }
    const size_t start = begin + before.size();
    return text.substr(start, text.find(after, start) - start);
}

// An HTTP request, taken apart.
struct Request {
    std::string method;
    std::string path;
    std::string query;
    std::map<std::string, std::string> headers; // names in lower case
    std::string body;

    explicit Request(const std::string &text)
    {
        const size_t end = text.find("\r\n\r\n");
        std::istringstream stream(text.substr(0, end));
        std::string target;
        stream >> method >> target;
        path = target.substr(0, target.find('?'));
        query = path.size() < target.size() ? target.substr(path.size() + 1) : "";
        std::string line;
        std::getline(stream, line);
        while (std::getline(stream, line)) {
            std::string name = line.substr(0, line.find(':'));
            std::transform(name.begin(), name.end(), name.begin(),
                           [](unsigned char c) { return static_cast<char>(tolower(c)); });
            std::string value = line.substr(line.find(':') + 1);
            value.erase(0, value.find_first_not_of(' '));
            value.erase(value.find_last_not_of("\r ") + 1);
            headers[name] = value;
        }
        body = text.substr(end + 4);
    }

    // The signature that the secret gives, as Amazon documents it.
    std::string signature(const std::string &secret)
    {
        const std::string authorization = headers["authorization"];
        const std::string names = between(authorization, "SignedHeaders=", ",");
        const std::string scope = between(authorization, "Credential=", ",");
        const std::string place = scope.substr(scope.find('/') + 1); // date/region/s3/aws4_request
        std::string canonical = method + "\n" + path + "\n" + query + "\n";
        std::istringstream stream(names);
        for (std::string name; std::getline(stream, name, ';');) {
            canonical += name + ":" + headers[name] + "\n";
        }
        canonical += "\n" + names + "\n" + sha256_hex(body);
        std::string key = "AWS4" + secret;
        std::istringstream parts(place);
        for (std::string part; std::getline(parts, part, '/');) {
            key = hmac(key, part);
        }
        const std::string code = hmac(key, "AWS4-HMAC-SHA256\n" + headers["x-amz-date"] + "\n" +
                                               place + "\n" + sha256_hex(canonical));
        char hex[2 * crypto_auth_hmacsha256_BYTES + 1];
        return sodium_bin2hex(hex, sizeof hex, reinterpret_cast<const unsigned char *>(code.data()),
                              code.size());
    }
};

// A bucket in memory.
class Bucket {
  public:
    std::map<std::string, std::string> values;
    std::string token;
    int refused = 0;

    std::string answer(const std::string &text)
    {
        Request request(text);
        const std::string found =
            between(request.headers["authorization"] + ",", "Signature=", ",");
        if (found != request.signature("secret/of+tests") ||
            request.headers["x-amz-security-token"] != token ||
            request.headers["x-amz-content-sha256"] != sha256_hex(request.body)) {
            refused++;
            return http_answer("403 Forbidden");
        }
        if (request.path == "/bucket/") {
            return list(request.query);
        }
        return handle(request);
    }

  private:
    static std::string tag(const std::string &value)
    {
        return "\"" + sha256_hex(value).substr(0, 32) + "\"";
    }

    std::string handle(Request &request)
    {
        const auto value = values.find(request.path);
        const bool exists = value != values.end();
        if (request.method == "PUT") {
            const bool has_match = request.headers.count("if-match");
            if ((request.headers.count("if-none-match") && exists) ||
                (has_match && exists && request.headers["if-match"] != tag(value->second))) {
                return http_answer("412 Precondition Failed");
            }
            if (has_match && !exists) {
                return http_answer("404 Not Found");
            }
            values[request.path] = request.body;
            return http_answer("200 OK");
        }
        if (!exists) {
            return http_answer("404 Not Found");
        }
        const std::string stored = value->second;
        if (request.method == "DELETE") {
            values.erase(value);
            return "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
        }
        std::string whole = http_answer("200 OK", stored, "ETag: " + tag(stored) + "\r\n");
        return request.method == "HEAD" ? whole.substr(0, whole.find("\r\n\r\n") + 4) : whole;
    }

    std::string list(const std::string &query)
    {
        std::string prefix = "/bucket/" + between(query + "&", "prefix=", "&");
        for (size_t at; (at = prefix.find("%2F")) != std::string::npos;) {
            prefix.replace(at, 3, "/");
        }
        std::string body = "<ListBucketResult>";
        std::vector<std::string> keys;
        for (const auto &[path, value] : values) {
            if (path.rfind(prefix, 0) == 0 && !value.empty()) {
                keys.push_back(path.substr(strlen("/bucket/")));
            }
        }
        // Two a page; the token, which wants encoding, says where the next begins.
        const std::string after = between(query, "continuation-token=at%2B", "&");
        const size_t first = after.empty() ? 0 : std::stoul(after);
        for (size_t i = first; i < keys.size() && i < first + 2; i++) {
            body += "<Contents><Key>" + keys[i] + "</Key></Contents>";
        }
        if (first + 2 < keys.size()) {
            body += "<NextContinuationToken>at+" + std::to_string(first + 2) +
                    "</NextContinuationToken>";
        }
        return http_answer("200 OK", body + "</ListBucketResult>",
                           "Content-Type: application/xml\r\n");
    }
};

class S3Remote : public testing::Test {
  protected:
    Keys keys;
    Machine first;
    Machine second;
    Bucket bucket;
    ScriptedServer server{[this](const std::string &request) { return bucket.answer(request); }};
    std::string url = "s3://bucket/some/prefix?region=eu-north-1&endpoint=" + server.url();

    void SetUp() override
    {
        ASSERT_GE(sodium_init(), 0);
        for (Machine *machine : {&first, &second}) {
            machine->more["AWS_ACCESS_KEY_ID"] = "AKIATEST";
            machine->more["AWS_SECRET_ACCESS_KEY"] = "secret/of+tests";
        }
    }

    int refused()
    {
        const auto lock = server.between_requests();
        return bucket.refused;
    }

    ToolResult push(const Machine &machine)
    {
        return machine.tool({"push", "--json", "--remote", url, "--secret-key", keys.secret,
                             "--dir", machine.root});
    }

    ToolResult pull(const Machine &machine)
    {
        return machine.tool(
            {"pull", "--json", "--remote", url, "--public-key", keys.open, "--dir", machine.root});
    }
};

TEST_F(S3Remote, EachRequestIsSigned)
{
    first.run(4);
    ToolResult result = push(first);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pushed"});
    result = pull(second);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pulled"});
    EXPECT_EQ(refused(), 0);
    EXPECT_TRUE(contains(second.run(6), " 4 hits, 2 misses"));
    EXPECT_EQ(rows_of(push(second).out), Rows{"demo blob pushed"});
    result = first.tool({"remote", "gc", "--json", "--remote", url});
    EXPECT_EQ(json::parse(result.out)["unused"], 1) << result.err;
    result = first.tool({"remote", "gc", "--json", "--grace", "0s", "--remote", url});
    EXPECT_EQ(json::parse(result.out)["removed"], 1) << result.err;
    // More than a page of heads.
    for (const std::string app : {"a", "b", "c"}) {
        ASSERT_EQ(first.tool({"run", "--dir", first.root, "--app", app, "--", PIPELINES_CLIENT})
                      .exit_status,
                  0);
    }
    EXPECT_EQ(push(first).exit_status, 0);
    result = first.tool({"remote", "ls", "--json", "--remote", url, "--public-key", keys.open});
    EXPECT_EQ(json::parse(result.out)["heads"].size(), 4u) << result.err;
    EXPECT_EQ(refused(), 0);
}

TEST_F(S3Remote, AListingWithoutAnEndIsNone)
{
    ScriptedServer round([](const std::string &) {
        return http_answer("200 OK", "<ListBucketResult><NextContinuationToken>again"
                                     "</NextContinuationToken></ListBucketResult>");
    });
    const ToolResult result =
        first.tool({"remote", "ls", "--remote", "s3://bucket?region=x&endpoint=" + round.url(),
                    "--public-key", keys.open});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_bad_answer)")) << result.err;
    EXPECT_EQ(round.requests(), 2);
}

TEST_F(S3Remote, SessionTokensAreSignedToo)
{
    const std::string token = "token+/=of a session";
    {
        const auto lock = server.between_requests();
        bucket.token = token;
    }
    first.more["AWS_SESSION_TOKEN"] = token;
    EXPECT_EQ(pull(first).exit_status, 0);
    EXPECT_EQ(refused(), 0);
    const ToolResult result = pull(second);
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_TRUE(contains(result.err, "(remote_forbidden)")) << result.err;
    EXPECT_FALSE(contains(result.err, "secret/of"));
}

TEST_F(S3Remote, CredentialsComeFromTheSharedFile)
{
    first.more.erase("AWS_ACCESS_KEY_ID");
    first.more.erase("AWS_SECRET_ACCESS_KEY");
    std::filesystem::create_directories(first.folder.path + "/.aws");
    write_file(first.folder.path + "/.aws/credentials",
               "[other]\naws_access_key_id = X\naws_secret_access_key = Y\n\n[mine]\n"
               "aws_access_key_id = AKIATEST\naws_secret_access_key=secret/of+tests\n");
    EXPECT_EQ(pull(first).exit_status, 1) << "there is no default";
    first.more["AWS_PROFILE"] = "mine";
    const int before = refused();
    EXPECT_EQ(pull(first).exit_status, 0);
    EXPECT_EQ(refused(), before);
}

// What a pod or a task is given: an address to ask, and what to show there.
class S3Credentials : public S3Remote {
  protected:
    std::string expires = "2099-01-02T03:04:05Z";
    std::string asked; // the last request
    ScriptedServer giver{[this](const std::string &request) {
        asked = request;
        if (contains(request, "POST / ")) {
            return http_answer(
                "200 OK", "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult>"
                          "<Credentials><AccessKeyId>AKIATEST</AccessKeyId>"
                          "<SecretAccessKey>secret/of+tests</SecretAccessKey>"
                          "<SessionToken>of a role</SessionToken><Expiration>" +
                              expires + "</Expiration></Credentials>" +
                              "</AssumeRoleWithWebIdentityResult>" +
                              "</AssumeRoleWithWebIdentityResponse>");
        }
        if (!contains(request, "GET /creds ") ||
            !contains(request, "\r\nAuthorization: shown there\r\n")) {
            return http_answer("403 Forbidden", "no");
        }
        return http_answer("200 OK", R"({"RoleArn":"x","AccessKeyId":"AKIATEST","SecretAccessKey":)"
                                     R"("secret/of+tests","Token":"of a role","Expiration":")" +
                                         expires + "\"}");
    }};

    void SetUp() override
    {
        S3Remote::SetUp();
        const auto lock = server.between_requests();
        bucket.token = "of a role";
        for (Machine *machine : {&first, &second}) {
            machine->more.erase("AWS_ACCESS_KEY_ID");
            machine->more.erase("AWS_SECRET_ACCESS_KEY");
        }
    }

    void set_expiration(const std::string &text)
    {
        const auto lock = giver.between_requests();
        expires = text;
    }

    void expect_failure(const std::string &reason)
    {
        const ToolResult result = pull(first);
        EXPECT_EQ(result.exit_status, 1);
        EXPECT_TRUE(contains(result.err, reason)) << result.err;
        EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
        EXPECT_FALSE(contains(result.err, "shown there"));
    }
};

TEST_F(S3Credentials, ComeFromTheEndpointOfAContainer)
{
    first.more["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = giver.url() + "/creds";
    first.more["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "shown there";
    first.run(4);
    const ToolResult result = push(first);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pushed"});
    EXPECT_EQ(giver.requests(), 1) << "they are asked for once";

    // A file has the token, as in EKS, and it may change.
    second.more["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = giver.url() + "/creds";
    second.more["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = second.folder.path + "/token";
    write_file(second.folder.path + "/token", "shown there\n");
    EXPECT_EQ(rows_of(pull(second).out), Rows{"demo blob pulled"});
    EXPECT_EQ(refused(), 0);

    // What ends soon is renewed before it is used again.
    set_expiration("2020-01-01T00:00:00Z");
    const int before = giver.requests();
    EXPECT_EQ(pull(second).exit_status, 0);
    EXPECT_GE(giver.requests() - before, 2);
}

// A program takes a while until it asks for a cache.
TEST_F(S3Credentials, AreAskedForAsTheProgramStarts)
{
    first.more["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = giver.url() + "/creds";
    first.more["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "shown there";
    run_until(first, {"--remote", url, "--public-key", keys.open, "--remote-wait", "20s"},
              [&] { return giver.requests() > 0; });
    EXPECT_EQ(server.requests(), 0);
}

// A remote that never says a word is as silent for who was given credentials to ask it with.
TEST_F(S3Credentials, AreNoAnswerOfTheRemote)
{
    first.more["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = giver.url() + "/creds";
    first.more["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "shown there";
    int port;
    const int silent = listen_somewhere(&port);
    const auto start = std::chrono::steady_clock::now();
    const std::string err = first.run(
        2, {"--quiet", "--secret-key", keys.secret, "--remote-wait", "200ms", "--remote",
            "s3://bucket?region=eu-north-1&endpoint=http://127.0.0.1:" + std::to_string(port)});
    EXPECT_LE(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
    EXPECT_TRUE(contains(err, "(remote_timeout)")) << err;
    EXPECT_EQ(lines_of(err).size(), 1u) << err;
    EXPECT_GE(giver.requests(), 1);
    close(silent);
}

TEST_F(S3Credentials, ComeFromAWebIdentity)
{
    first.more["AWS_WEB_IDENTITY_TOKEN_FILE"] = first.folder.path + "/token";
    first.more["AWS_ROLE_ARN"] = "arn:aws:iam::1:role/fleet";
    first.more["AWS_ENDPOINT_URL_STS"] = giver.url() + "/";
    write_file(first.folder.path + "/token", "a.token+of/the=cluster\n");
    first.run(4);
    const ToolResult result = push(first);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(refused(), 0);
    EXPECT_EQ(giver.requests(), 1);
    const auto lock = giver.between_requests();
    EXPECT_TRUE(contains(asked, "\r\nContent-Type: application/x-www-form-urlencoded\r\n"));
    EXPECT_TRUE(contains(asked,
                         "\r\n\r\nAction=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn="
                         "arn%3Aaws%3Aiam%3A%3A1%3Arole%2Ffleet&RoleSessionName=warmpipe&"
                         "WebIdentityToken=a.token%2Bof%2Fthe%3Dcluster"))
        << asked;
}

TEST_F(S3Credentials, WhatCannotBeHadIsOneLine)
{
    first.more["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = giver.url() + "/creds";
    first.more["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "wrong";
    expect_failure("(remote_forbidden): credentials: HTTP 403");
    first.more["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://127.0.0.2/creds";
    expect_failure("(remote_bad_url): credentials: ");
    first.more["AWS_CONTAINER_CREDENTIALS_FULL_URI"] =
        "http://localhost:" + std::to_string(free_port());
    expect_failure("(remote_unreachable): credentials: ");
    first.more["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/no/such/token";
    expect_failure("(remote_forbidden): credentials: ");
    EXPECT_EQ(server.requests(), 0);
}

TEST_F(S3Remote, AServerWithoutConditionsWantsASingleWriter)
{
    auto place = s3_place();
    if (!place) {
        GTEST_SKIP() << "s3rver is not installed (npm install -g s3rver)";
    }
    for (Machine *machine : {&first, &second}) {
        machine->more["AWS_ACCESS_KEY_ID"] = machine->more["AWS_SECRET_ACCESS_KEY"] = "S3RVER";
    }
    url = place->url;
    first.run(4);
    EXPECT_TRUE(contains(push(first).err, "(remote_no_conditions)"));
    const ToolResult result = first.tool({"push", "--json", "--single-writer", "--remote", url,
                                          "--secret-key", keys.secret, "--dir", first.root});
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pushed"}) << result.err;
    EXPECT_EQ(rows_of(pull(second).out), Rows{"demo blob pulled"});
}

} // namespace
#endif
