# SPDX-License-Identifier: Apache-2.0
"""What recording costs, what it keeps, and what it gives back after a driver update."""

import os
import shutil
import struct

from benchmarks import PIPELINES, creation_ns, process_ns
from process import Program, empty_directory, stats_of
from series import Claim, Series, Side, expect

APP = "program"


def folder_of(directory, name):
    return os.path.join(directory, APP, name)


def recorded(bench, name, *arguments, **variables):
    """The client through the layer, in a folder of its own."""
    directory = bench.path(name)
    return directory, Program([bench.client, *arguments], {
        **bench.radv(), **bench.layer(directory, WARMPIPE_APP=APP, **variables)})


def recording_cold(bench):
    """Where a file stands in place of the folder of recipes, nothing can be recorded."""
    ours_folder, ours = recorded(bench, "recording")
    theirs_folder, theirs = recorded(bench, "no-recording")

    def clear(program):
        empty_directory(ours_folder)
        return program

    def bar(program):
        empty_directory(theirs_folder)
        os.makedirs(os.path.join(theirs_folder, APP), mode=0o700)
        with open(folder_of(theirs_folder, "recipes"), "w", encoding="utf-8"):
            pass
        return program

    return Series("recording-cold",
                  Side(ours, clear, lambda: expect(read_recipes(ours_folder).uses == PIPELINES,
                                                   "not all was recorded")),
                  Side(theirs, bar, lambda: expect(
                      os.path.isfile(folder_of(theirs_folder, "recipes")), "recorded")), [
        Claim("process", "a cold start that records / one that cannot: whole process", process_ns,
              at_most=1.02),
    ])


class Recipes:
    """Segments, read by docs/FORMAT.md."""

    def __init__(self):
        self.bytes = 0
        self.code = {}
        self.used = set()

    @property
    def uses(self):
        """How many pipelines; the use of one is written again where more becomes known of it."""
        return len(self.used)

    def read(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.bytes += len(data)
        offset = 32
        while offset + 32 <= len(data):
            kind, _, _, size = struct.unpack_from("<BBHI", data, offset)
            if kind == 1:
                self.code[data[offset + 8:offset + 24]] = size
            elif kind == 4:
                entries = offset + 32 + 16
                self.used.update(data[at:at + 16] for at in range(entries, entries + size - 16, 28))
            offset += 32 + (size + 7) // 8 * 8


def read_recipes(directory):
    recipes = Recipes()
    folder = folder_of(directory, "recipes")
    for name in os.listdir(folder):
        if name.endswith(".wprecipes"):
            recipes.read(os.path.join(folder, name))
    return recipes


def recipes_on_disk(bench):
    directory, program = recorded(bench, "on-disk")
    empty_directory(directory)
    stats_of(program, bench.work)
    before = read_recipes(directory)
    allowed = 1.1 * sum(before.code.values()) + 400 * PIPELINES
    value = before.bytes / allowed
    stats_of(program, bench.work)
    after = read_recipes(directory)
    commands = {"ours": str(program)}
    return [
        {"name": "recipes.size", "says": f"recipes of {PIPELINES} pipelines / 1.1 times their "
         "distinct SPIR-V and 400 bytes each", "limit": "≤ 1", "value": value,
         "met": before.uses == PIPELINES and value <= 1, "commands": commands},
        {"name": "recipes.second-run", "says": "bytes that a second, equal run adds",
         "limit": "≤ 0", "value": after.bytes - before.bytes, "met": after.bytes == before.bytes,
         "commands": commands},
    ]


def killed(bench):
    """The worst of twenty programs that are killed 100 ms after their last creation."""
    directory, program = recorded(bench, "killed", "--wait-ms", "100", "--end", "kill")
    lost = 0
    for _ in range(20):
        empty_directory(directory)
        program.run(os.path.join(bench.work, "output"), killed=True)
        lost = max(lost, PIPELINES - read_recipes(directory).uses)
    return [{"name": "killed.lost", "says": f"recipes of {PIPELINES} that a program has lost which "
             "was killed 100 ms after its last creation", "limit": "≤ 0", "value": lost,
             "met": lost == 0, "commands": {"ours": str(program)}}]


def without_blob(directory):
    """The recipes are kept, and no blob fits the driver."""
    def before(program):
        for name in os.listdir(os.path.join(directory, APP)):
            if name.endswith(".wpcache"):
                os.unlink(folder_of(directory, name))
        return program
    return before


def with_recipes(bench, name, *arguments, **variables):
    directory, program = recorded(bench, name, *arguments, **variables)
    empty_directory(directory)
    program.changed(WARMPIPE_PREWARM="off").run(os.path.join(bench.work, "output"))
    return directory, program


def prewarm(bench):
    """After a driver update, a program that needs a second for other things first."""
    directory, ours = with_recipes(bench, "prewarm", "--delay-ms", "1000")
    theirs = Program(ours.command, bench.radv())
    before = without_blob(directory)

    def check():
        (stats,) = stats_of(before(ours), bench.work)
        expect(stats["pipelines"]["prewarmed"] > 0, f"nothing prewarmed: {stats}")

    return Series("prewarm", Side(ours, before), Side(theirs), [
        Claim("creation", "cold without the layer / prewarmed for a second: pipeline creation",
              creation_ns, at_least=5, inverse=True),
    ], check=check)


def prewarm_at_once(bench):
    """After a driver update, a program that asks for its pipelines at once."""
    directory, ours = with_recipes(bench, "prewarm-at-once")
    cold_directory, theirs = with_recipes(bench, "no-prewarm", WARMPIPE_PREWARM="off")
    return Series("prewarm-at-once", Side(ours, without_blob(directory)),
                  Side(theirs, without_blob(cold_directory)), [
        Claim("creation", "a program that asks at once, prewarm on / off: pipeline creation",
              creation_ns, at_most=1.03),
        Claim("process", "the same: whole process", process_ns, at_most=1.03),
    ])


SERIES = {
    "recording-cold": recording_cold,
    "prewarm": prewarm,
    "prewarm-at-once": prewarm_at_once,
}

FACTS = {"recipes": recipes_on_disk, "killed": killed}
