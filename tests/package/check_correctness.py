#!/usr/bin/env python3
"""Every hazard has its row in docs/CORRECTNESS.md, and every test named there is in the sources."""

import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sources = "\n".join(path.read_text(encoding="utf-8")
                    for folder in ("tests/unit", "tests/integration")
                    for path in sorted((root / folder).glob("*.cpp")))
defined = {f"{suite}.{name}" for suite, name in
           re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", sources, re.MULTILINE)}

failures = []
rows = {}
for line in (root / "docs/CORRECTNESS.md").read_text(encoding="utf-8").splitlines():
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    if len(cells) == 5 and cells[0].isdigit():
        rows[int(cells[0])] = cells
for number in range(1, 61):
    if number not in rows:
        failures.append(f"no row {number}")
        continue
    for test in re.findall(r"(?:unit|integration)\.(?:\w+/)?(\w+\.\w+)", rows[number][4]):
        if test not in defined:
            failures.append(f"row {number}: no test '{test}'")
    if "." not in rows[number][4]:
        failures.append(f"row {number}: names no test")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
