#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: packaging_test.sh SOURCE-DIRECTORY VERSION rpm|arch|nix|flatpak|workflow
# What lies in packaging/ for a distribution, or the forge's workflow: it is of this version, and the distribution's own
# tools, as far as Debian has them, can read it and have no error to tell. Exit status 77, and which is not here: skipped.
set -euo pipefail
version=$2 what=$3
cd "$1/packaging"

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
    ;;
flatpak)
    try flatpak-builder flatpak-builder --show-manifest flatpak/org.freedesktop.Platform.VulkanLayer.warmpipe.yml
    ;;
workflow)
    # Its commands are there, it runs in the images that the README names, and has several times as long as that says they take.
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
    assert ": 25 minutes on two cores" in file.read(), "the README gives tools/check another time: adapt the workflow's"
assert job["timeout-minutes"] >= 150, job["timeout-minutes"]
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
