#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: deb_test.sh PACKAGE.deb DIRECTORY
# By hand, as root (needs debootstrap and a Debian mirror): lintian has no error to tell of the
# package; in a fresh Debian below DIRECTORY (made if it is not there) it installs with what it
# depends on, a program gets the layer, and when it is purged, nothing of it is left.
set -euo pipefail
package=$1 root=$2
suite=${SUITE:-bookworm}

lintian --fail-on error "$package"
[ -e "$root/bin/sh" ] || debootstrap --variant=minbase "$suite" "$root"
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
files() { (cd "$root" && find etc usr opt -path usr/share/doc -prune -o -print | sort); }

inside apt-get install -y --no-install-recommends libvulkan1 libstdc++6 mesa-vulkan-drivers >/dev/null
files >"$root/tmp/before"
cp "$package" "$root/tmp/warmpipe.deb"
inside apt-get install -y --no-install-recommends /tmp/warmpipe.deb >/dev/null
inside warmpipe --version
mountpoint -q "$root/proc" || mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
inside env HOME=/root WARMPIPE_ENABLE=1 warmpipe doctor | tee "$root/tmp/doctor"
grep -q '^layer  *ok ' "$root/tmp/doctor"
inside apt-get purge -y warmpipe >/dev/null
files | diff "$root/tmp/before" - && echo "nothing is left"
