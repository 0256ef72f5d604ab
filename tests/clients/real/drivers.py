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


def environment_of(device):
    """The variables of a device, or None and why it is not there."""
    script = os.path.join(ROOT, "tests/drivers/environment")
    result = subprocess.run([script, device], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return None, result.stderr.strip()
    variables = dict(line.split("=", 1) for line in result.stdout.splitlines())
    return variables | {"MESA_SHADER_CACHE_DISABLE": "true"}, ""


def drawing(name):
    return Driver(name, *environment_of(name), draws=True)


def played(build):
    """RADV's compiler and cache, the rest played: see tests/clients/play."""
    manifest = os.path.join(build, "tests/clients/play/warmpipe_play_icd.json")
    variables, why_not = environment_of("radv-navi10")
    if variables:
        radv = variables["VK_DRIVER_FILES"]
        with open(radv, encoding="utf-8") as file:
            library = json.load(file)["ICD"]["library_path"]
        if "/" in library:  # from the manifest's folder, unless absolute
            library = os.path.join(os.path.dirname(radv), library)
        variables |= {"VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest,
                      "PLAY_DRIVER": library}
    return Driver("played", variables, why_not, caches=True)


@functools.cache
def all_drivers(build):
    drivers = [drawing("lavapipe"), drawing("swiftshader"), played(build)]
    return {driver.name: driver for driver in drivers}


def device_name(driver):
    """What the driver calls its device; for programs that take no software driver unless named."""
    result = subprocess.run(["vulkaninfo", "--summary"], capture_output=True, text=True, check=False,
                            env={"PATH": os.environ["PATH"], **driver.environment})
    found = re.search(r"deviceName *= (.*)", result.stdout)
    return found[1].strip() if found else ""
