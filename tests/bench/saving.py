# SPDX-License-Identifier: Apache-2.0
"""What saving costs: the threads of the program, the disk, memory, several processes, idle time."""

import json
import os
import subprocess
import time

from facts import in_process
from process import Failure, Program, empty_directory, stats_of
from series import Claim, Series, Side, expect

BLOB_BYTES = 256 << 20
IDLE_S = 60


def saved_files(directory):
    return [os.path.join(folder, name) for folder, _, names in os.walk(directory)
            for name in names if name.endswith(".wpcache")]


def background(bench):
    """Bursts of compiling with pauses in which saves begin, so that the next burst meets them;
    against the same with the layer but no saves."""
    arguments = ["--compute", "480", "--graphics", "96", "--burst", "24", "--pause-ms", "60"]
    ours_directory, theirs_directory = bench.path("background"), bench.path("background-off")
    program = Program([bench.client, *arguments], bench.radv())

    def side(directory, **variables):
        def before(side):
            empty_directory(directory)
            return side
        return Side(program.changed(**bench.layer(directory, **variables)), before)

    ours = side(ours_directory, WARMPIPE_FLUSH_IDLE_MS="1")

    def check():
        path = bench.path("background.stats")
        empty_directory(ours_directory)
        if os.path.exists(path):
            os.unlink(path)
        ours.program.changed(WARMPIPE_STATS=path).run(bench.path("output"))
        with open(path, encoding="utf-8") as lines:
            flushes = [line for line in map(json.loads, lines) if line["event"] == "flush"]
        expect(flushes, "no save while pipelines were created")

    return Series("background", ours, side(theirs_directory, WARMPIPE_READONLY="1"), [
        Claim("creation", "creation during background saves / with saves off",
              lambda run: run["create_ns"], at_most=1.05),
    ], check=check)


def eight_cold(bench):
    """Eight processes that start cold at once, each with other pipelines."""
    directory = bench.path("eight")
    script = ('for seed in 1 2 3 4 5 6 7 8; do "$0" --seed $seed >/dev/null & pids="$pids $!"; '
              'done; for pid in $pids; do wait "$pid" || exit 1; done')
    theirs = Program(["/bin/sh", "-c", script, bench.client], bench.radv())
    ours = theirs.changed(**bench.layer(directory))

    def before(program):
        empty_directory(directory)
        return program

    def after():
        expect(saved_files(directory), "nothing saved")

    return Series("eight-cold", Side(ours, before, after), Side(theirs), [
        Claim("process", "eight cold processes at once, with the layer / without: until all have "
              "ended", lambda run: run["process_ns"], at_most=1.05),
    ])


def test_driver(bench):
    """The test driver, whose cache data is as large as one likes."""
    manifest = os.path.join(bench.build, "tests/icd/warmpipe_test_icd.json")
    if not os.path.exists(manifest):
        raise Failure(f"no '{manifest}', build first")
    return {"HOME": bench.home, "VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest,
            "WPTEST_ICD_RECORD_BYTES": str(1 << 20)}


def save_memory(bench):
    """Peak memory of a program whose cache data is 256 MiB: the layer's cache and its save, and
    without it a cache of its own."""
    arguments = [bench.client, "--compute", "216", "--graphics", "40"]
    theirs = Program([*arguments, "--cache", "own"], test_driver(bench))
    directory = empty_directory(bench.path("save-memory"))
    waiting = Program([*arguments, "--wait-ms", "3000"], test_driver(bench))
    ours = waiting.changed(**bench.layer(directory))
    stats_of(ours, bench.work)
    size = sum(os.path.getsize(file) for file in saved_files(directory))
    expect(size >= BLOB_BYTES, f"{size} bytes saved")
    empty_directory(directory)
    output = bench.path("output")
    added = ours.run(output)["peak_rss_bytes"] - theirs.run(output)["peak_rss_bytes"]
    value = round(added / size, 3)
    return [{"name": "save.memory", "limit": "≤ 1.02", "met": value <= 1.02, "value": value,
             "says": "peak memory that a save of 256 MiB adds, in blobs",
             "commands": {"ours": str(ours), "theirs": str(theirs)}}]


def switches(pid, name):
    """How often the thread of that name has been given a processor, or None if there is none."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8") as comm:
            if comm.read().strip() != name:
                continue
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as status:
            return sum(int(line.split()[1]) for line in status if "ctxt_switches" in line)
    return None


def idle(bench):
    """The worker's wake-ups in a minute after its last save."""
    directory = empty_directory(bench.path("idle"))
    ours = Program([bench.client, "--wait-ms", str((IDLE_S + 15) * 1000)],
                   {**bench.radv(), **bench.layer(directory)})
    process = subprocess.Popen(ours.command, env=ours.environment, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 10
        while not saved_files(directory) and time.monotonic() < until:
            time.sleep(0.05)
        expect(saved_files(directory), "nothing saved")
        time.sleep(2)
        before = switches(process.pid, "warmpipe")
        expect(before is not None, "there is no worker")
        time.sleep(IDLE_S)
        value = switches(process.pid, "warmpipe") - before
    finally:
        process.kill()
        process.wait()
    return [{"name": "idle.wakeups", "limit": "≤ 0", "met": value == 0, "value": value,
             "says": "wake-ups of the worker in a minute after its last save",
             "commands": {"ours": str(ours)}}]


def sudden_ends(bench):
    """Programs that end right after their last compile: how many of 32 pipelines the next start
    finds, 60 ms after each the next, and half a second before the first of the next start."""
    arguments = ["--compute", "32", "--graphics", "0"]
    results = []
    for end in ("return", "exit"):
        directory = empty_directory(bench.path(f"ends-{end}"))
        command = [bench.client, *arguments, "--burst", "1", "--pause-ms", "60", "--end", end]
        program = Program(command, {**bench.radv(), **bench.layer(directory)})
        program.run(bench.path("output"))
        (stats,) = stats_of(program.with_arguments(*arguments, "--delay-ms", "500"), bench.work)
        hits = stats["pipelines"]["driver_hits"]
        results.append({"name": f"ends.{end}",
                        "says": f"hits of the start after one that ends by {end}, of 32",
                        "limit": "≥ 30", "met": hits >= 30, "value": hits,
                        "commands": {"ours": str(program)}})
    return results


def warm_libraries(bench):
    """Warm starts with graphics pipeline libraries: what the third of them has written."""
    program = Program([bench.client, "--compute", "20", "--graphics", "40", "--libraries"],
                      {**bench.radv(RADV_PERFTEST="gpl"),
                       **bench.layer(empty_directory(bench.path("libraries")))})
    (cold,) = stats_of(program, bench.work)
    expect(cold["cache"]["state"] != "ineffective",
           "with libraries this RADV keeps nothing in its caches (Mesa 22.3)")
    written = sum(stats_of(program, bench.work)[0]["cache"]["saved_bytes"] for _ in range(3))
    return [{"name": "libraries.written",
             "says": "bytes written by three warm starts with graphics pipeline libraries", "limit": "0", "met": written == 0, "value": written,
             "commands": {"ours": str(program)}}]


SERIES = {"background": background, "eight-cold": eight_cold}
FACTS = {"save": in_process("bench_save", "save"), "save-memory": save_memory, "idle": idle,
         "ends": sudden_ends, "libraries": warm_libraries}
