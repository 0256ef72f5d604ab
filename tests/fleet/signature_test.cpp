// SPDX-License-Identifier: Apache-2.0
// Signatures of requests to S3, against the examples that Amazon's documentation of Signature
// Version 4 gives with their results ("Signature Calculations for the Authorization Header").
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sodium.h>

extern "C" {
#include "tools/remote/engines/http_client.h"
}

namespace {

class Signature : public testing::Test {
  protected:
    struct http_credentials credentials = {};
    struct http_signature signature = {};

    void SetUp() override
    {
        ASSERT_GE(sodium_init(), 0);
        strcpy(credentials.region, "us-east-1");
        strcpy(credentials.key_id, "AKIAIOSFODNN7EXAMPLE");
        strcpy(credentials.secret, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
    }

    // Returns the last line, Authorization's. 24 May 2013, 00:00 UTC.
    std::string sign(const char *method, const std::string &url, const std::string &body = "",
                     std::vector<const char *> lines = {})
    {
        struct http_request request = {};
        request.method = method;
        request.url = url.c_str();
        request.body = body.data();
        request.body_size = body.size();
        request.signing = &credentials;
        lines.push_back(nullptr);
        EXPECT_TRUE(http_sign(&request, lines.data(), 1369353600, &signature));
        const size_t last = credentials.token[0] ? 4 : 3;
        return signature.lines[last];
    }

    static std::string signature_of(const std::string &authorization)
    {
        return authorization.substr(authorization.rfind('=') + 1);
    }
};

const std::string bucket = "https://examplebucket.s3.amazonaws.com";

TEST_F(Signature, IsThatOfTheDocumentation)
{
    EXPECT_EQ(sign("GET", bucket + "/test.txt", "", {"Range: bytes=0-9"}),
              "Authorization: AWS4-HMAC-SHA256 "
              "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
              "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
              "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    EXPECT_STREQ(signature.lines[0], "Host: examplebucket.s3.amazonaws.com");
    EXPECT_STREQ(signature.lines[2], "x-amz-date: 20130524T000000Z");
    EXPECT_EQ(signature_of(sign("PUT", bucket + "/test%24file.text", "Welcome to Amazon S3.",
                                {"x-amz-storage-class: REDUCED_REDUNDANCY",
                                 "Date: Fri, 24 May 2013 00:00:00 GMT"})),
              "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
    EXPECT_EQ(signature_of(sign("GET", bucket + "/?lifecycle=")),
              "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    EXPECT_EQ(signature_of(sign("GET", bucket + "/?max-keys=2&prefix=J")),
              "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
    EXPECT_EQ(signature_of(sign("GET", bucket + "?max-keys=2&prefix=J")),
              "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

// As other programs send it: without the port that everybody expects.
TEST_F(Signature, KnowsTheHost)
{
    const std::vector<std::pair<const char *, const char *>> hosts = {
        {"https://a.example:443/b", "a.example"},
        {"http://a.example:80", "a.example"},
        {"http://a.example:443/b", "a.example:443"},
        {"https://a.example:9000?x=", "a.example:9000"},
        {"http://[::1]:80/b", "[::1]"},
        {"http://[::80]/b", "[::80]"},
        {"http://someone@a.example/b", "a.example"},
    };
    for (const auto &[url, host] : hosts) {
        sign("GET", url);
        EXPECT_EQ(signature.lines[0], "Host: " + std::string(host)) << url;
    }
}

TEST_F(Signature, HoldsTheToken)
{
    strcpy(credentials.token, "of/a+session=");
    EXPECT_NE(sign("GET", bucket + "/").find(";x-amz-date;x-amz-security-token, "),
              std::string::npos);
    EXPECT_STREQ(signature.lines[3], "x-amz-security-token: of/a+session=");
}

TEST_F(Signature, WantsKeysAndQueriesEncoded)
{
    char text[64];
    ASSERT_TRUE(http_encode("a+b/c=%20~\xc3\xa4", "", text, sizeof text));
    EXPECT_STREQ(text, "a%2Bb%2Fc%3D%2520~%C3%A4");
    ASSERT_TRUE(http_encode("a+b/c", "/", text, sizeof text));
    EXPECT_STREQ(text, "a%2Bb/c");
    EXPECT_TRUE(http_encode("abc", "", text, 6));
    EXPECT_FALSE(http_encode("abc", "", text, 5));
}

} // namespace
