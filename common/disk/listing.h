/* The names in a directory, one after the other. */
#ifndef WARMPIPE_DISK_LISTING_H
#define WARMPIPE_DISK_LISTING_H

#include <dirent.h>

/* Opens the directory `name` of another one, "." for that itself; never through a symbolic link.
 * NULL: errno tells why. Closed with closedir(3). */
DIR *listing_open(int directory_fd, const char *name);

/* The next name but "." and "..", valid until the next call; NULL: that was all. */
const char *listing_next(DIR *listing);

#endif
