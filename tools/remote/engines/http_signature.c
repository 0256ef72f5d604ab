// SPDX-License-Identifier: Apache-2.0
/* libcurl's own (CURLOPT_AWS_SIGV4) is not used: its versions disagree about queries (decision
 * 0270). */
#include "tools/remote/engines/http_client.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/cli/output.h"
#include "tools/remote/heads/head.h"

/* Headers that are signed: the request's own, and those that are added. */
#define SIGNATURE_HEADERS 16

/* The key may lie where the code goes. */
static void signature_code(const void *key, size_t key_size, const char *text,
                           uint8_t ret_code[crypto_auth_hmacsha256_BYTES])
{
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, key, key_size);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)text, strlen(text));
    crypto_auth_hmacsha256_final(&state, ret_code);
    explicit_bzero(&state, sizeof state);
}

/* What a server will find in the header "Host". */
static void signature_host(const char *url, char *ret_line, size_t capacity)
{
    const char *usual_port = strncmp(url, "https:", 6) == 0 ? ":443" : ":80";
    const size_t port = strlen(usual_port);
    const char *host = strstr(url, "://") + 3;
    size_t size = strcspn(host, "/?");
    const char *at = memchr(host, '@', size);
    if (at) {
        size -= (size_t)(at + 1 - host);
        host = at + 1;
    }
    if (size > port && memcmp(host + size - port, usual_port, port) == 0) {
        size -= port;
    }
    snprintf(ret_line, capacity, "Host: %.*s", (int)size, host);
}

static int signature_compare(const void *a, const void *b)
{
    return strcasecmp(*(const char *const *)a, *(const char *const *)b);
}

/* A header in the form that is signed, and its name in the list of those that are. */
static void signature_put_header(struct bytes *headers, struct bytes *names, const char *line)
{
    if (names->size > 0) {
        bytes_put_u8(names, ';');
    }
    for (; *line != ':'; line++) {
        const uint8_t letter = (uint8_t)tolower((unsigned char)*line);
        bytes_put_u8(headers, letter);
        bytes_put_u8(names, letter);
    }
    bytes_put_u8(headers, ':');
    bytes_put_text(headers, line + 1 + strspn(line + 1, " "));
    bytes_put_u8(headers, '\n');
}

/* The digest of the request in the form that is signed. False: out of memory. */
static bool signature_digest_request(const struct http_request *request,
                                     const struct bytes *headers, const struct bytes *names,
                                     const char *body_digest, char ret_hex[OBJECT_NAME_SIZE])
{
    const char *path = strstr(request->url, "://") + 3;
    path += strcspn(path, "/?");
    const int path_size = (int)strcspn(path, "?");
    AUTO_FREE char *text = output_format(
        "%s\n%.*s\n%s\n%.*s\n%.*s\n%s", request->method, path_size > 0 ? path_size : 1,
        path_size > 0 ? path : "/", path[path_size] ? path + path_size + 1 : "", (int)headers->size,
        (const char *)headers->data, (int)names->size, (const char *)names->data, body_digest);
    if (text) {
        object_name(text, strlen(text), ret_hex);
    }
    return text;
}

/* The signature of a request that has this digest. `date`: "20300102T030405Z"; `scope` starts with
 * its first eight characters. */
static void signature_sign(const struct http_credentials *credentials, const char *date,
                           const char *scope, const char *digest, char ret_hex[OBJECT_NAME_SIZE])
{
    char secret[sizeof credentials->secret + 8];
    char day[9];
    char text[512];
    uint8_t code[crypto_auth_hmacsha256_BYTES];
    const int size = snprintf(secret, sizeof secret, "AWS4%s", credentials->secret);
    snprintf(day, sizeof day, "%.8s", date);
    snprintf(text, sizeof text, "AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, digest);
    signature_code(secret, (size_t)size, day, code);
    signature_code(code, sizeof code, credentials->region, code);
    signature_code(code, sizeof code, "s3", code);
    signature_code(code, sizeof code, "aws4_request", code);
    signature_code(code, sizeof code, text, code);
    sodium_bin2hex(ret_hex, OBJECT_NAME_SIZE, code, sizeof code);
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(code, sizeof code);
}

bool http_sign(const struct http_request *request, const char *const *lines, time_t now,
               struct http_signature *ret_signature)
{
    const struct http_credentials *credentials = request->signing;
    char(*added)[HTTP_SIGNATURE_LINE] = ret_signature->lines;
    const char *all[SIGNATURE_HEADERS];
    size_t count = 0;
    size_t more = 3;
    struct tm parts;
    char date[32];
    char scope[128];
    char digest[OBJECT_NAME_SIZE];
    AUTO(bytes_free) struct bytes headers = {0};
    AUTO(bytes_free) struct bytes names = {0};
    memset(ret_signature, 0, sizeof *ret_signature);
    strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &parts));
    snprintf(scope, sizeof scope, "%.8s/%s/s3/aws4_request", date, credentials->region);
    object_name(request->body, request->body_size, digest);
    signature_host(request->url, added[0], sizeof added[0]);
    snprintf(added[1], sizeof added[1], "x-amz-content-sha256: %s", digest);
    snprintf(added[2], sizeof added[2], "x-amz-date: %s", date);
    if (credentials->token[0]) {
        snprintf(added[more++], sizeof added[0], "x-amz-security-token: %s", credentials->token);
    }
    for (; *lines && count < SIGNATURE_HEADERS - HTTP_SIGNATURE_LINES; lines++) {
        all[count++] = *lines;
    }
    for (size_t i = 0; i < more; i++) {
        all[count++] = added[i];
    }
    qsort(all, count, sizeof all[0], signature_compare);
    for (size_t i = 0; i < count; i++) {
        signature_put_header(&headers, &names, all[i]);
    }
    const bool is_whole = !headers.failed && !names.failed &&
                          signature_digest_request(request, &headers, &names, digest, digest);
    if (is_whole) {
        signature_sign(credentials, date, scope, digest, digest);
        snprintf(added[more], sizeof added[0],
                 "Authorization: AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%.*s, "
                 "Signature=%s",
                 credentials->key_id, scope, (int)names.size, (const char *)names.data, digest);
    }
    return is_whole;
}

bool http_encode(const char *text, const char *kept, char *ret_text, size_t capacity)
{
    size_t length = 0;
    for (; *text; text++) {
        const unsigned char byte = (unsigned char)*text;
        const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                           (byte >= '0' && byte <= '9') || strchr("-_.~", byte) ||
                           strchr(kept, byte);
        if (length + 4 > capacity) {
            return false;
        }
        length +=
            (size_t)snprintf(ret_text + length, capacity - length, plain ? "%c" : "%%%02X", byte);
    }
    ret_text[length] = '\0';
    return true;
}
