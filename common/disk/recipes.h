/* Recipes, read: what a program asked for, as it lies in segments (docs/FORMAT.md, "Recipes").
 *
 * A segment is a header and records, each with a digest of its own: SPIR-V by its digest, canonical
 * forms by theirs, the device environments they were used in, and the uses that tie a pipeline to
 * an environment. Segments are mapped read-only, what is committed of them only: they are only ever
 * appended to by the process that made them, or replaced by rename, so processes share their pages
 * and nothing is copied. Opening reads the index, or, of a segment that its process has not
 * sealed, the records' headers; a record's own digest is checked when it is first asked for.
 *
 * A damaged record is dropped and counted, those before and after it are kept. Of one digest the
 * first record that checks out counts. Not thread-safe while it is opened; any number of threads
 * may ask an open one. */
#ifndef WARMPIPE_DISK_RECIPES_H
#define WARMPIPE_DISK_RECIPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/result.h"
#include "codec/digest.h"

enum recipe_kind {
    RECIPE_CODE = 1,        /* SPIR-V; digest: XXH3-128 of it */
    RECIPE_FORM = 2,        /* a canonical form of any object; digest: its content digest */
    RECIPE_ENVIRONMENT = 3, /* driver/environment.h; digest: XXH3-128 of it */
};

/* One pipeline in one environment. */
struct recipe_use {
    struct digest pipeline;    /* content digest; its form is a RECIPE_FORM */
    struct digest environment; /* of the device that it was created on */
    uint32_t last_day;         /* of its last use: days since 1970-01-01 UTC */
    uint32_t days;             /* on how many days it was used */
    uint32_t compile_us;       /* how long the driver compiled it, microseconds; 0: unknown */
};

/* Bytes; a file from elsewhere that is larger is not read (too_large). */
#define RECIPES_MAX_FILE ((uint64_t)1 << 30)

/* What could not be used. */
struct recipe_damage {
    uint64_t records;   /* dropped */
    uint64_t segments;  /* files that could not be read at all */
    enum reason reason; /* of the first; REASON_ok: none */
};

struct recipes;

/* How files are looked at: a tool maps them, so that processes share their pages; a program that
 * the layer is in reads what it asks for, for a disk that fails is SIGBUS in a mapping. It keeps 32
 * descriptors open at most. */
enum recipes_access { RECIPES_MAP, RECIPES_READ };

/* Opens all segments of the program `app` below the absolute path `root`. no_file: there are none;
 * directory_*: as file_open_directory. Segments of a newer or foreign format are passed over, and
 * left as they are. *ret_recipes is closed by the caller. */
enum reason recipes_open(const char *root, const char *app, enum recipes_access access,
                         struct recipes **ret_recipes);

/* Reads the uses, closes the files and gives back what memory it can: recipes_have and the uses
 * still answer, recipes_find does not. To be called before others ask. */
void recipes_detach(struct recipes *recipes);

/* Opens one file, such as an exported one, wherever it lies and whoever wrote it: it is read into
 * memory, for a file of somebody else's may change or be cut short at any time. Also bad_magic,
 * bad_format_version, truncated. */
enum reason recipes_open_file(const char *path, struct recipes **ret_recipes);

/* NULL is a no-op. */
void recipes_close(struct recipes *recipes);

/* Whether there is such a record, whole or not: reads the index alone. */
bool recipes_have(const struct recipes *recipes, enum recipe_kind kind, struct digest digest);

/* The record's bytes, borrowed until recipes_close, aligned at 4; checked against the digest.
 * False: there is none that checks out. */
bool recipes_find(const struct recipes *recipes, enum recipe_kind kind, struct digest digest,
                  const void **ret_data, size_t *ret_size);

/* All uses, those of one pipeline in one environment added up; those of one environment stand
 * together, which is in the order of its digests. Borrowed. */
size_t recipes_uses(const struct recipes *recipes, const struct recipe_use **ret_uses);

/* The use of a pipeline in an environment, or NULL. */
const struct recipe_use *recipes_find_use(const struct recipes *recipes, struct digest pipeline,
                                          struct digest environment);

/* Bytes of all segments. */
uint64_t recipes_size(const struct recipes *recipes);

struct recipe_damage recipes_damage(const struct recipes *recipes);

#endif
