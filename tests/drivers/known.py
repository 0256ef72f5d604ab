# SPDX-License-Identifier: Apache-2.0
"""What a suite's Vulkan registry has and the layer does not know.

The layer's tables are made from the registry that it is built with, and from tools/codegen's files of
newer facts. What neither has, programs of that suite can chain all the same: their pipelines are then
neither shared nor recorded, or their recipes cannot be replayed. So every such thing is either in the
tables or in REVIEWED, with the reason why not."""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "codegen"))

import codegen  # noqa: E402
from features import known_to, newer  # noqa: E402
from registry import Registry  # noqa: E402
from structs import ROLES, Model  # noqa: E402

INSTALLED = "/usr/share/vulkan/registry/vk.xml"
RULES = os.path.join(ROOT, "common", "codec", "rules.def")
FLAGS = os.path.join(ROOT, "common", "codec", "rules.c")
ENVIRONMENT = os.path.join(ROOT, "common", "driver", "environment.c")
NEWER = os.path.join(ROOT, "tools", "codegen", "newer.xml")
NEWER_FEATURES = os.path.join(ROOT, "tools", "codegen", "newer_features.txt")

# Decision 0076 says why for the structs, rules.c for the flags.
REVIEWED = {
    "VkExternalFormatANDROID": "of another system",
    "VkExternalFormatOHOS": "of another system",
    "VkExternalFormatQNX": "of another system",
    "VkPipelineShaderStageNodeCreateInfoAMDX": "execution graphs are not intercepted",
    "VkPipelineOfflineCreateInfo": "Vulkan SC",
    "VkPipelineCreateFlagBits2 bit 28": "displacement micromaps, a beta extension",
    "VkPipelineCreateFlagBits2 bit 39": "instrumented shaders",
    "VkApplicationParametersEXT": "Vulkan SC",
    "VkDeviceObjectReservationCreateInfo": "Vulkan SC",
    "VkPerformanceQueryReservationInfoKHR": "Vulkan SC",
    "VkFaultCallbackInfo": "Vulkan SC",
    "VkDeviceSemaphoreSciSyncPoolReservationCreateInfoNV": "Vulkan SC",
    "VkDeviceDiagnosticsConfigCreateInfoNV": "asks for shader debug information",
    "VkDeviceQueueShaderCoreControlCreateInfoARM": "no driver without a GPU has it",
    "VkExternalComputeQueueDeviceCreateInfoNV": "no driver without a GPU has it",
    "vkCreateExecutionGraphPipelinesAMDX": "a beta extension",
    "vkCreateDataGraphPipelinesARM": "no driver without a GPU has it",
}


def read(*paths):
    registry = Registry()
    for i, path in enumerate(paths):
        registry.read(path, installed=i == 0)
    return registry


def structs(ours, newest, names):
    """Structs that may stand in a chain of those in `names` and are not there themselves, and further
    parents of those that are."""
    for entry in newest.types.values():
        parents = {newest.resolve(parent) for parent in entry.extends} & set(names)
        if entry.alias or not parents:
            continue
        if entry.name not in names:
            yield entry.name
            continue
        known = {newest.resolve(parent) for parent in ours.get(names[entry.name]).extends}
        for parent in sorted(parents - known):
            yield f"{entry.name} in the chain of {parent}"


def flag_bits(ours, newest, model):
    """Bits of flags that stand in the forms."""
    types = {member.type for struct in model.structs for member in newest.get(struct.name).members
             if (struct.name, member.name) not in model.omitted}
    for name in sorted(types):
        mask = newest.mask(name)
        if mask is not None and name != "VkPipelineCreateFlags2":
            yield from bits_of(name, mask & ~(ours.mask(name) or 0))
    with open(FLAGS, encoding="utf-8") as file:
        terms = re.search(r"REVIEWED_FLAGS[\s\\]*\(([^)]*)\)", file.read()).group(1)
    reviewed = 0
    for number, shift in re.findall(r"(\w+?)ull(?: << (\d+))?", terms):
        reviewed |= int(number, 0) << int(shift or 0)
    yield from bits_of("VkPipelineCreateFlagBits2",
                       newest.bits.get("VkPipelineCreateFlagBits2", 0) & ~reviewed)


def bits_of(name, mask):
    return [f"{name} bit {bit}" for bit in range(64) if mask >> bit & 1]


def unions(ours, newest, model):
    for union in model.unions:
        entry = newest.get(union.name)
        known = {member.name for member in ours.get(union.name).members}
        for member in entry.members if entry else []:
            if member.name not in known:
                yield f"{union.name}.{member.name}"


def feature_sizes(path):
    """The feature structs of a registry and ours, as tests/drivers/keys takes them."""
    structs_of = {**newer(NEWER_FEATURES), **known_to(read(path))}
    return " ".join(f"{stype}:{count}" for stype, (count, _) in structs_of.items())


def features(newest):
    known = {**newer(NEWER_FEATURES), **known_to(read(INSTALLED))}
    for stype, (count, name) in known_to(newest).items():
        if known.get(stype, (0,))[0] != count:
            yield f"{name} ({stype} {count} in newer_features.txt)"


def device_structs(newest):
    """Further structs of VkDeviceCreateInfo: a program's recipes cannot be replayed where it has one
    that might shape what is compiled."""
    with open(ENVIRONMENT, encoding="utf-8") as file:
        ours = file.read()
    for entry in newest.types.values():
        if entry.alias or "VkDeviceCreateInfo" not in entry.extends or \
                "VkPhysicalDeviceFeatures2" in entry.extends:
            continue
        stype = next(member.stype for member in entry.members if member.name == "sType")
        words = (stype, str(newest.values.get(stype)) + "u")
        if entry.name != "VkPhysicalDeviceFeatures2" and \
                not any(re.search(rf"\b{word}\b", ours) for word in words):
            yield entry.name


def commands(path):
    """Commands that are given a pipeline cache, and are not intercepted."""
    ours = ""
    for family in glob.glob(os.path.join(ROOT, "layer", "commands", "*.c")):
        with open(family, encoding="utf-8") as file:
            ours += file.read()
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for name in re.findall(r"<name>(vkCreate\w*Pipelines\w*)</name>", text):
        if not re.search(rf"\b(vk)?{name[2:]}\b", ours):
            yield name


def tables(path):
    """Tables of the codec that come out otherwise with this registry's headers than with ours: whatever
    the layer is built with, it knows the same."""
    made = []
    for registry in (INSTALLED, path):
        standalone = Registry()
        for source in (registry, NEWER):
            standalone.read(source, installed=False)
        model = Model(standalone, codegen.read_rules(RULES), partial=True)
        made.append((codegen.ids_header(model), codegen.tables_source(model)))
    for name, ours, theirs in zip(("codec_ids.h", "codec_tables.c"), *made):
        if ours != theirs:
            yield f"{name} made with another registry"


def unknown(path):
    """What the registry at `path` has that is neither known nor reviewed, in words."""
    newest = read(path)
    ours = read(INSTALLED, NEWER)
    rules = codegen.read_rules(RULES)
    model = Model(ours, rules, partial=False)
    names = {newest.resolve(arguments[0]): arguments[0] for keyword, arguments in rules
             if keyword in ROLES or keyword == "UNION"}
    model.structs = [struct for struct in model.structs if newest.get(struct.name)]
    states = newest.enumerants["VkDynamicState"].keys() - ours.enumerants["VkDynamicState"].keys()
    found = [*structs(ours, newest, names), *flag_bits(ours, newest, model),
             *unions(ours, newest, model), *features(newest), *device_structs(newest),
             *commands(path), *tables(path),
             *[f"VkDynamicState {state}" for state in sorted(states)]]
    return [what for what in found if what not in REVIEWED]
