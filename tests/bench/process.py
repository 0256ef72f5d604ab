# SPDX-License-Identifier: Apache-2.0
"""Runs a program once and says what it took, seen from outside and by its own account."""

import atexit
import json
import os
import shlex
import shutil
import signal
import subprocess
import time


class Failure(Exception):
    """A run that cannot be counted: the program failed, or the layer did not do its part."""


class Program:
    """A command with its environment. `environment` is all of it: nothing is inherited."""

    def __init__(self, command, environment):
        self.command = [str(word) for word in command]
        self.environment = {name: str(value) for name, value in environment.items()}

    def __str__(self):
        words = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join(["env -i", *words, shlex.join(self.command)])

    def changed(self, **variables):
        return Program(self.command, {**self.environment, **variables})

    def with_arguments(self, *arguments):
        return Program([self.command[0], *arguments], self.environment)

    def run(self, output_path, killed=False):
        """What one run took: process_ns and peak_rss_bytes, and, where the program prints a JSON
        object, everything in it. killed: it must end by SIGKILL."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        messages_path = f"{output_path}.messages"
        actions = [(os.POSIX_SPAWN_OPEN, 1, output_path, flags, 0o600),
                   (os.POSIX_SPAWN_OPEN, 2, messages_path, flags, 0o600)]
        start = time.monotonic_ns()
        pid = os.posix_spawnp(self.command[0], self.command, self.environment,
                              file_actions=actions)
        _, status, usage = os.wait4(pid, 0)
        took = time.monotonic_ns() - start
        if status != (signal.SIGKILL if killed else 0):
            with open(messages_path, encoding="utf-8", errors="replace") as messages:
                raise Failure(f"wait status {status} from: {self}\n{messages.read()}")
        figures = {"process_ns": took, "peak_rss_bytes": usage.ru_maxrss * 1024}
        with open(output_path, encoding="utf-8") as output:
            text = output.read()
        if text.startswith("{"):
            printed = json.loads(text)
            # The kernel's account of the whole process is the later one.
            figures = {**printed, **figures}
            if printed.get("failed_calls"):
                raise Failure(f"calls failed in: {self}")
        return figures


def stats_of(program, work):
    """The layer's last statistics of one run of `program`, one object for each device."""
    path = os.path.join(work, "stats.json")
    if os.path.exists(path):
        os.unlink(path)
    program.changed(WARMPIPE_STATS=path).run(os.path.join(work, "output"))
    if not os.path.exists(path):
        raise Failure(f"the layer was not in the chain of: {program}")
    with open(path, encoding="utf-8") as lines:
        last = {line["dev"]: line for line in map(json.loads, lines)}
    return [last[device] for device in sorted(last)]


def empty_directory(path):
    """An empty folder. What lay there is set aside and deleted at the end of all: for minutes after
    files were deleted, ext4 without a journal takes milliseconds to find a number for a new one,
    and runs that each delete the files of the last one would measure that."""
    if os.path.lexists(path):
        aside = f"{path}.aside"
        os.makedirs(aside, exist_ok=True)
        os.rename(path, os.path.join(aside, str(len(os.listdir(aside)))))
        atexit.register(shutil.rmtree, aside, ignore_errors=True)
    os.makedirs(path)
    return path


def output_of(*command):
    """What a command says, "" where it is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""
