// SPDX-License-Identifier: Apache-2.0
#include "common/quota/quota.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/io.h"
#include "common/base/text.h"
#include "common/blobs/crash_page.h"
#include "common/blobs/identity_files.h"
#include "common/files/file.h"
#include "common/files/names.h"
#include "common/recipes/merge.h"

#define MAX_ENTRIES     ((size_t)1 << 19) /* in all folders */
#define MAX_APP_ENTRIES ((size_t)4096)    /* in the program's own */
#define DAY_S           ((uint64_t)24 * 60 * 60)
#define DAY_NS          ((int64_t)DAY_S * 1000000000)
#define MONTH_NS        (30 * DAY_NS)

/* The most that a save adds besides the cache data: the envelope and program.json. */
#define SAVE_OVERHEAD 4096

#define STAMP_PREFIX  ".limits."
#define STAMP_SIZE    64
#define STAMP_WAIT_MS 100

/* Scanning this many items is slow: free another eighth, so that the next saves need no scan. */
#define MANY_ITEMS 1024

/* Items. */

/* What is removed as a unit: an identity of a folder, or the rest of the folder. */
struct quota_item {
    char *app;                      /* owned by the item of the rest */
    char identity[DIGEST_HEX_SIZE]; /* "": the rest */
    uint64_t bytes;
    int64_t last_use;  /* nanoseconds since the epoch; the rest: that of the whole folder */
    bool is_of_future; /* that cannot be: some clock was wrong, and nobody knows when it was used */
};

struct quota_items {
    struct quota_item *items;
    size_t count;
    int64_t latest; /* no use is later */
    uint64_t bytes;
    uint64_t recipe_bytes; /* of these, recipes */
};

/* One call of quota_enforce. */
struct quota_run {
    const struct quota_limits *limits;
    int root_fd;
    int64_t now; /* nanoseconds since the epoch */
    struct quota_outcome *outcome;
};

static void quota_free_items(struct quota_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        if (!*items->items[i].identity) {
            free(items->items[i].app);
        }
    }
    free(items->items);
}

static void quota_add_item(struct quota_items *items, char *app, const char *identity,
                           uint64_t bytes, int64_t last_use)
{
    struct quota_item *item = &items->items[items->count++];
    *item = (struct quota_item){
        .app = app,
        .bytes = bytes,
        .last_use = last_use,
        .is_of_future = last_use > items->latest,
    };
    memcpy(item->identity, identity, strlen(identity) + 1);
    items->bytes += bytes;
}

/* False: out of memory. */
static bool quota_add_folder(struct quota_items *items, const char *name, const struct usage *usage)
{
    struct quota_item *more =
        reallocarray(items->items, items->count + usage->count + 1, sizeof *items->items);
    items->items = more ? more : items->items;
    char *app = more ? strdup(name) : NULL;
    if (!app) {
        return false;
    }
    quota_add_item(items, app, "", usage->other_bytes, usage->last_use);
    items->recipe_bytes += usage->recipe_bytes;
    for (size_t i = 0; i < usage->count; i++) {
        const struct usage_identity *identity = &usage->identities[i];
        quota_add_item(items, app, identity->identity, identity->bytes, identity->last_use);
    }
    return true;
}

/* Longest unused first, after what nobody knows of. The rest of a folder comes last: its last use
 * is that of the whole folder. */
static int quota_compare_items(const void *left, const void *right)
{
    const struct quota_item *a = left;
    const struct quota_item *b = right;
    if (a->is_of_future != b->is_of_future) {
        return a->is_of_future ? -1 : 1;
    }
    if (a->last_use != b->last_use) {
        return a->last_use < b->last_use ? -1 : 1;
    }
    return (*a->identity == '\0') - (*b->identity == '\0');
}

static bool quota_is_item_kept(const struct quota_run *run, const struct quota_item *item)
{
    const struct quota_limits *limits = run->limits;
    if (!*item->identity) {
        return strcmp(item->app, limits->app) == 0;
    }
    char *path;
    if (asprintf(&path, "%s/%s/%s%s", limits->root, item->app, item->identity, CACHE_SUFFIX) < 0) {
        return true;
    }
    bool in_use = in_use_contains(path);
    free(path);
    return in_use;
}

/* Folders of other users cannot be removed, so they do not count. */
static bool quota_open_own_folder(const struct quota_run *run, const char *app, int *ret_fd)
{
    int fd;
    struct stat status;
    if (file_open_directory(run->limits->root, app, false, &fd) != STATUS_ok) {
        return false;
    }
    if (fstat(fd, &status) != 0 || status.st_uid != geteuid()) {
        close(fd);
        return false;
    }
    *ret_fd = fd;
    return true;
}

/* Removes an identity, or the rest of a folder. Returns the bytes removed. */
static uint64_t quota_remove_item(const struct quota_run *run, const struct quota_item *item)
{
    AUTO_CLOSE int directory_fd = -1;
    uint64_t bytes = 0;
    if (quota_is_item_kept(run, item) ||
        file_open_directory(run->limits->root, item->app, false, &directory_fd) != STATUS_ok) {
        return 0;
    }
    if (!*item->identity) {
        bool locked = false;
        bytes = evict_rest(directory_fd, item->last_use, false, &locked);
    } else if (evict_identity(directory_fd, item->identity, item->last_use, &bytes)) {
        run->outcome->identities += bytes > 0;
    }
    if (strcmp(item->app, run->limits->app) != 0) {
        io_close(directory_fd); /* SMB removes no folder that is open */
        directory_fd = -1;
        unlinkat(run->root_fd, item->app, AT_REMOVEDIR); /* if empty now */
    }
    run->outcome->bytes += bytes;
    return bytes;
}

/* Removes items until at most `limit` bytes are left, or nothing more may be removed. */
static void quota_remove_items(const struct quota_run *run, struct quota_items *items,
                               uint64_t limit)
{
    if (!items->items || items->bytes <= limit) {
        return;
    }
    qsort(items->items, items->count, sizeof *items->items, quota_compare_items);
    for (size_t i = 0; i < items->count && items->bytes > limit; i++) {
        const struct quota_item *item = &items->items[i];
        if (item->bytes > 0 || !*item->identity) {
            uint64_t removed = quota_remove_item(run, item);
            items->bytes -= removed < items->bytes ? removed : items->bytes;
        }
    }
}

/* Removes what has expired in a folder (quarantined files, temporary files, leftovers of identities
 * without files), and adds the folder to the list. False: out of memory. */
static bool quota_scan_folder(const struct quota_run *run, const char *app, size_t *entries,
                              struct quota_items *items)
{
    AUTO_CLOSE int directory_fd = -1;
    struct usage usage;
    if (!quota_open_own_folder(run, app, &directory_fd)) {
        return true;
    }
    evict_quarantine(directory_fd, run->now - MONTH_NS);
    evict_temporaries(directory_fd);
    evict_recipe_leftovers(directory_fd, run->now - MONTH_NS);
    const enum status reason = usage_read(directory_fd, entries, &usage);
    if (reason != STATUS_ok) {
        return reason != STATUS_out_of_memory;
    }
    const size_t first = items->count;
    bool added = usage.last_use == INT64_MIN || quota_add_folder(items, app, &usage);
    usage_free(&usage);
    for (size_t i = first; i < items->count; i++) {
        const struct quota_item *item = &items->items[i];
        if (*item->identity && item->bytes == 0 && item->last_use < run->now - MONTH_NS) {
            quota_remove_item(run, item);
        }
    }
    return added;
}

/* Removes recipes of the program's own folder if it is still too large: an eighth more than needed,
 * so that the next saves need not do it again. Not where memory cannot hold them all. */
static void quota_prune_recipes(const struct quota_run *run, const struct quota_items *items)
{
    const struct quota_limits *limits = run->limits;
    const uint64_t least = limits->max_size / 8;
    if (items->bytes <= limits->max_size || items->recipe_bytes <= least) {
        return;
    }
    const uint64_t excess = items->bytes - limits->max_size;
    const uint64_t room = items->recipe_bytes > excess ? items->recipe_bytes - excess : 0;
    struct recipe_merge_limits within = {.max_size = room - room / 8};
    struct recipe_compaction compaction;
    within.max_size = within.max_size > least ? within.max_size : least;
    if (file_fits_memory(items->recipe_bytes) &&
        recipe_prune(limits->root, limits->app, &within, false, &compaction) == STATUS_ok &&
        compaction.bytes_before > compaction.bytes_after) {
        run->outcome->bytes += compaction.bytes_before - compaction.bytes_after;
    }
}

static void quota_enforce_size(const struct quota_run *run)
{
    AUTO(quota_free_items) struct quota_items items = {.latest = run->now + DAY_NS};
    size_t entries = MAX_APP_ENTRIES;
    if (quota_scan_folder(run, run->limits->app, &entries, &items)) {
        quota_remove_items(run, &items, run->limits->max_size);
        quota_prune_recipes(run, &items);
    }
}

/* The stamp: the file .limits.<uid> in the root, "<seconds since the epoch of the last scan>
 * <bytes>", says how much is in all folders, as far as this user's processes know without a scan.
 * It is locked while it is open, so that one process at a time scans. If it cannot be written,
 * nothing in the root can be removed either. */

struct quota_stamp {
    int fd;
    uint64_t scanned_at; /* seconds since the epoch; 0: never, or the file cannot be read */
    uint64_t bytes;      /* found by the last scan, and saved since */
};

/* A number and then `stop`. */
static bool quota_parse_stamp_number(const char **text, char stop, uint64_t *ret_number)
{
    return text_parse_digits(text, UINT64_MAX, ret_number) && *(*text)++ == stop;
}

/* The root may be a volume where everybody can create files: never write through a link to another
 * file of this user. */
static bool quota_is_own_stamp(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
           status.st_nlink == 1;
}

/* Opens and locks the stamp, after a wait of 100 ms at most. False: another process has it, or it
 * cannot be created. */
static bool quota_stamp_open(int root_fd, struct quota_stamp *ret_stamp)
{
    char name[32];
    snprintf(name, sizeof name, STAMP_PREFIX "%u", (unsigned)geteuid());
    struct quota_stamp stamp = {.fd = -1};
    if (file_lock(root_fd, name, STAMP_WAIT_MS, &stamp.fd) != STATUS_ok) {
        return false;
    }
    if (!quota_is_own_stamp(stamp.fd)) {
        file_unlock(stamp.fd);
        return false;
    }
    char text[STAMP_SIZE];
    ssize_t size = pread(stamp.fd, text, sizeof text - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    const char *at = text;
    *ret_stamp = stamp;
    if (!quota_parse_stamp_number(&at, ' ', &ret_stamp->scanned_at) ||
        !quota_parse_stamp_number(&at, '\n', &ret_stamp->bytes) || *at != '\0') {
        *ret_stamp = (struct quota_stamp){.fd = stamp.fd};
    }
    return true;
}

/* Writes both numbers if `write` is true, unlocks and closes. */
static void quota_stamp_close(struct quota_stamp *stamp, bool write)
{
    char text[STAMP_SIZE];
    int length =
        snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64 "\n", stamp->scanned_at, stamp->bytes);
    /* A torn stamp has no newline at its end, so the next process scans. */
    if (write && file_size_allowed((uint64_t)length) && ftruncate(stamp->fd, 0) == 0) {
        write = pwrite(stamp->fd, text, (size_t)length, 0) == length;
    }
    file_unlock(stamp->fd);
}

void quota_forget(int root_fd)
{
    const size_t prefix = strlen(STAMP_PREFIX);
    AUTO_LISTING DIR *listing = listing_open(root_fd, ".");
    const char *name;
    while ((name = listing_next(listing))) {
        const bool has_prefix = strncmp(name, STAMP_PREFIX, prefix) == 0;
        const size_t digits = has_prefix ? strspn(name + prefix, "0123456789") : 0;
        if (digits > 0 && name[prefix + digits] == '\0') {
            unlinkat(root_fd, name, 0);
        }
    }
}

/* All folders. */

/* False: not every folder could be scanned. */
static bool quota_scan_all_folders(const struct quota_run *run, struct quota_items *items)
{
    size_t entries = MAX_ENTRIES;
    AUTO_LISTING DIR *listing = listing_open(run->root_fd, ".");
    const char *name;
    bool enough_memory = listing;
    while (enough_memory && entries > 0 && (name = listing_next(listing))) {
        entries--;
        if (names_is_app(name)) {
            enough_memory = quota_scan_folder(run, name, &entries, items);
        }
    }
    return enough_memory;
}

static bool quota_is_scan_due(const struct quota_stamp *stamp, const struct quota_run *run)
{
    /* A time in the future wraps around, so that a scan is due as well. */
    const uint64_t now_s = (uint64_t)(run->now / 1000000000);
    return now_s - stamp->scanned_at >= DAY_S || stamp->bytes > run->limits->max_total;
}

static void quota_enforce_total(const struct quota_run *run, uint64_t written)
{
    const uint64_t limit = run->limits->max_total;
    struct quota_stamp stamp;
    if (!quota_stamp_open(run->root_fd, &stamp)) {
        return;
    }
    if (written > 0 && (__builtin_add_overflow(stamp.bytes, written, &stamp.bytes) ||
                        __builtin_add_overflow(stamp.bytes, SAVE_OVERHEAD, &stamp.bytes))) {
        stamp.bytes = UINT64_MAX;
    }
    bool known = true;
    if (quota_is_scan_due(&stamp, run)) {
        AUTO(quota_free_items) struct quota_items items = {.latest = run->now + DAY_NS};
        known = quota_scan_all_folders(run, &items);
        crash_page_sweep_elsewhere(run->now - MONTH_NS);
        if (items.bytes > limit) {
            quota_remove_items(run, &items, items.count > MANY_ITEMS ? limit - limit / 8 : limit);
        }
        stamp.bytes = items.bytes;
        stamp.scanned_at = (uint64_t)(run->now / 1000000000);
    }
    quota_stamp_close(&stamp, known);
}

void quota_enforce(const struct quota_limits *limits, uint64_t written,
                   struct quota_outcome *ret_outcome)
{
    *ret_outcome = (struct quota_outcome){0};
    const struct quota_run run = {
        .limits = limits,
        .root_fd = io_open(AT_FDCWD, limits->root, O_RDONLY | O_DIRECTORY),
        .now = (int64_t)clock_read_ns(CLOCK_REALTIME),
        .outcome = ret_outcome,
    };
    if (run.root_fd >= 0) {
        quota_enforce_size(&run);
        quota_enforce_total(&run, written);
        close(run.root_fd);
    }
}
