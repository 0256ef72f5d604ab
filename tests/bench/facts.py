# SPDX-License-Identifier: Apache-2.0
"""What is not a ratio of two runs: a size, and programs that time hot paths within one process."""

import json
import os
import subprocess

from process import Failure, empty_directory
from ratio import Ratio


def library(bench):
    """The stripped library enters every Vulkan process."""
    stripped = bench.path("stripped.so")
    subprocess.run(["strip", "-o", stripped, bench.library()], check=True)
    size = os.path.getsize(stripped)
    return [{"name": "library.size", "says": "the stripped library, in bytes", "limit": "≤ 300000",
             "met": size <= 300000, "value": size,
             "commands": {"ours": f"strip -o {stripped} {bench.library()}"}}]


def read_ratio(found):
    return Ratio(**found) if found.keys() == {"value", "low", "high"} else found


def judged(result):
    """An interval that is too wide is no result."""
    ratio = result.get("ratio")
    return {**result, "met": None} if ratio and not ratio.is_narrow() else result


def in_process(name, folder=None):
    """A program of this folder; `folder`: it is given one on the disk of the benchmarks. It prints
    one result a line, with its own verdict."""
    def run(bench):
        command = [os.path.join(bench.build, "tests/bench", name)]
        if folder:
            command.append(empty_directory(bench.path(folder)))
        if not os.path.exists(command[0]):
            raise Failure(f"no '{command[0]}', build first")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise Failure(f"status {done.returncode} from {command[0]}: {done.stderr}")
        found = [json.loads(line, object_hook=read_ratio) for line in done.stdout.splitlines()]
        return [{**judged(result), "commands": {"ours": " ".join(command)}} for result in found]
    return run


FACTS = {"library": library, "envelope": in_process("bench_envelope"),
         "guard": in_process("bench_guard", "guard"),
         "opening": in_process("bench_recipes", "opening")}
