#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/setup on a machine that has nothing, with a distribution that is played: `offers` names its packages,
# `installed` is what it was asked for, and `update` fails where `offline` is.
set -euo pipefail
setup=$(realpath "$(dirname "$0")/../../tools/setup")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for tool in awk bash cat env mktemp rm sed tail xargs; do
    ln -s "$(command -v $tool)" "$work/bin/$tool"
done
play() { # NAME: a command, from standard input
    { echo "#!$work/bin/bash" && cat; } >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}
echo 'echo 0' | play id
play apt-cache <<'END'
shift
for name; do
    candidate='(none)'
    [[ " $(cat offers) " != *" $name "* ]] || candidate=1:1.0
    echo "$name:"
    echo "  Candidate: $candidate"
done
END
play apt-get <<'END'
case " $* " in
*" update "*) [ ! -e offline ] || { echo "no network" && exit 100; } ;;
*" install "*) echo "$*" >>installed ;;
esac
END

set_up() { # OFFERS: sets `status`, `told`
    echo "$1" >"$work/offers"
    : >"$work/installed"
    status=0
    told=$(cd "$work" && env -i PATH="$work/bin" "$work/bin/bash" "$setup" check 2>&1) || status=$?
}
fail() {
    printf '%s\n' "$1" "$told" >&2
    exit 1
}

set_up 'cmake chromium-chromedriver mpv'
grep -q ' cmake.* mpv' "$work/installed" || fail "what is offered was not installed"
! grep -q chromium-chromedriver "$work/installed" || fail "a package was installed that only fetches a snap"
[ $status = 1 ] || fail "ninja is needed and was not found"

# The format of the sources is judged by two versions alone, and the distribution's own need not be one of them.
set_up 'clang-format clang-format-19'
grep -q ' clang-format-19$' "$work/installed" || fail "a clang-format was installed that cannot judge"
play clang-format-14 </dev/null
set_up 'clang-format clang-format-19'
! grep -q clang-format "$work/installed" || fail "clang-format-14 was here"

set_up ''
[ ! -s "$work/installed" ] || fail "nothing was to be installed"
[[ $told == *"check can use command chromium (Debian package chromium)"* ]] || fail "chromium was not named"
[[ $told != *failed* ]] || fail "what is not offered has not failed"

: >"$work/offline"
set_up ''
[[ $told == *"no network"*"setup: failed: apt-get install"* ]] || fail "the reason was not told"

# What a user is told to type must work: apt-get installs nothing at all where it does not know one of the names.
echo 'echo 1000' | play id
set_up 'cmake mpv'
[[ $told == *$'apt-get install --no-install-recommends cmake mpv\n'* ]] || fail "a name was to be typed that is not offered"
[[ $told == *"not offered here"*" chromium "* ]] || fail "chromium was not named to a user"
