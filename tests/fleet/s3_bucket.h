// SPDX-License-Identifier: Apache-2.0
// A bucket in memory that computes each signature anew (AWS Signature Version 4), honours
// conditions, and lists two keys a page.
#ifndef WARMPIPE_TESTS_FLEET_S3_BUCKET_H
#define WARMPIPE_TESTS_FLEET_S3_BUCKET_H

#include <algorithm>
#include <map>
#include <sodium.h>
#include <sstream>
#include <string>
#include <vector>

#include "scripted_servers.h"

inline std::string sha256_hex(const std::string &text)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    char hex[2 * sizeof digest + 1];
    crypto_hash_sha256(digest, reinterpret_cast<const unsigned char *>(text.data()), text.size());
    return sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
}

inline std::string hmac(const std::string &key, const std::string &text)
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

inline std::string between(const std::string &text, const std::string &before,
                           const std::string &after)
{
    const size_t begin = text.find(before);
    if (begin == std::string::npos) {
        return "";
    }
    const size_t start = begin + before.size();
    return text.substr(start, text.find(after, start) - start);
}

inline std::string decoded(const std::string &text)
{
    std::string result;
    for (size_t i = 0; i < text.size(); i++) {
        const bool is_code = text[i] == '%' && i + 2 < text.size();
        result +=
            is_code ? static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16)) : text[i];
        i += is_code ? 2 : 0;
    }
    return result;
}

inline std::string encoded(const std::string &text, const std::string &kept = "")
{
    std::string result;
    for (const char letter : text) {
        char code[4];
        snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(letter));
        const bool is_plain = isalnum(static_cast<unsigned char>(letter)) ||
                              ("-._~" + kept).find(letter) != std::string::npos;
        result += is_plain ? std::string(1, letter) : code;
    }
    return result;
}

// An HTTP request, taken apart.
struct Request {
    std::string method;
    std::string path;                           // decoded
    std::map<std::string, std::string> query;   // decoded
    std::map<std::string, std::string> headers; // names in lower case
    std::string body;

    explicit Request(const std::string &text)
    {
        const size_t end = text.find("\r\n\r\n");
        std::istringstream stream(text.substr(0, end));
        std::string target;
        stream >> method >> target;
        std::istringstream pairs(
            target.find('?') < target.size() ? target.substr(target.find('?') + 1) : "");
        for (std::string pair; std::getline(pairs, pair, '&');) {
            const size_t equals = std::min(pair.find('='), pair.size());
            query[decoded(pair.substr(0, equals))] =
                equals < pair.size() ? decoded(pair.substr(equals + 1)) : "";
        }
        path = decoded(target.substr(0, target.find('?')));
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
        std::string canonical = method + "\n" + encoded(path, "/") + "\n";
        for (const auto &[name, value] : query) {
            canonical +=
                (canonical.back() == '\n' ? "" : "&") + encoded(name) + "=" + encoded(value);
        }
        canonical += "\n";
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

    std::string list(std::map<std::string, std::string> query)
    {
        const std::string prefix = "/bucket/" + query["prefix"];
        std::string body = "<ListBucketResult>";
        std::vector<std::string> keys;
        for (const auto &[path, value] : values) {
            if (path.rfind(prefix, 0) == 0 && !value.empty()) {
                keys.push_back(path.substr(strlen("/bucket/")));
            }
        }
        // Two a page; the token, which wants encoding, says where the next begins.
        const std::string after = query["continuation-token"];
        const size_t first = after.empty() ? 0 : std::stoul(after.substr(strlen("at+/=")));
        for (size_t i = first; i < keys.size() && i < first + 2; i++) {
            body += "<Contents><Key>" + keys[i] + "</Key></Contents>";
        }
        if (first + 2 < keys.size()) {
            body += "<NextContinuationToken>at+/=" + std::to_string(first + 2) +
                    "</NextContinuationToken>";
        }
        return http_answer("200 OK", body + "</ListBucketResult>",
                           "Content-Type: application/xml\r\n");
    }
};

#endif
