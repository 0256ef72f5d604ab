#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: musl_test.sh CMAKE SOURCE-DIRECTORY INCLUDE-DIRECTORY REGISTRY TOOL WORK-DIRECTORY
# The layer with musl, as on Alpine: it builds without a warning and needs nothing else, a program
# starts warm with it however it ends (musl_program.c), and TOOL, built with glibc, finds its files
# whole. Exit 77: skipped, there is no musl-gcc (Debian's musl-tools).
set -euo pipefail
cmake=$1 source=$2 include=$3 registry=$4 tool=$5 work=$6
command -v musl-gcc >/dev/null || { echo "skip: no musl-gcc" && exit 77; }
failures=0

expect() { # WHAT EXPECTED ACTUAL
    [ "$2" = "$3" ] || {
        printf 'expected %s: %s\nfound: %s\n' "$1" "$2" "$3" >&2
        failures=$((failures + 1))
    }
}

# What else lies in the system's folder of headers is glibc's.
mkdir -p "$work/include"
for name in linux asm asm-generic vulkan vk_video spirv-tools xxhash.h; do
    for folder in "$include" /usr/include "/usr/include/$(gcc -print-multiarch)"; do
        [ ! -e "$folder/$name" ] || { ln -sfn "$folder/$name" "$work/include/$name" && break; }
    done
done
"$cmake" -S "$source" --preset release -B "$work/build" -DCMAKE_C_COMPILER=musl-gcc \
    -DWARMPIPE_WERROR=ON -DWARMPIPE_BUILD_TESTS=OFF -DVULKAN_INCLUDE_DIR="$work/include" \
    -DXXHASH_INCLUDE_DIR="$work/include" -DSPIRV_TOOLS_INCLUDE_DIR="$work/include" \
    -DVULKAN_REGISTRY="$registry" >/dev/null
"$cmake" --build "$work/build" --target warmpipe_layer >"$work/log" || { cat "$work/log" >&2; exit 1; }
layer=$work/build/layer/libVkLayer_warmpipe.so
musl-gcc -std=gnu17 -O1 -fno-lto -Wall -Wextra -Wpedantic -Werror -D_GNU_SOURCE -DVK_NO_PROTOTYPES \
    -I "$source" -isystem "$work/include" -Wl,--gc-sections -o "$work/program" \
    "$source"/tests/package/musl_program.c "$source"/tests/icd/*.c \
    "$work/build/layer/libwarmpipe_layer_core.a" "$work/build/common/libwarmpipe_common.a"

dynamic=$(readelf --wide --dynamic "$layer")
expect "needed libraries" libc.so \
    "$(awk '/NEEDED/ {gsub(/[][]/, "", $NF); print $NF}' <<<"$dynamic" | paste -sd ' ')"
# musl refuses to load such a library once the program has started.
expect "static thread-local variables" "" "$(grep -o STATIC_TLS <<<"$dynamic" || true)"

# In memory: the end of a device waits a quarter of a second for a disk, and no longer.
files=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$files"' EXIT

# start END EXPECTED [VARIABLE=VALUE...]: "status hits misses" of a start that ends so. Commands take
# no more than half of the stack that threads have in musl.
start() {
    local end=$1 expected=$2 status=0
    shift 2
    rm -f "$work/stats"
    env -i WARMPIPE_DIR="$files/cache" WARMPIPE_APP=program WARMPIPE_STATS="$work/stats" "$@" \
        "$work/program" "$layer" "$end" >"$work/stacks" || status=$?
    touch "$work/stats"
    expect "end by $end" "$expected" "$status $(python3 -c '
import json, sys
lines = [json.loads(line)["pipelines"] for line in open(sys.argv[1])]
print(lines[-1]["driver_hits"], lines[-1]["driver_misses"]) if lines else print("-")' "$work/stats")"
    expect "stacks of at most 64 KiB" "" \
        "$(tr ' ' '\n' <"$work/stacks" | awk '$1 > 65536' | paste -sd ' ')"
}

# From the handlers of exit, musl's, the driver can be asked for what was compiled last.
printf '[test]\nsnapshot-at-exit = yes\n' >"$work/policy"
rm -rf "$files/cache"
start exit "0 0 8" WARMPIPE_POLICY="$work/policy" WARMPIPE_FLUSH_IDLE_MS=60000
start destroy "0 8 0"
rm -rf "$files/cache"
start destroy "0 0 8"
for end in destroy handler pthread_exit cancel dlclose; do
    start "$end" "0 8 0"
done
start fork "0 8 8" # it has compiled eight more
start kill "137 -"
start destroy "0 8 0"
found=$("$tool" verify --json "$files/cache" | python3 -c '
import json, sys
print(*sorted({file["reason"] for file in json.load(sys.stdin)["files"]}))')
expect "files" ok "$found"
[ "$failures" = 0 ]
