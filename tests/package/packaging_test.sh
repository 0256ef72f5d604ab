#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: packaging_test.sh SOURCE-DIRECTORY VERSION rpm|arch|nix|flatpak|systemd|workflow CMAKE TOOL
# What lies in packaging/ for a distribution, or the forge's workflow: it is of this version, and the distribution's own
# tools, as far as Debian has them, can read it and have no error to tell. What it tells CMake puts files where they are
# looked for. Exit status 77, and which is not here: skipped.
set -euo pipefail
version=$2 what=$3 cmake=$4 tool=$5
cd "$1/packaging"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

lacking=()
try() { # TOOL COMMAND...
    if command -v "$1" >/dev/null; then
        "${@:2}" >/dev/null || { echo "$1 refuses it" >&2; exit 1; }
    else
        lacking+=("$1")
    fi
}
is_of_version() { # FILE
    grep -qE "(Version: +|pkgver=|version = \")$version\"?;?$" "$1" ||
        { echo "packaging/$1 is not of version $version" >&2; exit 1; }
}

case $what in
rpm)
    is_of_version rpm/warmpipe.spec
    try rpmspec rpmspec --parse rpm/warmpipe.spec
    try rpmlint rpmlint rpm/warmpipe.spec
    # Fedora's and openSUSE's.
    for folder in /usr/share/doc /usr/share/doc/packages; do
        command -v rpmspec >/dev/null || break
        rpmspec --parse --define "_defaultdocdir $folder" rpm/warmpipe.spec >"$work/spec"
        grep -qx "%doc $folder/warmpipe" "$work/spec" &&
            grep -qE -- "-DCMAKE_INSTALL_DOCDIR=$folder/warmpipe( |$)" "$work/spec" ||
            { echo "the pages are not installed in $folder/warmpipe, where %files has them" >&2; exit 1; }
    done
    ;;
arch)
    is_of_version arch/PKGBUILD
    bash -n arch/PKGBUILD
    # What makepkg asks of it.
    (
        # shellcheck source=packaging/arch/PKGBUILD
        . arch/PKGBUILD
        [ -n "$pkgname" ] && [ -n "$pkgver" ] && [ -n "$pkgrel" ] && [ -n "${arch[0]}" ]
        declare -F build package >/dev/null
    ) || { echo "PKGBUILD lacks something" >&2; exit 1; }
    try shellcheck shellcheck arch/PKGBUILD
    ;;
nix)
    is_of_version nix/default.nix
    try nix-instantiate nix-instantiate --parse nix/default.nix
    # nixpkgs has one of these names, the first since 2026.
    for name in xxhash xxHash; do
        try nix-instantiate nix-instantiate --eval --readonly-mode --store dummy:// --expr "
            let names = [ \"$name\" \"cmake\" \"curl\" \"hiredis\" \"libsodium\" \"ninja\" \"pkg-config\" \"python3\"
                    \"spirv-tools\" \"vulkan-headers\" \"vulkan-loader\" \"vulkan-utility-libraries\" \"zstd\" ];
                pkgs = builtins.listToAttrs (map (name: { inherit name; value = name; }) names)
                    // { stdenv.mkDerivation = given: given; };
            in assert builtins.elem \"$name\" (import $PWD/nix/default.nix { inherit pkgs; }).buildInputs; true"
    done
    ;;
flatpak)
    manifest=flatpak/org.freedesktop.Platform.VulkanLayer.warmpipe.yml
    try flatpak-builder flatpak-builder --show-manifest "$manifest"
    # In the sandbox the extension is mounted in a folder of its own, and its manifests are links beside that: they must
    # name the library where it is.
    status=0
    /usr/bin/python3 - "$manifest" >"$work/options" <<'END' || status=$?
import sys
try:
    import yaml
except ImportError:
    sys.exit(77)
with open(sys.argv[1], encoding="utf-8") as file:
    manifest = yaml.safe_load(file)
print("-DCMAKE_INSTALL_PREFIX=" + manifest["build-options"]["prefix"], *manifest["modules"][0]["config-opts"], sep="\n")
END
    case $status in
    0)
        mapfile -t options <"$work/options"
        "$cmake" -S .. -B "$work/build" -G Ninja "${options[@]}" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
        library=/usr/lib/extensions/vulkan/warmpipe/lib/libVkLayer_warmpipe.so
        for kind in implicit explicit; do
            grep -qF "\"library_path\": \"$library\"" "$work/build/manifest/$kind/VkLayer_warmpipe.json" ||
                { echo "the $kind manifest does not name $library" >&2; exit 1; }
        done
        touch "$work/build/layer/libVkLayer_warmpipe.so" # as if it were built
        DESTDIR=$work/root "$cmake" -P "$work/build/layer/cmake_install.cmake" >"$work/log" 2>&1 &&
            [ -e "$work/root$library" ] || { cat "$work/log" >&2; echo "the library is not installed as $library" >&2; exit 1; }
        ;;
    77) lacking+=("PyYAML") ;;
    *) exit 1 ;;
    esac
    ;;
systemd)
    units=$work/root/usr/share/systemd/user
    mkdir -p "$units" "$work/run"
    cp systemd/* "$units"
    try systemctl systemctl --quiet --root="$work/root" --global enable warmpipe-warm.timer
    ! command -v systemctl >/dev/null || [ -L "$work/root/etc/systemd/user/timers.target.wants/warmpipe-warm.timer" ] ||
        { echo "the timer was not enabled" >&2; exit 1; }
    # What it starts is not installed where it looks.
    sed -i "s|^ExecStart=warmpipe |ExecStart=$tool |" "$units/warmpipe-warm.service"
    grep -qF "=$tool warm" "$units/warmpipe-warm.service"
    says_nothing() { ! "$@" 2>&1 | tee /dev/stderr | grep -q .; }
    try systemd-analyze says_nothing env XDG_RUNTIME_DIR="$work/run" systemd-analyze --user verify --man=no "$units"/*
    WARMPIPE_DIR=$work/caches "$tool" warm >/dev/null 2>&1
    # What the tool says where nothing is to be written is no failure.
    works=0
    WARMPIPE_READONLY=Yes WARMPIPE_DIR=$work/caches "$tool" warm >"$work/log" 2>&1 || works=$?
    grep -q "^SuccessExitStatus=.*\b$works\b" "$units/warmpipe-warm.service" ||
        { echo "with WARMPIPE_READONLY=Yes the service ends: $works" >&2; exit 1; }
    ;;
workflow)
    # Its commands are there, it runs in the images that the README names, and has three times as long as that says they take on slow machines.
    status=0
    /usr/bin/python3 - ../.github/workflows/check.yml <<'END' || status=$?
import os, sys
try:
    import yaml
except ImportError:
    sys.exit(77)
with open(sys.argv[1], encoding="utf-8") as file:
    job = yaml.safe_load(file)["jobs"]["check"]
for image in ("debian:12", "debian:13", "ubuntu:24.04"):
    assert image in job["strategy"]["matrix"]["image"], image
with open("../README.md", encoding="utf-8") as file:
    assert ": half an hour on two cores, an hour and a half on slow ones" in " ".join(file.read().split()), "the README gives tools/check another time: adapt the workflow's"
assert job["timeout-minutes"] >= 240, job["timeout-minutes"]
commands = [step["run"] for step in job["steps"] if "run" in step]
for command in ("tools/quickstart", "tools/check"):
    assert command in commands and os.access("../" + command, os.X_OK), command
END
    case $status in
    0) ;;
    77) lacking+=("PyYAML") ;;
    *) exit 1 ;;
    esac
    ;;
esac
[ ${#lacking[@]} -eq 0 ] || { echo "not here: ${lacking[*]}"; exit 77; }
