// SPDX-License-Identifier: Apache-2.0
/* s3://bucket/prefix: S3 and what speaks it. http_credentials.c finds the credentials,
 * http_signature.c signs; keys and queries are encoded and sorted here. Heads change by conditional
 * writes (If-Match, If-None-Match). */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tools/cli/verb.h"
#include "tools/remote/engines/http_client.h"

#define ENGINE_S3_LISTING_LIMIT ((uint64_t)16 << 20)

/* Pages of a listing, of a thousand keys each. */
#define ENGINE_S3_PAGES 10000

struct engine_s3 {
    struct http_engine common;
    char base[URL_SIZE * 2]; /* of the bucket */
    char prefix[URL_SIZE];   /* of keys; "" or ends with a slash */
    struct http_credentials credentials;
};

#define ENGINE_S3_URL_SIZE 16384

/* Requests. */

/* Fills in the URL of a path, which is written to `url`, and what signs the request. */
static enum status s3_address(struct engine *engine, const char *path, char url[ENGINE_S3_URL_SIZE],
                              struct http_request *request)
{
    struct engine_s3 *s3 = (struct engine_s3 *)engine;
    char key[URL_SIZE + ENGINE_PATH_SIZE];
    const int base = snprintf(url, ENGINE_S3_URL_SIZE, "%s/", s3->base);
    snprintf(key, sizeof key, "%s%s", s3->prefix, path);
    if (!http_encode(key, "/", url + base, ENGINE_S3_URL_SIZE - (size_t)base)) {
        return engine_fail(engine, STATUS_remote_bad_url, "a long path");
    }
    request->url = url;
    request->signing = &s3->credentials;
    request->is_fixed = engine_is_fixed(path);
    return http_credentials_find(&s3->credentials, engine);
}

static enum status engine_s3_get(struct engine *engine, const char *path, uint64_t limit,
                                 struct engine_value *ret_value)
{
    char url[ENGINE_S3_URL_SIZE];
    struct http_request request = {.method = limit ? "GET" : "HEAD", .limit = limit};
    const enum status reason = s3_address(engine, path, url, &request);
    return reason == STATUS_ok ? http_fetch(engine, &request, ret_value) : reason;
}

static enum status s3_fail_without_bucket(struct engine *engine)
{
    return engine_fail(engine, STATUS_remote_error, "there is no such bucket (HTTP 404)");
}

/* condition NULL: none. */
static enum status s3_write(struct engine *engine, const char *path, const char *condition,
                            const void *data, size_t size)
{
    char url[ENGINE_S3_URL_SIZE];
    struct http_request request = {
        .method = "PUT", .header = condition, .body = data, .body_size = size};
    long status = 0;
    enum status reason = s3_address(engine, path, url, &request);
    if (reason == STATUS_ok) {
        reason = http_change(engine, &request, &status);
    }
    /* 409: another conditional write is under way; 404: what If-Match names was removed. */
    if (condition && (status == 409 || status == 404)) {
        return engine_fail(engine, STATUS_remote_conflict, "HTTP %ld", status);
    }
    if (status == 501) {
        return engine_fail(engine, STATUS_remote_no_conditions, "HTTP 501");
    }
    return status == 404 ? s3_fail_without_bucket(engine) : reason;
}

static enum status engine_s3_put(struct engine *engine, const char *path, const void *data,
                                 size_t size)
{
    return s3_write(engine, path, NULL, data, size);
}

static enum status engine_s3_swap(struct engine *engine, const char *path,
                                  const struct engine_value *old, const void *data, size_t size)
{
    char condition[ENGINE_VERSION_SIZE + 16] = "If-None-Match: *";
    if (old) {
        snprintf(condition, sizeof condition, "If-Match: %s", old->version);
    }
    if (old && !old->version[0] && !engine->single_writer) {
        return engine_fail(engine, STATUS_remote_no_conditions, "no entity tags");
    }
    return s3_write(engine, path, old && !old->version[0] ? NULL : condition, data, size);
}

static enum status engine_s3_remove(struct engine *engine, const char *path)
{
    char url[ENGINE_S3_URL_SIZE];
    struct http_request request = {.method = "DELETE"};
    long status;
    const enum status reason = s3_address(engine, path, url, &request);
    return reason == STATUS_ok ? http_change(engine, &request, &status) : reason;
}

/* Listing. */

/* One page; *ret_next is the token of the next, "": there is none. */
static enum status s3_list_page(struct engine *engine, const char *query, engine_visit *visit,
                                void *user, char *ret_next, size_t capacity)
{
    struct engine_s3 *s3 = (struct engine_s3 *)engine;
    char url[ENGINE_S3_URL_SIZE];
    const struct http_request request = {
        .method = "GET", .url = url, .limit = ENGINE_S3_LISTING_LIMIT, .signing = &s3->credentials};
    struct http_answer answer;
    char key[URL_SIZE + ENGINE_PATH_SIZE];
    const size_t prefix = strlen(s3->prefix);
    bool more = true;
    snprintf(url, sizeof url, "%s/?%s", s3->base, query);
    enum status reason = http_credentials_find(&s3->credentials, engine);
    if (reason == STATUS_ok) {
        reason = http_send(engine, &request, &answer);
    }
    if (reason != STATUS_ok) {
        return reason;
    }
    if (answer.status != 200) {
        engine_value_free(&answer.body);
        return answer.status == 404 ? s3_fail_without_bucket(engine) : http_judge(engine, &answer);
    }
    struct listing keys = listing_over(answer.body.data, answer.body.size);
    while (more && listing_element(&keys, "Key", key, sizeof key)) {
        if (strncmp(key, s3->prefix, prefix) == 0 && strlen(key) < prefix + ENGINE_PATH_SIZE) {
            more = visit(key + prefix, user);
        }
    }
    struct listing tokens = listing_over(answer.body.data, answer.body.size);
    struct listing words = tokens;
    char is_cut[8];
    if (!more || !listing_element(&tokens, "NextContinuationToken", ret_next, capacity)) {
        ret_next[0] = '\0';
    }
    const bool is_whole =
        listing_is_whole(answer.body.data, answer.body.size, "ListBucketResult") &&
        (!more || ret_next[0] || !listing_element(&words, "IsTruncated", is_cut, sizeof is_cut) ||
         strcasecmp(is_cut, "true") != 0);
    engine_value_free(&answer.body);
    return is_whole ? STATUS_ok
                    : engine_fail(engine, STATUS_remote_bad_answer, "a listing that is cut short");
}

/* The names of a signed query are sorted: continuation-token, list-type, prefix. */
static enum status engine_s3_list(struct engine *engine, const char *prefix, engine_visit *visit,
                                  void *user)
{
    const struct engine_s3 *s3 = (const struct engine_s3 *)engine;
    char token[1024] = "";
    char before[sizeof token];
    unsigned pages = 0;
    char encoded_token[3072];
    char whole[URL_SIZE + ENGINE_PATH_SIZE];
    char encoded[3 * sizeof whole];
    char query[sizeof encoded_token + sizeof encoded + 64];
    snprintf(whole, sizeof whole, "%s%s", s3->prefix, prefix);
    do {
        if (!http_encode(whole, "", encoded, sizeof encoded) ||
            !http_encode(token, "", encoded_token, sizeof encoded_token)) {
            return engine_fail(engine, STATUS_remote_bad_answer, "a long token");
        }
        snprintf(query, sizeof query, "%s%s%slist-type=2&prefix=%s",
                 token[0] ? "continuation-token=" : "", encoded_token, token[0] ? "&" : "",
                 encoded);
        memcpy(before, token, sizeof before);
        const enum status reason = s3_list_page(engine, query, visit, user, token, sizeof token);
        if (reason != STATUS_ok) {
            return reason;
        }
        if (token[0] && (strcmp(token, before) == 0 || ++pages == ENGINE_S3_PAGES)) {
            return engine_fail(engine, STATUS_remote_bad_answer, "a listing without an end");
        }
    } while (token[0]);
    return STATUS_ok;
}

/* Opening. */

static const char *s3_setting(const char *first, const char *second, const char *otherwise)
{
    return options_variable(first, options_variable(second, otherwise));
}

static void s3_set_base(struct engine_s3 *s3, const struct url *url)
{
    char endpoint[URL_SIZE];
    char *region = s3->credentials.region;
    if (!url_query(url, "region", region, sizeof s3->credentials.region)) {
        snprintf(region, sizeof s3->credentials.region, "%s",
                 s3_setting("AWS_REGION", "AWS_DEFAULT_REGION", "us-east-1"));
    }
    if (!url_query(url, "endpoint", endpoint, sizeof endpoint) || !listing_decode_url(endpoint)) {
        snprintf(endpoint, sizeof endpoint, "%s",
                 s3_setting("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", ""));
    }
    if (endpoint[0]) {
        endpoint[strlen(endpoint) - (endpoint[strlen(endpoint) - 1] == '/')] = '\0';
        snprintf(s3->base, sizeof s3->base, "%s%s/%s", strstr(endpoint, "://") ? "" : "https://",
                 endpoint, url->host);
    } else if (strchr(url->host, '.')) { /* AWS's certificates are for names without dots */
        snprintf(s3->base, sizeof s3->base, "https://s3.%s.%s/%s", region, http_aws_domain(region),
                 url->host);
    } else {
        snprintf(s3->base, sizeof s3->base, "https://%s.s3.%s.%s", url->host, region,
                 http_aws_domain(region));
    }
    if (url->path[0]) {
        snprintf(s3->prefix, sizeof s3->prefix, "%.*s/", URL_SIZE - 2, url->path + 1);
    }
}

static enum status engine_s3_prepare(struct engine *engine)
{
    return http_credentials_find(&((struct engine_s3 *)engine)->credentials, engine);
}

struct engine *engine_s3_open(const struct url *url)
{
    static const struct engine_operations operations = {
        .get = engine_s3_get,
        .put = engine_s3_put,
        .swap = engine_s3_swap,
        .list = engine_s3_list,
        .remove = engine_s3_remove,
        .prepare = engine_s3_prepare,
        .another = http_engine_another,
        .close = http_engine_close,
    };
    struct engine_s3 *s3 = http_engine_new(&operations, sizeof *s3);
    if (!s3) {
        return NULL;
    }
    s3_set_base(s3, url);
    return &s3->common.engine;
}
