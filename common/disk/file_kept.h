/* A descriptor that stays open in a program. A program that closes all that it does not know (as
 * daemons do) may have made a file of its own of the number: so nothing is closed or written by
 * number alone. Thread-safe as to different ones. */
#ifndef WARMPIPE_DISK_FILE_KEPT_H
#define WARMPIPE_DISK_FILE_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

struct file_kept {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
};

/* Takes the descriptor over. */
struct file_kept file_keep(int fd);

/* Whether the number still stands for the file. */
bool file_kept_is_ours(const struct file_kept *kept);

/* Closes it, if it is still ours; there is none then. */
void file_kept_close(struct file_kept *kept);

#endif
