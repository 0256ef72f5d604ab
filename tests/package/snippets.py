# SPDX-License-Identifier: Apache-2.0
"""The indented snippets of the pages, and what each of them is."""

import collections
import re
import shlex
import textwrap

Snippet = collections.namedtuple("Snippet", "page line text")

# Snippets that are not to be run: how they begin, and what a reader knows them by.
DATA = {
    ("docs/ARCHITECTURE.md", "layer →"): "a drawing",
    ("docs/BENCHMARKS.md", "tests/bench/run ["): "a synopsis",
    ("docs/BENCHMARKS.md", "VK_LAYER_PATH=FOLDER"): "needs the layer of another project",
    ("docs/FLEET.md", "mkdir -p /srv"): "changes the machine: tests/fleet/page_test.cpp runs it",
    ("docs/FLEET.md", "v1/obj"): "names of files",
    ("docs/FLEET.md", "- run:"): "GitHub's: tests/fleet/page_test.cpp runs its jobs",
    ("docs/FLEET.md", "tests:\n"): "GitLab's: likewise",
    ("docs/FLEET.md", "redis-server"): "needs that address: tests/fleet/page_test.cpp has it",
    ("docs/FLEET.md", "srun"): "needs Slurm: tests/fleet/page_test.cpp plays it",
    ("docs/FORMAT.md", '{"format"'): "an excerpt of a file",
    ("docs/FORMAT.md", "[\n"): "an excerpt of a file",
    ("docs/POLICY.md", "warmpipe: warn"): "a message: integration.Policy tests have it",
}


def of_page(page, text):
    """Blocks of lines indented by four, each after an empty line, outside of ``` fences."""
    lines = text.split("\n")
    block, start, found, previous = [], 0, [], ""
    for number, line in enumerate(lines + ["end"], 1):
        if line.startswith("    ") and (block or not previous.strip()):
            start = start or number
            block.append(line)
        elif block and not line.strip():
            block.append("")
        elif block:
            text = textwrap.dedent("\n".join(block)).strip("\n")
            found.append(Snippet(page, start, text + "\n"))
            block, start = [], 0
        previous = line
    return found


def kind_of(snippet):
    """data, docker, yaml, unit, policy, settings_file, settings or shell."""
    text = snippet.text
    for (page, begin) in DATA:
        if snippet.page == page and text.startswith(begin):
            return "data"
    if re.match(r"(FROM|RUN|ENV) ", text):
        return "docker"
    if re.match(r"(spec|initContainers|containers):\n", text):
        return "yaml"
    if text.startswith("[Service]\n"):
        return "unit"
    if re.match(r"(#.*\n)*\[[\w.-]+\]\n", text):
        return "policy"
    if text.startswith("warmpipe_pipeline_cache."):
        return "settings_file"
    if all(re.match(r"WARMPIPE_\w+=\S+  ", line) for line in text.splitlines()):
        return "settings"
    return "shell"


def commands_of(text):
    """Lines of a shell snippet, with continued lines joined and without comments."""
    joined = text.replace("\\\n", " ")
    return [line for line in (re.sub(r"\s+#.*", "", line) for line in joined.splitlines()) if line.strip()]


def instructions_of(text):
    """(word, rest) of a Dockerfile."""
    return [tuple(line.split(" ", 1)) for line in text.replace("\\\n", " ").splitlines() if line]


def unit_of(text):
    """The folder that systemd makes in its cache folder, %C, and the environment of a service's drop-in."""
    entries = dict(line.split("=", 1) for line in text.splitlines()[1:])
    return entries["CacheDirectory"], dict(word.split("=", 1) for word in shlex.split(entries["Environment"]))


def containers_of(document):
    """(command or None, environment) of each container in a piece of a pod's description."""
    spec = document.get("spec", document)
    for container in spec.get("initContainers", []) + spec.get("containers", []):
        environment = {entry["name"]: entry["value"] for entry in container.get("env", [])}
        yield container.get("command"), environment
