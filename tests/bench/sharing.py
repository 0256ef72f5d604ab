# SPDX-License-Identifier: Apache-2.0
"""Handles that are shared: what is asked for again, against the driver's own best."""

import os

from process import Program, empty_directory, stats_of
from series import Claim, Series, Side, expect

# What bench_sharing's module is made of: its code, and the canonical form of its create-info.
CANONICAL_MODULE_BYTES = 140 + 40


def ns(run):
    return run["ns"]


def per_second(run):
    return run["per_second"]


def program(bench, *arguments):
    return Program([os.path.join(bench.build, "tests/bench/bench_sharing"), *arguments],
                   bench.radv())


def with_layer(bench, name, *arguments):
    directory = empty_directory(bench.path(name))
    plain = program(bench, *arguments)
    ours = plain.changed(**bench.layer(directory))
    stats_of(ours, bench.work)
    return ours


def shares(bench, ours, kind="pipelines"):
    """Nearly all that was asked for was answered without the driver."""
    def check():
        (stats,) = stats_of(ours, bench.work)
        counts = stats[kind]
        expect(counts["deduplicated"] >= 0.9 * counts["requested"] > 0, f"not shared: {stats}")
    return check


def repeated(bench):
    ours = with_layer(bench, "repeated", "pipeline")
    return Series("repeated", Side(ours), Side(program(bench, "pipeline", "--own-cache")), [
        Claim("pipeline", "a repeated compute pipeline / a hit in the driver's own warm cache", ns,
              at_most=0.4),
    ], check=shares(bench, ours))


def repeated_million(bench):
    ours = with_layer(bench, "repeated-million", "pipeline", "--live", "1000000")
    return Series("repeated-million", Side(ours),
                  Side(program(bench, "pipeline", "--own-cache")), [
        Claim("pipeline", "the same with a million live objects", ns, at_most=0.6),
    ], check=shares(bench, ours))


def repeated_module(bench):
    ours = with_layer(bench, "repeated-module", "module")
    return Series("repeated-module", Side(ours), Side(program(bench, "reference")), [
        Claim("module", "a repeated shader module of 100 KB / XXH3-128 and memcmp of as much", ns,
              at_most=1.3),
    ], check=shares(bench, ours, "modules"))


def two_threads(bench):
    ours = with_layer(bench, "two-threads", "pipeline", "--threads", "2")
    return Series("two-threads", Side(ours),
                  Side(ours.with_arguments("pipeline", "--threads", "1")), [
        Claim("throughput", "hits a second, two threads / one", per_second, at_least=1.6),
    ], check=shares(bench, ours))


def first_creation(bench):
    """The difference is told as a ratio, of what the driver takes for a hit in its cache."""
    own_file = bench.path("distinct.bin")
    if os.path.exists(own_file):
        os.unlink(own_file)
    theirs = program(bench, "distinct", "--own-cache", own_file)
    theirs.run(bench.path("output"))
    ours = with_layer(bench, "first-creation", "distinct")

    def check():
        (stats,) = stats_of(ours, bench.work)
        expect(stats["pipelines"]["driver_misses"] == 0, f"the driver compiled: {stats}")
        expect(stats["pipelines"]["deduplicated"] == 0, f"shared: {stats}")

    return AddedTime("first-creation", Side(ours), Side(theirs), [
        Claim("added", "ns that the layer adds to the first creation of a pipeline", ns,
              at_most=1000),
    ], check=check)


class AddedTime(Series):
    """A difference, in ns, instead of a ratio."""

    def judge(self, claim, runs):
        result = super().judge(claim, runs)
        added = result["ours"] - result["theirs"]
        del result["ratio"], result["self"]
        return {**result, "value": added, "met": added <= claim.at_most}


def transient(bench):
    ours = with_layer(bench, "transient", "transient")
    return Series("transient", Side(ours), Side(program(bench, "transient")), [
        Claim("memory", "modules destroyed after use, with the layer / without: peak memory",
              lambda run: run["peak_rss_bytes"], at_most=1.05),
    ])


def waiting(name, says, what, at_most, **variables):
    """Threads that want the same pipeline at once, cold."""
    def make(bench):
        directory = bench.path(name)
        theirs = Program([os.path.join(bench.build, "tests/bench/bench_waiting"), what],
                         bench.radv())
        ours = theirs.changed(**bench.layer(directory, **variables))
        return Series(name, bench.cold_side(directory, ours), Side(theirs), [
            Claim("pipeline", says, ns, at_most=at_most),
        ])
    make.__name__ = name
    return make


def live_memory(bench):
    """Heap bytes that the layer keeps for each live module, beyond its canonical bytes."""
    plain = program(bench, "live")
    ours = with_layer(bench, "live-memory", "live")
    output = bench.path("output")
    added = ours.run(output)["module_bytes"] - plain.run(output)["module_bytes"]
    value = added - CANONICAL_MODULE_BYTES
    return [{"name": "live-memory.module", "limit": "≤ 160", "met": value <= 160, "value": value,
             "says": "heap bytes of a live object beyond its canonical bytes",
             "commands": {"ours": str(ours), "theirs": str(plain)}}]


SERIES = {
    "repeated": repeated,
    "repeated-million": repeated_million,
    "repeated-module": repeated_module,
    "two-threads": two_threads,
    "first-creation": first_creation,
    "transient": transient,
    "beside-batch": waiting("beside-batch", "one pipeline while another thread creates it with 39 "
                            "more in one call, with the layer / without", "batch", 1.5),
    "two-caches": waiting("two-caches", "the same pipeline on two threads at once, each with a "
                          "cache of its own, with the layer / without", "caches", 1.1,
                          WARMPIPE_APP_CACHE="harvest"),
}

FACTS = {"live-memory": live_memory}
