/* What a loading marker says, and how its file and that of the strike made of it are named. */
#ifndef WARMPIPE_DISK_MARKER_RECORD_H
#define WARMPIPE_DISK_MARKER_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "unique.h"

#define MARKER_MAGIC_SIZE   8
#define MARKER_PROGRAM_SIZE 32
#define MARKER_RECORD_SIZE  (MARKER_MAGIC_SIZE + 4 * 8 + 4 + MARKER_PROGRAM_SIZE)

struct marker_record {
    uint64_t id;         /* names the marker; never 0 */
    uint64_t generation; /* of the blob that was being loaded */
    uint64_t strike;     /* id of the strike that its process saw; 0: none */
    uint64_t loaded_at;  /* seconds since the epoch; this and what follows is for people only */
    uint32_t process;
    char program[MARKER_PROGRAM_SIZE]; /* terminated, printable */
};

/* A record of this process, loading now. */
struct marker_record marker_record_of(uint64_t id, uint64_t generation, uint64_t strike);

/* MARKER_RECORD_SIZE bytes appended. */
void marker_record_put(struct bytes *bytes, const struct marker_record *record);

/* False, with *ret_record untouched, for anything but one whole record. Thread-safe. */
bool marker_record_parse(const void *data, size_t size, struct marker_record *ret_record);

/* A marker's name is its id in hex; a strike's is the generation in hex and this. */
#define MARKER_STRIKE_SUFFIX    ".strike"
#define MARKER_STRIKE_NAME_SIZE (UNIQUE_HEX_SIZE + sizeof(MARKER_STRIKE_SUFFIX) - 1)

void marker_strike_name(uint64_t generation, char ret_name[MARKER_STRIKE_NAME_SIZE]);

#endif
