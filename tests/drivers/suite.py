# SPDX-License-Identifier: Apache-2.0
"""A suite of drivers, and programs that run with one of its devices."""

import filecmp
import functools
import glob
import json
import os
import re
import shutil
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LAYER = "VK_LAYER_WARMPIPE_pipeline_cache"
VALIDATION = "VK_LAYER_KHRONOS_validation"
KEY_LAYER = "VK_LAYER_WARMPIPE_TEST_device_key"
LOADER_LINE = re.compile(r"(\[Vulkan Loader\] )?((INFO|DEBUG) \| )?(LAYER|DRIVER)\b")
PIPELINES = ("--compute", "20", "--graphics", "10")


class Failure(Exception):
    """Something is not as it must be."""


class Skip(Exception):
    """Something cannot be tried here."""


class Busy(Skip):
    """The machine was so busy that the layer, whose time is bounded, did not come to say anything."""


def expect(condition, what):
    if not condition:
        raise Failure(what)


def wait_for(process, condition, what):
    """Until something has come true in a running process."""
    until = time.monotonic() + 240
    while not condition():
        expect(process.poll() is None, f"ended before {what}")
        if time.monotonic() > until:
            process.kill()
            raise Failure(f"waited in vain until {what}")
        time.sleep(0.02)


def prewarm(place, program, arguments, whole):
    """A process with recipes and no cache that asks for nothing, killed when it has saved what was
    `whole` bytes before."""
    if place.suite.built_in:
        raise Skip("emulated: a pipeline takes longer than 250 ms, and is not one to be compiled ahead")
    process, finish = place.start(program, arguments, prefix=before_others(), WARMPIPE_PREWARM="auto",
                                  WARMPIPE_LOG="debug")

    def is_whole():
        return any(os.path.getsize(file) >= 0.95 * whole for file in place.cache_files())

    def is_held_back():
        return "not prewarmed: may take long" in place.text(place.path(f"run-{place.runs}.err"))

    wait_for(process, lambda: is_whole() or is_held_back(), "all that was prewarmed was saved")
    process.kill()
    finish()
    if not is_whole():
        raise Skip("so busy a machine that a pipeline took 250 ms: not one to be compiled ahead")


@functools.lru_cache
def before_others():
    """The prefix of a command whose threads come before those of others, also the ones that the layer puts
    behind; none where that is not allowed. On a busy machine what takes 250 ms is not compiled ahead."""
    prefix = ("chrt", "--rr", "1")
    try:
        may = subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    except FileNotFoundError:
        may = False
    return prefix if may else ()


def lend(path, copy):
    """A copy of a library. Programs of another run may have the one that is there mapped: it is left as it
    is, or replaced as a whole."""
    if not os.path.exists(copy) or not filecmp.cmp(path, copy, shallow=False):
        new = f"{copy}.{os.getpid()}"
        shutil.copyfile(path, new)
        os.replace(new, copy)


def run_script(name, *arguments):
    return subprocess.run([os.path.join(HERE, name), *arguments], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL)


def architecture_of(program):
    """As Debian calls it, by the field e_machine of the file's header."""
    with open(program, "rb") as file:
        machine = int.from_bytes(file.read(20)[18:], "little")
    return {3: "i386", 62: "amd64", 183: "arm64"}[machine]


class Device:
    """A row of the table in `run`: its name in tests/drivers/environment, whether its driver keeps
    anything in a cache, and another device whose recipes and files it is given."""

    def __init__(self, name, keeps=True, other="radv-navi10"):
        self.name = name
        self.keeps = keeps
        self.other = other


class Suite:
    """`here`, this machine's own drivers, or a Debian suite unpacked into `folder`. What is tried was
    built on this machine, or in the root `built_in`, for an architecture that this machine runs as well."""

    def __init__(self, name, folder, build, devices, built_in=None):
        self.name = name
        self.devices = devices
        self.build = build
        self.built_in = built_in
        self.folder = folder
        self.architecture = [architecture_of(self.tool())] if built_in else []
        self.root = None if name == "here" else os.path.join(folder, "-".join([name, *self.architecture]))
        self.versions = "here: this machine's drivers"
        self.libraries = None
        if self.root:
            self.unpack()
            self.take_libraries()
            self.try_build()

    def unpack(self):
        fetched = run_script("fetch", self.name, self.root, *self.architecture)
        if fetched.returncode != 0:
            raise Skip(fetched.stderr.strip().splitlines()[-1])
        self.versions = fetched.stdout.strip()

    def take_libraries(self):
        """What the build was linked with and the root has not: copies from where it was built."""
        inside = [os.path.join(HERE, "inside"), self.built_in, self.build] if self.built_in else []
        linked = [subprocess.run([*inside, "env", "LD_TRACE_LOADED_OBJECTS=1", program],
                                 capture_output=True, text=True, check=False)
                  for program in (self.tool(), self.client())]
        if any(listed.returncode != 0 for listed in linked):
            raise Skip("what is built does not run here: " + linked[0].stderr.strip())
        folder = os.path.join(self.build, "drivers-libraries", self.name)
        os.makedirs(folder, exist_ok=True)
        for name, path in re.findall(r"(\S+) => (/\S+)", "".join(listed.stdout for listed in linked)):
            places = [*glob.glob(f"{self.root}/usr/lib/*-linux-gnu"), f"{self.root}/usr/lib",
                      f"{self.root}/usr/lib64"]
            if not any(os.path.exists(f"{place}/{name}") for place in places):
                lend((self.built_in or "") + path, os.path.join(folder, name))
        self.libraries = folder

    def try_build(self):
        """A root may have an older libc than what is built here asks for; of the layer the dynamic linker
        tells that here, the loader would leave it out."""
        inside = subprocess.run(self.command(["true"]), capture_output=True, text=True, check=False)
        if inside.returncode != 0:
            raise Skip("may not mount here: " + inside.stderr.strip())
        preload = "LD_PRELOAD=" + os.path.join(self.build, "layer/libVkLayer_warmpipe.so")
        for program in (self.client(), self.tool()):
            result = subprocess.run(self.command(["env", *self.settings(), preload, program, "--help"]),
                                    capture_output=True, text=True, check=False)
            if result.returncode != 0 or "cannot be preloaded" in result.stderr:
                raise Skip("what is built here does not run there: " + result.stderr.strip())

    def device(self, name):
        return next(device for device in self.devices if device.name == name)

    def client(self):
        return os.path.join(self.build, "tests/clients/pipelines/pipelines")

    def features(self):
        return os.path.join(self.build, "tests/clients/features/features")

    def heaps(self):
        return os.path.join(self.build, "tests/clients/heaps/heaps")

    def random(self):
        return os.path.join(self.build, "tests/clients/random/random")

    def tool(self):
        return os.path.join(self.build, "tools/warmpipe")

    def settings(self):
        return [f"LD_LIBRARY_PATH={self.libraries}"] if self.libraries else []

    def command(self, words):
        """The command line that runs these words among the drivers of the suite."""
        if not self.root:
            return words
        return [os.path.join(HERE, "inside"), self.root, self.build, *words]

    def environment(self, device):
        """The variables with which the loader offers this device alone."""
        root = ["--root", self.root] if self.root else []
        answer = run_script("environment", *root, "--shim", "--build", self.build, device)
        if answer.returncode != 0:
            raise Skip(answer.stderr.strip())
        return dict(line.split("=", 1) for line in answer.stdout.splitlines())


class Run:
    """What a program that has ended said of itself, and the layer and the tool of it."""

    def __init__(self, status, output, errors, stats):
        lines = errors.splitlines()
        self.status = status
        self.output = output
        self.loader = "\n".join(filter(LOADER_LINE.match, lines)) # what the loader said of layers
        self.errors = "\n".join(line for line in lines if not LOADER_LINE.match(line))
        self.stats = stats
        self.said = None

    def last(self):
        """The line of statistics of the end. A device's end waits a second for the thread that writes it."""
        if self.stats and self.stats[-1]["event"] != "flush":
            return self.stats[-1]
        expect(self.stats or f'Insert instance layer "{LAYER}"' in self.loader,
               f"the layer was not in the chain: {self.errors[-300:]} {self.loader[-1500:]}")
        raise Busy("so busy a machine that the end of a device was not waited for")


class Place:
    """One device of a suite, with a folder of its own: where programs run and leave their caches."""

    def __init__(self, suite, device, folder):
        self.suite = suite
        self.folder = folder
        self.runs = 0
        os.makedirs(os.path.join(folder, "home"))
        self.variables = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": os.path.join(folder, "home"),
            "LC_ALL": "C.UTF-8", "NODEVICE_SELECT": "1", "MESA_SHADER_CACHE_DISABLE": "true",
            "XDG_DATA_HOME": os.path.join(suite.build, "share"), "WARMPIPE_ENABLE": "1",
            "WARMPIPE_DIR": self.path("cache"), "WARMPIPE_APP": "client", "WARMPIPE_PREWARM": "off",
            "VK_LOADER_DEBUG": "layer",
            **dict(setting.split("=", 1) for setting in suite.settings()),
        }
        self.use(device)

    def use(self, device):
        """From here on programs see this device alone."""
        self.device = device
        self.of_device = self.suite.environment(device.name)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def cache_files(self, app="client", root="cache"):
        folder = self.path(root, app)
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        return [os.path.join(folder, name) for name in names if name.endswith(".wpcache")]

    def remove_caches(self):
        for file in self.cache_files():
            os.unlink(file)

    def start(self, program, arguments, prefix=(), **variables):
        """A process, started by the command `prefix`, and a function that waits for its end and tells
        what there is to tell."""
        self.runs += 1
        base = self.path(f"run-{self.runs}")
        environment = {**self.variables, **self.of_device, "WARMPIPE_STATS": f"{base}.stats",
                       **variables}
        # `env` sets them inside: what has to be preloaded is not here.
        words = ["env", "-i", *[f"{name}={value}" for name, value in environment.items()],
                 program, *arguments]
        with open(f"{base}.out", "wb") as output, open(f"{base}.err", "wb") as errors:
            process = subprocess.Popen([*prefix, *self.suite.command(words)], stdout=output, stderr=errors,
                                       stdin=subprocess.DEVNULL)

        def finish():
            try:
                status = process.wait(timeout=300)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise Failure(f"hangs: {arguments}") from None
            return Run(status, self.text(f"{base}.out"), self.text(f"{base}.err"),
                       self.stats_so_far())
        return process, finish

    def text(self, path):
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stats_so_far(self):
        """The whole lines of statistics of the process started last."""
        lines = self.text(self.path(f"run-{self.runs}.stats")).split("\n")[:-1]
        return [json.loads(line) for line in lines]

    def client_process(self, *arguments, **variables):
        """The client, with 20 compute and 10 graphics pipelines: see start."""
        return self.start(self.suite.client(), [*PIPELINES, *arguments], **variables)

    def run_client(self, program, *arguments, **variables):
        """A run of one of our clients that must go well; `said` is what it printed. What later runs find
        is what this one saved, so its end must have been waited for."""
        _, finish = self.start(program, arguments, **variables)
        run = finish()
        expect(run.status == 0, f"status {run.status}: {arguments}: {run.errors[-300:]}")
        if "WARMPIPE_DISABLE" not in variables:
            run.last()
        run.said = json.loads(run.output[run.output.index('{"'):])
        return run

    def client(self, *arguments, **variables):
        """A run of the client that must go well."""
        run = self.run_client(self.suite.client(), *PIPELINES, *arguments, **variables)
        expect(run.said["failed_calls"] == 0, f"calls failed: {arguments}")
        return run

    def warm_document(self, *arguments, **variables):
        """What `warmpipe warm` says, of one device and program."""
        _, finish = self.start(self.suite.tool(), ["warm", "--json", *arguments], **variables)
        run = finish()
        expect(run.status == 0, f"warm ends with {run.status}: {run.output} {run.errors[-300:]}")
        document = json.loads(run.output)
        expect(len(document["caches"]) == 1, f"warm found not one device and program: {document}")
        return document

    def warm(self, *arguments, **variables):
        """What it says of its cache."""
        return self.warm_document(*arguments, **variables)["caches"][0]
