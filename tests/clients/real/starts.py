# SPDX-License-Identifier: Apache-2.0
"""One start of a program: with the layer in one of three ways, or without it."""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import drivers

HERE = os.path.dirname(os.path.abspath(__file__))
LAYER = "VK_LAYER_WARMPIPE_pipeline_cache"

# How the layer is switched on: what is set, and what stands before the command. {data} is a folder
# laid out as an XDG data folder, with the manifests of the build.
WAYS = {
    "variable": ({"WARMPIPE_ENABLE": "1", "XDG_DATA_HOME": "{data}"}, ()),
    "layers": ({"VK_INSTANCE_LAYERS": LAYER,
                "VK_ADD_LAYER_PATH": "{data}/vulkan/explicit_layer.d"}, ()),
    "run": ({}, ("{build}/tools/warmpipe", "run", "--quiet", "--")),
}

# An endless program is ended when nothing new was told for QUIET_S after the last of these: the driver
# tells of pipelines (where it does), the layer of its device and, where caches hold something, that it
# has saved or loaded. Where nothing tells anything, after LIFE_S; where one never comes, PATIENCE_S.
QUIET_S = 1.5
LIFE_S = 4
PATIENCE_S = 60
LIMIT_S = 180


class Place:
    """Folders of one program on one driver, and what its starts share."""

    def __init__(self, program, driver, build, npm, display):
        self.program, self.driver, self.build, self.npm = program, driver, build, npm
        self.display = display
        self.folder = tempfile.mkdtemp(prefix="warmpipe-clients-")
        os.mkdir(self.path("data"))
        # A link, so that what a program puts into its data folder is not in the build.
        os.symlink(os.path.join(build, "share/vulkan"), self.path("data/vulkan"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def expand(self, text):
        for name, value in (("here", HERE), ("work", self.path("work")), ("npm", self.npm),
                            ("data", self.path("data")), ("build", self.build)):
            text = text.replace("{" + name + "}", value)
        return text.replace("{device}", drivers.device_name(self.driver)) \
            if "{device}" in text else text

    def start(self, way=None, cache="cache"):
        """Starts of one `cache` share the home folder and the caches."""
        return Start(self, way, cache)


class Start:
    def __init__(self, place, way, cache):
        self.place, self.program = place, place.program
        self.stats_path, self.log_path, self.counts_path = \
            (place.path(name) for name in ("stats", "log", "counts"))
        for path in (self.stats_path, self.log_path, self.counts_path):
            if os.path.exists(path):
                os.unlink(path)
        shutil.rmtree(place.path("work"), ignore_errors=True)
        home = place.path(f"home-{cache if way else 'plain'}")
        for path in (place.path("work"), home, place.path("run")):
            os.makedirs(path, mode=0o700, exist_ok=True)
        if self.program.prepare:
            self.program.prepare(place.path("work"))
        variables, before = WAYS[way] if way else ({}, ())
        environment = {
            "PATH": os.environ["PATH"] + ":/usr/games", "LANG": "C.UTF-8", "HOME": home,
            "TMPDIR": place.path("work"), "XDG_RUNTIME_DIR": place.path("run"),
            "DISPLAY": place.display, "PLAY_COUNTS": self.counts_path,
            **place.driver.environment, **self.program.environment,
            **(self.program.drawing_environment if place.driver.draws else {}), **variables,
        }
        if way:
            environment |= {"WARMPIPE_STATS": self.stats_path,
                            "WARMPIPE_LOG": "info:" + self.log_path,
                            "WARMPIPE_DIR": place.path(cache)}
        self.execute([place.expand(word) for word in (*before, *self.program.command)],
                     {name: place.expand(value) for name, value in environment.items()}, way)

    def execute(self, command, environment, way):
        output_path, error_path = self.place.path("out"), self.place.path("err")
        with open(output_path, "wb") as output, open(error_path, "wb") as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=errors, env=environment, start_new_session=True,
                                       cwd=self.place.path("work"))
            try:
                self.hangs = not self.wait(process, way)
            finally:
                self.end_session(process)
        self.status = process.returncode
        self.output, self.errors = self.read(output_path), self.read(error_path)
        self.log, self.stats = self.read(self.log_path), self.read_stats()
        self.created, self.compiled, self.ahead = self.read_counts()
        self.compared = self.what_is_compared()

    def wait(self, process, way):
        limit = time.monotonic() + LIMIT_S
        if self.program.endless:
            self.wait_until_quiet(process, way, limit)
            process.terminate()
        try:
            process.wait(max(1.0, limit - time.monotonic()))
            return True
        except subprocess.TimeoutExpired:
            return False

    def wait_until_quiet(self, process, way, limit):
        begun = changed = time.monotonic()
        sizes = None
        while process.poll() is None and time.monotonic() < limit:
            now = time.monotonic()
            seen = [os.path.getsize(path) if os.path.exists(path) else 0
                    for path in (self.counts_path, self.log_path, self.stats_path)]
            if seen != sizes:
                sizes, changed = seen, now
            caches = self.place.driver.caches
            done = bool(seen[0]) if caches else way or now - begun > LIFE_S
            if way:
                awaited = r"info: (saved|loaded) " if caches else "info: device "
                done = done and re.search(awaited, self.read(self.log_path))
            if (done and now - changed > QUIET_S) or now - begun > PATIENCE_S:
                return
            time.sleep(0.05)

    @staticmethod
    def end_session(process):
        """What the program has left behind, too."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    @staticmethod
    def read(path):
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def read_stats(self):
        """The last line of each device counts."""
        last = {}
        for line in self.read(self.stats_path).splitlines():
            fields = json.loads(line)
            last[fields["pid"], fields["dev"]] = fields
        return list(last.values())

    def what_is_compared(self):
        program = self.program
        lines = [line for line in self.output.splitlines()
                 if program.lines is None or re.search(program.lines, line)]
        # A figure of glmark2's that changes with each run.
        lines = [re.sub(r"FPS.*", "", line) for line in lines]
        digests = []
        for name in program.files:
            path = os.path.join(self.place.path("work"), name)
            digest = "none"
            if os.path.exists(path):
                with open(path, "rb") as file:
                    digest = hashlib.sha256(file.read()).hexdigest()
            digests.append(f"{name} {digest}")
        return lines + digests

    def read_counts(self):
        """How many pipelines the driver was asked for, and how many of them it compiled, for the
        program and for the layer ahead of it: its own word, which does not depend on what the
        program has enabled."""
        calls = [[int(number) for number in line.split()]
                 for line in self.read(self.counts_path).splitlines()]
        return [sum(column) for column in zip(*calls)] or [0, 0, 0]

    def layer_was_there(self):
        return "warmpipe" in self.log

    def ending(self):
        """In a word, what is wrong with the end of a program; empty if nothing is."""
        if self.hangs:
            return "hangs"
        if self.status < 0 and not (self.program.endless and self.status == -signal.SIGTERM):
            return signal.Signals(-self.status).name
        return ""
