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
INDEX = "docs/decisions/README.md"

# "decision N", "decisions N, N and N", "docs/decisions/N"; "(N)" and "(N, N)" in those pages that
# have no modes of files in parentheses.
NUMBERS = r"(0\d{3}(?:(?:,| and| or) 0\d{3})*)\b"
NAMED = re.compile(rf"\b[Dd]ecisions? {NUMBERS}|\bdecisions/(0\d{{3}})\b")
ALONE = re.compile(rf"\({NUMBERS}\)")
# What a decision says of those that were joined into it, whose numbers name nothing any more.
JOINED = re.compile(r"\bHolds what (?:was|were) decision.*?\.(?= |$)")


def files():
    for name in PAGES:
        yield root / name
    for folder in FOLDERS:
        for at, folders, names in os.walk(root / folder):
            folders[:] = sorted(name for name in folders if name != "__pycache__" and
                                os.path.relpath(os.path.join(at, name), root) not in DATA)
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
numbers = set()
wanted = set()
for path in sorted((root / "docs/decisions").glob("[0-9]*.md")):
    number = path.name[:4]
    if number in numbers:
        failures.append(f"docs/decisions: two decisions are {number}")
    numbers.add(number)
    heading = re.match(rf"# {number}: (.+)\n", path.read_text(encoding="utf-8"))
    if heading:
        wanted.add(f"| [{number}]({path.name}) | {heading[1]} |")
    else:
        failures.append(f"{path.name}: does not begin with '# {number}: ' and a title")

rows = [line for line in (root / INDEX).read_text(encoding="utf-8").splitlines()
        if line.startswith("| [")]
failures += [f"{INDEX}: lacks the row {row}" for row in sorted(wanted - set(rows))]
failures += [f"{INDEX}: has no decision for the row {row}" for row in sorted(set(rows) - wanted)]
failures += [f"{INDEX}: has twice the row {row}" for row in sorted(set(rows)) if rows.count(row) > 1]

for path in files():
    try:
        unknown = sorted(set(mentioned(path)) - numbers)
    except (UnicodeDecodeError, OSError):
        continue
    failures += [f"{path.relative_to(root)}: no decision {number}" for number in unknown]

for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
