# SPDX-License-Identifier: Apache-2.0
"""Features of Vulkan that programs use, one check each: tests/clients/features."""

import os
import re

from suite import Skip, before_others, expect, prewarm

# None of the layer's affair: no pipelines, or pipelines that may have no cache.
UNTOUCHED = ("shader_object", "pipeline_binary")
NAMES = ("flags2", "maintenance", "local_read", "robustness", "descriptor_buffer", "queries", "discard",
         "internal_cache", "libraries", "library_layouts", "identifiers", "generated_commands", "ray_tracing",
         "cooperative_matrix", "untyped_pointers", *UNTOUCHED)


def run_feature(place, name, *arguments, **variables):
    run = place.run_client(place.suite.features(), name, *arguments, **variables)
    if "skipped" in run.said:
        raise Skip(run.said["skipped"])
    expect(run.said["failures"] == 0, f"calls failed: {name} {arguments} {run.said}")
    return run


def expect_same_results(place, name):
    """What the program sees of its pipelines, compiled and from the cache, is what it sees without the
    layer. ANV's binaries of shader objects are others in each process, so that nothing is compared."""
    plain, again = (run_feature(place, name, "--statistics", WARMPIPE_DISABLE="1").said["seen"]
                    for _ in range(2))
    if again != plain:
        return
    for start in ("cold", "warm"):
        run = run_feature(place, name, "--statistics", WARMPIPE_DIR=place.path("statistics"))
        expect(run.said["seen"] == plain, f"another result, {start}: {run.said}, not {plain}")
        run.last()


def run_perfect(place, name):
    """A warm start of the program with a cache of its own that it keeps, without the layer: drivers
    report misses of what they do not compile at all, and never cache."""
    for _ in range(2):
        run = run_feature(place, name, "--cache", place.path("own.bin"), WARMPIPE_DISABLE="1")
    return run.said


def expect_found(run, perfect, may_write=False):
    """Nothing that could be found was compiled, and nothing was written."""
    cache, pipelines = run.last()["cache"], run.last()["pipelines"]
    expect(cache["state"] == "loaded", f"not loaded: {cache}")
    expect(may_write or cache["saved_bytes"] == 0, f"a warm start writes: {cache}")
    expect(pipelines["driver_misses"] <= perfect["misses"],
           f"a warm start compiles: {pipelines}, its own cache has {perfect['misses']} misses")
    expect(run.said["compile_required"] == perfect["compile_required"],
           f"not to be had without compiling: {run.said}")


def check_feature(place, name):
    expect_same_results(place, name)
    cold = run_feature(place, name, prefix=before_others())
    pipelines = cold.last()["pipelines"]
    if name in UNTOUCHED:
        expect(pipelines["requested"] == (0 if name == "shader_object" else 8), f"{pipelines}")
        expect(pipelines["passed"] == pipelines["requested"], f"given a cache: {pipelines}")
        expect(not place.cache_files(), f"kept: {place.cache_files()}")
        return
    expect(pipelines["injected"] == pipelines["requested"] > 0, f"without a cache: {pipelines}")
    perfect = run_perfect(place, name)
    for _ in range(2):
        expect_found(run_feature(place, name), perfect)
    if name == "discard" and place.device.name.startswith("v3dv"):
        return # named by attachments, which Vulkan ignores there and recipes leave out
    place.remove_caches()
    told = place.warm()
    expect(told["compiled"] + told["hit"] == told["recipes"] > 0, f"not all was replayed: {told}")
    # RADV leaves a few bytes of its stack in each entry, other ones in the tool's process than in the
    # program's: where hits are slow, on a busy machine, that may look like a change, once.
    expect_found(run_feature(place, name), perfect, may_write=True)
    expect_found(run_feature(place, name), perfect)
    if name == "identifiers":
        prewarm_feature(place, name, perfect)


def prewarm_feature(place, name, perfect):
    """The same after a process with recipes and no cache that has asked for nothing."""
    whole = os.path.getsize(place.cache_files()[0])
    place.remove_caches()
    prewarm(place, place.suite.features(), [name, "--delay-s", "1000"], whole)
    expect_found(run_feature(place, name), perfect, may_write=True)


def run_heaps(place, **variables):
    _, finish = place.start(place.suite.heaps(), ["4"], **variables)
    run = finish()
    if run.output.startswith("skipped: "):
        raise Skip(run.output[len("skipped: "):].strip())
    expect(run.status == 0, f"heaps ends with {run.status}: {run.output} {run.errors[-300:]}")
    return run


def descriptor_heap(place):
    """Pipelines as DXVK 3 creates them: tests/clients/heaps."""
    run_heaps(place, WARMPIPE_DISABLE="1")
    pipelines = run_heaps(place).last()["pipelines"]
    expect(pipelines["injected"] == pipelines["requested"] > 0, f"without a cache: {pipelines}")
    for source in ("the program", "warm"):
        if source == "warm":
            place.remove_caches()
            told = place.warm()
            expect(told["compiled"] + told["hit"] == told["recipes"] > 0, f"not replayed: {told}")
        run = run_heaps(place)
        # ANV says of what it does not compile that it was not found.
        nothing = int(re.search(r"without stages (\d+)", run.output)[1])
        misses = run.last()["pipelines"]["driver_misses"]
        expect(misses in (0, nothing), f"after {source}: {misses} misses: {run.last()}")
        expect("compile required 0" in run.output, f"after {source}: {run.output}")


def make_check(name):
    def check(place):
        check_feature(place, name)
    check.__name__ = name
    return check


FEATURES = (descriptor_heap, *(make_check(name) for name in NAMES))
