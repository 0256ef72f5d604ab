#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What runs in a bare root can do there what it can do here: have namespaces of its own, which a mere chroot takes from it
# and with which tests play containers. The root is this machine's own, seen from elsewhere.
set -euo pipefail
# shellcheck source=tests/package/bare_root.sh
. "$(dirname "$0")/bare_root.sh"
[ "$(id -u)" = 0 ] || { echo "skip: needs root" && exit 77; }
unshare -m unshare -rm true 2>/dev/null || { echo "skip: no namespaces of users" && exit 77; }

root=$(mktemp -d)
trap 'rmdir "$root"' EXIT
export root
export -f inside
# shellcheck disable=SC2016
unshare -m bash -ec '
    mount --bind / "$root"
    inside "$root" unshare -rm true
    [ "$(inside "$root" sh -c "echo \$HOME:\${root-}")" = "/root:" ]
    inside "$root" sh -c "test -e /proc/self/stat && test -e /dev/null"
    [ "$(inside "$root" stat -c %i /)" = "$(stat -c %i "$root")" ]
    ! inside "$root" false'
