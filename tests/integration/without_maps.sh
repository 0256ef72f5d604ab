#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# without_maps.sh PROGRAM ARGUMENT…: runs a program of tests where their folder can hold no crash page: on
# a file system that counts no inodes, as Btrfs. Pages elsewhere go with its own /dev/shm. Exit 77: this
# user may not mount.
unshare --mount true 2>/dev/null || { echo "may not mount here" && exit 77; }
folder=$(mktemp -d) || exit 1
unshare --mount sh -c '
memory() {
    mount -t tmpfs -o "$@" || { echo "may not mount here" && exit 77; }
}
memory nr_inodes=0,mode=1777 warmpipe "$0"
memory mode=1777 warmpipe /dev/shm
TEST_TMPDIR=$0 TMPDIR=$0 exec "$@"' "$folder" "$@"
status=$?
rmdir "$folder"
exit $status
