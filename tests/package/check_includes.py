#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No include climbs and none goes in a circle: the folders of each floor stand in a fixed order, from
the lowest to the highest, and a file includes what lies in its own folder or below. The headers of
a module, NAME.h and NAME_PART.h, count as one with NAME.c. Nor do files call each other in a circle,
whatever headers declare what they call."""

import pathlib
import re
import sys

ORDER = {
    "common": ["base", "settings", "codec", "files", "spirv", "driver", "replay", "recipes", "blobs", "quota"],
    "layer": ["chain", "worker", "trace", "cache", "app_caches", "dedup", "recipes", "", "commands"],
    "tools": ["cli", "vulkan", "recipes", "caches", "install", "warm", "remote", "run", "report",
              "doctor"],
}
FLOORS = {"common": {"common"}, "layer": {"common", "layer"}, "tools": {"common", "tools"}}

root = pathlib.Path(__file__).resolve().parents[2]
failures = []
graph = {}


def place(folder):
    """Where a folder stands: its floor, and its place on that floor (a sub-folder has that of the
    folder around it)."""
    parts = folder.split("/")
    name = parts[1] if len(parts) > 1 else ""
    if name not in ORDER[parts[0]]:
        failures.append(f"'{folder}' has no place in the order of {parts[0]}/")
        return parts[0], 0
    return parts[0], ORDER[parts[0]].index(name)


def module_of(path):
    """The file without its suffix, or the file beside it of whose name it is a part."""
    whole = path.rsplit(".", 1)[0]
    folder, name = whole.rsplit("/", 1)
    if not (root / f"{whole}.h").exists():
        return whole
    words = name.split("_")
    for count in range(1, len(words)):
        stem = f"{folder}/{'_'.join(words[:count])}"
        if (root / f"{stem}.h").exists() and (root / f"{stem}.c").exists():
            return stem
    return whole


def check_include(path, included):
    folder, target = (str(pathlib.PurePosixPath(p).parent) for p in (path, included))
    if folder == target:
        return
    (floor, here), (target_floor, there) = place(folder), place(target)
    if target_floor not in FLOORS[floor] or (floor == target_floor and there > here):
        failures.append(f"{path} includes {included}, which stands above it")


def find_circle(unit, path, done):
    """Depth first; `path` holds the units above this one."""
    if unit in path:
        failures.append("circle: " + " > ".join(path[path.index(unit):] + [unit]))
    elif unit not in done:
        for target in sorted(graph.get(unit, ())):
            find_circle(target, path + [unit], done)
        done.add(unit)


for floor in ORDER:
    for source in sorted((root / floor).rglob("*.[ch]")):
        path = source.relative_to(root).as_posix()
        unit = module_of(path)
        text = source.read_text(encoding="utf-8")
        for included in re.findall(r'^#include "((?:common|layer|tools)/[^"]+)"', text, re.MULTILINE):
            check_include(path, included)
            target = module_of(included)
            if target != unit:
                graph.setdefault(unit, set()).add(target)


def find_circles():
    finished = set()
    for unit in sorted(graph):
        find_circle(unit, [], finished)


find_circles()

# Which file calls which: a function's name, wherever it stands, is a call or as good as one. What a
# header has inline counts for who includes it.
graph = {}
texts = {path: re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
         for floor in ORDER for path in sorted((root / floor).rglob("*.[ch]"))}
homes = {name: path for path, text in texts.items() if path.suffix == ".c"
         for name in re.findall(r"^(?!static\b)[A-Za-z_][\w *]*?(\w+)\([^;{}]*\)\n{", text, re.MULTILINE)}
for path, text in texts.items():
    unit = path.relative_to(root).as_posix()
    if path.suffix == ".h":
        text = "".join(re.findall(r"\n{\n.*?\n}", text, re.DOTALL))
    calls = {homes[word] for word in re.findall(r"(?<!struct )\b(\w+)\b", text) if word in homes}
    included = re.findall(r'^#include "([^"]+\.h)"', path.read_text(encoding="utf-8"), re.MULTILINE)
    graph[unit] = {target.relative_to(root).as_posix() for target in calls if target.stem != path.stem}
    graph[unit] |= {target for target in included if (root / target).exists()}
find_circles()
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
