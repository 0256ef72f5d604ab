#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: packaging_test.sh SOURCE-DIRECTORY VERSION
# What lies in packaging/ is read by each distribution's own parser, where that is installed, names this
# version, and lists what is installed.
set -euo pipefail
cd "$1/packaging"
version=$2

tried=0
try() { # TOOL COMMAND...
    local tool=$1
    shift
    command -v "$tool" >/dev/null || return 0
    tried=$((tried + 1))
    "$@" >/dev/null || { echo "$tool refuses it" >&2; exit 1; }
}

try rpmspec rpmspec --parse rpm/warmpipe.spec
try shellcheck shellcheck arch/PKGBUILD
try nix-instantiate nix-instantiate --parse nix/default.nix
try flatpak-builder flatpak-builder --show-manifest \
    flatpak/org.freedesktop.Platform.VulkanLayer.warmpipe.yml
bash -n arch/PKGBUILD
python3 - ../.github/workflows/check.yml flatpak/*.yml <<'END'
import sys
try:
    import yaml
except ImportError:
    sys.exit(0)
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        assert isinstance(yaml.safe_load(file), dict), path
END
for file in rpm/warmpipe.spec arch/PKGBUILD nix/default.nix; do
    grep -qE "(Version: +|pkgver=|version = \")$version\"?;?$" "$file" ||
        { echo "packaging/$file is not of version $version" >&2; exit 1; }
done
echo "$tried of 4 parsers are here"
