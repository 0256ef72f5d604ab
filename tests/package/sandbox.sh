#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: unshare -m sandbox.sh [FOLDER...] -- COMMAND...
# Runs COMMAND in a root of its own: what the machine has is there, read-only; /, /etc, /tmp, /opt, /mnt and
# /usr/local may be written and are gone afterwards. FOLDERs are shown where they are.
set -euo pipefail
root=$(mktemp -d)
trap 'rmdir "$root"' EXIT
mount --make-rprivate /
mount -t tmpfs -o mode=755 sandbox "$root"
trap 'umount -R -l "$root"; rmdir "$root"' EXIT

show() { # PATH, a folder or link
    if [ -L "$1" ]; then
        cp -P "$1" "$root$1"
    else
        mkdir -p "$root$1"
        mount --bind "$1" "$root$1"
        mount -o remount,bind,ro "$root$1"
    fi
}

# A folder that may be written, with all that it holds.
shadow() {
    local entry
    mkdir -p "$root$1"
    mount -t tmpfs -o mode=755 sandbox "$root$1"
    for entry in "$1"/*; do
        if [ -d "$entry" ]; then show "$entry"; elif [ -e "$entry" ]; then cp -P "$entry" "$root$entry"; fi
    done
}

for entry in /*; do
    case $entry in
    /dev | /proc | /sys) mkdir "$root$entry" && mount --rbind "$entry" "$root$entry" ;;
    /cache | /etc | /keys | /mnt | /opt | /tmp | /lost+found) ;;
    *) if [ -L "$entry" ] || [ -d "$entry" ]; then show "$entry"; fi ;;
    esac
done
cp -a /etc "$root/etc" 2>/dev/null || true
for entry in /usr/local /usr/local/bin /usr/local/lib /usr/local/share; do
    [ ! -d "$entry" ] || shadow "$entry"
done
mkdir -m 1777 "$root/tmp"
mkdir -p "$root/opt" "$root/mnt"
while [ "$1" != -- ]; do
    [ -e "$root$1" ] || show "$1"
    shift
done
shift
chroot "$root" "$@"
