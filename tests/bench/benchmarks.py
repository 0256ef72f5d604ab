# SPDX-License-Identifier: Apache-2.0
"""The benchmarks: what is run against what, and the limits."""

import os
import shutil
import subprocess

from process import Failure, Program, empty_directory, stats_of
from series import Claim, Series, Side, expect

PIPELINES = 240  # 200 compute, 40 graphics: the client's own default
LARGE_PIPELINES = 18000  # graphics: 4 KB each in RADV's cache
LARGE_BYTES = 69_000_000


def creation_ns(run):
    """Loading a cache counts: the layer does it inside the first creation."""
    return run["create_ns"] + run["load_ns"]


def creation_wall_ns(run):
    return run["create_wall_ns"] + run["load_ns"]


def process_ns(run):
    return run["process_ns"]


def peak_rss(run):
    return run["peak_rss_bytes"]


def driver_environment(device):
    """The variables with which the loader offers this device and no other."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../drivers/environment")
    answer = subprocess.run([script, device], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise Failure(answer.stderr.strip())
    return dict(line.split("=", 1) for line in answer.stdout.splitlines())


class Bench:
    """What all series share: where things lie, and the environments."""

    def __init__(self, build, work, replayer=None, archive=None):
        self.replayer = replayer
        self.archive = archive
        self.build = os.path.abspath(build)
        self.work = os.path.abspath(work)
        self.client = os.path.join(self.build, "tests/clients/pipelines/pipelines")
        for path in (self.client, self.library()):
            if not os.path.exists(path):
                raise Failure(f"no '{path}', build first")
        self.home = empty_directory(os.path.join(self.work, "home"))
        self.settled = set()

    def library(self):
        return os.path.join(self.build, "layer/libVkLayer_warmpipe.so")

    def path(self, name):
        return os.path.join(self.work, name)

    def driver(self, device, **variables):
        return {"HOME": self.home, **driver_environment(device), **variables}

    def radv(self, family="navi10", **variables):
        """RADV without a GPU, and without Mesa's own disk cache."""
        return self.radv_alone(family, MESA_SHADER_CACHE_DISABLE="true", **variables)

    def radv_alone(self, family, **variables):
        """RADV keeps the shaders of its own that a device needs in one file a user, whatever the
        device, and is done with it in the second run: each device gets a folder of its own."""
        environment = self.driver(f"radv-{family}", XDG_CACHE_HOME=self.path(f"cache-{family}"))
        if family not in self.settled:
            self.settled.add(family)
            os.makedirs(environment["XDG_CACHE_HOME"], exist_ok=True)
            for _ in range(2):
                Program([self.client, "--compute", "1", "--graphics", "1"], {
                    **environment, "MESA_SHADER_CACHE_DISABLE": "true",
                }).run(self.path("output"))
        return {**environment, **variables}

    def manifests(self):
        """The loader finds the layer, and leaves it where it is not enabled."""
        return {"XDG_DATA_HOME": os.path.join(self.build, "share")}

    def layer(self, directory, **variables):
        """The layer at work, through the implicit manifest as when it is installed."""
        return {**self.manifests(), "WARMPIPE_ENABLE": "1", "WARMPIPE_DIR": directory, **variables}

    def warmed(self, program):
        """Runs it twice: a program with the layer fills its cache, and shows that it is used."""
        stats_of(program, self.work)
        return program

    def expect_warm(self, program, injected=PIPELINES):
        """`injected`: how many pipelines were given the layer's cache, None: whatever."""
        (stats,) = stats_of(program, self.work)
        pipelines = stats["pipelines"]
        expect(stats["cache"]["state"] == "loaded", f"not warm: {stats}")
        expect(pipelines["driver_misses"] == 0, f"the driver compiled: {stats}")
        expect(injected in (None, pipelines["injected"]), f"not injected: {stats}")
        return stats

    def cold_side(self, directory, program):
        """The layer with an empty folder for each run, which must hold a cache afterwards."""
        def before(cold):
            empty_directory(directory)
            return cold

        def after():
            files = [name for _, _, names in os.walk(directory) for name in names]
            expect(any(name.endswith(".wpcache") for name in files), f"nothing saved: {program}")

        return Side(program, before, after)


def warm(bench):
    """An unmodified program through the layer against the same program with a cache of its own
    that it keeps perfectly: loaded from a file, never written where nothing changed."""
    own_file = bench.path("own.bin")
    if os.path.exists(own_file):
        os.unlink(own_file)
    own = Program([bench.client, "--cache", f"file={own_file}"], bench.radv())
    own.run(bench.path("output"))
    ours = bench.warmed(Program([bench.client], {**bench.radv(), **bench.layer(
        empty_directory(bench.path("warm")))}))
    return Series("warm", Side(ours), Side(own), [
        Claim("creation", "warm through the layer / the program's own kept cache: pipeline "
              "creation with loading", creation_ns, at_most=1.25),
        Claim("process", "the same: whole process", process_ns, at_most=1.05),
        Claim("memory", "the same: peak memory", peak_rss, at_most=1.03),
    ], check=lambda: bench.expect_warm(ours))


def gain(bench):
    ours = bench.warmed(Program([bench.client], {**bench.radv(), **bench.layer(
        empty_directory(bench.path("gain")))}))
    return Series("gain", Side(ours), Side(Program([bench.client], bench.radv())), [
        Claim("creation", "cold without the layer / warm with it: pipeline creation", creation_ns,
              at_least=100, inverse=True),
    ], check=lambda: bench.expect_warm(ours))


def disk_cache(bench):
    """With Mesa's own disk cache on and warm, on both sides."""
    environment = bench.radv_alone("navi10",
                                   MESA_SHADER_CACHE_DIR=empty_directory(bench.path("mesa")))
    theirs = Program([bench.client], environment)
    theirs.run(bench.path("output"))
    ours = bench.warmed(Program([bench.client], {**environment, **bench.layer(
        empty_directory(bench.path("disk-cache")))}))
    return Series("disk-cache", Side(ours), Side(theirs), [
        Claim("creation", "Mesa's disk cache warm, without the layer / with it: pipeline creation",
              creation_ns, at_least=3, inverse=True),
        Claim("process", "with the layer / without: whole process", process_ns, at_most=1.0),
    ], check=lambda: bench.expect_warm(ours))


def large(bench):
    """A large cache of which a start wants a hundred pipelines, and not at once: the layer loads it
    meanwhile, the program itself before it goes on."""
    def arguments(count, *others):
        return ["--compute", "0", "--graphics", str(count), *others]

    own = ("--cache", f"file={bench.path('large.bin')}")
    if os.path.exists(bench.path("large.bin")):
        os.unlink(bench.path("large.bin"))
    layer = bench.layer(empty_directory(bench.path("large")), WARMPIPE_APP="large")
    # What the first compiles, the second finds in Mesa's disk cache.
    making = bench.radv_alone("navi10", MESA_SHADER_CACHE_DIR=empty_directory(bench.path("mesa")))
    all_of_it = arguments(LARGE_PIPELINES, "--threads", str(os.cpu_count()))
    Program([bench.client, *all_of_it, *own], making).run(bench.path("output"))
    Program([bench.client, *all_of_it], {**making, **layer}).run(bench.path("output"))
    theirs = Program([bench.client, *arguments(100, "--delay-ms", "300"), *own], bench.radv())
    ours = Program([bench.client, *arguments(100, "--delay-ms", "300")], {**bench.radv(), **layer})

    def check():
        loaded = bench.expect_warm(ours, injected=100)["cache"]["loaded_bytes"]
        expect(loaded >= LARGE_BYTES, f"{loaded} bytes loaded")

    return Series("large", Side(ours), Side(theirs), [
        Claim("creation", "100 pipelines of a cache of 69 MB, 300 ms after the device, warm through "
              "the layer / the program's own kept cache: pipeline creation with loading",
              creation_ns, at_most=0.5),
    ], check=check)


def thirty_caches(bench):
    """A program with thirty caches that it never reads back, against itself with one."""
    def served(name, cache):
        directory = empty_directory(bench.path(name))
        return bench.warmed(Program([bench.client, "--cache", cache], {
            **bench.radv(), **bench.layer(directory, WARMPIPE_APP_CACHE="serve")}))

    thirty = served("thirty", "many=30")
    one = served("one", "own")

    def check():
        bench.expect_warm(one, injected=None)
        bench.expect_warm(thirty, injected=None)
        (stats,) = stats_of(thirty, bench.work)
        expect(stats["app_caches"]["served"] == 30, f"not served: {stats}")

    return Series("thirty-caches", Side(thirty), Side(one), [
        Claim("creation", "thirty caches never read back, served / one: pipeline creation",
              creation_ns, at_most=1.25),
        Claim("memory", "the same: peak memory", peak_rss, at_most=1.05),
    ], check=check)


def cold(name, says, arguments, **variables):
    def make(bench):
        directory = bench.path(name)
        theirs = Program([bench.client, *arguments], bench.radv())
        ours = Program(theirs.command, {**theirs.environment, **bench.layer(directory,
                                                                            **variables)})
        return Series(name, bench.cold_side(directory, ours), Side(theirs), [
            Claim("process", f"cold with the layer, saving included / without, {says}: whole "
                  "process", process_ns, at_most=1.05),
        ])
    make.__name__ = name
    return make


def no_pipelines(bench):
    """A program that creates no pipeline at all. Nothing may be made for it, either. The loader
    reads all manifests again for each question that vulkaninfo asks (98 times): both sides have
    the same ones."""
    directory = os.path.join(bench.home, "nothing")
    vulkaninfo = shutil.which("vulkaninfo")
    expect(vulkaninfo, "no vulkaninfo")
    theirs = Program([vulkaninfo], {**bench.driver("lavapipe"), **bench.manifests()})
    ours = Program(theirs.command, {**theirs.environment, **bench.layer(directory)})

    def check():
        stats_of(ours, bench.work)
        expect(not os.path.exists(directory), f"made '{directory}'")

    return Series("no-pipelines", Side(ours), Side(theirs), [
        Claim("process", "vulkaninfo on lavapipe, with the layer / without: whole process",
              process_ns, at_most=1.03),
    ], check=check)


SERIES = {
    "warm": warm,
    "gain": gain,
    "disk-cache": disk_cache,
    "large": large,
    "thirty-caches": thirty_caches,
    "cold-injected": cold("cold-injected", "no cache of its own", []),
    "cold-served": cold("cold-served", "thirty of its own, served", ["--cache", "many=30"],
                        WARMPIPE_APP_CACHE="serve"),
    "cold-injected-16": cold("cold-injected-16", "16 threads", ["--threads", "16"]),
    "cold-served-16": cold("cold-served-16", "16 threads, thirty caches of its own, served",
                           ["--threads", "16", "--cache", "many=30"],
                           WARMPIPE_APP_CACHE="serve"),
    "no-pipelines": no_pipelines,
}
