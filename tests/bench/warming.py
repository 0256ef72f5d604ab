# SPDX-License-Identifier: Apache-2.0
"""What recipes are worth: another device, whose cache is made without the program."""

import os

from benchmarks import PIPELINES, creation_ns, process_ns
from process import Program, empty_directory, stats_of
from series import Claim, Series, Side, expect

RECORDED = "navi10"
WANTED = "navi21"
APP = "program"


def caches(directory):
    return [os.path.join(folder, name) for folder, _, names in os.walk(directory)
            for name in names if name.endswith(".wpcache")]


class Recorded:
    """A folder with the recipes of the program, recorded on one device, and with no cache."""

    def __init__(self, bench, name):
        self.bench = bench
        self.directory = empty_directory(bench.path(name))
        self.layer = bench.layer(self.directory, WARMPIPE_APP=APP, WARMPIPE_PREWARM="off")
        stats_of(Program([bench.client], {**bench.radv(), **self.layer}), bench.work)
        self.forget()

    def forget(self):
        for path in caches(self.directory):
            os.unlink(path)

    def wanted(self):
        return self.bench.radv(WANTED)

    def tool(self, jobs):
        return Program([os.path.join(self.bench.build, "tools/warmpipe"), "warm", "--dir",
                        self.directory, "--jobs", jobs], self.wanted())

    def compiled(self, jobs):
        """How many pipelines it compiles, into nothing."""
        self.forget()
        tool = self.tool(jobs)
        (cache,) = tool.with_arguments(*tool.command[1:], "--json").run(
            self.bench.path("output"))["caches"]
        return cache["compiled"]

    def side(self, jobs):
        """Replays all of it, into nothing."""
        def before(tool):
            self.forget()
            return tool

        def after():
            expect(len(caches(self.directory)) == 1, "no cache was made")
        return Side(self.tool(jobs), before, after)


def warmed(bench):
    """The first start on a device for which the tool has made the cache."""
    recorded = Recorded(bench, "warmed")
    expect(RECORDED != WANTED, "the same device")
    recorded.tool(2).run(bench.path("output"))
    plain = Program([bench.client], recorded.wanted())
    ours = plain.changed(**recorded.layer, WARMPIPE_READONLY="1")

    def check():
        (stats,) = stats_of(ours, bench.work)
        hits = stats["pipelines"]["driver_hits"]
        expect(stats["cache"]["state"] == "loaded", f"not warm: {stats}")
        expect(hits >= 0.95 * PIPELINES, f"{hits} hits among {PIPELINES}")

    return Series("warmed", Side(ours), Side(plain), [
        Claim("creation", f"recorded on {RECORDED}, warmed for {WANTED}: pipeline creation cold "
              "without the layer / with it", creation_ns, at_least=50, inverse=True),
    ], check=check)


def jobs(bench):
    recorded = Recorded(bench, "jobs")
    return Series("warm-jobs", recorded.side(2), recorded.side(1), [
        Claim("process", "warmpipe warm with one thread / with two: whole process", process_ns,
              at_least=1.6, inverse=True),
    ])


def replay(bench):
    """What the tool adds to the driver's own compiling."""
    recorded = Recorded(bench, "replay")
    return Series("warm-replay", recorded.side(1), Side(Program([bench.client],
                                                                recorded.wanted())), [
        Claim("process", "warmpipe warm with one thread, saving included / the program itself, "
              "cold: whole process", process_ns, at_most=1.05),
    ])


SERIES = {"warmed": warmed, "warm-jobs": jobs, "warm-replay": replay}
