/* The folder `recipes/` of a program, and the names in it: docs/FORMAT.md. */
#ifndef WARMPIPE_DISK_RECIPE_FOLDER_H
#define WARMPIPE_DISK_RECIPE_FOLDER_H

#include <stdbool.h>

#include "base/result.h"
#include "codec/digest.h"
#include "listing.h"

#define RECIPE_FOLDER    "recipes"
#define RECIPE_SUFFIX    ".wprecipes"
#define RECIPE_LOCK_NAME "lock"

/* <identity>.crashed, the list; <identity>.<random>.replaying, what a process is at. */
#define RECIPE_CRASHED_SUFFIX   ".crashed"
#define RECIPE_REPLAYING_SUFFIX ".replaying"

enum recipe_name {
    RECIPE_NAME_FOREIGN,
    RECIPE_NAME_SEGMENT,   /* <random>.wprecipes */
    RECIPE_NAME_CRASHED,   /* of an identity */
    RECIPE_NAME_REPLAYING, /* likewise */
    RECIPE_NAME_LOCK,
    RECIPE_NAME_TEMPORARY
};

/* What a file in the folder is, by its name. ret_identity is written for the kinds that have one.
 * Thread-safe. */
enum recipe_name recipe_folder_classify(const char *name, char ret_identity[DIGEST_HEX_SIZE]);

/* The next name of a segment in the folder's listing, valid until the next call; NULL: that was
 * all. */
const char *recipe_folder_next_segment(DIR *listing);

/* Removes the temporary files of dead processes. */
void recipe_folder_sweep(int folder_fd);

/* Opens the folder of a program, through that program's own, with the checks of
 * file_open_directory for both; create: makes what is missing. *ret_fd is closed by the caller. */
enum reason recipe_folder_open(const char *root, const char *app, bool create, int *ret_fd);

/* The same, in a program's folder that is open. */
enum reason recipe_folder_open_in(int app_fd, bool create, int *ret_fd);

#endif
