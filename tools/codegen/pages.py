#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the manual pages and the completions of bash, zsh and fish. What they say of verbs and
options is what `warmpipe --help` and `warmpipe VERB --help` say, and those pages are made from the
parser's own tables; settings come from settings.def. So nothing is told twice."""

import argparse
import ast
import os
import re
import subprocess
import sys
from collections import namedtuple


def read_settings(path):
    """Of settings.def: (id, kind, from, variable, values, default, meaning) of each setting."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    string = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
    pattern = rf"SETTING\((\w+),\s*(\w+),\s*(\w+),\s*{string},\s*{string},\s*{string},\s*{string}\)"
    for name, kind, source, *strings in re.findall(pattern, text):
        yield (name, kind, source, *(ast.literal_eval(f"({part})") for part in strings))


class Verb:
    def __init__(self, name, summary, page):
        self.name, self.summary = name, summary
        usage, rest = page.split("\n", 1)
        text, options = rest.split("\noptions:\n")
        self.operands = usage.split("[OPTION...]", 1)[1].strip()
        self.paragraphs = [part.strip("\n") for part in text.split("\n\n") if part.strip()]
        self.options = read_options(options)


Option = namedtuple("Option", "letter name argument meaning")
OPTION = re.compile(r"^  (?:-(\w)|  ) --([\w-]+)(?: ([A-Z]+))? +(.+)$", re.MULTILINE)


def read_options(text):
    return [Option(*match) for match in OPTION.findall(text)]


def help_of(tool, *words):
    return subprocess.run([*tool, *words, "--help"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def read_verbs(tool):
    page = help_of(tool)
    verbs = page.split("\nverbs:\n")[1].split("\n\n")[0]
    for line in verbs.splitlines():
        name, summary = line.split(None, 1)
        yield Verb(name, summary, help_of(tool, name))


def read_examples(path):
    examples, name, command = {}, None, None
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("#") or not line:
                continue
            if line.startswith("["):
                name, command = line.strip("[]"), None
                examples[name] = []
            elif command is None:
                command = line
            else:
                examples[name].append((command, line))
                command = None
    return examples


# Manual pages


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def paragraph(text):
    """Indented lines are kept as they are; others are filled."""
    if any(line.startswith("  ") for line in text.split("\n")):
        return f".PP\n.nf\n{roff(text)}\n.fi\n"
    return f".PP\n{roff(text)}\n"


def tagged(tag, text):
    return f".TP\n{tag}\n{roff(text)}\n"


def option_tag(option):
    short = f"\\fB\\-{option.letter}\\fR, " if option.letter else ""
    argument = f" \\fI{option.argument}\\fR" if option.argument else ""
    return f"{short}\\fB{roff('--' + option.name)}\\fR{argument}"


def heading(name, version):
    return f'.TH {name.upper()} 1 "" "warmpipe {version}" "User Commands"\n.SH NAME\n'


def examples_section(examples):
    if not examples:
        return ""
    return ".SH EXAMPLES\n" + "".join(tagged(f"\\fB{roff(command)}\\fR", text)
                                      for command, text in examples)


def verb_page(verb, version, examples):
    page = heading(f"warmpipe-{verb.name}", version)
    page += f"{roff(f'warmpipe-{verb.name} - {verb.summary}')}\n"
    page += (f".SH SYNOPSIS\n\\fBwarmpipe {verb.name}\\fR [\\fIOPTION\\fR...] "
             f"{roff(verb.operands)}\n.SH DESCRIPTION\n")
    ends = [text for text in verb.paragraphs if text.lower().startswith(("exit status",
                                                                         "the exit status"))]
    page += "".join(paragraph(text) for text in verb.paragraphs if text not in ends)
    page += ".SH OPTIONS\n" + "".join(tagged(option_tag(option), option.meaning)
                                      for option in verb.options)
    if ends:
        page += ".SH EXIT STATUS\n" + "".join(paragraph(re.sub(r"^Exit status: ", "", text))
                                              for text in ends)
    return page + examples_section(examples) + ".SH SEE ALSO\n.BR warmpipe (1)\n"


def main_page(verbs, settings, version, examples):
    page = heading("warmpipe", version)
    page += "warmpipe \\- Vulkan programs that start warm\n.SH SYNOPSIS\n"
    page += "\\fBwarmpipe\\fR \\fIVERB\\fR [\\fIOPTION\\fR...] [\\fIOPERAND\\fR...]\n"
    page += ".SH DESCRIPTION\n" + paragraph(
        "warmpipe is a Vulkan layer that gives every pipeline creation of an unmodified program a\n"
        "persistent pipeline cache, creates each distinct object once, and keeps what the driver\n"
        "compiled in a validated file. This program runs others under the layer, and looks after\n"
        "what it keeps.")
    page += ".SH VERBS\nEach has a page of its own, \\fBwarmpipe\\-\\fIVERB\\fR(1).\n"
    page += "".join(tagged(f"\\fB{verb.name}\\fR", verb.summary) for verb in verbs)
    page += (".SH OPTIONS\n" + tagged("\\fB\\-h\\fR, \\fB\\-\\-help\\fR", "show the verbs")
             + tagged("\\fB\\-V\\fR, \\fB\\-\\-version\\fR", "show the version"))
    page += ".SH EXIT STATUS\n0: clean. 1: a finding. 2: wrong usage, or input and output failed.\n"
    page += ".SH ENVIRONMENT\nSettings of the layer. None is needed.\n"
    for _, _, _, variable, values, default, meaning in settings:
        page += tagged(f"\\fB{variable}\\fR", f"{meaning}. {values[0].upper()}{values[1:]}.\n"
                                              f"Default: {default}")
    page += tagged("\\fBWARMPIPE_ENABLE\\fR", "1: the installed layer is in the program")
    page += tagged("\\fBWARMPIPE_DISABLE\\fR", "set to whatever value: the layer is off")
    page += tagged("\\fBWARMPIPE_REMOTE\\fR, \\fBWARMPIPE_REMOTE_KEY\\fR",
                   "of the tool alone: what \\-\\-remote and \\-\\-public\\-key are where they are not given")
    page += (".SH FILES\n" + tagged("\\fI$XDG_CACHE_HOME/warmpipe\\fR, \\fI~/.cache/warmpipe\\fR",
                                    "a folder for each program")
             + tagged("\\fIvk_layer_settings.txt\\fR",
                      "settings that no variable says, of the form\n"
                      "warmpipe_pipeline_cache.dedup = all; never one that names a path")
             + tagged("\\fIPREFIX/share/doc/warmpipe\\fR",
                      "pages on settings, containers, machines that share, and what to do when\n"
                      "it does not work"))
    page += examples_section([pair for verb in ("run", "doctor", "stats")
                              for pair in examples.get(verb, [])[:1]])
    names = " ,\n".join(f".BR warmpipe\\-{verb.name} (1)" for verb in verbs)
    return page + ".SH SEE ALSO\n" + names + "\n"


# Completions


def kind_of(option):
    """What an option's argument is completed with."""
    return {"DIR": "directories", "FILE": "files", "NAME": "programs"}.get(option.argument, "")


def operand_words(verb):
    """Those of check|ls|…; none where it takes others."""
    return verb.operands.split("|") if re.fullmatch(r"[a-z|]+", verb.operands) else []


def operand_kind(verb):
    if verb.operands.startswith("[--] PROGRAM"):
        return "command"
    if operand_words(verb):
        return "words"
    return "files" if re.search(r"\b(FILE|PATH|TRACE|IN)\b", verb.operands) else ""


PROGRAMS = "warmpipe list --json 2>/dev/null | grep -o '\"name\":\"[^\"]*' | cut -d'\"' -f4 | sort -u"


def bash(verbs):
    cases, arguments, operands = "", "", ""
    takes = " | ".join(f"--{option.name}" for verb in verbs if operand_kind(verb) == "command"
                       for option in verb.options if option.argument)
    for verb in verbs:
        words = [f"--{option.name}" for option in verb.options]
        words += [f"-{option.letter}" for option in verb.options if option.letter]
        cases += f"        {verb.name}) options='{' '.join(words)}' ;;\n"
        for option in verb.options:
            if option.argument:
                kind = kind_of(option) or "nothing"
                arguments += f"        {verb.name}:--{option.name}) kind={kind} ;;\n"
        if operand_words(verb):
            operands += (f"        {verb.name}) COMPREPLY=($(compgen -W "
                         f"'{' '.join(operand_words(verb))}' -- \"$word\")) ;;\n")
        elif operand_kind(verb):
            operands += f"        {verb.name}) kind={operand_kind(verb)} ;;\n"
    names = " ".join(verb.name for verb in verbs)
    starts = " | ".join(verb.name for verb in verbs if operand_kind(verb) == "command")
    return f"""# bash completion for warmpipe
_warmpipe() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} verb=${{COMP_WORDS[1]}}
    local options='' kind='' i
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{names} --help --version' -- "$word"))
        return
    fi
    case $verb in
        {starts}) # a program, from the first word on that is no option
            for ((i = 2; i < COMP_CWORD; i++)); do
                case ${{COMP_WORDS[i]}} in
                    {takes}) i=$((i + 1)) ;;&
                    --) i=$((i + 1)) && break ;;
                    -*) [ "${{COMP_WORDS[i]}}" != = ] || i=$((i + 1)) ;;
                    : | =) i=$((i + 1)) ;; # bash takes values apart there
                    *) break ;;
                esac
            done
            if [ "$i" -lt "$COMP_CWORD" ] && declare -F _command_offset >/dev/null; then
                _command_offset "$i"
                return
            elif [ "$i" -lt "$COMP_CWORD" ]; then
                COMPREPLY=($(compgen -f -- "$word"))
                return
            fi
            ;;
    esac
    if [ "$word" = = ]; then
        word=''
    elif [ "$before" = = ]; then
        before=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    case $verb in
{cases}    esac
    case $verb:$before in
{arguments}    esac
    if [ -z "$kind" ] && [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$word"))
        return
    fi
    [ -n "$kind" ] || case $verb in
{operands}    esac
    case $kind in
        directories) COMPREPLY=($(compgen -d -- "$word")) ;;
        files) COMPREPLY=($(compgen -f -- "$word")) ;;
        programs) COMPREPLY=($(compgen -W "$({PROGRAMS})" -- "$word")) ;;
        command) COMPREPLY=($(compgen -c -- "$word")) ;;
    esac
}}
complete -o filenames -F _warmpipe warmpipe
"""


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh_text(text):
    return re.sub(r"([\[\]:])", r"\\\1", text)


def zsh(verbs):
    actions = {"directories": "_files -/", "files": "_files", "programs": "_warmpipe_programs",
               "": "()"}
    names = "\n".join(f"        {quoted(zsh_text(verb.name) + ':' + zsh_text(verb.summary))}"
                      for verb in verbs)
    cases = ""
    for verb in verbs:
        specs = []
        for option in verb.options:
            argument = f":{option.argument}:{actions[kind_of(option)]}" if option.argument else ""
            meaning = f"[{zsh_text(option.meaning)}]{argument}"
            specs.append(quoted(f"--{option.name}{'=' if option.argument else ''}{meaning}"))
            if option.letter:
                specs.append(quoted(f"-{option.letter}{meaning}"))
        kind = operand_kind(verb)
        if kind == "command":
            specs += ["'(-)1:program:_command_names -e'", "'*::arguments:_normal'"]
        elif kind == "words":
            specs.append(f"'1:what:({' '.join(operand_words(verb))})'")
        elif kind:
            specs.append("'*:file:_files'")
        lines = " \\\n                ".join(specs)
        first = ""
        if kind == "command":  # _arguments takes a program behind options, but none behind a first --
            first = ("            if [[ $words[2] = -- ]] && (( CURRENT > 2 )); then\n"
                     "                words[2]=()\n                (( CURRENT-- ))\n            fi\n")
        cases += (f"        {verb.name})\n{first}            _arguments -S \\\n"
                  f"                {lines}\n            ;;\n")
    return f"""#compdef warmpipe
# zsh completion for warmpipe

_warmpipe_programs() {{
    local -a programs
    programs=(${{(f)"$({PROGRAMS})"}})
    compadd -a programs
}}

_warmpipe() {{
    local -a verbs
    verbs=(
{names}
    )
    if (( CURRENT == 2 )); then
        _describe -t verbs verb verbs
        _arguments '--help[show the verbs]' '--version[show the version]'
        return
    fi
    local verb=$words[2]
    shift words
    (( CURRENT-- ))
    case $verb in
{cases}    esac
}}

_warmpipe "$@"
"""


def fish(verbs):
    lines = ["# fish completion for warmpipe", "complete -c warmpipe -f",
             "complete -c warmpipe -n __fish_use_subcommand -l help -s h -d 'show the verbs'",
             "complete -c warmpipe -n __fish_use_subcommand -l version -s V -d 'show the version'"]
    arguments = {"directories": "-x -a '(__fish_complete_directories)'", "files": "-r -F",
                 "programs": f"-x -a {quoted('(' + PROGRAMS + ')')}", "": "-x"}
    for verb in verbs:
        lines.append(f"complete -c warmpipe -n __fish_use_subcommand -a {verb.name} "
                     f"-d {quoted(verb.summary)}")
        seen = f"complete -c warmpipe -n '__fish_seen_subcommand_from {verb.name}'"
        for option in verb.options:
            letter = f" -s {option.letter}" if option.letter else ""
            argument = " " + arguments[kind_of(option)] if option.argument else ""
            lines.append(f"{seen} -l {option.name}{letter}{argument} -d {quoted(option.meaning)}")
        kind = operand_kind(verb)
        if kind == "command":
            takes = " ".join(f"--{option.name}" for option in verb.options if option.argument)
            # '=' ends the function's own options; those behind it take an argument.
            lines.append(f"{seen} -a '(__fish_complete_subcommand --fcs-skip=2 = {takes})'")
        elif kind == "words":
            lines.append(f"{seen} -a '{' '.join(operand_words(verb))}'")
        elif kind:
            lines.append(f"{seen} -F")
    return "\n".join(lines) + "\n"


def write(directory, name, text):
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--settings", "--examples", "--version", "--output"):
        parser.add_argument(name, required=True)
    parser.add_argument("tool", nargs="+", help="behind '--': the tool, and before it what runs it")
    arguments = parser.parse_args()
    verbs = list(read_verbs(arguments.tool))
    settings = list(read_settings(arguments.settings))
    examples = read_examples(arguments.examples)
    unknown = set(examples) - {verb.name for verb in verbs}
    if unknown:
        sys.exit(f"examples of verbs that there are not: {', '.join(sorted(unknown))}")
    man = os.path.join(arguments.output, "man")
    write(man, "warmpipe.1", main_page(verbs, settings, arguments.version, examples))
    for verb in verbs:
        write(man, f"warmpipe-{verb.name}.1",
              verb_page(verb, arguments.version, examples.get(verb.name)))
    completions = os.path.join(arguments.output, "completions")
    write(completions, "warmpipe", bash(verbs))
    write(completions, "_warmpipe", zsh(verbs))
    write(completions, "warmpipe.fish", fish(verbs))


if __name__ == "__main__":
    main()
