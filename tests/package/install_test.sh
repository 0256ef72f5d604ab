#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: install_test.sh CMAKE BUILD-DIRECTORY
# Installed under any prefix, without ldconfig and without root, the layer is found by the loader
# through either manifest.
set -euo pipefail
cmake=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(umask 077 && "$cmake" --install "$build" --prefix "$work/first" >/dev/null)
closed=$(find "$work/first" -mindepth 1 -not -perm -444)
[ -z "$closed" ] || { echo "others cannot read what a umask of 077 has installed: $closed" >&2; exit 1; }
mv "$work/first" "$work/prefix" # nothing in it may name the place where it was made

# in_chain NAME ENVIRONMENT...: a device that this program creates is counted by the layer.
in_chain() {
    local name=$1
    shift
    env XDG_DATA_DIRS="$work/prefix/share:/usr/local/share:/usr/share" HOME="$work" \
        WARMPIPE_DIR="$work/cache" WARMPIPE_STATS="$work/$name.json" "$@" \
        vulkaninfo >"$work/$name.log" 2>&1 || true
    grep -q '"event":"destroy"' "$work/$name.json" 2>/dev/null
}

in_chain implicit WARMPIPE_ENABLE=1 || { cat "$work/implicit.log"; echo "implicit: not found" >&2; exit 1; }
in_chain explicit VK_INSTANCE_LAYERS=VK_LAYER_WARMPIPE_pipeline_cache ||
    { cat "$work/explicit.log"; echo "explicit: not found" >&2; exit 1; }
! in_chain neither || { echo "in the chain without being asked for" >&2; exit 1; }

# Who cannot write the lists in the build folder (root has made it) gets no half installation.
other="setpriv --reuid=54321 --regid=54321 --clear-groups"
if [ "$(id -u)" = 0 ] && ! $other test -r "$build/cmake_install.cmake"; then
    echo "not tried: another user does not come to the build folder"
elif [ "$(id -u)" = 0 ]; then
    mkdir "$work/other" && chown 54321 "$work/other" && chmod 755 "$work"
    ! $other "$cmake" --install "$build" --prefix "$work/other/.local" \
        >"$work/other.log" 2>&1 && grep -q 'belongs to another user' "$work/other.log" && [ -z "$(ls -A "$work/other")" ] ||
        { cat "$work/other.log"; find "$work/other"; echo "half an installation" >&2; exit 1; }
fi

# Removed again, nothing is left, and what was there before stays.
mkdir -p "$work/home/share/vulkan/implicit_layer.d"
echo '{}' >"$work/home/share/vulkan/implicit_layer.d/other.json"
"$cmake" --install "$build" --prefix "$work/home" >/dev/null
[ -x "$work/home/bin/warmpipe" ] && [ -e "$work/home/share/man/man1/warmpipe.1" ] ||
    { echo "not all was installed" >&2; exit 1; }
# Each page that the tool names in a message.
named=$(grep -aoE '[A-Z]{4,}\.md' "$work/home/bin/warmpipe" | sort -u)
[ -n "$named" ]
for page in $named; do
    [ -e "$work/home/share/doc/warmpipe/$page" ] || { echo "$page is named, but not installed" >&2; exit 1; }
done
"$cmake" --build "$build" --target uninstall >/dev/null
left=$(cd "$work/home" && find . -mindepth 1 | sort | tr '\n' ' ')
[ "$left" = "./share ./share/vulkan ./share/vulkan/implicit_layer.d ./share/vulkan/implicit_layer.d/other.json " ] ||
    { echo "left behind: $left" >&2; exit 1; }

# Folders that were empty before, as in a fresh /usr/local, are so again, and there; also after a second installation.
mkdir -p "$work/local/bin" "$work/local/share/man" "$work/local/lib"
for _ in 1 2; do
    "$cmake" --install "$build" --prefix "$work/local" >/dev/null
done
"$cmake" --build "$build" --target uninstall >/dev/null
left=$(cd "$work/local" && find . -mindepth 1 | sort | tr '\n' ' ')
[ "$left" = "./bin ./lib ./share ./share/man " ] || { echo "not as it was: $left" >&2; exit 1; }
mkdir "$work/empty"
"$cmake" --install "$build" --prefix "$work/empty/.local" >/dev/null
"$cmake" --build "$build" --target uninstall >/dev/null
[ -d "$work/empty" ] && [ -z "$(ls -A "$work/empty")" ] || { echo "not as it was: empty" >&2; exit 1; }

# Made for a package (DESTDIR), it is taken back from there, and what is installed at the same place stays.
mkdir "$work/stage"
"$cmake" --install "$build" --prefix "$work/live" >/dev/null
DESTDIR=$work/stage/ "$cmake" --install "$build" --prefix "$work/live" >/dev/null
"$cmake" --build "$build" --target uninstall >/dev/null
left=$(cd "$work/stage" && find . -mindepth 1 | sort | tr '\n' ' ')
[ -z "$left" ] || { echo "left behind below DESTDIR: $left" >&2; exit 1; }
[ -x "$work/live/bin/warmpipe" ] || { echo "uninstall of what DESTDIR got took the installation away" >&2; exit 1; }
rm -r "$work/live"

# The way of the README for one user: into an empty home, for every program, and back to nothing.
tool=$build/tools/warmpipe
as_user() { env -u XDG_DATA_HOME HOME="$work/user" "$@"; }
mkdir "$work/user"
as_user "$tool" install --user --always >/dev/null
env -u XDG_DATA_HOME HOME="$work/user" WARMPIPE_DIR="$work/cache" WARMPIPE_STATS="$work/always.json" \
    vulkaninfo >/dev/null 2>&1 || true
grep -q '"event":"destroy"' "$work/always.json" || { echo "--always: not in the chain" >&2; exit 1; }
as_user "$tool" uninstall --user >/dev/null
left=$(cd "$work/user" && find . -mindepth 1 -not -path './.cache*' | sort | tr '\n' ' ')
[ -z "$left" ] || { echo "left behind by uninstall: $left" >&2; exit 1; }
