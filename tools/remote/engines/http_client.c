// SPDX-License-Identifier: Apache-2.0
#include "tools/remote/engines/http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/bytes.h"
#include "common/base/clock.h"
#include "tools/cli/verb.h"
#include "tools/remote/engines/curl_library.h"

/* Milliseconds. */
#define HTTP_CONNECT_MS 10000
#define HTTP_WAIT_MS    10000

/* Seconds of fewer bytes a second, on average, after which a transfer has ended. */
#define HTTP_STALL_S     30L
#define HTTP_STALL_BYTES 1000L

#define HTTP_REDIRECTS 5L
#define HTTP_TRIES     3
#define HTTP_RETRY_MS  500 /* and then twice as long */
/* CURLMOPT_QUICK_EXIT, of libcurl 8.20. */
#define HTTP_MULTI_QUICK_EXIT 21
/* A signal that cuts the time is seen within. */
#define HTTP_STEP_MS 500

/* What callbacks fill. */
struct http_transfer {
    struct bytes *body;
    uint64_t limit;
    bool is_too_large;
};

void *http_engine_new(const struct engine_operations *operations, size_t size)
{
    struct http_engine *http = calloc(1, size);
    if (!http || curl_library_load() || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
        !(http->multi = curl.multi_init()) || !(http->handle = curl.easy_init())) {
        if (http && http->multi) {
            curl.multi_cleanup(http->multi);
        }
        free(http);
        return NULL;
    }
    /* As CURLOPT_QUICK_EXIT; older ones do not know it, and go by that. */
    curl.multi_setopt(http->multi, (CURLMoption)HTTP_MULTI_QUICK_EXIT, 1L);
    http->engine.operations = operations;
    http->size = size;
    return http;
}

struct engine *http_engine_another(const struct engine *engine)
{
    const struct http_engine *http = (const struct http_engine *)engine;
    struct http_engine *other = http_engine_new(engine->operations, http->size);
    if (!other) {
        return NULL;
    }
    memcpy(other + 1, http + 1, http->size - sizeof *http);
    return &other->engine;
}

void http_engine_close(struct engine *engine)
{
    struct http_engine *http = (struct http_engine *)engine;
    curl.easy_cleanup(http->handle);
    curl.multi_cleanup(http->multi);
    curl.global_cleanup();
    explicit_bzero(http, http->size);
    free(http);
}

static size_t http_take_body(char *data, size_t one, size_t size, void *user)
{
    struct http_transfer *transfer = user;
    if (size > transfer->limit - transfer->body->size) {
        transfer->is_too_large = true;
        return 0;
    }
    bytes_put(transfer->body, data, size * one);
    return transfer->body->failed ? 0 : size * one;
}

/* Each answer of a chain of redirections has its headers. */
static size_t http_count_answer(char *data, size_t one, size_t size, void *user)
{
    struct engine *engine = user;
    engine->traffic.answers += size > 5 && strncasecmp(data, "HTTP/", 5) == 0;
    return size * one;
}

/* The value of a header of the last answer; "": it has none of this name. Borrowed. */
static const char *http_header(const struct http_engine *http, const char *name)
{
    struct curl_header *header;
    return curl.easy_header(http->handle, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK
               ? header->value
               : "";
}

static enum status http_judge_code(struct http_engine *http, CURLcode code)
{
    enum status reason = STATUS_remote_error;
    /* TLS 1.3: a server that wants a certificate says so when the connection stands. */
    if (strstr(http->error, " alert ")) {
        code = CURLE_SSL_CONNECT_ERROR;
    }
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        reason = STATUS_remote_unreachable;
        break;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_ABORTED_BY_CALLBACK:
        reason = STATUS_remote_timeout;
        break;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
        reason = STATUS_remote_tls;
        break;
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_URL_MALFORMAT:
        reason = STATUS_remote_bad_answer;
        break;
    case CURLE_OUT_OF_MEMORY:
        reason = STATUS_out_of_memory;
        break;
    default:
        break;
    }
    return engine_fail(&http->engine, reason, "%s",
                       http->error[0] ? http->error : curl.easy_strerror(code));
}

/* The handle, set up for this request but for its headers. */
static void http_prepare(struct http_engine *http, const struct http_request *request,
                         struct http_transfer *transfer)
{
    struct engine *engine = &http->engine;
    CURL *handle = http->handle;
    const char *authorities =
        options_variable("CURL_CA_BUNDLE", options_variable("SSL_CERT_FILE", NULL));
    const char *netrc = options_variable("NETRC", NULL);
    const bool is_signed = request->signing && request->signing->is_signed;
    const bool follows = strcmp(request->method, "GET") == 0 && !is_signed && !request->is_direct;
    curl.easy_reset(handle); /* connections stay */
    _Static_assert(sizeof http->error >= CURL_ERROR_SIZE, "its size");
    http->error[0] = '\0';
    curl.easy_setopt(handle, CURLOPT_ERRORBUFFER, http->error);
    curl.easy_setopt(handle, CURLOPT_URL, request->url);
    curl.easy_setopt(handle, CURLOPT_CUSTOMREQUEST, request->method);
    curl.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    /* What is compressed all the same, often under another entity tag, is unpacked; it may be
     * larger than what is in it. */
    if (!http->is_raw) {
        curl.easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "identity");
    }
    curl.easy_setopt(handle, CURLOPT_USERAGENT, "warmpipe/" WARMPIPE_VERSION);
    curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, http_take_body);
    curl.easy_setopt(handle, CURLOPT_WRITEDATA, transfer);
    curl.easy_setopt(handle, CURLOPT_HEADERFUNCTION, http_count_answer);
    curl.easy_setopt(handle, CURLOPT_HEADERDATA, engine);
    curl.easy_setopt(handle, CURLOPT_MAXFILESIZE_LARGE,
                     request->limit ? (curl_off_t)(request->limit + request->limit / 8 + 4096)
                                    : (curl_off_t)INT64_MAX);
    curl.easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, HTTP_STALL_BYTES);
    curl.easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, HTTP_STALL_S);
    curl.easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)engine_time_left(engine, HTTP_CONNECT_MS));
    /* What resolves a name, in a thread, is not waited for once the time is over. */
    curl.easy_setopt(handle, CURLOPT_QUICK_EXIT, 1L);
    /* Silence ends with the first bytes of an answer: below. */
    const unsigned left = engine_time_in_all(engine, INT32_MAX);
    curl.easy_setopt(handle, CURLOPT_TIMEOUT_MS, left ? (long)left : 1L);
    /* Only reading follows, and never from TLS to plain text. */
    curl.easy_setopt(handle, CURLOPT_FOLLOWLOCATION, follows ? 1L : 0L);
    curl.easy_setopt(handle, CURLOPT_MAXREDIRS, HTTP_REDIRECTS);
    curl.easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl.easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR,
                     strncmp(request->url, "https:", 6) == 0 ? "https" : "http,https");
    if (authorities) {
        curl.easy_setopt(handle, CURLOPT_CAINFO, authorities);
    }
    if (is_signed) {
        curl.easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
    } else {
        curl.easy_setopt(handle, CURLOPT_NETRC, (long)CURL_NETRC_OPTIONAL);
        if (netrc) {
            curl.easy_setopt(handle, CURLOPT_NETRC_FILE, netrc);
        }
    }
    if (strcmp(request->method, "HEAD") == 0) {
        curl.easy_setopt(handle, CURLOPT_NOBODY, 1L);
    } else if (request->body) {
        curl.easy_setopt(handle, CURLOPT_POSTFIELDS, request->body);
        curl.easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size);
    }
}

/* NULL: out of memory. */
static struct curl_slist *http_headers(const struct http_request *request)
{
    const char *lines[3] = {request->header};
    char type[128];
    struct http_signature signature;
    if (request->body) {
        snprintf(type, sizeof type, "Content-Type: %s",
                 request->type ? request->type : "application/octet-stream");
        lines[request->header != NULL] = type;
    }
    struct curl_slist *list = curl.slist_append(NULL, "Expect:");
    const bool gets = strcmp(request->method, "GET") == 0;
    if ((gets && !request->is_fixed) || strcmp(request->method, "HEAD") == 0) {
        /* Not signed, for proxies may change it. */
        list = curl.slist_append(list, "Cache-Control: no-cache");
    }
    for (size_t i = 0; lines[i]; i++) {
        list = curl.slist_append(list, lines[i]);
    }
    if (request->signing && request->signing->is_signed) {
        if (!http_sign(request, lines, time(NULL), &signature)) {
            curl.slist_free_all(list);
            return NULL;
        }
        for (size_t i = 0; i < HTTP_SIGNATURE_LINES && signature.lines[i][0]; i++) {
            list = curl.slist_append(list, signature.lines[i]);
        }
    }
    return list;
}

/* curl_easy_perform, but that it ends when the engine's time is over, which a signal may have cut:
 * libcurl 8.23 calls no progress callback while a name is asked for. */
static CURLcode http_perform(struct http_engine *http)
{
    struct engine *engine = &http->engine;
    const bool may_be_cut = engine->stops || engine->silent_ms > 0;
    CURLcode code = CURLE_ABORTED_BY_CALLBACK;
    int running = 1, left;
    if (curl.multi_add_handle(http->multi, http->handle) != CURLM_OK) {
        return CURLE_OUT_OF_MEMORY;
    }
    while (curl.multi_perform(http->multi, &running) == CURLM_OK && running > 0 &&
           (!may_be_cut || engine_time_left(engine, 1) > 0) &&
           curl.multi_poll(http->multi, NULL, 0, HTTP_STEP_MS, NULL) == CURLM_OK) {
    }
    for (const CURLMsg *message; (message = curl.multi_info_read(http->multi, &left));) {
        if (message->msg == CURLMSG_DONE) {
            code = message->data.result;
        }
    }
    curl.multi_remove_handle(http->multi, http->handle);
    return code;
}

/* What a body of S3 says of a failure: its code, and the region that the bucket lies in. */
static void http_read_error(struct http_engine *http, const struct http_request *request,
                            const struct bytes *body, struct http_answer *answer)
{
    struct listing page = listing_over(body->data, body->size);
    const char *region = http_header(http, "x-amz-bucket-region");
    char code[64];
    if (listing_element(&page, "Code", code, sizeof code)) {
        snprintf(answer->error, sizeof answer->error, "%s%s%.32s%s", code,
                 *region ? ", region " : "", region,
                 answer->status == 403 && request->signing && !request->signing->is_signed
                     ? ", not signed: there are no credentials"
                     : "");
    }
}

static enum status http_send_once(struct engine *engine, const struct http_request *request,
                                  struct http_answer *ret_answer, curl_off_t *ret_retry_after)
{
    struct http_engine *http = (struct http_engine *)engine;
    AUTO(bytes_free) struct bytes body = {0};
    struct http_transfer transfer = {.body = &body, .limit = request->limit};
    struct curl_slist *headers = http_headers(request);
    const char *type = NULL;
    *ret_answer = (struct http_answer){0};
    if (!headers) {
        return STATUS_out_of_memory;
    }
    http_prepare(http, request, &transfer);
    curl.easy_setopt(http->handle, CURLOPT_HTTPHEADER, headers);
    engine->traffic.requests++;
    const CURLcode code = http_perform(http);
    curl.slist_free_all(headers);
    if (code == CURLE_BAD_CONTENT_ENCODING && !http->is_raw) {
        http->is_raw = true; /* a name that the value was stored under, such as aws-chunked */
        return http_send_once(engine, request, ret_answer, ret_retry_after);
    }
    curl.easy_getinfo(http->handle, CURLINFO_RESPONSE_CODE, &ret_answer->status);
    curl.easy_getinfo(http->handle, CURLINFO_RETRY_AFTER, ret_retry_after);
    curl.easy_getinfo(http->handle, CURLINFO_CONTENT_TYPE, &type);
    ret_answer->is_html = type && strncasecmp(type, "text/html", 9) == 0;
    const bool success = ret_answer->status >= 200 && ret_answer->status < 300;
    /* libcurl sees it in what is announced, from 8.4 on also in what comes. */
    const bool is_too_large = transfer.is_too_large || code == CURLE_FILESIZE_EXCEEDED;
    if (is_too_large) { /* where it failed, a long page that says so */
        return success ? engine_too_large(engine) : STATUS_ok;
    }
    if (code != CURLE_OK) {
        return http_judge_code(http, code);
    }
    if (!success) {
        http_read_error(http, request, &body, ret_answer);
        return STATUS_ok;
    }
    struct engine_value *value = &ret_answer->body;
    value->size = body.size;
    value->data = bytes_take(&body);
    if (!value->data && value->size > 0) {
        return STATUS_out_of_memory;
    }
    const char *tag = http_header(http, "etag");
    if (strlen(tag) < sizeof value->version) {
        memcpy(value->version, tag, strlen(tag) + 1);
    }
    /* By the server's clock; -1: unknown. */
    const time_t now = curl.getdate(http_header(http, "date"), NULL);
    const time_t written = curl.getdate(http_header(http, "last-modified"), NULL);
    if (written >= 0 && now >= 0) {
        value->age_s = engine_age(now, written);
        value->has_age = true;
    }
    engine->traffic.received += value->size;
    engine->traffic.sent += request->body_size;
    return STATUS_ok;
}

/* How long to wait before the next try, milliseconds; 0: there is none. S3 wants to be asked again
 * also where it does not say so; who starts a program does not wait for that. */
static curl_off_t http_retry_ms(const struct engine *engine, const struct http_request *request,
                                long status, curl_off_t seconds, int tries)
{
    const bool is_busy = status == 429 || status == 503;
    const bool is_s3 = request->signing && engine->silent_ms == 0;
    if (tries < HTTP_TRIES && is_busy && seconds > 0) {
        return seconds > HTTP_WAIT_MS / 1000 ? HTTP_WAIT_MS + 1 : seconds * 1000;
    }
    return tries < HTTP_TRIES && is_s3 && (is_busy || status == 500) ? HTTP_RETRY_MS * tries : 0;
}

/* False: there is less time than that, of which a signal may have cut some meanwhile. */
static bool http_pause(struct engine *engine, unsigned ms)
{
    const uint64_t until_ns = clock_now_ns() + ms * CLOCK_MS;
    for (uint64_t now_ns; (now_ns = clock_now_ns()) < until_ns;) {
        const unsigned left_ms = (unsigned)((until_ns - now_ns) / CLOCK_MS);
        if (engine_time_left(engine, left_ms) < left_ms) {
            return false;
        }
        clock_pause((left_ms < 1000 ? left_ms + 1 : 1000) * CLOCK_MS);
    }
    return true;
}

enum status http_send(struct engine *engine, const struct http_request *request,
                      struct http_answer *ret_answer)
{
    for (int tries = 1;; tries++) {
        curl_off_t seconds = 0;
        const enum status reason = http_send_once(engine, request, ret_answer, &seconds);
        const curl_off_t ms = http_retry_ms(engine, request, ret_answer->status, seconds, tries);
        if (reason != STATUS_ok || ms == 0 ||
            ms > (curl_off_t)engine_time_left(engine, HTTP_WAIT_MS) ||
            !http_pause(engine, (unsigned)ms)) {
            return reason;
        }
    }
}

enum status http_judge(struct engine *engine, const struct http_answer *answer)
{
    static const struct {
        long status;
        enum status reason;
    } meanings[] = {
        {401, STATUS_remote_forbidden}, {403, STATUS_remote_forbidden}, {404, STATUS_no_file},
        {410, STATUS_no_file},          {412, STATUS_remote_conflict},  {429, STATUS_remote_busy},
        {503, STATUS_remote_busy},      {507, STATUS_remote_full},
    };
    const bool is_elsewhere = answer->status >= 300 && answer->status < 400;
    enum status reason = is_elsewhere ? STATUS_remote_bad_answer : STATUS_remote_error;
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        reason = answer->status == meanings[i].status ? meanings[i].reason : reason;
    }
    if (reason == STATUS_no_file && strstr(answer->error, "NoSuchBucket")) {
        return engine_fail(engine, STATUS_remote_error, "there is no such bucket (HTTP 404)");
    }
    if (answer->status == 413) {
        return engine_of_value(
            engine, engine_fail(engine, reason, "HTTP 413: larger than the server accepts"));
    }
    return reason == STATUS_no_file ? reason
                                    : engine_fail(engine, reason, "HTTP %ld%s%s", answer->status,
                                                  *answer->error ? " " : "", answer->error);
}

enum status http_fetch(struct engine *engine, const struct http_request *request,
                       struct engine_value *ret_value)
{
    struct http_answer answer;
    const enum status reason = http_send(engine, request, &answer);
    if (reason != STATUS_ok) {
        return reason;
    }
    if (answer.status == 200 && !(request->limit && answer.is_html)) {
        *ret_value = answer.body;
        return STATUS_ok;
    }
    engine_value_free(&answer.body);
    return answer.status == 200 ? engine_fail(engine, STATUS_remote_bad_answer, "a page of HTML")
                                : http_judge(engine, &answer);
}

enum status http_change(struct engine *engine, struct http_request *request, long *ret_status)
{
    struct http_answer answer;
    request->limit = HTTP_PAGE_LIMIT;
    const enum status reason = http_send(engine, request, &answer);
    *ret_status = reason == STATUS_ok ? answer.status : 0;
    if (reason != STATUS_ok) {
        return reason;
    }
    engine_value_free(&answer.body);
    return answer.status >= 200 && answer.status < 300 ? STATUS_ok : http_judge(engine, &answer);
}
