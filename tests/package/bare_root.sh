# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# For scripts that try things in a Debian that has nothing yet. Needs root, debootstrap, and the Debian mirror that
# apt is configured with.

# bare_root SUITE DIRECTORY: makes the root if it is not there.
bare_root() {
    local suite=$1 root=$2 mirror
    if [ ! -e "$root/etc/debian_version" ]; then
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 -E '/debian/?$') ||
            { echo "apt is configured with no Debian mirror" >&2 && return 1; }
        debootstrap --variant=minbase --include=ca-certificates,git "$suite" "$root" "$mirror" >/dev/null
    fi
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    # A mirror that stands still is here what it is for this machine.
    apt-config dump Acquire::Check-Valid-Until >"$root/etc/apt/apt.conf.d/99valid"
}

# inside DIRECTORY COMMAND...: with nothing of this machine's environment; what is mounted goes with the command. The
# directory is moved to where the root of all mounts is: in a mere chroot the kernel lets nobody have namespaces of users.
inside() {
    unshare --mount --pid --fork -- /bin/sh -ec '
        root=$1
        shift
        mount --bind "$root" "$root" # tests mount below what is their root, which must be a mount itself
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount --rbind /sys "$root/sys"
        cd "$root"
        mount --move . /
        exec chroot . env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive "$@"' inside "$@"
}

# files DIRECTORY: all that an installation may change.
files() {
    (cd "$1" && find etc usr opt home -path usr/share/doc -prune -o -path '*/__pycache__' -prune -o \
        -print | sort)
}
