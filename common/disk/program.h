/* What has been learnt of a program: program.json in its folder, beside the caches.
 *
 *     {"format":1,"app_caches":"not_read"}
 *
 * Members may stand in any order, and those that a version does not know are none of its business:
 * it reads past them and writes them back as they were. Without app_caches, or with a value of it
 * that this version does not know, nothing is known. The file may be lost at any time; two
 * processes that save at once leave one of their files. Nothing here logs. Thread-safe. */
#ifndef WARMPIPE_DISK_PROGRAM_H
#define WARMPIPE_DISK_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/result.h"

#define PROGRAM_FILE_NAME  "program.json"
#define PROGRAM_FILE_LIMIT (64u << 10) /* bytes; a larger file is refused: too_large */

/* Whether the program does anything with the data of its own pipeline caches. */
enum program_caches {
    PROGRAM_CACHES_UNKNOWN,   /* nothing learnt yet */
    PROGRAM_CACHES_NOT_READ,  /* a run that came as far as a save has not read its caches back */
    PROGRAM_CACHES_READ_BACK, /* it does read them back */
};

struct program_facts {
    enum program_caches caches;
};

/* Reads root/app/program.json, which is trusted as any other file is (file.h). Otherwise than ok
 * *ret_facts says that nothing is known; no_file, or what file_read and program_decode give. */
enum reason program_load(const char *root, const char *app, struct program_facts *ret_facts);

/* Replaces the file, whole or not at all, and makes the folder if need be. A file that says the
 * same already is left alone; of one that cannot be read nothing is kept. Whether anything may be
 * written at all is for the caller to know (WARMPIPE_READONLY). */
enum reason program_save(const char *root, const char *app, const struct program_facts *facts);

/* The content of such a file. bad_program_file: damaged, or not of ours; bad_format_version.
 * Allocates nothing; nested at most 32 deep. */
enum reason program_decode(const void *data, size_t size, struct program_facts *ret_facts);

/* Appends the content of the file that is to replace one that holds `old` (NULL: there is none),
 * and of that every member that is not known here, where it can be decoded and there is room. */
void program_encode(const struct program_facts *facts, const void *old, size_t old_size,
                    struct bytes *out);

#endif
