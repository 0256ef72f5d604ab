# SPDX-License-Identifier: Apache-2.0
"""Recipes from elsewhere that may kill a driver: one start is lost at most, and none after `warmpipe
warm`, whose children die of some."""

import json
import os
import subprocess
import time

from suite import Failure, Skip, expect

STARTS = 5  # before `warm`
LOST = 1
# Whatever a driver makes of a hostile shader, it does not take the machine along.
LIMITS = ("prlimit", f"--as={6 << 30}", "--core=0")
# A compile that comes to no end; a busy machine takes its time for what is compiled ahead.
PATIENCE_S = 180


def add_hostile(place, *names):
    """Writes the recipes; [(outcome or "-", digest, name)]."""
    tool = os.path.join(place.suite.build, "tests/drivers/hostile/hostile_recipes")
    result = subprocess.run([tool, place.path("cache"), "client", *names], capture_output=True,
                            text=True, check=False)
    expect(result.returncode == 0, f"hostile_recipes: {result.stderr}")
    return [tuple(line.split("\t")) for line in result.stdout.splitlines()]


def start(place):
    """A program that lives until its recipes were gone through: its log, and whether it died."""
    log = place.path(f"hostile-{place.runs}.log")
    place.remove_caches()
    process, finish = place.client_process("--delay-ms", "1000000", prefix=LIMITS,
                                           WARMPIPE_PREWARM="auto", WARMPIPE_LOG=f"info:{log}")
    until = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        text = place.text(log)
        if "prewarmed " in text or "no prewarm" in text:
            process.kill()
            finish()
            return text, False
        time.sleep(0.02)
    is_lost = process.poll() is not None
    process.kill()
    run = finish()
    expect(is_lost, f"what is compiled ahead comes to no end: {place.text(log)}")
    return f"status {run.status}: {place.text(log)} {run.errors[-500:]}", True


def warm(place):
    """What `warmpipe warm` counts by outcome."""
    _, finish = place.start(place.suite.tool(), ["warm", "--json", "--timeout", "10"],
                            prefix=LIMITS)
    run = finish()
    try:
        return json.loads(run.output)["caches"][0]
    except (ValueError, LookupError):
        raise Failure(f"warm ends with {run.status}: {run.output} {run.errors[-300:]}") from None


def hostile(place):
    if place.suite.built_in:
        raise Skip("programs of another architecture take more memory than is allowed here")
    place.client()
    recipes = add_hostile(place)
    expect(len(recipes) >= 40, f"{len(recipes)} hostile recipes")
    lost = sum(start(place)[1] for _ in range(STARTS))
    expect(lost <= LOST, f"{lost} of {STARTS} starts lost")
    place.remove_caches()
    counts = warm(place)
    if counts["state"] == "ineffective":
        return  # it ends after eight compiles, where nothing can be saved
    for outcome in sorted({outcome for outcome, _, _ in recipes} - {"-"}):
        wanted = sum(each == outcome for each, _, _ in recipes)
        expect(counts[outcome] >= wanted, f"{outcome}: {counts[outcome]} of {wanted}: {counts}")
    for _ in range(3):
        text, is_lost = start(place)
        expect(not is_lost, f"a start is lost after warm: {text}")
        expect("prewarmed " in text, f"no prewarm after warm: {text}")
