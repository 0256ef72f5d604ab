# SPDX-License-Identifier: Apache-2.0
"""Pipelines drawn from a seed, of every kind that a device supports: tests/clients/random."""

import itertools
import json
import os
import re

from suite import LAYER, VALIDATION, Failure, Place, expect

ROW = re.compile(r"(\d+\.\d+) (\w+)( loose)? (-?\d+) (made|none) (\w+) (hit|miss|unknown)$", re.MULTILINE)
ITEMS = "40"
THREADS = ("--threads", "4")
# The first and the last one that is tried.
FIRST, LAST = map(int, os.environ.get("WARMPIPE_RANDOM_SEEDS", "1-1").split("-"))


def validating(place):
    settings = place.path("vk_layer_settings.txt")
    with open(settings, "w", encoding="utf-8") as file:
        file.write("khronos_validation.report_flags = error\n"
                   "khronos_validation.enable_message_limit = false\n")
    return {"VK_INSTANCE_LAYERS": VALIDATION, "VK_LAYER_SETTINGS_PATH": settings}


class Seed:
    """What one seed draws on one device. Items that are not valid by the word of the suite's own validation
    layer, or that kill the driver without us, are left out."""

    def __init__(self, place, seed):
        self.place = place
        self.seed = seed
        self.skip = place.path("skip")
        self.own = place.path("own.bin")
        self.leave_out("--messages", "--strict", **validating(place))
        self.leave_out("--cache", self.own)
        self.plain = self.rows(self.run(WARMPIPE_DISABLE="1"))
        expect(len(self.plain) >= 10, f"too little is left: {self.plain}")
        sizes = [os.path.getsize(self.own)]
        for _ in range(2):
            self.perfect = self.run("--cache", self.own, WARMPIPE_DISABLE="1")
            sizes.append(os.path.getsize(self.own))
        # With Mesa 26.1, what is linked of libraries that come from a cache becomes other code, once.
        # hasvk gives those with an immutable sampler of a YCbCr conversion another key each time.
        self.grows, self.grows_on = sizes[1] > sizes[0], sizes[2] > sizes[1]
        self.misses = sum(row[-1] == "miss" for row in self.rows(self.perfect).values())
        if self.grows_on: # where two threads create one, it has two keys
            self.misses *= 2

    def start(self, *arguments, **variables):
        words = [str(self.seed), "--items", ITEMS, "--skip", self.skip, *arguments]
        return self.place.start(self.place.suite.random(), words, **variables)[1]()

    def leave_out(self, *arguments, **variables):
        for _ in range(20):
            run = self.start(*arguments, WARMPIPE_DISABLE="1", **variables)
            bad = re.findall(r"^message (\d+.*)$", run.output, re.MULTILINE)
            if run.status != 0:
                bad += re.findall(r"^item (\d+)$", run.output, re.MULTILINE)[-1:]
                expect(bad, f"status {run.status}: {run.errors[-300:]}")
            with open(self.skip, "a", encoding="utf-8") as file:
                file.writelines(f"{item}\n" for item in bad)
            if run.status == 0:
                return

    def run(self, *arguments, **variables):
        run = self.start(*arguments, **variables)
        expect(run.status == 0 and run.output.endswith("done\n"),
               f"status {run.status}: {arguments}: {run.output[-200:]} {run.errors[-300:]}")
        alone = re.findall("^a cache of one thread.*", run.output, re.MULTILINE)
        expect(not alone, f"{arguments}: {alone}")
        if "WARMPIPE_DISABLE" not in variables:
            run.last() # what later runs find is what this one saved
        return run

    @staticmethod
    def rows(run):
        return {row[0]: row[1:] for row in ROW.findall(run.output)}

    def expect_same(self, what, run, rows, may_gain=False):
        """Each pipeline is what it is without the layer; where that depends on the cache, it is not told to
        be compiled where it need not."""
        seen = self.rows(run)
        expect(seen.keys() == rows.keys(), f"{what}: other rows: {seen.keys() ^ rows.keys()}")
        # Those that must not be compiled do not wait for the cache to be loaded, either.
        early = set(itertools.takewhile(lambda key: seen[key][1], seen))
        other = {key: (rows[key], row) for key, row in seen.items() if row[:5] != rows[key][:5] and
                 not (row[1] and (may_gain or row[3] == "made" or key in early))}
        expect(not other, f"{what}: {other}")

    def expect_warm(self, what, run, may_write=False, may_compile=False):
        """Nothing is compiled that the program's own perfect cache would have had."""
        cache, pipelines = run.last()["cache"], run.last()["pipelines"]
        expect(cache["state"] == "loaded", f"{what}: not loaded: {cache}")
        expect(may_write or self.grows_on or cache["saved_bytes"] == 0, f"{what}: writes: {cache}")
        expect(may_compile or pipelines["driver_misses"] <= self.misses,
               f"{what}: compiles: {pipelines}, its own cache has {self.misses} misses")

    def expect_recorded(self, run, trace):
        """Whatever was created is in a recipe, but what is created by identifiers alone."""
        with open(trace, encoding="utf-8") as file:
            events = [json.loads(line.rstrip(",\n")) for line in file if '"cat":"pipeline"' in line]
        rows = self.rows(run)
        expect(len(events) == len(rows), f"{len(events)} in the trace, {len(rows)} rows")
        kept = set()
        for name in os.listdir(self.place.path("cache/client/recipes")):
            if name.endswith(".wprecipes"):
                segment = self.place.path("cache/client/recipes", name)
                inspected = self.place.start(self.place.suite.tool(), ["inspect", "--json", "-v", segment])[1]()
                kept |= {use["pipeline"] for use in json.loads(inspected.output)["uses"]}
        lost = {key: row for (key, row), event in zip(rows.items(), events)
                if row[3] == "made" and not row[1] and event["args"]["digest"] not in kept}
        expect(not lost, f"not recorded: {lost}")

    def check_starts(self):
        trace = self.place.path("trace")
        run = self.run(WARMPIPE_TRACE=trace)
        self.expect_same("cold", run, self.plain, may_gain=True)
        self.expect_recorded(run, trace)
        if self.place.device.keeps:
            for start in range(2):
                run = self.run()
                self.expect_same("warm", run, self.rows(self.perfect))
                self.expect_warm("warm", run, may_write=self.grows and start == 0)

    def check_recipes(self):
        self.place.remove_caches()
        told = self.place.warm()
        if not self.place.device.keeps:
            return
        expect(told["compiled"] + told["hit"] == told["recipes"] > 0, f"not all was replayed: {told}")
        written = []
        while not written or written[-1] > 0: # a hit that was slow may look like news, once
            run = self.run()
            self.expect_same("after warm", run, self.rows(self.perfect))
            # V3DV names what discards by attachments, which Vulkan ignores there and recipes leave out.
            self.expect_warm("after warm", run, may_write=len(written) < 2,
                             may_compile=not written and self.place.device.name.startswith("v3dv"))
            written.append(0 if self.grows_on else run.last()["cache"]["saved_bytes"])

    def check_statistics(self):
        """What was compiled is the same, too, as with a cache of the program's own. Mesa's driver for
        PowerVR crashes when it is asked for that."""
        if self.place.device.name == "powervr":
            return
        own = self.place.path("statistics.bin")
        for start in ("cold", "warm"):
            plain = self.rows(self.run("--statistics", "--cache", own, WARMPIPE_DISABLE="1"))
            run = self.run("--statistics", WARMPIPE_APP="statistics")
            self.expect_same(f"statistics, {start}", run, plain, may_gain=True)

    def check_threads(self):
        for _ in range(3):
            run = self.run(*THREADS, WARMPIPE_APP="threads")
            self.expect_same("threads", run, self.plain, may_gain=True)
        if self.place.device.keeps:
            self.expect_warm("threads", run)

    def check_own_caches(self):
        """Only what is created with a cache that came with data may be compiled in the third start."""
        for arguments in ((), THREADS, THREADS):
            run = self.run("--own-caches", *arguments, WARMPIPE_APP="own")
            self.expect_same("own caches", run, self.plain, may_gain=True)
        pipelines = run.last()["pipelines"]
        expect(not self.place.device.keeps or pipelines["driver_misses"] <= self.misses + pipelines["passed"],
               f"own caches: {run.last()}")

    def check_messenger(self):
        """With a messenger, threads wait neither for each other nor for the load of the cache. What
        they compile meanwhile is kept by a later start."""
        for arguments in (THREADS, (), ()):
            run = self.run("--messages", *arguments, WARMPIPE_APP="messenger")
            self.expect_same("messenger", run, self.plain, may_gain=True)
        if self.place.device.keeps:
            self.expect_warm("messenger", run)

    def check_prewarm(self):
        """Recipes and no cache; the program does not wait."""
        self.place.remove_caches()
        run = self.run(*THREADS, WARMPIPE_PREWARM="auto")
        self.expect_same("prewarm", run, self.plain, may_gain=True)
        if self.place.device.keeps:
            self.expect_warm("after prewarm", self.run(), may_write=True)

    def check_foreign(self):
        """Recipes of another device, if this one is as able."""
        device = self.place.device
        if not device.name.startswith("radv"):
            return
        self.place.use(self.place.suite.device(device.other))
        self.place.variables["WARMPIPE_APP"] = "foreign"
        same = self.rows(self.run()).keys() == self.plain.keys()
        self.place.use(device)
        document = self.place.warm_document("--app", "foreign")
        (told,) = document["caches"]
        is_able = not document["lacks"]
        expect(not is_able or told["compiled"] + told["hit"] == told["recipes"] > 0, f"foreign: {told}")
        if same and is_able:
            self.expect_warm("foreign", self.run(), may_write=True)
        self.place.variables["WARMPIPE_APP"] = "client"

    def check_validation(self):
        """The suite's validation layer below ours says nothing that it does not say without us: an older one
        knows less than its driver."""
        told = []
        for variables in ({"WARMPIPE_DISABLE": "1"}, {}):
            run = self.run("--strict", WARMPIPE_APP="validation", **validating(self.place), **variables)
            told.append(set(re.findall(r"VUID-[\w-]+", run.output + run.errors)))
        stack = re.findall(rf"^.*?({LAYER}|{VALIDATION})$", run.loader, re.MULTILINE)
        expect(stack[-2:] == [LAYER, VALIDATION], f"not below ours: {stack} {run.loader[-1500:]}")
        expect(told[1] <= told[0], f"validation: {told[1] - told[0]}")

    def check(self):
        self.check_starts()
        self.check_recipes()
        self.check_statistics()
        self.check_threads()
        self.check_own_caches()
        self.check_messenger()
        self.check_prewarm()
        self.check_foreign()
        self.check_validation()


def check_together(place, seeds):
    """Programs that differ in what they enable, with one folder."""
    place.variables["WARMPIPE_APP"] = "together"
    for seed in seeds:
        seed.place = place
        seed.run()
    for file in place.cache_files("together"):
        os.unlink(file)
    told = place.warm("--app", "together")
    if place.device.keeps:
        expect(told["compiled"] + told["hit"] == told["recipes"] > 0, f"together: {told}")
        for seed in seeds:
            seed.expect_warm(f"together, seed {seed.seed}", seed.run(), may_write=True)


def random(place):
    seeds = []
    for seed in range(FIRST, LAST + 1):
        folder = place.path(f"seed-{seed}")
        try:
            seeds.append(Seed(Place(place.suite, place.device, folder), seed))
            seeds[-1].check()
        except Failure as failure:
            raise Failure(f"seed {seed}: {failure}") from None
    if len(seeds) > 1:
        check_together(place, seeds)
