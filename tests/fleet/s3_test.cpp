// SPDX-License-Identifier: Apache-2.0
// S3: against s3rver of npm, which checks neither signatures nor conditions, and against a scripted
// one that computes each signature anew (AWS Signature Version 4) and honours conditions.
#ifdef WARMPIPE_HAVE_CURL
#include <map>

#include "fleet.h"
#include "s3_bucket.h"
#include "scripted_servers.h"

namespace {

class S3Remote : public testing::Test {
  protected:
    Keys keys;
    Machine first;
    Machine second;
    Bucket bucket;
    ScriptedServer server{[this](const std::string &request) { return bucket.answer(request); }};
    // A prefix is taken as it is, but wants encoding on its way.
    std::string url = "s3://bucket/a+b=c/d%20e?region=eu-north-1&endpoint=" + server.url();

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

// Seen by a proxy, which lets nothing through.
TEST_F(S3Remote, TheHostIsThatOfTheBucketsRegion)
{
    const std::map<std::string, std::string> hosts = {
        {"s3://bucket?region=eu-north-1", "bucket.s3.eu-north-1.amazonaws.com:443"},
        {"s3://bucket?region=cn-north-1", "bucket.s3.cn-north-1.amazonaws.com.cn:443"},
        {"s3://a.bucket?region=eu-north-1", "s3.eu-north-1.amazonaws.com:443"},
    };
    for (const auto &[remote, host] : hosts) {
        std::string asked;
        ScriptedServer proxy([&](const std::string &request) {
            asked = request.substr(0, request.find('\r'));
            return http_answer("403 Forbidden", "");
        });
        first.more["https_proxy"] = proxy.url();
        EXPECT_EQ(first.tool({"remote", "check", "--remote", remote}).exit_status, 1);
        const auto lock = proxy.between_requests();
        EXPECT_EQ(asked, "CONNECT " + host + " HTTP/1.1");
    }
}

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

// What counts as all objects, or all heads, decides what `gc` removes.
TEST_F(S3Remote, APartOfAListingIsNone)
{
    for (const std::string listing :
         {"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
          "<ListBucketResult><Contents><Key>v1/head/demo/recipes</Key></Contents>"}) {
        ScriptedServer lister([&](const std::string &) { return http_answer("200 OK", listing); });
        const ToolResult result = first.tool(
            {"remote", "gc", "--remote", "s3://bucket?region=x&endpoint=" + lister.url()});
        EXPECT_EQ(result.exit_status, 1);
        EXPECT_TRUE(contains(result.err, "(remote_bad_answer): a listing that is cut short"))
            << result.err;
        EXPECT_EQ(lister.requests(), 1);
    }
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

std::string s3_error(const std::string &status, const std::string &code,
                     const std::string &headers = "")
{
    return http_answer(status,
                       "<?xml version=\"1.0\"?><Error><Code>" + code +
                           "</Code><Message>in many words</Message></Error>",
                       headers);
}

// A status alone does not tell what to mend.
TEST_F(S3Remote, WhatTheServerNamesIsTold)
{
    const std::string region = "x-amz-bucket-region: eu-west-1\r\n";
    const std::pair<std::string, std::string> cases[] = {
        {s3_error("403 Forbidden", "RequestTimeTooSkewed"),
         "(remote_forbidden): HTTP 403 RequestTimeTooSkewed\n"},
        {s3_error("400 Bad Request", "AuthorizationHeaderMalformed", region),
         "(remote_error): HTTP 400 AuthorizationHeaderMalformed, region eu-west-1\n"},
        {s3_error("301 Moved Permanently", "PermanentRedirect", region),
         "(remote_bad_answer): HTTP 301 PermanentRedirect, region eu-west-1\n"},
        {s3_error("404 Not Found", "NoSuchBucket"),
         "(remote_error): there is no such bucket (HTTP 404)\n"},
    };
    for (const auto &[answer, told] : cases) {
        const std::string text = answer;
        ScriptedServer failing([text](const std::string &) { return text; });
        const ToolResult result = first.tool({"pull", "--app", "demo", "--remote",
                                              "s3://bucket?region=x&endpoint=" + failing.url(),
                                              "--public-key", keys.open, "--dir", first.root});
        EXPECT_EQ(result.exit_status, 1);
        EXPECT_TRUE(contains(result.err, told)) << result.err;
        EXPECT_EQ(lines_of(result.err).size(), 1u) << result.err;
    }
}

// It sends no Retry-After.
TEST_F(S3Remote, ABusyServerIsAskedAgain)
{
    unsigned left = 2;
    ScriptedServer busy([this, &left](const std::string &request) {
        const bool fails = left > 0 && left--;
        return fails ? s3_error(left ? "503 Slow Down" : "500 Internal Server Error", "SlowDown")
                     : bucket.answer(request);
    });
    url = "s3://bucket?region=eu-north-1&endpoint=" + busy.url();
    first.run(4);
    const ToolResult result = push(first);
    EXPECT_EQ(rows_of(result.out), Rows{"demo blob pushed"}) << result.err;
    EXPECT_EQ(rows_of(pull(second).out), Rows{"demo blob pulled"});
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
    ScriptedServer denies(
        [](const std::string &) { return s3_error("403 Forbidden", "AccessDenied"); });
    const ToolResult denied = first.tool({"pull", "--app", "demo", "--remote",
                                          "s3://bucket?region=x&endpoint=" + denies.url(),
                                          "--public-key", keys.open, "--dir", first.root});
    EXPECT_TRUE(contains(denied.err, "HTTP 403 AccessDenied, not signed: there are no credentials"))
        << denied.err;
    std::filesystem::create_directories(first.folder.path + "/.aws");
    write_file(first.folder.path + "/.aws/credentials",
               "[other]\naws_access_key_id = X\naws_secret_access_key = Y\n\n[mine] # here\n"
               "aws_access_key_id = AKIATEST\naws_secret_access_key=secret/of+tests\n");
    EXPECT_EQ(pull(first).exit_status, 1) << "there is no default";
    // Nor has a profile the keys of another whose name only begins like its own.
    write_file(first.folder.path + "/.aws/long", "[" + std::string(300, 'x') +
                                                     "]\naws_access_key_id = AKIATEST\n" +
                                                     "aws_secret_access_key=secret/of+tests\n");
    first.more["AWS_SHARED_CREDENTIALS_FILE"] = first.folder.path + "/.aws/long";
    first.more["AWS_PROFILE"] = std::string(299, 'x') + "y";
    EXPECT_EQ(pull(first).exit_status, 1);
    first.more["AWS_PROFILE"] = std::string(300, 'x');
    EXPECT_EQ(pull(first).exit_status, 0);
    first.more.erase("AWS_SHARED_CREDENTIALS_FILE");
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
        if ((!contains(request, "GET /creds ") && !contains(request, "GET /creds?of=this&pod ")) ||
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
    second.more["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = giver.url() + "/creds?of=this&pod";
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
