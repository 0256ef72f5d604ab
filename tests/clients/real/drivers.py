# SPDX-License-Identifier: Apache-2.0
"""The drivers that the programs run on. None needs a GPU."""
import dataclasses
import functools
import json
import os
import re
import subprocess

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.."))


@dataclasses.dataclass(frozen=True)
class Driver:
    name: str
    # What the program sees; None where the machine has no such driver.
    environment: dict | None
    why_not: str = ""
    # It executes commands, so that what a program draws can be compared.
    draws: bool = False
    # Its pipeline caches hold data, so that a program can become warm.
    caches: bool = False


def environment_of(device, build):
    """The variables of a device, or None and why it is not there."""
    script = os.path.join(ROOT, "tests/drivers/environment")
    result = subprocess.run([script, "--build", build, device], capture_output=True, text=True,
                            check=False)
    if result.returncode != 0:
        return None, result.stderr.strip()
    variables = dict(line.split("=", 1) for line in result.stdout.splitlines())
    return variables | {"MESA_SHADER_CACHE_DISABLE": "true"}, ""


def drawing(name, build):
    return Driver(name, *environment_of(name, build), draws=True)


def played(device, build):
    """A device's compiler and cache, the rest played: see tests/clients/play."""
    manifest = os.path.join(build, "tests/clients/play/warmpipe_play_icd.json")
    variables, why_not = environment_of(device, build)
    if variables:
        compiler = variables["VK_DRIVER_FILES"]
        with open(compiler, encoding="utf-8") as file:
            library = json.load(file)["ICD"]["library_path"]
        if "/" in library:  # from the manifest's folder, unless absolute
            library = os.path.join(os.path.dirname(compiler), library)
        variables |= {"VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest,
                      "PLAY_DRIVER": library}
    return Driver("played", variables, why_not, caches=True)


@functools.cache
def all_drivers(device, build):
    """`device`: whose compiler the driver `played` has, as tests/drivers/environment names it."""
    drivers = [drawing("lavapipe", build), drawing("swiftshader", build), played(device, build)]
    return {driver.name: driver for driver in drivers}


def device_name(driver):
    """What the driver calls its device; for programs that take no software driver unless named."""
    result = subprocess.run(["vulkaninfo", "--summary"], capture_output=True, text=True, check=False,
                            env={"PATH": os.environ["PATH"], **driver.environment})
    found = re.search(r"deviceName *= (.*)", result.stdout)
    return found[1].strip() if found else ""
