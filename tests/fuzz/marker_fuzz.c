// SPDX-License-Identifier: Apache-2.0
/* A marker as hostile as it likes: it is one whole record or none, says the same when it is written
 * again, and what it says of its process can be printed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/blobs/marker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct marker_record record;
    memset(&record, 0x55, sizeof(record));
    if (!marker_record_parse(data, size, &record)) {
        require(record.id == 0x5555555555555555, "a refused record changes nothing");
        return 0;
    }
    require(size == (record.is_page ? sizeof(struct crash_page) : MARKER_RECORD_SIZE) &&
                record.id != 0 && record.finding.keys.count <= CRASH_KEYS_MAX,
            "a whole record or page");
    require(memchr(record.program, '\0', sizeof(record.program)) != NULL, "the name ends");
    for (const char *at = record.program; *at; at++) {
        require(*at >= ' ' && *at <= '~', "the name can be printed");
    }
    struct bytes bytes = {0};
    marker_record_put(&bytes, &record);
    const size_t numbers = MARKER_RECORD_SIZE - MARKER_PROGRAM_SIZE;
    require(bytes.size == (record.is_page ? CRASH_RECORD_SIZE : size) &&
                memcmp(bytes.data, data, numbers) == 0,
            "it is written as read");
    bytes_free(&bytes);
    return 0;
}
