# SPDX-License-Identifier: Apache-2.0
"""warmpipe warm against fossilize-replay, which replays the same pipelines of the same program."""

import os
import re

from benchmarks import PIPELINES, process_ns
from process import Program, empty_directory
from series import Claim, Series, Side, expect
from warming import WANTED, Recorded

# It survives a driver that crashes, at the speed of the machine rather than in its gaps.
ISOLATED = ["--master-process", "--quiet-slave", "--disable-rate-limiter"]


class Replayer:
    """fossilize-replay, which saves what it compiles into nothing, too."""

    def __init__(self, bench, name):
        expect(bench.replayer and bench.archive, "needs --replayer and --archive")
        self.bench = bench
        self.directory = empty_directory(bench.path(name))

    def program(self, jobs, *options):
        return Program([self.bench.replayer, "--num-threads", jobs, *options,
                        "--on-disk-pipeline-cache", os.path.join(self.directory, "cache"),
                        self.bench.archive], self.bench.radv(WANTED))

    def side(self, program):
        def before(program):
            empty_directory(self.directory)
            return program

        def after():
            expect(os.listdir(self.directory), f"no cache was made: {program}")
        return Side(program, before, after)

    def compiled(self):
        """How many pipelines it compiles, which it tells of one process only."""
        empty_directory(self.directory)
        output = self.bench.path("output")
        self.program(1).run(output)
        with open(f"{output}.messages", encoding="utf-8") as messages:
            return int(re.search(r"cache misses reported: (\d+)", messages.read()).group(1))


def against(name, jobs, says, *options):
    def make(bench):
        theirs = Replayer(bench, f"{name}-theirs")
        ours = Recorded(bench, f"{name}-ours")

        def check():
            for replayer, compiled in (("warmpipe", ours.compiled(jobs)),
                                       ("fossilize-replay", theirs.compiled())):
                expect(compiled == PIPELINES, f"{replayer} compiles {compiled} of {PIPELINES}")

        return Series(name, ours.side(jobs), theirs.side(theirs.program(jobs, *options)), [
            Claim("process", f"warmpipe warm / fossilize-replay {says}: whole process", process_ns,
                  at_most=1.0),
        ], check=check)
    make.__name__ = name
    return make


SERIES = {
    "replayer": against("replayer", 1, "with one process that may crash", *ISOLATED),
    "replayer-2": against("replayer-2", 2, "with two processes that may crash", *ISOLATED),
    "replayer-bare": against("replayer-bare", 1, "with one thread, nothing between"),
    "replayer-bare-2": against("replayer-bare-2", 2, "with two threads, nothing between"),
}
