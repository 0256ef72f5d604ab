// SPDX-License-Identifier: Apache-2.0
/* A web server, S3 or an endpoint of credentials as hostile as it likes, behind libcurl: each line
 * of headers and each piece of a body goes to the callbacks as libcurl hands it on. The first byte
 * chooses the engine and the operation, the second the status; the rest is what is answered to each
 * request: headers, an empty line, a body. */
#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "tools/remote/engines/curl_library.h"
#include "tools/remote/engines/http_client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef size_t take(char *data, size_t one, size_t size, void *user);

static const uint8_t *answer;
static size_t answer_size;
static long answer_status;
static take *take_body;
static take *take_header;
static void *body_user;
static void *header_user;
static unsigned requests;

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

/* In place of libcurl's own. */

CURLcode curl_global_init(long flags)
{
    (void)flags; /* which takes as long as thousands of inputs: TLS */
    return CURLE_OK;
}

void curl_global_cleanup(void)
{
}

#undef curl_easy_setopt
CURLcode curl_easy_setopt(CURL *handle, CURLoption option, ...)
{
    va_list list;
    (void)handle;
    va_start(list, option);
    switch (option) {
    case CURLOPT_WRITEFUNCTION:
        take_body = va_arg(list, take *);
        break;
    case CURLOPT_WRITEDATA:
        body_user = va_arg(list, void *);
        break;
    case CURLOPT_HEADERFUNCTION:
        take_header = va_arg(list, take *);
        break;
    case CURLOPT_HEADERDATA:
        header_user = va_arg(list, void *);
        break;
    default:
        break;
    }
    va_end(list);
    return CURLE_OK;
}

/* A copy of just this size, so that a read beyond is seen. */
static size_t hand_on(take *to, const uint8_t *data, size_t size, void *user)
{
    char *copy = malloc(size ? size : 1);
    require(copy, "memory");
    memcpy(copy, data, size);
    const size_t taken = to(copy, 1, size, user);
    free(copy);
    return taken;
}

static CURLcode transfer(void)
{
    size_t at = 0;
    requests++;
    hand_on(take_header, (const uint8_t *)"HTTP/1.1 200\r\n", 14, header_user);
    while (at < answer_size) {
        const uint8_t *end = memchr(answer + at, '\n', answer_size - at);
        const size_t line = end ? (size_t)(end - answer) + 1 - at : answer_size - at;
        hand_on(take_header, answer + at, line, header_user);
        at += line;
        if (line <= 2) {
            break; /* the empty one */
        }
    }
    while (at < answer_size) {
        const size_t piece = answer_size - at < 1000 ? answer_size - at : 1000;
        if (hand_on(take_body, answer + at, piece, body_user) != piece) {
            return CURLE_WRITE_ERROR;
        }
        at += piece;
    }
    return CURLE_OK;
}

static CURLMsg done;
static bool is_done;

CURLMcode curl_multi_add_handle(CURLM *multi, CURL *handle)
{
    (void)multi;
    done.msg = CURLMSG_DONE;
    done.easy_handle = handle;
    is_done = false;
    return CURLM_OK;
}

CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *handle)
{
    (void)multi;
    (void)handle;
    return CURLM_OK;
}

CURLMcode curl_multi_perform(CURLM *multi, int *running)
{
    (void)multi;
    done.data.result = transfer();
    is_done = true;
    *running = 0;
    return CURLM_OK;
}

CURLMsg *curl_multi_info_read(CURLM *multi, int *left)
{
    CURLMsg *message = is_done ? &done : NULL;
    (void)multi;
    is_done = false;
    *left = 0;
    return message;
}

#undef curl_easy_getinfo
CURLcode curl_easy_getinfo(CURL *handle, CURLINFO info, ...)
{
    va_list list;
    (void)handle;
    va_start(list, info);
    if (info == CURLINFO_RESPONSE_CODE) {
        *va_arg(list, long *) = answer_status;
    } else if (info == CURLINFO_RETRY_AFTER) {
        *va_arg(list, curl_off_t *) = 0;
    } else {
        *va_arg(list, const char **) = NULL;
    }
    va_end(list);
    return CURLE_OK;
}

/* The first line that is answered is the value of every header. */
CURLHcode curl_easy_header(CURL *handle, const char *name, size_t index, unsigned origin,
                           int request, struct curl_header **header)
{
    static char value[1024];
    static struct curl_header found = {.value = value};
    (void)handle, (void)name, (void)index, (void)origin, (void)request;
    snprintf(value, sizeof value, "%.*s", (int)answer_size, (const char *)answer);
    value[strcspn(value, "\r\n")] = '\0';
    *header = &found;
    return value[0] ? CURLHE_OK : CURLHE_MISSING;
}

static bool visit(const char *path, void *user)
{
    (void)user;
    require(strlen(path) < ENGINE_PATH_SIZE, "a path");
    return requests < 20; /* a token of itself leads round and round */
}

static void act(struct engine *engine, unsigned operation)
{
    struct engine_value value = {0};
    struct engine_value old = {.data = (uint8_t *)"x", .size = 1, .version = "W/\"1\""};
    const struct engine_operations *operations = engine->operations;
    engine->deadline_ns = clock_now_ns(); /* nothing is waited for */
    switch (operation) {
    case 0:
        if (operations->get(engine, "v1/head/demo/recipes", 1000, &value) == STATUS_ok) {
            require(value.size <= 1000, "within its limit");
            require(strlen(value.version) < sizeof value.version, "a tag");
        }
        break;
    case 1:
        operations->list(engine, "v1/head/", visit, NULL);
        break;
    case 2:
        operations->swap(engine, "v1/head/demo/recipes", &old, "x", 1);
        break;
    default:
        operations->remove(engine, "v1/head/demo/recipes");
    }
    engine_value_free(&value);
    operations->close(engine);
}

/* In place of what loads libcurl: its functions, or those above. */
struct curl_library curl;

const char *curl_library_load(void)
{
#define CURL_FUNCTION(name) .name = curl_##name,
    curl = (struct curl_library){CURL_LIBRARY_FUNCTIONS(CURL_FUNCTION)};
#undef CURL_FUNCTION
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const long statuses[] = {200, 207, 404, 412, 301, 500, 429, 403};
    struct url url;
    if (size < 2) {
        return 0;
    }
    answer = data + 2;
    answer_size = size - 2;
    answer_status = statuses[data[1] % (sizeof statuses / sizeof statuses[0])];
    requests = 0;
    const unsigned operation = data[0] % 4;
    const unsigned kind = data[0] / 4 % 4;
    unsetenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    unsetenv("AWS_WEB_IDENTITY_TOKEN_FILE");
    if (kind == 2) {
        setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/x", 1);
    } else if (kind == 3) {
        setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "/dev/null", 1);
        setenv("AWS_ROLE_ARN", "role", 1);
    }
    require(url_parse(kind == 0 ? "http://localhost/base" : "s3://bucket/base", &url) == STATUS_ok,
            "a URL");
    struct engine *engine = kind == 0 ? engine_http_open(&url) : engine_s3_open(&url);
    require(engine, "memory");
    act(engine, operation);
    return 0;
}
