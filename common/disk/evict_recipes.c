#include "evict.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file.h"
#include "file_owned.h"
#include "listing.h"
#include "recipe_folder.h"
#include "usage.h"

static bool is_own_file(int fd, struct stat *ret_status)
{
    return fstat(fd, ret_status) == 0 && S_ISREG(ret_status->st_mode) &&
           ret_status->st_uid == geteuid();
}

/* Removes a file that no living process owns and nobody has changed after `last_use`. The bytes
 * that it had. */
static uint64_t remove_dead(int folder_fd, const char *name, int64_t last_use, bool *locked)
{
    struct stat status;
    const int fd = file_open_abandoned(folder_fd, name);
    if (fd < 0) {
        *locked |= errno == EWOULDBLOCK;
        return 0;
    }
    const bool removed = is_own_file(fd, &status) && usage_modified(&status) <= last_use &&
                         unlinkat(folder_fd, name, 0) == 0;
    close(fd);
    return removed ? (uint64_t)status.st_size : 0;
}

/* Under the lock. */
static uint64_t remove_all(int folder_fd, int64_t last_use, bool *locked)
{
    DIR *listing = listing_open(folder_fd, ".");
    char identity[DIGEST_HEX_SIZE];
    const char *name;
    uint64_t bytes = 0;
    while (listing && (name = listing_next(listing))) {
        const enum recipe_name kind = recipe_folder_classify(name, identity);
        if (kind != RECIPE_NAME_FOREIGN && kind != RECIPE_NAME_LOCK) {
            bytes += remove_dead(folder_fd, name, last_use, locked);
        }
    }
    if (listing) {
        closedir(listing);
    }
    return bytes;
}

uint64_t evict_recipes(int directory_fd, int64_t last_use, bool *locked)
{
    int folder_fd;
    int lock_fd;
    uint64_t bytes = 0;
    if (recipe_folder_open_in(directory_fd, false, &folder_fd) != REASON_ok) {
        return 0;
    }
    if (file_lock(folder_fd, RECIPE_LOCK_NAME, 0, &lock_fd) == REASON_ok) {
        bytes = remove_all(folder_fd, last_use, locked);
        unlinkat(folder_fd, RECIPE_LOCK_NAME, 0);
        file_unlock(lock_fd);
    } else {
        *locked = true;
    }
    close(folder_fd);
    unlinkat(directory_fd, RECIPE_FOLDER, AT_REMOVEDIR); /* if it is empty now */
    return bytes;
}

void evict_recipe_leftovers(int directory_fd, int64_t before)
{
    int folder_fd;
    if (recipe_folder_open_in(directory_fd, false, &folder_fd) != REASON_ok) {
        return;
    }
    recipe_folder_sweep(folder_fd);
    DIR *listing = listing_open(folder_fd, ".");
    char identity[DIGEST_HEX_SIZE];
    const char *name;
    bool locked = false;
    while (listing && (name = listing_next(listing))) {
        if (recipe_folder_classify(name, identity) == RECIPE_NAME_REPLAYING) {
            remove_dead(folder_fd, name, before, &locked);
        }
    }
    if (listing) {
        closedir(listing);
    }
    close(folder_fd);
}
