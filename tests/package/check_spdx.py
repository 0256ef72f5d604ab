#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_spdx.py [--add]

Every source file says its licence in its first line, or the second behind `#!`. Names those that do
not; --add: puts the line into them."""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LICENCE = "SPDX-License-Identifier: Apache-2.0"
# What begins a comment, by a file's suffix or whole name. What is embedded in the product as it
# stands (tools/report), data, and pages have no such line.
SUFFIXES = {"//": ".c .h .def .cpp .hpp .mjs .qml .comp .vert .frag .mesh .task .tesc .tese .geom "
                  ".rgen .rchit .rmiss .rahit .rint .rcall .glsl",
            "#": ".py .sh .cmake .yml", "--": ".lua"}
NAMES = {"CMakeLists.txt": "#"}
FOLDERS = ("cmake", "common", "layer", "manifest", "packaging", "tests", "tools")
DATA = ("tests/fuzz/corpus", "tests/golden/canonical", "tests/golden/collision",
        "tests/golden/recipes", "tests/golden/envelope", "tests/golden/marker")


def comment_of(path):
    """What begins a comment in the file; None: none is asked for."""
    if path.name in NAMES:
        return NAMES[path.name]
    for comment, suffixes in SUFFIXES.items():
        if path.suffix in suffixes.split():
            return comment
    with open(path, "rb") as file:
        return "#" if not path.suffix and file.read(2) == b"#!" else None


def sources():
    yield ROOT / "CMakeLists.txt"
    for folder in FOLDERS:
        for at, folders, files in os.walk(ROOT / folder):
            folders[:] = sorted(name for name in folders if name[0] != "." and name != "__pycache__")
            place = os.path.relpath(at, ROOT)
            if any((place + "/").startswith(data + "/") for data in DATA):
                continue
            for name in sorted(files):
                path = pathlib.Path(at, name)
                if not path.is_symlink() and not (place == "tools/report"
                                                  and path.suffix not in (".c", ".h", ".def")):
                    yield path


def has_licence(text):
    lines = text.split("\n", 2)
    at = 1 if text.startswith("#!") else 0
    return len(lines) > at and LICENCE in lines[at]


def add(path, text, comment):
    first = re.match(r"#!.*\n", text)
    at = first.end() if first else 0
    path.write_text(f"{text[:at]}{comment} {LICENCE}\n{text[at:]}", encoding="utf-8")


def main():
    lacking = 0
    for path in sources():
        comment = comment_of(path)
        text = path.read_text(encoding="utf-8") if comment else ""
        if comment and not has_licence(text):
            lacking += 1
            if sys.argv[1:] == ["--add"]:
                add(path, text, comment)
            else:
                print(f"{path.relative_to(ROOT)}: no '{comment} {LICENCE}'")
    return 1 if lacking and sys.argv[1:] != ["--add"] else 0


if __name__ == "__main__":
    sys.exit(main())
