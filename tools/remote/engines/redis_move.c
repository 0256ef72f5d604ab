// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <string.h>

#include "tools/remote/engines/redis_client.h"

bool redis_parse_move(const char *text, size_t size, struct redis_move *ret_move)
{
    const bool is_ask = size > 4 && memcmp(text, "ASK ", 4) == 0;
    const bool is_moved = size > 6 && memcmp(text, "MOVED ", 6) == 0;
    const char *end = text + size;
    const char *host = text + (is_ask ? 4 : 6);
    if (!is_ask && !is_moved) {
        return false;
    }
    for (; host < end && *host >= '0' && *host <= '9'; host++) { /* the slot */
    }
    if (host == end || *host++ != ' ') {
        return false;
    }
    const char *colon = end; /* the last: an address of IPv6 has more */
    while (colon > host && colon[-1] != ':') {
        colon--;
    }
    int port = 0;
    for (const char *digit = colon; digit < end && port <= UINT16_MAX; digit++) {
        if (*digit < '0' || *digit > '9') {
            return false;
        }
        port = port * 10 + (*digit - '0');
    }
    const size_t length = colon > host ? (size_t)(colon - 1 - host) : 0;
    if (colon == host || port == 0 || port > UINT16_MAX || length >= sizeof ret_move->host ||
        memchr(host, '\0', length)) {
        return false;
    }
    ret_move->is_ask = is_ask;
    ret_move->port = port;
    memcpy(ret_move->host, host, length);
    ret_move->host[length] = '\0';
    if (strcmp(ret_move->host, "?") == 0) { /* a node that does not know its own name */
        ret_move->host[0] = '\0';
    }
    return true;
}
