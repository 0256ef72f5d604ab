#include "marker_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const uint8_t magic[MARKER_MAGIC_SIZE] = {'w', 'p', 'm', 'a', 'r', 'k', '\n', 1};

struct marker_record marker_record_of(uint64_t id, uint64_t generation, uint64_t strike)
{
    struct marker_record record = {
        .id = id,
        .generation = generation,
        .strike = strike,
        .loaded_at = (uint64_t)time(NULL),
        .process = (uint32_t)getpid(),
    };
    snprintf(record.program, sizeof(record.program), "%s", program_invocation_short_name);
    return record;
}

void marker_record_put(struct bytes *bytes, const struct marker_record *record)
{
    bytes_put(bytes, magic, sizeof(magic));
    bytes_put_u64(bytes, record->id);
    bytes_put_u64(bytes, record->generation);
    bytes_put_u64(bytes, record->strike);
    bytes_put_u64(bytes, record->loaded_at);
    bytes_put_u32(bytes, record->process);
    bytes_put(bytes, record->program, sizeof(record->program));
}

/* The name ends up in a note that people print: it must not speak to their terminal. */
static void make_printable(char text[MARKER_PROGRAM_SIZE])
{
    text[MARKER_PROGRAM_SIZE - 1] = '\0';
    for (char *at = text; *at; at++) {
        if (*at < ' ' || *at > '~') {
            *at = '?';
        }
    }
}

bool marker_record_parse(const void *data, size_t size, struct marker_record *ret_record)
{
    struct bytes_reader reader = bytes_reader_over(data, size);
    const uint8_t *found_magic = bytes_get(&reader, sizeof(magic));
    struct marker_record record;
    record.id = bytes_get_u64(&reader);
    record.generation = bytes_get_u64(&reader);
    record.strike = bytes_get_u64(&reader);
    record.loaded_at = bytes_get_u64(&reader);
    record.process = bytes_get_u32(&reader);
    const uint8_t *program = bytes_get(&reader, sizeof(record.program));
    if (reader.overrun || bytes_left(&reader) != 0 || record.id == 0 ||
        memcmp(found_magic, magic, sizeof(magic)) != 0) {
        return false;
    }
    memcpy(record.program, program, sizeof(record.program));
    make_printable(record.program);
    *ret_record = record;
    return true;
}

void marker_strike_name(uint64_t generation, char ret_name[MARKER_STRIKE_NAME_SIZE])
{
    unique_format(generation, ret_name);
    memcpy(ret_name + UNIQUE_HEX_SIZE - 1, MARKER_STRIKE_SUFFIX, sizeof MARKER_STRIKE_SUFFIX);
}
