#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: routes_test.sh SUITE DIRECTORY
# By hand, as root (needs debootstrap and a Debian mirror): in a bare Debian of SUITE below DIRECTORY (made if it is
# not there, and kept), from this checkout's last commit: the way of README.md for one user and for all, then that
# of docs/PACKAGING.md, below the user's ~/.local and for all. Each goes from nothing to a program that starts warm, and back to nothing.
set -euo pipefail
[ $# = 2 ] || { sed -n '3,6s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
suite=$1 root=$(realpath -m "$2")
source=$(realpath "$(dirname "$0")/../..")
# shellcheck source=tests/package/bare_root.sh
. "$source/tests/package/bare_root.sh"

bare_root "$suite" "$root"
if [ -e "$root/src/.git" ]; then
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$root/src" # it is another user's
    git -C "$root/src" fetch -q "$source" HEAD
    git -C "$root/src" checkout -q --force --detach FETCH_HEAD
else
    git clone -q "$source" "$root/src"
fi
id=$(inside "$root" id -u somebody 2>/dev/null) || {
    inside "$root" useradd --create-home somebody
    id=$(inside "$root" id -u somebody)
}

as_root() { inside "$root" env -C /src "$@"; }
as_user() {
    inside "$root" setpriv --reuid="$id" --regid="$id" --clear-groups env -C /src HOME=/home/somebody "$@"
}
same() { # BEFORE WHAT
    files "$root" | diff "$1" - || { echo "left behind by $2" >&2; exit 1; }
}
# What RADV keeps in the cache folder is its own.
forget_driver() {
    rm -f "$root"/home/somebody/.cache/radv_builtin_shaders*
    rmdir "$root/home/somebody/.cache" # warmpipe's folder in it has gone
}
# starts WHO: twice below the layer that is installed; the second start is warm.
starts() {
    rm -f "$root/tmp/stats"
    for _ in 1 2; do
        "$1" bash -ec 'mapfile -t driver < <(tests/drivers/environment radv-navi10)
            env "${driver[@]}" MESA_SHADER_CACHE_DISABLE=true WARMPIPE_ENABLE=1 WARMPIPE_STATS=/tmp/stats \
                build/tests/clients/pipelines/pipelines --compute 20 --graphics 0 >/dev/null'
    done
    grep -q '"event":"destroy".*"state":"loaded".*"driver_misses":0' "$root/tmp/stats" ||
        { cat "$root/tmp/stats" >&2; echo "not warm" >&2; exit 1; }
    rm -f "$root/tmp/stats"
}

rm -rf "$root"/home/somebody/.cache "$root"/home/somebody/.local # of a run that was broken off
chown "$id:$id" "$root/src"
as_root tools/quickstart # as under sudo, in a user's checkout
before=$(mktemp)
trap 'rm -f "$before"' EXIT

for who in as_user as_root; do
    files "$root" >"$before"
    "$who" build/tools/warmpipe install
    starts as_user
    as_user build/tools/warmpipe list
    as_user build/tools/warmpipe clear --yes
    "$who" build/tools/warmpipe uninstall
    forget_driver
    same "$before" "$who"
    echo "$suite: $who: from nothing to warm and back"
done

files "$root" >"$before"
as_user bash -c 'cmake --install build --prefix ~/.local >/dev/null'
starts as_user
as_user bash -c '"$HOME/.local/bin/warmpipe" list && "$HOME/.local/bin/warmpipe" clear --yes'
as_user cmake --build build --target uninstall >/dev/null
forget_driver
same "$before" "cmake --install below ~/.local"
echo "$suite: below ~/.local: from nothing to warm and back"

as_root cmake --preset release -DCMAKE_INSTALL_PREFIX=/usr -DWARMPIPE_BUILD_TESTS=OFF >/dev/null
as_root cmake --build --preset release >/dev/null
files "$root" >"$before"
as_root cmake --install build >/dev/null
starts as_user
as_user warmpipe list
as_user warmpipe clear --yes
as_root cmake --build build --target uninstall >/dev/null
forget_driver
same "$before" "the packager's way"
echo "$suite: the packager's way: from nothing to warm and back"
