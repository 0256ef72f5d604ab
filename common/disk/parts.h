/* Parts: saves that could not take the file's place, <identity>.<16 hex digits>.part beside it,
 * each a whole envelope. The next commit takes them up. */
#ifndef WARMPIPE_DISK_PARTS_H
#define WARMPIPE_DISK_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/digest.h"
#include "unique.h"

#define PARTS_SUFFIX    ".part"
#define PARTS_NAME_SIZE (DIGEST_HEX_SIZE + UNIQUE_HEX_SIZE + sizeof(PARTS_SUFFIX) - 1)

/* As many parts as one identity may have; a save beyond is dropped (too_many_parts). */
#define PARTS_MAX 64

struct parts {
    size_t count;
    char names[PARTS_MAX][PARTS_NAME_SIZE];
};

/* The name of the part with this number. */
void parts_name(const char identity[DIGEST_HEX_SIZE], uint64_t number,
                char ret_name[PARTS_NAME_SIZE]);

/* Lists the parts of an identity, at most PARTS_MAX, and removes the temporary files in the
 * directory whose processes are dead. False if the directory cannot be read. */
bool parts_list(int directory_fd, const char identity[DIGEST_HEX_SIZE], struct parts *ret_parts);

#endif
