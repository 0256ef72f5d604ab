// SPDX-License-Identifier: Apache-2.0
/* HTTP for the engines that use it, one request at a time: bounded in size and time, TLS verified,
 * few redirections, and credentials only for the host that was named. Needs libcurl. Belongs to one
 * thread. */
#ifndef WARMPIPE_TOOLS_REMOTE_ENGINES_HTTP_CLIENT_H
#define WARMPIPE_TOOLS_REMOTE_ENGINES_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "tools/remote/engines/engine.h"

/* Credentials that sign requests to S3. Zero except the region before http_credentials_find. */
struct http_credentials {
    char region[64];
    bool is_known;
    bool is_signed; /* there are credentials */
    time_t expires; /* 0: never */
    char key_id[256];
    char secret[256];
    char token[4096]; /* of the session; "": none */
};

struct http_request {
    const char *method;
    const char *url;
    const char *header; /* a whole line; NULL: none of its own */
    const void *body;   /* NULL: none */
    size_t body_size;
    uint64_t limit;                         /* bytes of an answer's body */
    const struct http_credentials *signing; /* NULL, or not is_signed: not signed */
    const char *type;                       /* of the body; NULL: bytes */
    bool is_direct;                         /* follow no redirection: it carries a secret */
    bool is_fixed;                          /* it never changes: a proxy's copy will do */
};

#define HTTP_SIGNATURE_LINES 5
#define HTTP_SIGNATURE_LINE  (4096 + 64)

/* Additional headers of a signed request; "" after the last one. */
struct http_signature {
    char lines[HTTP_SIGNATURE_LINES][HTTP_SIGNATURE_LINE];
};

/* Signs a request to S3, which has credentials, by AWS Signature Version 4 (http_signature.c). Its
 * path and query are encoded by http_encode, the names of the query sorted. `lines`, of which NULL
 * follows the last: its own headers "Name: value", ten at most; all are signed. False: out of
 * memory. */
bool http_sign(const struct http_request *request, const char *const *lines, time_t now,
               struct http_signature *ret_signature);

/* Encodes all but what RFC 3986 leaves unreserved, and the characters in `kept`, as %41. False: it
 * does not fit. */
bool http_encode(const char *text, const char *kept, char *ret_text, size_t capacity);

/* The common part of the engines that use HTTP; each begins with it, and its own members can be
 * copied. Every `engine` below is one of them. */
struct http_engine {
    struct engine engine;
    size_t size;     /* bytes of the whole engine */
    void *handle;    /* libcurl's */
    void *multi;     /* for one transfer at a time, with the connections */
    char error[256]; /* what it says of the last failure */
    bool is_raw;     /* a Content-Encoding was wrong: it is ignored from now on */
};

/* Bytes of an answer whose body does not matter. */
#define HTTP_PAGE_LIMIT 65536

struct http_answer {
    long status;
    struct engine_value body; /* of 2xx alone; its version is the entity tag */
    bool is_html;
    char error[160]; /* the error code that S3 adds to a status: "AccessDenied"; "": none */
};

/* A zeroed engine of `size` bytes, which begins with struct http_engine. NULL: out of memory. */
void *http_engine_new(const struct engine_operations *operations, size_t size);

/* operations->another, and operations->close, which erases the engine's memory. */
struct engine *http_engine_another(const struct engine *engine);
void http_engine_close(struct engine *engine);

/* Sends the request and waits; tries again if the server asks for that within seconds, or is S3 and
 * busy. A user name without a password means a password from ~/.netrc, or the file that NETRC
 * names. The result only says whether there was an answer: the caller judges its status. The body
 * is freed with engine_value_free. */
enum status http_send(struct engine *engine, const struct http_request *request,
                      struct http_answer *ret_answer);

/* The reason for a status that is no success: 404 no_file, 401 and 403 remote_forbidden, 412
 * remote_conflict, 507 remote_full, 429 and 503 remote_busy, a redirection remote_bad_answer; else
 * remote_error, also for a 404 of a missing bucket. Notes the status in the engine's failure. */
enum status http_judge(struct engine *engine, const struct http_answer *answer);

/* GET, or HEAD with a limit of 0: the body of a 200, to be freed with engine_value_free; a page of
 * HTML is remote_bad_answer, other statuses are judged. */
enum status http_fetch(struct engine *engine, const struct http_request *request,
                       struct engine_value *ret_value);

/* Sends a request that changes something, and drops the answered page. ok: 2xx; every other status
 * is judged, and written to *ret_status (0: there was no answer). */
enum status http_change(struct engine *engine, struct http_request *request, long *ret_status);

/* The domain of AWS's services in a region: regions of China have another. */
const char *http_aws_domain(const char *region);

/* Finds credentials, or renews those that end soon, as AWS's tools do (http_credentials.c): from
 * the environment, by a web identity, from the shared file, from the endpoint of a container; none
 * is fine, too. Else why they cannot be had. */
enum status http_credentials_find(struct http_credentials *credentials, struct engine *engine);

#endif
