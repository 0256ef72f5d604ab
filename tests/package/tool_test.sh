#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: tool_test.sh TOOL STATIC
# `warmpipe run` stands before programs, so what a start of the tool loads is looked at: no libcurl, and, where
# the library of C++ could be linked statically (STATIC is 1), not that one either.
set -euo pipefail
tool=$1 static=$2
allowed='libc\.|libm\.|libdl\.|ld-linux|libsodium\.|libzstd\.|libhiredis'
[ "$static" = 1 ] || allowed+='|libstdc\+\+\.|libgcc_s\.|libSPIRV-Tools'
needed=$(readelf --wide --dynamic "$tool" | awk '/NEEDED/ {gsub(/[][]/, "", $NF); print $NF}')
others=$(grep -vE "^($allowed)" <<<"$needed" || true)
[ -z "$others" ] || {
    printf 'each start of the tool loads %s\n' "$others" >&2
    exit 1
}
