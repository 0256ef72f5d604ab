#include "limits.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "envelope.h"
#include "evict.h"
#include "file.h"
#include "in_use.h"
#include "limits_stamp.h"
#include "listing.h"
#include "names.h"
#include "recipe_compact.h"
#include "usage.h"

#define MAX_ENTRIES     ((size_t)65536) /* of all folders */
#define MAX_APP_ENTRIES ((size_t)4096)  /* of the program's own */
#define DAY_S           ((uint64_t)24 * 60 * 60)
#define MONTH_NS        ((int64_t)30 * 24 * 60 * 60 * 1000000000)

/* What a save adds besides the cache data, at most: the envelope and what was learnt. */
#define SAVE_OVERHEAD 4096

/* Of as many items a look is dear: then an eighth more goes, so that the next saves need none. */
#define MANY_ITEMS 1024

/* What goes as one: an identity of a folder, or the rest of the folder. */
struct item {
    char *app;                      /* owned by the rest's item */
    char identity[DIGEST_HEX_SIZE]; /* "": the rest */
    uint64_t bytes;
    int64_t last_use; /* nanoseconds since the epoch; of the rest: that of the whole folder */
};

struct items {
    struct item *items;
    size_t count;
    uint64_t bytes;
    uint64_t recipe_bytes; /* among them */
};

/* One call of limits_enforce. */
struct enforcement {
    const struct limits *limits;
    int root_fd;
    int64_t now; /* nanoseconds since the epoch */
    struct limits_outcome *outcome;
};

static void free_items(struct items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        if (!*items->items[i].identity) {
            free(items->items[i].app);
        }
    }
    free(items->items);
}

static void add_item(struct items *items, char *app, const char *identity, uint64_t bytes,
                     int64_t last_use)
{
    struct item *item = &items->items[items->count++];
    *item = (struct item){.app = app, .bytes = bytes, .last_use = last_use};
    memcpy(item->identity, identity, strlen(identity) + 1);
    items->bytes += bytes;
}

/* False: out of memory. */
static bool add_folder(struct items *items, const char *name, const struct usage *usage)
{
    struct item *more =
        reallocarray(items->items, items->count + usage->count + 1, sizeof *items->items);
    items->items = more ? more : items->items;
    char *app = more ? strdup(name) : NULL;
    if (!app) {
        return false;
    }
    add_item(items, app, "", usage->other_bytes, usage->last_use);
    items->recipe_bytes += usage->recipe_bytes;
    for (size_t i = 0; i < usage->count; i++) {
        const struct usage_identity *identity = &usage->identities[i];
        add_item(items, app, identity->identity, identity->bytes, identity->last_use);
    }
    return true;
}

/* The longest unused first; of a folder the rest last, for its last use is that of all in it. */
static int compare(const void *left, const void *right)
{
    const struct item *a = left;
    const struct item *b = right;
    if (a->last_use != b->last_use) {
        return a->last_use < b->last_use ? -1 : 1;
    }
    return (*a->identity == '\0') - (*b->identity == '\0');
}

static bool is_kept(const struct enforcement *enforcement, const struct item *item)
{
    const struct limits *limits = enforcement->limits;
    if (!*item->identity) {
        return strcmp(item->app, limits->app) == 0;
    }
    char *path;
    if (asprintf(&path, "%s/%s/%s%s", limits->root, item->app, item->identity, ENVELOPE_SUFFIX) <
        0) {
        return true;
    }
    bool in_use = in_use_contains(path);
    free(path);
    return in_use;
}

/* Nothing of another user's can be removed, so it does not count either. */
static bool open_own_folder(const struct enforcement *enforcement, const char *app, int *ret_fd)
{
    int fd;
    struct stat status;
    if (file_open_directory(enforcement->limits->root, app, false, &fd) != REASON_ok) {
        return false;
    }
    if (fstat(fd, &status) != 0 || status.st_uid != geteuid()) {
        close(fd);
        return false;
    }
    *ret_fd = fd;
    return true;
}

/* An identity, or what its folder still holds besides. The bytes that were removed. */
static uint64_t remove_item(const struct enforcement *enforcement, const struct item *item)
{
    int directory_fd;
    uint64_t bytes = 0;
    if (is_kept(enforcement, item) || file_open_directory(enforcement->limits->root, item->app,
                                                          false, &directory_fd) != REASON_ok) {
        return 0;
    }
    if (!*item->identity) {
        bool locked = false;
        bytes = evict_rest(directory_fd, item->last_use, false, &locked);
    } else if (evict_identity(directory_fd, item->identity, item->last_use, &bytes)) {
        enforcement->outcome->identities += bytes > 0;
    }
    close(directory_fd);
    if (strcmp(item->app, enforcement->limits->app) != 0) {
        unlinkat(enforcement->root_fd, item->app, AT_REMOVEDIR); /* if it is empty now */
    }
    enforcement->outcome->bytes += bytes;
    return bytes;
}

/* Removes items until `limit` bytes are left at most, or nothing that may go. */
static void shrink(const struct enforcement *enforcement, struct items *items, uint64_t limit)
{
    if (items->bytes <= limit) {
        return;
    }
    qsort(items->items, items->count, sizeof *items->items, compare);
    for (size_t i = 0; i < items->count && items->bytes > limit; i++) {
        const struct item *item = &items->items[i];
        if (item->bytes > 0 || !*item->identity) {
            uint64_t removed = remove_item(enforcement, item);
            items->bytes -= removed < items->bytes ? removed : items->bytes;
        }
    }
}

/* Reads one folder into the list, having swept it: what waits there for its time to run out, and
 * what is left of identities that have no files. False: out of memory. */
static bool look_at(const struct enforcement *enforcement, const char *app, size_t *entries,
                    struct items *items)
{
    int directory_fd;
    struct usage usage;
    if (!open_own_folder(enforcement, app, &directory_fd)) {
        return true;
    }
    evict_quarantine(directory_fd, enforcement->now - MONTH_NS);
    evict_temporaries(directory_fd);
    evict_recipe_leftovers(directory_fd, enforcement->now - MONTH_NS);
    enum reason reason = usage_read(directory_fd, entries, &usage);
    close(directory_fd);
    if (reason != REASON_ok) {
        return reason != REASON_out_of_memory;
    }
    const size_t first = items->count;
    bool added = usage.last_use == INT64_MIN || add_folder(items, app, &usage);
    usage_free(&usage);
    for (size_t i = first; i < items->count; i++) {
        const struct item *item = &items->items[i];
        if (*item->identity && item->bytes == 0 && item->last_use < enforcement->now - MONTH_NS) {
            remove_item(enforcement, item);
        }
    }
    return added;
}

/* What is left to take from the program's own folder. An eighth more goes at once, so that the next
 * saves need not do it again. */
static void shrink_recipes(const struct enforcement *enforcement, const struct items *items)
{
    const struct limits *limits = enforcement->limits;
    const uint64_t least = limits->max_size / 8;
    if (items->bytes <= limits->max_size || items->recipe_bytes <= least) {
        return;
    }
    const uint64_t excess = items->bytes - limits->max_size;
    const uint64_t room = items->recipe_bytes > excess ? items->recipe_bytes - excess : 0;
    struct recipe_merge_limits within = {.max_size = room - room / 8};
    struct recipe_compaction compaction;
    within.max_size = within.max_size > least ? within.max_size : least;
    if (recipe_prune(limits->root, limits->app, &within, false, &compaction) == REASON_ok &&
        compaction.bytes_before > compaction.bytes_after) {
        enforcement->outcome->bytes += compaction.bytes_before - compaction.bytes_after;
    }
}

static void enforce_size(const struct enforcement *enforcement)
{
    struct items items = {0};
    size_t entries = MAX_APP_ENTRIES;
    if (look_at(enforcement, enforcement->limits->app, &entries, &items)) {
        shrink(enforcement, &items, enforcement->limits->max_size);
        shrink_recipes(enforcement, &items);
    }
    free_items(&items);
}

/* False: not all could be looked at. */
static bool look_at_all(const struct enforcement *enforcement, struct items *items)
{
    size_t entries = MAX_ENTRIES;
    DIR *listing = listing_open(enforcement->root_fd, ".");
    const char *name;
    bool enough_memory = listing;
    while (enough_memory && entries > 0 && (name = listing_next(listing))) {
        entries--;
        if (names_is_app(name)) {
            enough_memory = look_at(enforcement, name, &entries, items);
        }
    }
    if (listing) {
        closedir(listing);
    }
    return enough_memory;
}

static bool is_due(const struct limits_stamp *stamp, const struct enforcement *enforcement)
{
    /* A time that is yet to come wraps round, and is due as well. */
    const uint64_t now_s = (uint64_t)(enforcement->now / 1000000000);
    return now_s - stamp->looked_at >= DAY_S || stamp->bytes > enforcement->limits->max_total;
}

static void enforce_total(const struct enforcement *enforcement, uint64_t written)
{
    const uint64_t limit = enforcement->limits->max_total;
    struct limits_stamp stamp;
    if (!limits_stamp_open(enforcement->root_fd, &stamp)) {
        return;
    }
    if (written > 0 && (__builtin_add_overflow(stamp.bytes, written, &stamp.bytes) ||
                        __builtin_add_overflow(stamp.bytes, SAVE_OVERHEAD, &stamp.bytes))) {
        stamp.bytes = UINT64_MAX;
    }
    bool known = true;
    if (is_due(&stamp, enforcement)) {
        struct items items = {0};
        known = look_at_all(enforcement, &items);
        if (items.bytes > limit) {
            shrink(enforcement, &items, items.count > MANY_ITEMS ? limit - limit / 8 : limit);
        }
        stamp.bytes = items.bytes;
        stamp.looked_at = (uint64_t)(enforcement->now / 1000000000);
        free_items(&items);
    }
    limits_stamp_close(&stamp, known);
}

void limits_enforce(const struct limits *limits, uint64_t written,
                    struct limits_outcome *ret_outcome)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *ret_outcome = (struct limits_outcome){0};
    const struct enforcement enforcement = {
        .limits = limits,
        .root_fd = open(limits->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .now = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
        .outcome = ret_outcome,
    };
    if (enforcement.root_fd >= 0) {
        enforce_size(&enforcement);
        enforce_total(&enforcement, written);
        close(enforcement.root_fd);
    }
}
