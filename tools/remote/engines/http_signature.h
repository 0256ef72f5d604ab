// SPDX-License-Identifier: Apache-2.0
/* What is sent in one HTTP request, and its AWS Signature Version 4, as S3 wants it. Stateless, so
 * thread-safe. */
#ifndef WARMPIPE_TOOLS_REMOTE_ENGINES_HTTP_SIGNATURE_H
#define WARMPIPE_TOOLS_REMOTE_ENGINES_HTTP_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* What signs requests to S3. Zero but for the region before http_credentials_find. */
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
    const char *headers[6]; /* whole lines; the first NULL ends them */
    const void *body;       /* NULL: none */
    size_t body_size;
    uint64_t limit;                         /* bytes of an answer's body */
    const struct http_credentials *signing; /* NULL, or not is_signed: not signed */
    const char *type;                       /* of the body; NULL: bytes */
    bool is_direct;                         /* follow no redirection: it carries a secret */
};

#define HTTP_SIGNATURE_LINES 5
#define HTTP_SIGNATURE_LINE  (4096 + 64)

/* Headers that a signed request has beside its own; "" behind the last one. */
struct http_signature {
    char lines[HTTP_SIGNATURE_LINES][HTTP_SIGNATURE_LINE];
};

/* Signs a request to S3, which has credentials. Its path and query are encoded by http_encode, the
 * names of the query sorted. `lines`, of which NULL follows the last: its own headers
 * "Name: value", ten at most; all are signed. False: out of memory. */
bool http_sign(const struct http_request *request, const char *const *lines, time_t now,
               struct http_signature *ret_signature);

/* Encodes all but what RFC 3986 leaves unreserved, and the characters in `kept`, as %41. False: it
 * does not fit. */
bool http_encode(const char *text, const char *kept, char *ret_text, size_t capacity);

#endif
