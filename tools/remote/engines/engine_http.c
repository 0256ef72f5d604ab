// SPDX-License-Identifier: Apache-2.0
/* http: and https:, any server with GET and, to push, PUT and If-Match: Apache with mod_dav, a CDN
 * for readers. Only `remote` lists, by PROPFIND. Apache gives weak entity tags within a second of a
 * write, and If-Match refuses those. WebDAV's own If takes them (RFC 4918, 10.4), where the server
 * knows it; else we wait for a strong one. Apache also checks conditions before it reads the body,
 * so two writers at the same moment may both be told that they won: settle_ms makes them read the
 * value again. */
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "tools/remote/engines/http_client.h"

#define ENGINE_HTTP_TAG_WAIT_MS 2500
#define ENGINE_HTTP_TAG_STEP_MS 100

/* A swap is looked at again after some times of what it has taken, within these bounds. */
#define ENGINE_HTTP_SETTLE_TIMES    4
#define ENGINE_HTTP_SETTLE_LEAST_MS 50
#define ENGINE_HTTP_SETTLE_MOST_MS  2000

/* What paths of ours are made of. */
#define ENGINE_HTTP_NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

/* Bytes of a folder's listing at most. */
#define ENGINE_HTTP_LISTING_LIMIT ((uint64_t)64 << 20)

/* Hex digits of a time in microseconds: an entity tag with fewer may stand for two values. */
#define ENGINE_HTTP_TIME_DIGITS 13

enum engine_http_if { HTTP_IF_UNTRIED, HTTP_IF_WORKS, HTTP_IF_IGNORED };

struct engine_http {
    struct http_engine common;
    enum engine_http_if heeds_if;
    char base[URL_SIZE * 2];
    char path[URL_SIZE]; /* of the base */
};

#define ENGINE_HTTP_URL_SIZE (URL_SIZE * 2 + ENGINE_PATH_SIZE)

static void engine_http_url(const struct engine *engine, const char *path,
                            char ret_url[ENGINE_HTTP_URL_SIZE])
{
    const struct engine_http *http = (const struct engine_http *)engine;
    snprintf(ret_url, ENGINE_HTTP_URL_SIZE, "%s/%s", http->base, path);
}

static enum status engine_http_get(struct engine *engine, const char *path, uint64_t limit,
                                   struct engine_value *ret_value)
{
    char url[ENGINE_HTTP_URL_SIZE];
    const struct http_request request = {.method = limit ? "GET" : "HEAD",
                                         .url = url,
                                         .limit = limit,
                                         .is_fixed = engine_is_fixed(path)};
    engine_http_url(engine, path, url);
    return http_fetch(engine, &request, ret_value);
}

/* WebDAV wants each folder made before what lies in it: those below the URL's own. Where that is
 * missing, too, up to the first whose parent is there, which is none but the host's own at last,
 * and down again. */
static void engine_http_make_parents(struct engine *engine, const char *path)
{
    const struct engine_http *http = (const struct engine_http *)engine;
    char url[ENGINE_HTTP_URL_SIZE];
    char folder[ENGINE_HTTP_URL_SIZE];
    engine_http_url(engine, path, url);
    const char *root = url + strlen(http->base) - strlen(http->path) + 1;
    bool climbs = true;
    for (const char *slash = strchr(url + strlen(http->base) + 1, '/'); slash;) {
        struct http_request request = {.method = "MKCOL", .url = folder};
        long status;
        snprintf(folder, sizeof folder, "%.*s/", (int)(slash - url), url);
        http_change(engine, &request, &status);
        if (status == 0) {
            return;
        }
        climbs = climbs && (status == 409 || status == 404);
        slash = climbs ? memrchr(root, '/', (size_t)(slash - root)) : strchr(slash + 1, '/');
    }
}

/* condition NULL: none. */
static enum status engine_http_write(struct engine *engine, const char *path, const char *condition,
                                     const void *data, size_t size)
{
    char url[ENGINE_HTTP_URL_SIZE];
    struct http_request request = {
        .method = "PUT", .url = url, .header = condition, .body = data, .body_size = size};
    long status;
    engine_http_url(engine, path, url);
    enum status reason = http_change(engine, &request, &status);
    if (status == 409 || (!condition && status == 404)) {
        engine_http_make_parents(engine, path);
        reason = http_change(engine, &request, &status);
    }
    return reason == STATUS_no_file
               ? engine_fail(engine, STATUS_remote_error, "HTTP %ld to a PUT", status)
               : reason;
}

static enum status engine_http_put(struct engine *engine, const char *path, const void *data,
                                   size_t size)
{
    return engine_http_write(engine, path, NULL, data, size);
}

/* A strong entity tag of this very value. remote_conflict: it is another by now. */
static enum status engine_http_find_tag(struct engine *engine, const char *path,
                                        const struct engine_value *old,
                                        char ret_tag[ENGINE_VERSION_SIZE])
{
    unsigned waited = 0;
    memcpy(ret_tag, old->version, ENGINE_VERSION_SIZE);
    while (strncmp(ret_tag, "W/", 2) == 0) {
        AUTO(engine_value_free) struct engine_value now = {0};
        if (waited >= engine_time_left(engine, ENGINE_HTTP_TAG_WAIT_MS)) {
            return engine_fail(engine, STATUS_remote_no_conditions, "only weak entity tags");
        }
        clock_pause(ENGINE_HTTP_TAG_STEP_MS * CLOCK_MS);
        waited += ENGINE_HTTP_TAG_STEP_MS;
        const enum status reason = engine_http_get(engine, path, old->size + 1, &now);
        if (reason != STATUS_ok) {
            return reason == STATUS_no_file || reason == STATUS_remote_bad_answer
                       ? STATUS_remote_conflict
                       : reason;
        }
        if (!engine_value_equal(&now, old)) {
            return STATUS_remote_conflict;
        }
        memcpy(ret_tag, now.version, ENGINE_VERSION_SIZE);
    }
    return ret_tag[0] || engine->single_writer
               ? STATUS_ok
               : engine_fail(engine, STATUS_remote_no_conditions, "no entity tags");
}

/* A weak tag of Apache's: W/"<size>-<microseconds>", which changes with every write. */
static bool engine_http_is_fine_tag(const char *tag)
{
    const char *dash = strrchr(tag, '-');
    const size_t digits = dash ? strspn(dash + 1, "0123456789abcdef") : 0;
    return strncmp(tag, "W/\"", 3) == 0 && digits >= ENGINE_HTTP_TIME_DIGITS &&
           strcmp(dash + 1 + digits, "\"") == 0;
}

/* Whether a write with a wrong tag in its If fails, as it must. */
static bool engine_http_heeds_if(struct engine *engine)
{
    struct engine_http *http = (struct engine_http *)engine;
    if (http->heeds_if == HTTP_IF_UNTRIED) {
        const enum status reason = engine_http_write(engine, ENGINE_PROBE, "If: ([\"0-warmpipe\"])",
                                                     "warmpipe\n", strlen("warmpipe\n"));
        http->heeds_if = reason == STATUS_remote_conflict ? HTTP_IF_WORKS : HTTP_IF_IGNORED;
    }
    return http->heeds_if == HTTP_IF_WORKS;
}

static enum status engine_http_swap(struct engine *engine, const char *path,
                                    const struct engine_value *old, const void *data, size_t size)
{
    char tag[ENGINE_VERSION_SIZE];
    char condition[ENGINE_VERSION_SIZE + 16] = "If-None-Match: *";
    if (old && engine_http_is_fine_tag(old->version) && engine_http_heeds_if(engine)) {
        memcpy(tag, old->version, sizeof tag);
        snprintf(condition, sizeof condition, "If: ([%s])", tag);
    } else if (old) {
        const enum status reason = engine_http_find_tag(engine, path, old, tag);
        if (reason != STATUS_ok) {
            return reason;
        }
        snprintf(condition, sizeof condition, "If-Match: %s", tag);
    }
    const uint64_t start = clock_now_ns();
    const enum status reason =
        engine_http_write(engine, path, old && !tag[0] ? NULL : condition, data, size);
    const uint64_t settle = ENGINE_HTTP_SETTLE_TIMES * (clock_now_ns() - start) / CLOCK_MS;
    engine->settle_ms = settle > ENGINE_HTTP_SETTLE_MOST_MS    ? ENGINE_HTTP_SETTLE_MOST_MS
                        : settle < ENGINE_HTTP_SETTLE_LEAST_MS ? ENGINE_HTTP_SETTLE_LEAST_MS
                                                               : (unsigned)settle;
    return reason;
}

/* What an href of a folder's listing names in it, from v1/ on: one name of ours, or a folder's, and
 * nothing that would lead elsewhere. NULL: none, as the folder itself. What stands before that is
 * the server's to say: a proxy may have taken something off the URL's path. */
static const char *engine_http_listed(const char *folder, const char *href)
{
    const size_t length = strlen(folder);
    for (const char *path = href; (path = strstr(path, folder)); path++) {
        const char *name = path + length;
        const size_t size = strspn(name, ENGINE_HTTP_NAME);
        if (path > href && path[-1] == '/' && size > 0 && *name != '.' &&
            (name[size] == '\0' || strcmp(name + size, "/") == 0)) {
            return path;
        }
    }
    return NULL;
}

/* A folder and, to this depth, what lies in it. */
static enum status engine_http_list_folder(struct engine *engine, const char *folder, int depth,
                                           engine_visit *visit, void *user)
{
    static const char body[] = "<?xml version=\"1.0\"?><propfind xmlns=\"DAV:\"><prop>"
                               "<resourcetype/></prop></propfind>";
    char url[ENGINE_HTTP_URL_SIZE];
    const struct http_request request = {.method = "PROPFIND",
                                         .url = url,
                                         .header = "Depth: 1",
                                         .body = body,
                                         .body_size = sizeof body - 1,
                                         .limit = ENGINE_HTTP_LISTING_LIMIT};
    struct http_answer answer;
    char href[URL_SIZE + ENGINE_PATH_SIZE];
    engine_http_url(engine, folder, url);
    enum status reason = http_send(engine, &request, &answer);
    if (reason != STATUS_ok) {
        return reason;
    }
    if (answer.status != 207) {
        engine_value_free(&answer.body);
        if (answer.status == 404) {
            return STATUS_ok; /* nothing lies there */
        }
        reason = http_judge(engine, &answer);
        return reason == STATUS_remote_error || answer.status < 300
                   ? engine_fail(engine, STATUS_remote_unsupported, "HTTP %ld", answer.status)
                   : reason;
    }
    if (!listing_is_whole(answer.body.data, answer.body.size, "multistatus")) {
        reason = engine_fail(engine, STATUS_remote_bad_answer, "a listing that is cut short");
    }
    struct listing listing = listing_over(answer.body.data, answer.body.size);
    while (reason == STATUS_ok && listing_element(&listing, "href", href, sizeof href)) {
        const char *path = listing_decode_url(href) ? engine_http_listed(folder, href) : NULL;
        const size_t length = path ? strlen(path) : 0;
        if (length == 0 || length >= ENGINE_PATH_SIZE) {
            continue; /* nothing of ours */
        }
        if (path[length - 1] != '/') {
            if (!visit(path, user)) {
                break;
            }
        } else if (depth > 0) {
            char below[ENGINE_PATH_SIZE];
            memcpy(below, path, length + 1);
            reason = engine_http_list_folder(engine, below, depth - 1, visit, user);
        }
    }
    engine_value_free(&answer.body);
    return reason;
}

static enum status engine_http_list(struct engine *engine, const char *prefix, engine_visit *visit,
                                    void *user)
{
    return engine_http_list_folder(engine, prefix, 1, visit, user);
}

static enum status engine_http_remove(struct engine *engine, const char *path)
{
    char url[ENGINE_HTTP_URL_SIZE];
    struct http_request request = {.method = "DELETE", .url = url};
    long status;
    engine_http_url(engine, path, url);
    return http_change(engine, &request, &status);
}

struct engine *engine_http_open(const struct url *url)
{
    static const struct engine_operations operations = {
        .get = engine_http_get,
        .put = engine_http_put,
        .swap = engine_http_swap,
        .list = engine_http_list,
        .remove = engine_http_remove,
        .another = http_engine_another,
        .close = http_engine_close,
    };
    struct engine_http *http = http_engine_new(&operations, sizeof *http);
    if (!http) {
        return NULL;
    }
    snprintf(http->base, sizeof http->base, "%s://%s%s%s%s%s%s",
             url->scheme == URL_HTTPS ? "https" : "http", url->user, url->user[0] ? "@" : "",
             url->host, url->port[0] ? ":" : "", url->port, url->path);
    memcpy(http->path, url->path, sizeof http->path);
    return &http->common.engine;
}
