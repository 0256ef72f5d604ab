// SPDX-License-Identifier: Apache-2.0
/* Where the credentials of S3 come from, in the order of AWS's tools. Nothing here is ever logged,
 * and memory that has held a secret is overwritten. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json.h"
#include "common/files/file.h"
#include "tools/cli/verb.h"
#include "tools/remote/engines/http_client.h"

/* Bytes of files and answers at most. */
#define CREDENTIALS_LIMIT 65536

/* Credentials are renewed so long before they end, seconds. */
#define CREDENTIALS_EARLY_S 300

/* What ECS answers relative addresses at. */
#define CREDENTIALS_CONTAINER "http://169.254.170.2"

static void credentials_copy(char *to, size_t capacity, const char *text)
{
    snprintf(to, capacity, "%s", text ? text : "");
}

static void credentials_drop(uint8_t *data, size_t size)
{
    if (data) {
        explicit_bzero(data, size);
        free(data);
    }
}

/* One of those that make up a set, and the name that it has where it is looked for. */
struct credentials_field {
    const char *name;
    char *value;
    size_t capacity;
};

static bool credentials_take_environment(struct http_credentials *credentials)
{
    credentials_copy(credentials->key_id, sizeof credentials->key_id, getenv("AWS_ACCESS_KEY_ID"));
    credentials_copy(credentials->secret, sizeof credentials->secret,
                     getenv("AWS_SECRET_ACCESS_KEY"));
    credentials_copy(credentials->token, sizeof credentials->token, getenv("AWS_SESSION_TOKEN"));
    if (!credentials->key_id[0] || !credentials->secret[0]) {
        credentials->key_id[0] = credentials->secret[0] = credentials->token[0] = '\0';
    }
    return credentials->key_id[0];
}

/* The shared file. */

/* A line "name = value" of our section. */
static void credentials_take_line(struct http_credentials *credentials, const char *line)
{
    const struct credentials_field fields[] = {
        {"aws_access_key_id", credentials->key_id, sizeof credentials->key_id},
        {"aws_secret_access_key", credentials->secret, sizeof credentials->secret},
        {"aws_session_token", credentials->token, sizeof credentials->token},
    };
    const char *equals = strchr(line, '=');
    if (!equals) {
        return;
    }
    const size_t name = strcspn(line, " \t=");
    const char *value = equals + 1 + strspn(equals + 1, " \t");
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strlen(fields[i].name) == name && strncmp(line, fields[i].name, name) == 0) {
            credentials_copy(fields[i].value, fields[i].capacity, value);
            fields[i].value[strcspn(fields[i].value, " \t\r")] = '\0';
        }
    }
}

static bool credentials_take_file(struct http_credentials *credentials)
{
    const char *path = options_variable("AWS_SHARED_CREDENTIALS_FILE", NULL);
    const char *profile = options_variable("AWS_PROFILE", NULL);
    const char *home = getenv("HOME");
    char own_path[URL_SIZE];
    uint8_t *data;
    size_t size;
    snprintf(own_path, sizeof own_path, "%s/.aws/credentials", home ? home : "");
    profile = profile ? profile : "default";
    if (file_read_any(path ? path : own_path, CREDENTIALS_LIMIT, &data, &size) != STATUS_ok) {
        return false;
    }
    bool is_ours = false;
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        const size_t length = end ? (size_t)(end - data) - at : size - at;
        char line[sizeof credentials->token + 64];
        if (length < sizeof line) {
            memcpy(line, data + at, length);
            line[length] = '\0';
            line[strcspn(line, "\r")] = '\0';
            if (line[0] == '[') {
                const size_t name = strlen(profile); /* a comment may follow */
                is_ours = strncmp(line + 1, profile, name) == 0 && line[1 + name] == ']';
            } else if (is_ours) {
                credentials_take_line(credentials, line);
            }
            explicit_bzero(line, length);
        }
        at += length + 1;
    }
    credentials_drop(data, size);
    return credentials->key_id[0] && credentials->secret[0];
}

/* Answers of servers. */

/* What an answer is looked through for. */
#define CREDENTIALS_FIELDS 4

/* Fills in the fields. False: the answer is not whole. */
typedef bool credentials_parse(const struct engine_value *answer,
                               const struct credentials_field fields[CREDENTIALS_FIELDS]);

/* Takes credentials from the request's answer, where `token` is the name of the session's. */
static enum status credentials_ask(struct http_credentials *credentials, struct engine *engine,
                                   struct http_request *request, credentials_parse *parse,
                                   const char *token)
{
    char expires[64] = "";
    const struct credentials_field fields[CREDENTIALS_FIELDS] = {
        {"AccessKeyId", credentials->key_id, sizeof credentials->key_id},
        {"SecretAccessKey", credentials->secret, sizeof credentials->secret},
        {token, credentials->token, sizeof credentials->token},
        {"Expiration", expires, sizeof expires},
    };
    struct engine_value answer = {0};
    request->is_direct = true;
    request->limit = CREDENTIALS_LIMIT;
    const enum status reason = http_fetch(engine, request, &answer);
    if (reason == STATUS_no_file) {
        return engine_fail(engine, STATUS_remote_forbidden, "HTTP 404");
    }
    if (reason != STATUS_ok) {
        return reason;
    }
    const bool is_whole =
        parse(&answer, fields) && credentials->key_id[0] && credentials->secret[0];
    /* "2030-01-02T03:04:05Z" and anything behind the seconds. */
    struct tm end = {.tm_year = 0};
    credentials->expires = strptime(expires, "%Y-%m-%dT%H:%M:%S", &end) ? timegm(&end) : 0;
    credentials_drop(answer.data, answer.size);
    return is_whole ? STATUS_ok
                    : engine_fail(engine, STATUS_remote_bad_answer, "no credentials in the answer");
}

/* One line of a file, such as a token. False: it cannot be read, or does not fit. */
static bool credentials_read_line(const char *path, char *ret_text, size_t capacity)
{
    uint8_t *data;
    size_t size;
    if (file_read_any(path, capacity - 1, &data, &size) != STATUS_ok) {
        return false;
    }
    memcpy(ret_text, data, size);
    ret_text[size] = '\0';
    ret_text[strcspn(ret_text, "\r\n")] = '\0';
    credentials_drop(data, size);
    return ret_text[0];
}

/* The endpoint of a container or pod. */

/* Plain HTTP may go to this machine and to the link-local addresses of ECS and EKS alone. A query,
 * which remotes do not take, goes along with the request. */
static bool credentials_may_ask(const char *whole)
{
    static const char *const hosts[] = {"localhost",     "127.0.0.1",      "[::1]",
                                        "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
    char url[URL_SIZE];
    struct url parsed;
    snprintf(url, sizeof url, "%.*s", (int)strcspn(whole, "?"), whole);
    if (url_parse(url, &parsed) != STATUS_ok) {
        return false;
    }
    bool known = parsed.scheme == URL_HTTPS;
    for (size_t i = 0; parsed.scheme == URL_HTTP && i < sizeof hosts / sizeof hosts[0]; i++) {
        known = known || strcmp(parsed.host, hosts[i]) == 0;
    }
    return known;
}

static bool credentials_parse_json(const struct engine_value *answer,
                                   const struct credentials_field fields[CREDENTIALS_FIELDS])
{
    struct json_reader reader = json_reader_over((const char *)answer->data, answer->size);
    struct json_text key;
    json_read_open(&reader, '{');
    while (json_read_member(&reader, &key)) {
        const struct json_text value = json_read_any(&reader);
        for (size_t i = 0; i < CREDENTIALS_FIELDS; i++) {
            if (json_text_is(key, fields[i].name)) {
                json_value_text(value, fields[i].value, fields[i].capacity);
            }
        }
    }
    return !reader.failed;
}

static enum status credentials_ask_container(struct http_credentials *credentials,
                                             struct engine *engine)
{
    const char *relative = options_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", NULL);
    const char *whole = options_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI", NULL);
    const char *token = options_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN", NULL);
    const char *token_file = options_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", NULL);
    char url[URL_SIZE];
    char text[4096];
    char header[sizeof text + 32];
    snprintf(url, sizeof url, "%s%s", relative ? CREDENTIALS_CONTAINER : "",
             relative ? relative : whole);
    if (!credentials_may_ask(url)) {
        return engine_fail(engine, STATUS_remote_bad_url,
                           "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor local");
    }
    if (token_file) {
        if (!credentials_read_line(token_file, text, sizeof text)) {
            return engine_fail(engine, STATUS_remote_forbidden,
                               "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read");
        }
        token = text;
    }
    snprintf(header, sizeof header, "Authorization: %.4095s", token ? token : "");
    struct http_request request = {.method = "GET", .url = url, .header = token ? header : NULL};
    const enum status reason =
        credentials_ask(credentials, engine, &request, credentials_parse_json, "Token");
    explicit_bzero(text, sizeof text);
    explicit_bzero(header, sizeof header);
    return reason;
}

/* A web identity: a token of the cluster is exchanged for credentials of a role. */

static bool credentials_parse_xml(const struct engine_value *answer,
                                  const struct credentials_field fields[CREDENTIALS_FIELDS])
{
    bool is_whole = true;
    for (size_t i = 0; i < CREDENTIALS_FIELDS; i++) {
        struct listing listing = listing_over(answer->data, answer->size);
        is_whole = listing_element(&listing, fields[i].name, fields[i].value, fields[i].capacity) &&
                   is_whole;
    }
    return is_whole;
}

static enum status credentials_ask_role(struct http_credentials *credentials, struct engine *engine)
{
    const char *role = options_variable("AWS_ROLE_ARN", NULL);
    const char *session = options_variable("AWS_ROLE_SESSION_NAME", NULL);
    const char *endpoint = options_variable("AWS_ENDPOINT_URL_STS", NULL);
    char url[URL_SIZE];
    char token[8192];
    char encoded_token[3 * sizeof token];
    char encoded_role[1024];
    char encoded_session[256];
    char body[sizeof encoded_token + 2048];
    if (!role ||
        !credentials_read_line(getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), token, sizeof token)) {
        return engine_fail(
            engine, STATUS_remote_forbidden,
            "AWS_WEB_IDENTITY_TOKEN_FILE cannot be read, or AWS_ROLE_ARN is not set");
    }
    if (!http_encode(token, "", encoded_token, sizeof encoded_token) ||
        !http_encode(role, "", encoded_role, sizeof encoded_role) ||
        !http_encode(session ? session : "warmpipe", "", encoded_session, sizeof encoded_session)) {
        return engine_fail(engine, STATUS_remote_forbidden, "AWS_ROLE_ARN is too long");
    }
    if (endpoint) {
        credentials_copy(url, sizeof url, endpoint);
    } else {
        snprintf(url, sizeof url, "https://sts.%s.%s/", credentials->region,
                 http_aws_domain(credentials->region));
    }
    const int size = snprintf(body, sizeof body,
                              "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=%s"
                              "&RoleSessionName=%s&WebIdentityToken=%s",
                              encoded_role, encoded_session, encoded_token);
    struct http_request request = {.method = "POST",
                                   .url = url,
                                   .type = "application/x-www-form-urlencoded",
                                   .body = body,
                                   .body_size = (size_t)size};
    const enum status reason =
        credentials_ask(credentials, engine, &request, credentials_parse_xml, "SessionToken");
    explicit_bzero(token, sizeof token);
    explicit_bzero(encoded_token, sizeof encoded_token);
    explicit_bzero(body, sizeof body);
    return reason;
}

static enum status credentials_find(struct http_credentials *credentials, struct engine *engine)
{
    credentials->is_signed = true;
    if (credentials_take_environment(credentials)) {
        return STATUS_ok;
    }
    if (options_variable("AWS_WEB_IDENTITY_TOKEN_FILE", NULL)) {
        return credentials_ask_role(credentials, engine);
    }
    if (credentials_take_file(credentials)) {
        return STATUS_ok;
    }
    if (options_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", NULL) ||
        options_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI", NULL)) {
        return credentials_ask_container(credentials, engine);
    }
    credentials->is_signed = false;
    return STATUS_ok;
}

const char *http_aws_domain(const char *region)
{
    return strncmp(region, "cn-", 3) == 0 ? "amazonaws.com.cn" : "amazonaws.com";
}

enum status http_credentials_find(struct http_credentials *credentials, struct engine *engine)
{
    char detail[sizeof engine->failure.detail];
    const struct engine_traffic before = engine->traffic;
    if (credentials->is_known &&
        (credentials->expires == 0 || credentials->expires - CREDENTIALS_EARLY_S > time(NULL))) {
        return STATUS_ok;
    }
    credentials->expires = 0;
    const enum status reason = credentials_find(credentials, engine);
    credentials->is_known = reason == STATUS_ok;
    /* Who gives them is not the remote, which may be silent all the same. */
    engine->traffic.answers = before.answers;
    engine->traffic.received = before.received;
    engine->silent_ns = 0;
    if (reason != STATUS_ok) {
        memcpy(detail, engine->failure.detail, sizeof detail);
        engine_fail(engine, reason, "credentials: %s", detail);
    }
    return reason;
}
