// SPDX-License-Identifier: Apache-2.0
/* What is sent in one HTTP request, and with whose credentials: what the client and the signature
 * agree on. */
#ifndef WARMPIPE_TOOLS_REMOTE_ENGINES_HTTP_REQUEST_H
#define WARMPIPE_TOOLS_REMOTE_ENGINES_HTTP_REQUEST_H

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

#endif
