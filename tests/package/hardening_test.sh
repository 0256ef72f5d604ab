#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: hardening_test.sh CMAKE SOURCE-DIRECTORY WORK-DIRECTORY
# The layer as the preset `package` builds it, without a warning: protected stacks, checked copies, relocations
# that are read-only before the program runs, and on x86 control-flow marks in every object. Layer and tool link
# with what distributions ask of gcc (makepkg, rpmbuild).
set -euo pipefail
cmake=$1 source=$2 work=$3
failures=0

case $("${CC:-cc}" --version) in
*"Free Software Foundation"*) export CFLAGS=-flto=auto CXXFLAGS=-flto=auto ;;
esac
# Arch and Fedora; linkers that do not know it leave it out with a warning.
export LDFLAGS="${LDFLAGS:-} -Wl,-z,pack-relative-relocs"
"$cmake" -S "$source" --preset package -B "$work" -DWARMPIPE_WERROR=ON >/dev/null
"$cmake" --build "$work" --target warmpipe_layer warmpipe_tool >"$work/log" || { cat "$work/log" >&2; exit 1; }
library=$work/layer/libVkLayer_warmpipe.so

has() { # WHAT PATTERN: in the text on standard input
    grep -qE "$2" || { echo "the library of the package has no $1" >&2; failures=$((failures + 1)); }
}

abilities=$(readelf --wide --version-info "$library" | grep -o 'GLIBC_ABI_[A-Z0-9_]*' | sort -u) || true
[ -z "$abilities" ] || { echo "the library needs what older C libraries lack: $abilities" >&2; failures=1; }
symbols=$(readelf --wide --dyn-syms "$library")
dynamic=$(readelf --wide --dynamic "$library")
has "protected stacks" ' __stack_chk_fail(@|$)' <<<"$symbols"
has "checked copies" ' __[a-z]+_chk(@|$)' <<<"$symbols"
has "immediate binding" '\(FLAGS_1\).*\bNOW\b' <<<"$dynamic"
has "read-only relocations" '^ *GNU_RELRO ' <<<"$(readelf --wide --program-headers "$library")"
case $(uname -m) in
x86_64 | i?86)
    # Of the objects: the linker drops the marks where those of the C library have none.
    while IFS= read -r object; do
        has "control-flow marks in $(basename "$object")" 'IBT, SHSTK' \
            <<<"$(readelf --wide --notes "$object")"
    done < <(find "$work/layer" "$work/common" -name '*.c.o')
    ;;
esac
[ "$failures" = 0 ]
