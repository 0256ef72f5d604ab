# SPDX-License-Identifier: Apache-2.0
"""What must hold on each device. A check is given a Place that nothing has run in."""

import json
import os
import re
import shutil

import known
import suite
from feature_checks import run_feature
from suite import KEY_LAYER, LAYER, VALIDATION, Skip, expect, wait_for

PIPELINES = 30  # of Place.client


def saved(place):
    return any(line["cache"]["saved_bytes"] > 0 for line in place.stats_so_far())


def compiled_by_itself(place):
    """How many of the client's pipelines the driver says that it compiles where the program has kept all
    of them perfectly: Turnip of Mesa 26.1 says so of each graphics pipeline, which takes it 2 us."""
    own = place.path("perfect.bin")
    for _ in range(2):
        said = place.client("--feedback", "--cache", f"file={own}", WARMPIPE_DISABLE="1").said
    return said["feedback_valid"] - said["feedback_hits"]


def expect_no_misses(place, run, what):
    misses = run.last()["pipelines"]["driver_misses"]
    expect(misses == 0 or misses <= compiled_by_itself(place), f"{what}: {run.last()}")


def expect_warm(place, run, *, deduplicated=0):
    """Everything was found in what was loaded, and nothing was written."""
    cache, pipelines = run.last()["cache"], run.last()["pipelines"]
    expect(cache["state"] == "loaded", f"not loaded: {cache}")
    expect(cache["saved_bytes"] == 0, f"a warm start writes: {cache}")
    expect(pipelines["deduplicated"] == deduplicated, f"deduplicated: {pipelines}")
    expect_no_misses(place, run, "a warm start compiles")


def expect_whole(place, run):
    """What was saved is no less than what the program would have kept perfectly by itself. A driver's
    feedback may lie, its sizes do not."""
    own = place.path("own.bin")
    perfect = place.client("--cache", f"file={own}", WARMPIPE_DISABLE="1").said["app_cache_bytes"]
    kept = run.last()["cache"]["saved_bytes"] or run.last()["cache"]["loaded_bytes"]
    expect(kept >= 0.95 * perfect, f"{kept} bytes kept, {perfect} by the program itself")


def cold(place):
    run = place.client()
    cache, pipelines = run.last()["cache"], run.last()["pipelines"]
    expect(pipelines["injected"] == PIPELINES, f"injected: {pipelines}")
    if not place.device.keeps:
        expect(cache["state"] == "ineffective", f"should keep nothing: {cache}")
        expect(not place.cache_files(), f"left behind: {place.cache_files()}")
        return
    expect(cache["state"] == "cold" and cache["reason"] == "no_file", f"not cold: {cache}")
    expect(len(place.cache_files()) == 1, f"files: {place.cache_files()}")
    expect_whole(place, run)


def not_taken(place):
    """Of a driver that takes nothing of its own data, what was written once is not written again."""
    place.client()
    for _ in range(2):
        cache = place.client().last()["cache"]
        expect(cache["state"] == "ineffective" and cache["saved_bytes"] == 0, f"written: {cache}")


def warm(place):
    place.client()
    for _ in range(3):
        expect_warm(place, place.client())


def killed(place):
    """In the midst of its life, after a background save."""
    process, finish = place.client_process("--wait-ms", "1000000")
    wait_for(process, lambda: saved(place), "a background save")
    process.kill()
    finish()
    run = place.client()
    expect(run.last()["cache"]["state"] == "loaded", f"not loaded: {run.last()['cache']}")
    expect_warm(place, place.client())  # the first may add what was compiled after that save


def returned(place):
    """From main, right behind the last pipeline and with everything alive."""
    place.client("--end", "return")
    expect_no_misses(place, place.client(), "not saved at its end")


def own_caches(place):
    """A program with caches of its own that it never keeps, and one that keeps its cache."""
    for _ in range(3):
        run = place.client("--cache", "many=4")
    if place.device.keeps:
        expect(run.last()["cache"]["state"] == "loaded", f"third start: {run.last()['cache']}")
        expect_no_misses(place, run, "third start")
        place.variables["WARMPIPE_APP"] = "keeper"
        own = place.path("kept.bin")
        sizes = [place.client("--cache", f"file={own}").said["app_cache_bytes"] for _ in range(3)]
        expect(max(sizes[1:]) <= sizes[0] * 1.05, f"the program's own cache swells: {sizes}")


def allocator(place):
    """What serves a cache may be called on the program's threads alone. With a second thread there is
    one of ours as soon as there is something to load."""
    for seed in ("1", "2", "1"):
        run = place.client("--allocator", "--idle-thread", "--seed", seed)
        expect(run.said["allocations"] == run.said["frees"], f"allocations: {run.said}")
        expect(run.said["foreign_allocator_calls"] == 0, f"on threads of ours: {run.said}")
    if place.device.keeps:
        expect_warm(place, run)


def sharing(place):
    for start in range(2):
        run = place.client("--repeat", "2", "--threads", "4")
        pipelines = run.last()["pipelines"]
        expect(pipelines["requested"] == 2 * PIPELINES, f"requested: {pipelines}")
        expect(pipelines["deduplicated"] == PIPELINES, f"deduplicated: {pipelines}")
        if start and place.device.keeps:
            expect_warm(place, run, deduplicated=PIPELINES)


def replay_recipes(place):
    document = place.warm_document()
    (told,) = document["caches"]
    (coverage,) = document["coverage"]
    expect(coverage["covered"] == coverage["pipelines"] == told["recipes"] and
           not document["lacks"], f"not all covered: {document}")
    if not place.device.keeps:
        expect(told["state"] == "ineffective", f"warm: {told}")
        return
    expect(told["compiled"] + told["hit"] >= 0.95 * PIPELINES, f"warm compiled too few: {told}")
    run = place.client()
    expect_warm(place, run)
    expect_whole(place, run)


def recipes(place):
    place.client()
    place.remove_caches()
    replay_recipes(place)


def foreign(place):
    """Recipes that were recorded on RADV."""
    device = place.device
    place.use(place.suite.device(device.other))
    place.client()
    place.remove_caches()
    place.use(device)
    replay_recipes(place)


def prewarm(place):
    """The program starts with recipes and no cache, and asks for nothing meanwhile."""
    place.client(prefix=suite.before_others())
    whole = os.path.getsize(place.cache_files()[0])
    place.remove_caches()
    suite.prewarm(place, place.suite.client(), [*suite.PIPELINES, "--delay-ms", "1000000"], whole)
    run = place.client()
    misses = run.last()["pipelines"]["driver_misses"]
    expect(misses <= PIPELINES // 10 or misses <= compiled_by_itself(place),
           f"compiled ahead, but {misses} misses: {run.last()}")
    expect_warm(place, place.client())


def older(place):
    """A program of Vulkan 1.1 with render passes, which has no creation feedback: what it would
    compile in a warm start, it would save."""
    arguments = ("--api", "1.1", "--render-pass")
    place.client(*arguments)
    for _ in range(2):
        expect_warm(place, place.client(*arguments))
    place.remove_caches()
    told = place.warm()
    expect(told["compiled"] + told["hit"] == PIPELINES, f"warm compiled too few: {told}")
    for _ in range(2):
        expect_warm(place, place.client(*arguments))


def identity(place):
    """Another device has a file of its own, and a file under another's name is refused."""
    device = place.device
    place.client()
    (mine,) = place.cache_files()
    place.use(place.suite.device(device.other))
    other = place.client()
    expect(other.last()["cache"]["reason"] == "no_file", f"another device: {other.last()['cache']}")
    (theirs,) = set(place.cache_files()) - {mine}
    place.use(device)
    expect_warm(place, place.client())
    shutil.copyfile(theirs, mine)
    refused = place.client()
    expect(refused.last()["cache"]["state"] == "rejected", f"forged: {refused.last()['cache']}")
    expect_warm(place, place.client())


def devices_of(place, action):
    """What the devices have enabled that are created meanwhile, and their drivers' keys: lines of
    tests/drivers/keys, without what was named and not enabled."""
    file = place.path("keys")
    if os.path.exists(file):
        os.unlink(file)
    place.variables["DEVICE_KEYS"] = file
    action()
    with open(file, encoding="utf-8") as lines:
        devices = [json.loads(line) for line in lines]
    for device in devices:
        device["extensions"] = sorted(set(device["extensions"]))
        device["structs"] = {stype: members for stype, members in device["structs"].items()
                             if members == "" and stype != "core" or "1" in members}
    return devices


def replay_device(place, app, run):
    """The device of a program, and those that `warmpipe warm` makes to replay its recipes on."""
    place.variables["WARMPIPE_APP"] = app
    (program,) = devices_of(place, run)
    for file in place.cache_files(app):
        os.unlink(file)
    replays = devices_of(place, lambda: place.warm("--app", app))
    expect(replays, "no device was made for the replay")
    return program, replays


def look_at_devices(place):
    """From here on tests/drivers/keys is below the layer."""
    root = place.suite.root or ""
    place.variables.update({
        "VK_INSTANCE_LAYERS": KEY_LAYER,
        "VK_ADD_LAYER_PATH": os.path.join(place.suite.build, "tests/drivers/keys"),
        "DEVICE_KEYS_STRUCTS": known.feature_sizes(root + known.INSTALLED)})


def replayed_devices(place):
    """Of a program that has enabled little, and of one with a feature that shapes what RADV compiles."""
    look_at_devices(place)
    devices = [replay_device(place, "client", place.client)]
    if "skipped" not in place.run_client(place.suite.features(), "queries").said:
        devices.append(replay_device(place, "queries", lambda: run_feature(place, "queries")))
    return devices


def enabled(place):
    """A replay's device has enabled what the program's device had, and nothing else."""
    for program, replays in replayed_devices(place):
        for replay in replays:
            for what in ("extensions", "structs"):
                expect(replay[what] == program[what],
                       f"{what} of a replay: {replay[what]}, of the program: {program[what]}")


def key(place):
    """To the driver a replay's device compiles as the program's does: vkGetPipelineKeyKHR."""
    devices = replayed_devices(place)
    if not devices[0][0]["key"]:
        raise Skip("no VK_KHR_pipeline_binary")
    for program, replays in devices:
        expect({replay["key"] for replay in replays} == {program["key"]},
               f"keys of replays: {replays}, of the program: {program}")
    if place.device.name.startswith("radv"):
        keys = [program["key"] for program, _ in devices]
        expect(len(set(keys)) == 2, f"the key does not tell two devices apart: {keys}")


# Of Mesa 26: each gives RADV another key, and the same identity.
VARIABLE = {"RADV_PERFTEST": "cswave32"}
OPTION = """<driconf><device><application name="client" executable="pipelines">
<option name="{}" value="true"/></application></device></driconf>"""
# By driver. ANV's is in the keys of its pipelines, though not in the device's.
SETTINGS = {"radv": ((VARIABLE, ""), ({}, OPTION.format("radv_split_fma"))),
            "anv": (({}, OPTION.format("anv_sample_mask_out_opengl_behaviour")),)}


def key_of_client(place, **variables):
    """The driver's key for the client, and what its cache is called."""
    before = dict(place.variables)
    look_at_devices(place)
    place.variables["WARMPIPE_DIR"] = place.path("elsewhere")
    (device,) = devices_of(place, lambda: place.client(**variables))
    names = sorted(os.path.basename(file) for file in place.cache_files(root="elsewhere"))
    shutil.rmtree(place.path("elsewhere"))
    place.variables.clear()
    place.variables.update(before)
    return device["key"], names


def settings(place):
    """Settings of the driver that Vulkan does not know, of a program's that has not enabled what tells
    its key: a replay has them, whatever it is started with."""
    driver = place.device.name.split("-")[0]
    if driver not in SETTINGS:
        raise Skip("no setting is known that changes the key and not the identity")
    plain, names = key_of_client(place)
    tried = 0
    for variables, options in SETTINGS[driver]:
        with open(place.path("home", ".drirc"), "w", encoding="utf-8") as file:
            file.write(options or "<driconf></driconf>")
        other, other_names = key_of_client(place, **variables)
        if driver == "radv" and other == plain or other_names != names:
            continue  # not of this device, or no secret
        tried += 1
        place.remove_caches()
        place.client(**variables)
        place.remove_caches()
        told = place.warm()
        expect(told["compiled"] == told["recipes"] > 0, f"warm: {told}")
        expect_warm(place, place.client(**variables))
    if tried == 0:
        raise Skip("all that were tried change the identity, or not even the key")
    os.unlink(place.path("home", ".drirc"))
    place.client()
    place.remove_caches()
    told = place.warm(**VARIABLE)
    expect(told["compiled"] == told["recipes"] > 0, f"warm with other variables: {told}")
    expect_warm(place, place.client())


def validation(place):
    """The validation layer of that suite, below ours, has nothing to say."""
    settings = place.path("vk_layer_settings.txt")
    with open(settings, "w", encoding="utf-8") as file:
        file.write("khronos_validation.report_flags = error,warn,perf\n")
    variables = {"VK_INSTANCE_LAYERS": VALIDATION, "VK_LAYER_SETTINGS_PATH": settings}
    feedback = [] if place.device.name == "powervr" else ["--feedback"] # its driver has none
    for arguments in ([], ["--threads", "4", *feedback, "--repeat", "2", "--render-pass"],
                      ["--cache", "many=3", "--batch", "4"]):
        run = place.client(*arguments, **variables)
        said = run.output + run.errors
        stack = re.findall(rf"^.*?({LAYER}|{VALIDATION})$", run.loader, re.MULTILINE)
        expect(stack[-2:] == [LAYER, VALIDATION], f"not below ours: {stack} {run.loader[-1500:]}")
        expect("VUID" not in said and "Validation " not in said, f"validation: {said[-600:]}")


CHECKS = (cold, warm, killed, returned, own_caches, allocator, sharing, recipes, foreign, prewarm, older,
          identity, enabled, key, settings, validation)
# Those that a driver without a cache has anything to show in, and one that takes nothing of its data.
OF_ALL = (cold, own_caches, sharing, recipes, validation)
OF_NOT_TAKEN = (not_taken, own_caches, sharing, validation)
