#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every decision has one row in docs/decisions/README.md, with its number as a link and its title;
and every decision that a page or a comment mentions by its number exists."""

import os
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("cmake", "common", "docs", "layer", "manifest", "packaging", "tests", "tools")
PAGES = ("CHANGELOG.md", "CMakeLists.txt", "CONTRIBUTING.md", "README.md")
DATA = ("tests/fuzz/corpus", "tests/golden")

# "decision N", "decisions N, N and N", "docs/decisions/N"; "(N)" and "(N, N)" in those pages that
# have no modes of files in parentheses.
NUMBERS = r"(0\d{3}(?:(?:,| and| or) 0\d{3})*)\b"
NAMED = re.compile(rf"\bdecisions? {NUMBERS}|\bdecisions/(0\d{{3}})\b")
ALONE = re.compile(rf"\({NUMBERS}\)")
# What a decision says of those that were joined into it, whose numbers name nothing any more.
JOINED = re.compile(r"\bHolds what (?:was|were) decision.*?\.(?= |$)")


def files():
    for name in PAGES:
        yield root / name
    for folder in FOLDERS:
        for at, folders, names in os.walk(root / folder):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            place = os.path.relpath(at, root)
            if not any(f"{place}/".startswith(f"{data}/") for data in DATA):
                yield from (pathlib.Path(at, name) for name in sorted(names))


def mentioned(path):
    """Numbers of decisions, also where a line ends between them, in a comment too."""
    text = re.sub(r"\s*\n[ \t]*(?:\*|//|#)?\s*", " ", path.read_text(encoding="utf-8"))
    text = JOINED.sub("", text)
    for named, linked in NAMED.findall(text):
        yield from re.findall(r"0\d{3}", named + linked)
    if path.parent.name == "decisions" or path.name == "CORRECTNESS.md":
        for alone in ALONE.findall(text):
            yield from re.findall(r"0\d{3}", alone)


failures = []
titles = {}
for path in sorted((root / "docs/decisions").glob("[0-9]*.md")):
    heading = re.match(r"# (\d{4}): (.+)\n", path.read_text(encoding="utf-8"))
    if heading and path.name.startswith(f"{heading[1]}-"):
        titles[path.name] = heading[2]
    else:
        failures.append(f"{path.name}: does not begin with '# {path.name[:4]}: ' and a title")

rows = {}
for line in (root / "docs/decisions/README.md").read_text(encoding="utf-8").splitlines():
    row = re.fullmatch(r"\| \[(\d{4})\]\((.+?)\) \| (.+) \|", line)
    if not row:
        continue
    number, name, title = row.groups()
    if name in rows:
        failures.append(f"docs/decisions/README.md: {number} is there twice")
    if not name.startswith(f"{number}-"):
        failures.append(f"docs/decisions/README.md: {number} is a link to '{name}'")
    rows[name] = title
for name in sorted(titles.keys() | rows.keys()):
    if name not in rows:
        failures.append(f"docs/decisions/README.md: no row for '{name}'")
    elif name not in titles:
        failures.append(f"docs/decisions/README.md: no decision '{name}'")
    elif rows[name] != titles[name]:
        failures.append(f"docs/decisions/README.md: '{rows[name]}', in {name} '{titles[name]}'")

numbers = {name[:4] for name in titles}
for path in files():
    try:
        unknown = sorted(set(mentioned(path)) - numbers)
    except (UnicodeDecodeError, OSError):
        continue
    for number in unknown:
        failures.append(f"{path.relative_to(root)}: no decision {number}")

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
