# SPDX-License-Identifier: Apache-2.0
"""Traces as WARMPIPE_TRACE writes them (docs/FORMAT.md), made up, the same every time."""

import json
import random


class Run:
    """The events of one process."""

    def __init__(self, pid, app, cache, start_us, device="Radeon made up", identity="a" * 32):
        self.pid, self.now, self.events = pid, start_us, []
        self.events.append({
            "name": "device", "cat": "device", "ph": "i", "s": "p", "ts": start_us, "pid": pid,
            "tid": pid, "args": {"app": app, "device": device, "driver": "radv 22.3.6",
                                 "identity": identity, "dev": 0, "cache": cache}})

    def span(self, category, name, start_us, length_us, tid=None, **arguments):
        self.events.append({
            "name": name, "cat": category, "ph": "X", "ts": round(start_us, 3),
            "dur": round(length_us, 3), "pid": self.pid, "tid": tid or self.pid,
            "args": {**arguments, "dev": 0}})

    def name_thread(self, tid, name):
        self.events.append({"name": "thread_name", "ph": "M", "pid": self.pid, "tid": tid,
                            "args": {"name": name}})


def text_of(*runs):
    lines = [json.dumps(event) for run in runs for event in run.events]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def program_run(pid, cache, start_us, app="game-1a2b3c4d", pipelines=240, threads=4, seed=7):
    """A program that makes its pipelines on several threads, cold or loaded."""
    chance = random.Random(seed)  # of the program: its digests are the same in each run
    luck = random.Random(pid)
    run = Run(pid, app, cache, start_us)
    tids = [pid + i for i in range(threads)]
    clocks = {tid: start_us + 1500 + 300 * i for i, tid in enumerate(tids)}
    warm = cache == "loaded"
    first = clocks[tids[0]]
    run.span("cache", "load", first, 900 if warm else 60, bytes=1843200 if warm else 0,
             state=cache, reason="" if warm else "no_file")
    clocks[tids[0]] += 950
    for _ in range(pipelines):
        tid = min(tids, key=clocks.get)
        for name in ("module", "set_layout", "pipeline_layout"):
            length = luck.uniform(2, 25)
            run.span("object", name, clocks[tid], length, tid,
                     digest=f"{chance.getrandbits(128):032x}",
                     result="shared" if chance.random() < 0.6 else "created")
            clocks[tid] += length + 1
        digest = f"{chance.getrandbits(128):032x}"
        shared = chance.random() < 0.12
        name = "graphics" if chance.random() < 0.7 else "compute"
        compiling = chance.lognormvariate(8.2, 1.1)
        length = 1.5 if shared else luck.uniform(60, 180) if warm else compiling
        run.span("pipeline", name, clocks[tid], length, tid, digest=digest,
                 result="shared" if shared else "hit" if warm else "miss")
        clocks[tid] += length + luck.uniform(20, 400)
    worker = pid + 90
    run.name_thread(worker, "warmpipe worker")
    run.span("cache", "snapshot", max(clocks.values()) + 50000, 700, worker, bytes=1843200)
    run.span("cache", "save", max(clocks.values()) + 51000, 4200, worker, bytes=1843200)
    return run


def cold_and_warm(**settings):
    return program_run(4100, "cold", 1e9, **settings), program_run(4200, "loaded", 1.1e9, **settings)
