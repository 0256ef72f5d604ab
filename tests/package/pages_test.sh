#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: pages_test.sh TOOL PAGES
# The manual pages and completions, against the program: every verb has a page that names each of
# its options, and each shell that is here offers exactly the verbs and options that there are.
set -euo pipefail
tool=$1 pages=$2
failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work WARMPIPE_DIR=$work/cache PATH=${tool%/*}:$PATH

expect() { # WHAT EXPECTED ACTUAL, lists of words in any order
    local expected actual
    expected=$(printf '%s\n' $2 | sort -u)
    actual=$(printf '%s\n' $3 | sort -u)
    [ "$expected" = "$actual" ] || {
        printf '%s: expected\n%s\nfound\n%s\n' "$1" "$expected" "$actual" >&2
        failures=$((failures + 1))
    }
}

verbs=$("$tool" --help | sed -n '/^verbs:$/,/^$/s/^  \([a-z]*\) .*/\1/p')
options_of() { "$tool" "$1" --help | sed -n 's/^  \(-.\|  \) --\([a-z-]*\).*/--\2/p'; }

bash_offers() { # WORDS...: what is offered for the last one
    bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _warmpipe
                    printf "%s\n" "${COMPREPLY[@]}"' "$pages/completions/warmpipe" "$@"
}
fish_offers() {
    fish --no-config -c "source '$pages/completions/warmpipe.fish'; complete -C '$*'" | cut -f 1
}
zsh_offers() { # the options that its specifications name
    sed -n "/^        $1)\$/,/;;/p" "$pages/completions/_warmpipe" | grep -o "'--[a-z-]*" | tr -d "'"
}

main_options() { grep -o -- '-[hV]\|--[a-z]*'; }
expect "page of warmpipe" "$("$tool" --help | sed -n '/^options:$/,$s/  show.*//p' | main_options)" \
    "$(sed -n '/^[.]SH OPTIONS$/,/^[.]SH EXIT/s/\\-/-/g; /^\\fB-.*\\fR$/p' "$pages/man/warmpipe.1" | main_options)"
bash -n "$pages/completions/warmpipe"
expect "bash: verbs" "$verbs --help --version" "$(bash_offers warmpipe '')"
for verb in $verbs; do
    options=$(options_of "$verb")
    page=$pages/man/warmpipe-$verb.1
    named=$(sed -n 's/\\-/-/g; s/^.*\\fB\(--[a-z-]*\)\\fR.*$/\1/p' "$page")
    expect "page of $verb" "$options" "$named"
    grep -q "warmpipe.-$verb (1)" "$pages/man/warmpipe.1" || {
        echo "warmpipe.1 does not name $verb" >&2
        failures=$((failures + 1))
    }
    expect "bash: $verb" "$options" "$(bash_offers warmpipe "$verb" --)"
    expect "zsh: $verb" "$options" "$(zsh_offers "$verb")"
    if command -v fish >/dev/null; then
        expect "fish: $verb" "$options" "$(fish_offers "warmpipe $verb --")"
    fi
done
if command -v zsh >/dev/null; then
    zsh -n "$pages/completions/_warmpipe"
fi
if command -v fish >/dev/null; then
    expect "fish: verbs" "$verbs" "$(fish_offers 'warmpipe ')"
fi

# What an option's argument is completed with.
mkdir -p -m 700 "$work/cache/my-app" "$work/place/folder"
echo '{"format":1}' >"$work/cache/my-app/program.json"
chmod 600 "$work/cache/my-app/program.json"
expect "bash: programs" my-app "$(bash_offers warmpipe list --app '')"
cd "$work/place"
touch file
expect "bash: directories" folder "$(bash_offers warmpipe list --dir '')"
expect "bash: directories behind =" folder "$(bash_offers warmpipe list --dir = f)"
expect "bash: directories at =" folder "$(bash_offers warmpipe list --dir =)"
expect "bash: files" "file folder" "$(bash_offers warmpipe inspect '')"
expect "bash: what is merged" "file folder" "$(bash_offers warmpipe merge '')"
touch -- --file
expect "bash: a program's own options" --file "$(bash_offers warmpipe run ls --f)"
expect "bash: a program's own options behind --" --file "$(bash_offers warmpipe run -- ls --f)"
rm -- --file
words=$(bash_offers warmpipe run --remote URL --dir folder -- bas)
[[ " "${words//$'\n'/ }" " = *" bash "* ]] || expect "bash: a program behind options" bash "$words"
words=$(bash_offers warmpipe run --remote https : //h : 80/x --dir = folder -q bas) # as bash takes them apart
[[ " "${words//$'\n'/ }" " = *" bash "* ]] || expect "bash: a program behind a URL" bash "$words"
what="check ls show rm gc keygen"
expect "bash: what of a remote" "$what" "$(bash_offers warmpipe remote '')"
expect "zsh: what of a remote" "$what" "$(sed -n "s/^ *'1:what:(\(.*\))'.*/\1/p" "$pages/completions/_warmpipe")"
expect "bash: traces" "file folder" "$(bash_offers warmpipe report '')"
if command -v fish >/dev/null; then
    expect "fish: programs" my-app "$(fish_offers 'warmpipe list --app ')"
    expect "fish: a program's own options" "$(fish -c "complete -C 'ls --al'" | cut -f 1)" \
        "$(fish -c "source '$pages/completions/warmpipe.fish'; complete -C 'warmpipe run --app x -- ls --al'" | cut -f 1)"
    expect "fish: what of a remote" "$what" "$(fish_offers 'warmpipe remote ')"
fi

if command -v man >/dev/null; then
    for page in "$pages"/man/*.1; do
        warnings=$(MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
        [ -z "$warnings" ] || {
            printf '%s: %s\n' "$page" "$warnings" >&2
            failures=$((failures + 1))
        }
    done
fi
[ "$failures" = 0 ]
