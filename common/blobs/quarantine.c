// SPDX-License-Identifier: Apache-2.0
#include "common/blobs/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/base/io.h"
#include "common/base/text.h"
#include "common/files/file.h"
#include "common/files/names.h"

#define DEATH_SIZE 128

static void quarantine_format_death(const struct marker_record *record, char ret_text[DEATH_SIZE])
{
    char time_text[TEXT_TIME_SIZE];
    text_time(record->loaded_at, time_text);
    snprintf(ret_text, DEATH_SIZE, "%s, process %" PRIu32 " (%s)", time_text, record->process,
             record->program);
}

/* After so many blobs of an identity were put away, none is used for a week. */
#define QUARANTINE_MANY       3
#define QUARANTINE_WEEK_S     (UINT64_C(7) * 24 * 60 * 60)
#define QUARANTINE_COUNT      "put away: " /* then one digit */
#define QUARANTINE_COUNT_MAX  9
#define QUARANTINE_NOTE_LIMIT 65536

/* What a note says, if it is younger. */
static unsigned quarantine_read_count(int folder_fd, const char identity[DIGEST_HEX_SIZE],
                                      const char *suffix, uint64_t age_s)
{
    const size_t at = sizeof QUARANTINE_COUNT - 1;
    char name[NAMES_SIZE];
    struct stat status;
    AUTO_FREE uint8_t *note = NULL;
    size_t size;
    snprintf(name, sizeof name, "%s%s.txt", identity, suffix);
    const bool is_read =
        fstatat(folder_fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        (uint64_t)(time(NULL) - status.st_mtim.tv_sec) < age_s &&
        file_read(folder_fd, name, QUARANTINE_NOTE_LIMIT, &note, &size) == STATUS_ok && size > at &&
        memcmp(note, QUARANTINE_COUNT, at) == 0;
    const unsigned digit = is_read ? note[at] - (unsigned)'0' : 0;
    return digit <= QUARANTINE_COUNT_MAX ? digit : 0;
}

/* How many were put away, by the notes that are younger; these are removed after 30 days. */
static unsigned quarantine_count(int folder_fd, const char identity[DIGEST_HEX_SIZE],
                                 uint64_t age_s)
{
    const unsigned files = quarantine_read_count(folder_fd, identity, CACHE_SUFFIX, age_s);
    const unsigned parts = quarantine_read_count(folder_fd, identity, PART_SUFFIX, age_s);
    return files > parts ? files : parts;
}

bool quarantine_is_full(int directory_fd, const char identity[DIGEST_HEX_SIZE])
{
    AUTO_CLOSE const int folder_fd = file_open_folder(directory_fd, QUARANTINE_FOLDER);
    return folder_fd >= 0 &&
           quarantine_count(folder_fd, identity, QUARANTINE_WEEK_S) >= QUARANTINE_MANY;
}

void quarantine_note(int directory_fd, const char identity[DIGEST_HEX_SIZE],
                     const struct envelope *envelope, const struct marker_history *history,
                     bool is_pulled, struct bytes *note)
{
    const struct driver_identity *driver = &envelope->identity;
    AUTO_CLOSE const int folder_fd = file_open_folder(directory_fd, QUARANTINE_FOLDER);
    const unsigned before = folder_fd < 0 ? 0 : quarantine_count(folder_fd, identity, UINT64_MAX);
    char digest[DIGEST_HEX_SIZE];
    char first[DEATH_SIZE];
    char second[DEATH_SIZE];
    char text[2048];
    digest_format(envelope->blob_digest, digest);
    quarantine_format_death(&history->first, first);
    quarantine_format_death(&history->second, second);
    const int length =
        snprintf(text, sizeof text,
                 QUARANTINE_COUNT "%u\ndevice: %s\ndriver: %s %s\ndriver version: 0x%08" PRIx32
                                  "\ngeneration: %016" PRIx64 "\nbytes: %" PRIu64
                                  "\ndigest: %s\nfirst death: %s\nsecond death: %s\n",
                 before + (!is_pulled && before < QUARANTINE_COUNT_MAX), driver->device_name,
                 driver->driver_name, driver->driver_info, driver->driver_version,
                 envelope->generation, envelope->blob_size, digest, first, second);
    bytes_put(note, text, (size_t)length);
}

static void quarantine_write_note(int folder_fd, const char *as, const struct bytes *note)
{
    char name[NAME_MAX + 1];
    int length = snprintf(name, sizeof name, "%s.txt", as);
    if (length < (int)sizeof name && !note->failed) {
        const struct iovec part = {.iov_base = note->data, .iov_len = note->size};
        file_replace(folder_fd, name, &part, 1);
    }
}

enum status quarantine_move(int directory_fd, const char *name, const char *as,
                            const struct bytes *note)
{
    if (!file_make_directory(directory_fd, QUARANTINE_FOLDER)) {
        return status_from_errno(errno);
    }
    AUTO_CLOSE const int folder_fd = file_open_folder(directory_fd, QUARANTINE_FOLDER);
    if (folder_fd < 0) {
        return status_from_errno(errno);
    }
    if (renameat(directory_fd, name, folder_fd, as) != 0) {
        return errno == ENOTDIR ? STATUS_not_a_file : status_from_errno(errno);
    }
    if (note) {
        quarantine_write_note(folder_fd, as, note);
    }
    return STATUS_ok;
}
