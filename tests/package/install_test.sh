#!/usr/bin/env bash
# usage: install_test.sh CMAKE BUILD-DIRECTORY
# Installed under any prefix, without ldconfig and without root, the layer is found by the loader
# through either manifest.
set -euo pipefail
cmake=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/first" >/dev/null
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
