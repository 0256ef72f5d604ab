#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: library_test.sh LIBRARY SIZED
# The layer enters every Vulkan process: it needs libc alone, also one that is older than what it was
# built with, exports what the loader asks for, is never unloaded, and is small.
set -euo pipefail
library=$1 sized=$2
failures=0

expect() { # WHAT EXPECTED ACTUAL
    [ "$2" = "$3" ] || {
        printf 'expected %s: %s\nfound: %s\n' "$1" "$2" "$3" >&2
        failures=$((failures + 1))
    }
}

dynamic=$(readelf --wide --dynamic "$library")
symbols=$(readelf --wide --dyn-syms "$library" | awk '$1 ~ /^[0-9]+:$/')

# The dynamic linker itself is a part of libc: thread-local variables need it.
expect "needed libraries" libc.so.6 \
    "$(awk '/NEEDED/ {gsub(/[][]/, "", $NF); print $NF}' <<<"$dynamic" | grep -v '^ld-' | paste -sd ' ')"
expect "exported symbols" vkNegotiateLoaderLayerInterfaceVersion \
    "$(awk '$7 != "UND" {print $8}' <<<"$symbols" | sort -u | paste -sd ' ')"
expect "imports from elsewhere than libc" "" \
    "$(awk '$7 == "UND" && $5 != "WEAK" && $8 != "" && $8 !~ /@GLIBC_/ {print $8}' <<<"$symbols" |
        paste -sd ' ')"
# docs/CONTAINERS.md promises it for images of an older distribution. With glibc of 2.38 and newer, strtoul and
# scanf are such symbols. (An architecture that came later has nothing older than its first version.)
versions=$(grep -o '@GLIBC_2[0-9.]*' <<<"$symbols" | cut -c 8- | sort -uV)
newest=$(tail -n 1 <<<"$versions")
allowed=$(printf '2.34\n%s\n' "$(head -n 1 <<<"$versions")" | sort -V | tail -n 1)
expect "no symbols newer than glibc $allowed" "$allowed" \
    "$(printf '%s\n' "$allowed" "$newest" | sort -V | tail -n 1)"
# Nor what glibc must be able to do, which is no symbol: GLIBC_ABI_DT_RELR, packed relocations, came with 2.36.
expect "no abilities of a newer glibc" "" \
    "$(readelf --wide --version-info "$library" | grep -o 'GLIBC_ABI_[A-Z0-9_]*' | sort -u | paste -sd ' ')"
expect "flag" NODELETE "$(grep -o NODELETE <<<"$dynamic" || true)"
expect "flag" NOW "$(grep FLAGS_1 <<<"$dynamic" | grep -ow NOW || true)"
expect "stack" RW "$(readelf --wide --program-headers "$library" | awk '/GNU_STACK/ {print $7}')"

stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$library"
size=$(stat -c %s "$stripped")
# Ubuntu's compilers guard each stack by themselves, and mark each target of a jump: a fifteenth more code.
limit=300000
[[ $symbols != *__stack_chk_fail* ]] || limit=325000
# Of other compilers, and with a distribution's own flags, it is what it is (-O3 and ThinLTO: up to a sixth more).
if [ "$sized" = 1 ]; then
    expect "at most $limit bytes when stripped, of $size" yes "$([ "$size" -le $limit ] && echo yes || echo no)"
else
    echo "$size bytes when stripped"
fi

[ "$failures" = 0 ]
