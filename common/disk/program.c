#include "program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/json_reader.h"
#include "file.h"

#define FORMAT 1

static const char *const caches_words[] = {
    [PROGRAM_CACHES_NOT_READ] = "not_read",
    [PROGRAM_CACHES_READ_BACK] = "read_back",
};

static enum program_caches caches_from(struct json_text word)
{
    const size_t count = sizeof caches_words / sizeof *caches_words;
    for (size_t i = 0; i < count; i++) {
        if (caches_words[i] && json_text_is(word, caches_words[i])) {
            return (enum program_caches)i;
        }
    }
    return PROGRAM_CACHES_UNKNOWN;
}

/* Appends a member of another version, with the comma before it. */
static void keep_member(struct bytes *kept, struct json_text key, struct json_text value)
{
    if (value.size) {
        bytes_put(kept, ",\"", 2);
        bytes_put(kept, key.data, key.size);
        bytes_put(kept, "\":", 2);
        bytes_put(kept, value.data, value.size);
    }
}

/* What this version does not know goes into `kept`, unless that is NULL; after a failure it is not
 * to be used. */
static enum reason parse(const void *data, size_t size, struct program_facts *ret_facts,
                         struct bytes *kept)
{
    struct program_facts facts = {0};
    uint64_t format = 0;
    struct json_reader reader = json_reader_over(data, size);
    struct json_text key;
    json_read_open(&reader, '{');
    while (json_read_member(&reader, &key)) {
        if (json_text_is(key, "format")) {
            format = json_read_number(&reader);
        } else if (json_text_is(key, "app_caches")) {
            facts.caches = caches_from(json_read_string(&reader));
        } else {
            struct json_text value = json_read_any(&reader);
            if (kept) {
                keep_member(kept, key, value);
            }
        }
    }
    json_read_end(&reader);
    if (reader.failed || format == 0) {
        return REASON_bad_program_file;
    }
    if (format != FORMAT) {
        return REASON_bad_format_version;
    }
    *ret_facts = facts;
    return REASON_ok;
}

enum reason program_decode(const void *data, size_t size, struct program_facts *ret_facts)
{
    return parse(data, size, ret_facts, NULL);
}

enum reason program_load(const char *root, const char *app, struct program_facts *ret_facts)
{
    *ret_facts = (struct program_facts){0};
    int directory;
    enum reason reason = file_open_directory(root, app, false, &directory);
    if (reason != REASON_ok) {
        return reason;
    }
    uint8_t *data = NULL;
    size_t size = 0;
    reason = file_read(directory, PROGRAM_FILE_NAME, PROGRAM_FILE_LIMIT, &data, &size);
    if (reason == REASON_ok) {
        reason = program_decode(data, size, ret_facts);
    }
    free(data);
    close(directory);
    return reason;
}

void program_encode(const struct program_facts *facts, const void *old, size_t old_size,
                    struct bytes *out)
{
    struct program_facts ignored;
    struct bytes kept = {0};
    json_put_open(out, NULL, '{');
    json_put_number(out, "format", FORMAT);
    if (facts->caches != PROGRAM_CACHES_UNKNOWN) {
        json_put_string(out, "app_caches", caches_words[facts->caches]);
    }
    /* What is kept may not make the file one that is refused for its size. */
    if (parse(old, old_size, &ignored, &kept) == REASON_ok && !kept.failed &&
        out->size + kept.size + 2 <= PROGRAM_FILE_LIMIT) {
        bytes_put(out, kept.data, kept.size);
    }
    json_put_close(out, '}');
    bytes_put_u8(out, '\n');
    bytes_free(&kept);
}

enum reason program_save(const char *root, const char *app, const struct program_facts *facts)
{
    int directory;
    enum reason reason = file_open_directory(root, app, true, &directory);
    if (reason != REASON_ok) {
        return reason;
    }
    uint8_t *old = NULL;
    size_t old_size = 0;
    struct bytes text = {0};
    file_read(directory, PROGRAM_FILE_NAME, PROGRAM_FILE_LIMIT, &old, &old_size);
    program_encode(facts, old, old_size, &text);
    if (text.failed) {
        reason = REASON_out_of_memory;
    } else if (!old || old_size != text.size || memcmp(old, text.data, text.size) != 0) {
        const struct iovec part = {.iov_base = text.data, .iov_len = text.size};
        reason = file_replace(directory, PROGRAM_FILE_NAME, &part, 1);
    }
    bytes_free(&text);
    free(old);
    close(directory);
    return reason;
}
