#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every hazard has its row in docs/CORRECTNESS.md, that every test named there is in
the sources, and that every file named there exists and has the functions that the row names after
it."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sources = "\n".join(path.read_text(encoding="utf-8")
                    for folder in ("unit", "integration", "hostile", "fleet", "cli")
                    for path in sorted((root / "tests" / folder).rglob("*.cpp")))
defined = {f"{suite}.{name}" for suite, name in
           re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", sources, re.MULTILINE)}


def missing_code(cell):
    """What a cell of the code column names and the sources do not have: `path` name, name, `path`…
    A path without a folder lies beside the one before it; other text in backquotes is to be found in
    the file as it is. A cell without any (generated tables) names no code."""
    folder, text = root, ""
    for quoted, rest in re.findall(r"`([^`]+)`([^`]*)", cell):
        path = next((path for path in (root / quoted, folder / quoted) if path.exists()), None)
        if path:
            folder = path if path.is_dir() else path.parent
            text = "" if path.is_dir() else path.read_text(encoding="utf-8")
        elif quoted not in text:
            yield f"no '{quoted}'"
            continue
        for name in re.findall(r"\w+", rest):
            if not re.search(rf"\b{name}\b", text):
                yield f"no '{name}' in '{quoted}'"


failures = []
rows = {}
for line in (root / "docs/CORRECTNESS.md").read_text(encoding="utf-8").splitlines():
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    if len(cells) == 5 and cells[0].isdigit():
        if int(cells[0]) in rows:
            failures.append(f"row {cells[0]} is there twice")
        rows[int(cells[0])] = cells
for number in sorted(set(range(1, 104)) | rows.keys()):
    if number not in rows:
        failures.append(f"no row {number}")
        continue
    for test in re.findall(r"(?:unit|integration|hostile|fleet|cli)\.(?:\w+/)?(\w+\.\w+)",
                           rows[number][4]):
        if test not in defined:
            failures.append(f"row {number}: no test '{test}'")
    for problem in missing_code(rows[number][3]):
        failures.append(f"row {number}: {problem}")
    if "." not in rows[number][4]:
        failures.append(f"row {number}: names no test")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
