#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: deb_test.sh PACKAGE.deb DIRECTORY
# By hand, as root (needs debootstrap and a Debian mirror): lintian has no error to tell of the package; in a Debian
# (SUITE, bookworm) below DIRECTORY (made if it is not there) it installs with what it depends on, also over an earlier
# version, says what it is for, is hardened, has its debug symbols beside it, makes a second start warm (doctor) and
# reaches vkcube; when it is purged, nothing of it is left.
set -euo pipefail
package=$1 root=$(realpath -m "$2")
suite=${SUITE:-bookworm}
# shellcheck source=tests/package/bare_root.sh
. "$(dirname "$0")/bare_root.sh"

field() { dpkg-deb --field "$package" "$1"; }
[ "$(field Multi-Arch)" = same ] && [ -n "$(field Homepage)" ] || { echo "fields are missing" >&2; exit 1; }
[[ $(field Depends) == *libc6* ]] || { echo "it depends on nothing" >&2; exit 1; }
symbols=$(compgen -G "${package%/*}/warmpipe-dbgsym_*deb") || { echo "no debug symbols beside it" >&2; exit 1; }
[ "$(dpkg-deb --contents "$symbols" | grep -c '/usr/lib/debug/.build-id/.*[.]debug$')" -ge 2 ]

dpkg-deb --contents "$package" | awk '/^d/ && $1 != "drwxr-xr-x" {print; closed = 1} END {exit closed}'
dpkg-deb --contents "$package" | grep -q '/usr/share/zsh/vendor-completions/_warmpipe$'

bare_root "$suite" "$root"
in_root() { inside "$root" "$@"; }
in_root apt-get update >/dev/null
in_root apt-get install -y --no-install-recommends libvulkan1 mesa-vulkan-drivers vulkan-tools xvfb xauth lintian \
    devscripts >/dev/null
in_root apt-get install -y --no-install-recommends mesa-drm-shim >/dev/null 2>&1 || true # Debian 12 has none and needs none
in_root apt-get purge -y --auto-remove warmpipe >/dev/null 2>&1 || true # of a run that was broken off
files "$root" >"$root/tmp/before"
cp "$package" "$root/tmp/warmpipe.deb"
in_root lintian --fail-on error /tmp/warmpipe.deb
# First an earlier version, which had a file more.
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
dpkg-deb --raw-extract "$package" "$old"
sed -i 's/^Version: .*/Version: 0.0.1/' "$old/DEBIAN/control"
touch "$old/usr/share/vulkan/of-an-earlier-version"
dpkg-deb --build "$old" "$root/tmp/old.deb" >/dev/null
in_root apt-get install -y --no-install-recommends /tmp/old.deb >/dev/null
in_root apt-get install -y --no-install-recommends /tmp/warmpipe.deb >/dev/null
[ ! -e "$root/usr/share/vulkan/of-an-earlier-version" ]
in_root dpkg --verify warmpipe
in_root warmpipe --version
# Control-flow marks: hardening_test.sh looks for them in the objects, for the linker drops them. Branch protection is of
# arm64, and Debian 13's tool alone asks for it.
in_root sh -c 'hardening-check --nocfprotection $(hardening-check --help | grep -om1 -e --nobranchprotection) /usr/lib/*/warmpipe/warmpipe /usr/lib/*/libVkLayer_warmpipe.so'
# RADV compiles without a GPU; what it draws nobody sees.
driver=$("${0%/*}/../drivers/environment" --root "$root" radv-navi10)
mapfile -t driver <<<"$driver"
in_root env WARMPIPE_ENABLE=1 "${driver[@]}" warmpipe doctor >"$root/tmp/doctor" || true
cat "$root/tmp/doctor"
grep -q '^layer  *ok ' "$root/tmp/doctor" && grep -q 'the second start is warm' "$root/tmp/doctor"
in_root env WARMPIPE_ENABLE=1 WARMPIPE_STATS=/tmp/stats timeout 60 xvfb-run -a vkcube --c 3 >/dev/null 2>&1 || true
grep -q '"event":"destroy","pid":[0-9]*,"app":"vkcube' "$root/tmp/stats" || { echo "vkcube: no layer" >&2; exit 1; }
rm -rf "$root/tmp/stats" "$root/root/.cache"
in_root apt-get purge -y --auto-remove warmpipe >/dev/null
files "$root" | diff "$root/tmp/before" - && echo "nothing is left"
