// SPDX-License-Identifier: Apache-2.0
/* The crashed pipelines of recipes.h. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/bytes.h"
#include "common/files/file.h"
#include "common/recipes/crash_list.h"
#include "common/recipes/recipes.h"

/* More deaths than this, and nothing is compiled ahead. */
#define DEATHS_ALLOWED 1

struct recipe_crashes {
    struct crash_list listed;
    struct digest identity;
    char *root;
    char *app;
    pid_t process;
    struct file_kept file;
    char name[NAME_MAX + 1]; /* of the file */
    unsigned threads;        /* 0: nothing is written */
};

/* What is open in this process, for crashes_close_in_child. Without a free place it is not noted: a
 * forked child then keeps the lock. */
static _Atomic(struct recipe_crashes *) open_crashes[16];

/* A forked child that lives on would keep the lock of its parent's file: if the parent crashed, it
 * would seem alive. */
static void crashes_close_in_child(void)
{
    for (size_t i = 0; i < sizeof open_crashes / sizeof *open_crashes; i++) {
        struct recipe_crashes *crashes = atomic_load(&open_crashes[i]);
        if (crashes) {
            file_kept_close(&crashes->file);
        }
    }
}

static void crashes_register_fork_handler(void)
{
    pthread_atfork(NULL, NULL, crashes_close_in_child);
}

static void crashes_replace_open(struct recipe_crashes *before, struct recipe_crashes *now)
{
    bool replaced = false;
    for (size_t i = 0; !replaced && i < sizeof open_crashes / sizeof *open_crashes; i++) {
        struct recipe_crashes *expected = before;
        replaced = atomic_compare_exchange_strong(&open_crashes[i], &expected, now);
    }
}

/* Writes all places at once, so that the disk has room for them when they are needed. */
static enum status crashes_write_empty_places(const struct recipe_crashes *crashes)
{
    uint8_t data[CRASH_MAGIC_SIZE + RECIPE_CRASHES_THREADS * CRASH_PLACE_SIZE] = {0};
    const size_t size = CRASH_MAGIC_SIZE + (size_t)crashes->threads * CRASH_PLACE_SIZE;
    memcpy(data, crash_list_magic, sizeof crash_list_magic);
    if (!file_size_allowed(size)) {
        return STATUS_disk_full;
    }
    const ssize_t written = pwrite(crashes->file.fd, data, size, 0);
    return written == (ssize_t)size ? STATUS_ok
           : written < 0            ? status_from_errno(errno)
                                    : STATUS_disk_full;
}

static enum status crashes_make_process_file(struct recipe_crashes *crashes, int folder_fd)
{
    char digits[DIGEST_HEX_SIZE];
    struct file_owned file;
    digest_format(crashes->identity, digits);
    if (!file_create_owned(folder_fd, digits, RECIPE_REPLAYING_SUFFIX, &file)) {
        return status_from_errno(errno);
    }
    crashes->file = file_keep(file.fd);
    memcpy(crashes->name, file.name, sizeof file.name);
    const enum status status = file.locked ? crashes_write_empty_places(crashes) : STATUS_io_error;
    if (status != STATUS_ok) {
        unlinkat(folder_fd, file.name, 0);
        file_kept_close(&crashes->file);
    }
    return status;
}

static enum status crashes_open_files(struct recipe_crashes *crashes)
{
    AUTO_CLOSE int folder_fd = -1;
    const bool writes = crashes->threads > 0;
    enum status status = recipe_folder_open(crashes->root, crashes->app, writes, &folder_fd);
    if (status == STATUS_ok) {
        status = crash_list_read(folder_fd, crashes->identity, !writes, &crashes->listed);
    }
    return status == STATUS_ok && writes ? crashes_make_process_file(crashes, folder_fd) : status;
}

enum status recipe_crashes_open(const char *root, const char *app, struct digest identity,
                                unsigned threads, struct recipe_crashes **ret_crashes)
{
    struct recipe_crashes *crashes = calloc(1, sizeof *crashes);
    if (!crashes) {
        return STATUS_out_of_memory;
    }
    crashes->identity = identity;
    crashes->root = strdup(root);
    crashes->app = strdup(app);
    crashes->threads = threads < RECIPE_CRASHES_THREADS ? threads : RECIPE_CRASHES_THREADS;
    crashes->process = getpid();
    crashes->file.fd = -1;
    const enum status status =
        crashes->root && crashes->app ? crashes_open_files(crashes) : STATUS_out_of_memory;
    if (status == STATUS_ok) {
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, crashes_register_fork_handler);
        crashes_replace_open(NULL, crashes);
        *ret_crashes = crashes;
    } else {
        recipe_crashes_close(crashes);
    }
    return status;
}

/* Opens the folder again: a kept descriptor could be the program's by now. */
static void crashes_remove_process_file(const struct recipe_crashes *crashes)
{
    AUTO_CLOSE int folder_fd = -1;
    if (recipe_folder_open(crashes->root, crashes->app, false, &folder_fd) == STATUS_ok) {
        unlinkat(folder_fd, crashes->name, 0);
    }
}

void recipe_crashes_close(struct recipe_crashes *crashes)
{
    if (!crashes) {
        return;
    }
    crashes_replace_open(crashes, NULL);
    /* The child of a fork leaves the file to its parent. */
    if (crashes->file.fd >= 0 && crashes->process == getpid()) {
        crashes_remove_process_file(crashes);
    }
    file_kept_close(&crashes->file);
    crash_list_free(&crashes->listed);
    free(crashes->root);
    free(crashes->app);
    free(crashes);
}

bool recipe_crashes_have(const struct recipe_crashes *crashes, struct digest pipeline)
{
    const struct crash_list *list = &crashes->listed;
    return list->count > 0 &&
           bsearch(&pipeline, list->digests, list->count, sizeof pipeline, digest_order);
}

bool recipe_crashes_have_any(const struct recipe_crashes *crashes)
{
    return crashes->listed.count > 0 || crashes->listed.deaths > 0;
}

size_t recipe_crashes_list(const struct recipe_crashes *crashes, const struct digest **ret_list)
{
    *ret_list = crashes->listed.digests;
    return crashes->listed.count;
}

bool recipe_crashes_are_many_of(const char *root, const char *app, struct digest identity)
{
    AUTO(crash_list_free) struct crash_list list = {0};
    AUTO_CLOSE int folder_fd = -1;
    if (recipe_folder_open(root, app, false, &folder_fd) == STATUS_ok) {
        crash_list_read(folder_fd, identity, false, &list);
    }
    return list.deaths > DEATHS_ALLOWED;
}

bool recipe_crashes_are_many(const struct recipe_crashes *crashes)
{
    return crashes->listed.deaths > DEATHS_ALLOWED;
}

static bool crashes_write_place(struct recipe_crashes *crashes, unsigned thread,
                                const uint8_t *place)
{
    const off_t offset = CRASH_MAGIC_SIZE + (off_t)thread * CRASH_PLACE_SIZE;
    return thread < crashes->threads && crashes->process == getpid() &&
           file_kept_is_ours(&crashes->file) &&
           pwrite(crashes->file.fd, place, CRASH_PLACE_SIZE, offset) == CRASH_PLACE_SIZE;
}

bool recipe_crashes_begin(struct recipe_crashes *crashes, unsigned thread, struct digest pipeline)
{
    uint8_t memory[CRASH_PLACE_SIZE];
    struct bytes place = {.data = memory, .capacity = sizeof memory};
    crash_list_put_place(&place, pipeline);
    return crashes->threads == 0 || crashes_write_place(crashes, thread, memory);
}

void recipe_crashes_late(struct recipe_crashes *crashes, unsigned thread)
{
    recipe_crashes_begin(crashes, thread, (struct digest){0});
}

void recipe_crashes_end(struct recipe_crashes *crashes, unsigned thread)
{
    const uint8_t nothing[CRASH_PLACE_SIZE] = {0};
    crashes_write_place(crashes, thread, nothing);
}
