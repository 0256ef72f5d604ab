#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: snippets_test.py BUILD-DIRECTORY

Runs every command and snippet of the pages as written, in a root of its own (sandbox.sh), over the
test driver; stand-ins take the place of the programs that they name. Commands of developers
(builds, whole test suites) are not run: it checks only that their presets, tests, targets and files
exist. Exit status 77: no namespaces here.
"""

import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True

import snippets

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1])
PAGES = ["README.md", "CONTRIBUTING.md", *(f"docs/{os.path.basename(page)}"
                                           for page in sorted(glob.glob(SOURCE + "/docs/*.md")))]
PROJECT = "/opt/project"
STATS = "/tmp/stats"
REMOTE = "file:///mnt/share/warmpipe"
STANDINS = ["PROGRAM", "service", "vkcube", "llama-cli", "ffmpeg"]
# What a reader puts his own word for.
PLACEHOLDERS = {"URL": REMOTE, "NAME": "server", "ARGS…": "", "s3://caches/service": REMOTE,
                "https://cache.example.org/": REMOTE, "/dev/dri/renderD128": "/opt/render/icd.json",
                "--public-key FILE": "--public-key keys/warmpipe.pub",
                "--secret-key FILE": "--secret-key keys/warmpipe.key",
                "warmpipe.key": "keys/warmpipe.key", "warmpipe.pub": "keys/warmpipe.pub",
                "file:///mnt/share ": REMOTE + " "}
UNKNOWN_USER = "10001"
AS_UNKNOWN_USER = ["setpriv", f"--reuid={UNKNOWN_USER}", f"--regid={UNKNOWN_USER}", "--clear-groups"]
RENDER_GROUP = "10002"  # its members alone may open a GPU
skipped = []
image = None  # command and environment of the last one


def environment(more=None):
    icd = BUILD + "/tests/icd/warmpipe_test_icd.json"
    return {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/opt/home", "LC_ALL": "C.UTF-8",
            "VK_DRIVER_FILES": icd, "VK_ICD_FILENAMES": icd, "WARMPIPE_STATS": STATS, **(more or {})}


def fail(snippet, what):
    sys.exit(f"{snippet.page}:{snippet.line}: {what}")


def run(snippet, command, more=None, statuses=(0,)):
    done = subprocess.run(["bash", "-c", command], cwd=PROJECT, env=environment(more), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode not in statuses:
        fail(snippet, f"status {done.returncode} of: {command}\n{done.stdout}")
    return done.stdout


def runs_under_layer(snippet, command, more=None):
    """The command starts a stand-in; the layer must have been in its chain."""
    if os.path.exists(STATS):
        os.unlink(STATS)
    run(snippet, command, more)
    if not os.path.exists(STATS):
        fail(snippet, f"the layer was not in the chain: {command}")


def contain(snippet, command, variables, statuses=(0,), groups="--clear-groups"):
    """Runs a command in the container: a read-only root, an unknown user, volumes at /cache and
    /tmp. Returns the last line of statistics."""
    # Not a new /tmp: these sources may lie there.
    script = (f"rm -f {STATS} && mount --rbind /tmp /tmp && mount -o remount,bind,ro / && cd / &&"
              f" {' '.join([*AS_UNKNOWN_USER[:-1], groups])} \"$@\"; status=$?;"
              f" tail -n 1 {STATS} 2>/dev/null; exit $status")
    if command[:2] == ["warmpipe", "sync"]:  # runs until it is told to end
        statuses = (0, 1)  # the folder that stands for its remote belongs to another user
        command = ["timeout", "--preserve-status", "--signal=TERM", "2", *command]
    done = subprocess.run(["unshare", "-m", "bash", "-c", script, "-", *command],
                          env={**environment(), "HOME": "/nowhere", **variables}, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in statuses:
        fail(snippet, f"status {done.returncode} in the container: {command}\n{done.stdout}{done.stderr}")
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if lines and lines[-1].startswith("{") else None


# ---- Developers' commands: what they name must be there. ----

def presets_of(what):
    with open(SOURCE + "/CMakePresets.json", encoding="utf-8") as file:
        return {preset["name"] for preset in json.load(file)[what]}


def check_developers(snippet, words):
    program = words[0]
    for i, word in enumerate(words):
        kind = {"ctest": "testPresets"}.get(program, "buildPresets" if "--build" in words else "configurePresets")
        if word == "--preset" and words[i + 1] not in presets_of(kind):
            fail(snippet, f"no preset {words[i + 1]}")
        if word == "--target":
            # Not ninja -t query: it fails now and then while another ninja opens the same log.
            with open(BUILD + "/build.ninja", encoding="utf-8") as file:
                listed = re.search(rf"^build (\S+ )*{re.escape(words[i + 1])}( \S+)*:", file.read(), re.M)
            # Fuzzers and tests of sanitized builds alone have targets of their own.
            if not listed and words[i + 1] not in open(
                    SOURCE + "/tests/hostile/CMakeLists.txt", encoding="utf-8").read():
                fail(snippet, f"no target {words[i + 1]}")
    if program == "ctest":
        selection = [word for word in words[1:] if word not in ("--preset", "release", "debug", "asan")]
        listed = subprocess.run(["ctest", "-N", *selection], cwd=BUILD, text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if re.search(r"Total Tests: 0\b", listed.stdout):
            fail(snippet, f"selects no test: {' '.join(words)}")
    if "/" in program and not program.startswith("build-"):
        path = os.path.join(BUILD if program.startswith("build/") else SOURCE, program.removeprefix("build/"))
        if not os.access(path, os.X_OK):
            fail(snippet, f"not there: {program}")
        if "--gtest_filter" in " ".join(words):
            filters = [word for word in words[1:] if "repeat" not in word]
            listed = subprocess.run([path, "--gtest_list_tests", *filters], stdout=subprocess.PIPE, check=True)
            if len(listed.stdout.splitlines()) < 3:
                fail(snippet, f"selects no test: {' '.join(words)}")


def is_developers(words):
    return words[0] in ("cmake", "ctest", "cpack", "git", "cd") or re.match(
        r"(tools/|tests/|build/tests/|build-)", words[0])


def words_of(part):
    """Without assignments before the command."""
    words = shlex.split(part)
    while words and re.match(r"\w+=", words[0]):
        words = words[1:]
    return words


# ---- A handler for each kind ----

def put_words(command):
    for word, instead in PLACEHOLDERS.items():
        command = re.sub(r"(?<![\w/.-])" + re.escape(word) + r"(?![\w/.-])", instead, command)
    return command.replace("[NAME…]", "")


def shell(snippet):
    for command in snippets.commands_of(snippet.text):
        parts = [words_of(part) for part in re.split(r"&&|;", command)]
        if all(is_developers(words) for words in parts if words):
            for words in filter(None, parts):
                check_developers(snippet, words)
            continue
        command = put_words(command)
        if command.startswith("docker run"):
            docker_run(snippet, command)
        elif "remote keygen" in command:
            shutil.rmtree(PROJECT + "/keys", ignore_errors=True)
            run(snippet, command)
        elif "warmpipe sync" in command:
            # It runs until it is told to end; where it was not yet listening, the signal ends it.
            run(snippet, "timeout --preserve-status --signal=TERM 1 " + command, statuses=(0, 143))
        elif "minisign" in command and not shutil.which("minisign"):
            skipped.append(f"{snippet.page}:{snippet.line}: no minisign")
        elif "tests/drivers/environment" in command and not has_radv():
            skipped.append(f"{snippet.page}:{snippet.line}: no RADV")
        elif "build/tools/warmpipe install" in command:
            run(snippet, command)
        elif any(re.search(rf"(^|[\s/]){name}\b", command) for name in STANDINS + ["server"]) and (
                "warmpipe run" in command or "WARMPIPE_" in command):
            # One that opens nothing of a GPU does so with the layer just where it is asked for.
            more = {} if "warmpipe run" in command else {"WARMPIPE_ENABLE": "1"}
            runs_under_layer(snippet, command, more)
            if " ffmpeg " in command:
                real_ffmpeg(snippet, command)
        else:
            run(snippet, command)


def real_ffmpeg(snippet, command):
    """Its own filters are as written, too: on a video, where it is installed."""
    driver = subprocess.run([SOURCE + "/tests/drivers/environment", "lavapipe"], check=False, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if driver.returncode != 0 or not os.path.exists("/usr/bin/ffmpeg"):
        skipped.append(f"{snippet.page}:{snippet.line}: no ffmpeg, or no lavapipe")
        return
    run(snippet, "/usr/bin/ffmpeg -v error -f lavfi -i testsrc=s=320x240:d=1:r=10 in.mkv")
    command = re.sub(r"\bIN\b", "in.mkv", re.sub(r"\bOUT\b", "out.mkv", command))
    run(snippet, command.replace(" ffmpeg ", " /usr/bin/ffmpeg -v error "),
        dict(line.split("=", 1) for line in driver.stdout.splitlines()))


def docker_run(snippet, command):
    """Does by contain() what the options say, so that no engine is needed. Only its group may open
    what is shown of /dev."""
    words = run(snippet, f"printf '%s\\n' {command}").splitlines()
    groups, variables = "--clear-groups", {}
    if "--group-add" in words:
        groups = "--groups=" + words[words.index("--group-add") + 1]
    if "--device" in words:
        driver = PLACEHOLDERS["/dev/dri/renderD128"]
        variables = {"VK_DRIVER_FILES": driver, "VK_ICD_FILENAMES": driver}
    contain(snippet, image[0], {**image[1], **variables}, groups=groups)


def has_radv():
    return subprocess.run([SOURCE + "/tests/drivers/environment", "radv-navi10"], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def docker(snippet):
    """The image is built as root; its command, or the service, runs in the container."""
    global image
    variables, command = {}, ["service"]
    shutil.rmtree("/opt/cache", ignore_errors=True)
    for word, rest in snippets.instructions_of(snippet.text):
        if word == "RUN" and "apt-get" not in rest:
            run(snippet, rest)
        elif word == "ENV":
            variables.update(entry.split("=", 1) for entry in shlex.split(rest))
        elif word == "CMD":
            command = json.loads(rest)
    if "WARMPIPE_DIR" not in variables:  # recipes alone, for what the snippet before it says
        variables = {"WARMPIPE_ENABLE": "1", "WARMPIPE_DIR": "/opt/cache", "WARMPIPE_APP": "service"}
        for readonly in ({}, {"WARMPIPE_READONLY": "1"}):
            recipes_are_used(snippet, command, {**variables, **readonly})
        return
    image = (command, variables)
    first = contain(snippet, command, variables)
    again = contain(snippet, command, variables)
    if not first or not again or again["cache"]["state"] != "loaded":
        fail(snippet, f"not warm in the container: {first} {again}")


def recipes_are_used(snippet, command, variables):
    """A program that leaves time before its first pipeline: some, then more, for slow machines."""
    told = None
    for delay in ("100", "1000", "10000"):
        told = contain(snippet, command, {**variables, "STANDIN": "--delay-ms " + delay})
        if told and told["pipelines"]["prewarmed"] > 0:
            return
    fail(snippet, f"the recipes in the image are not used: {told}")


def pod(snippet):
    try:
        import yaml
    except ImportError:
        skipped.append(f"{snippet.page}:{snippet.line}: no python3-yaml")
        return
    for command, variables in snippets.containers_of(yaml.safe_load(snippet.text)):
        command = shlex.split(put_words(shlex.join(command))) if command else ["service"]
        variables = {"WARMPIPE_ENABLE": "1", **variables}
        shutil.rmtree("/cache/service", ignore_errors=True)
        contain(snippet, command, variables)  # an empty volume
        contain(snippet, command, {**variables, "VK_DRIVER_FILES": "/nowhere", "VK_ICD_FILENAMES": "/nowhere"},
                (0, 1) if "run" in command or command[0] != "warmpipe" else (0,))  # no device: the service itself may fail
        service = {**variables, "WARMPIPE_DIR": "/cache", "WARMPIPE_APP": "service"}
        if command[:2] == ["warmpipe", "import"]:
            contain(snippet, ["warmpipe", "warm", "--app", "service"], service)
            if contain(snippet, ["service"], service)["cache"]["state"] != "loaded":
                fail(snippet, "what was imported is not compiled")
        contain(snippet, ["service"], service)
        contain(snippet, command, variables)


def unit(snippet):
    """As systemd starts it: a user without a home, whose folder in /var/cache is made."""
    folder, variables = snippets.unit_of(snippet.text)
    os.makedirs("/cache/root/" + folder)
    os.chown("/cache/root/" + folder, int(UNKNOWN_USER), -1)
    variables = {name: value.replace("%C", "/cache/root") for name, value in variables.items()}
    told = [contain(snippet, ["env", "-u", "HOME", "service"], variables) for _ in range(2)]
    if not all(told) or told[1]["cache"]["state"] != "loaded":
        fail(snippet, f"not warm as a service: {told}")


def policy(snippet):
    with open("/etc/warmpipe.policy", "w", encoding="utf-8") as file:
        file.write(snippet.text)
    told = run(snippet, "WARMPIPE_POLICY=/etc/warmpipe.policy warmpipe policy")
    if "bad_policy_file" in told:
        fail(snippet, f"not taken: {told}")


def settings_file(snippet):
    with open(PROJECT + "/vk_layer_settings.txt", "w", encoding="utf-8") as file:
        file.write(snippet.text)
    accepts_settings(snippet, {})
    os.unlink(PROJECT + "/vk_layer_settings.txt")


def settings(snippet):
    for line in snippet.text.splitlines():
        accepts_settings(snippet, dict([line.split()[0].split("=", 1)]))


def accepts_settings(snippet, variables):
    told = run(snippet, "warmpipe run -- PROGRAM", variables)
    if "bad_setting" in told or "bad_policy_file" in told:
        fail(snippet, told)


# ---- The root ----

def write_script(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text + "\n")
    os.chmod(path, 0o755)


def prepare():
    client = BUILD + "/tests/clients/pipelines/pipelines"
    for folder in (PROJECT, "/opt/home", "/mnt/share/warmpipe", "/cache", "/keys"):
        os.makedirs(folder, exist_ok=True)
    for name in STANDINS:
        write_script("/usr/local/bin/" + name, f"exec {client} --compute 4 --graphics 2 $STANDIN >/dev/null")
    for name in ("server", "service"):
        os.symlink("/usr/local/bin/PROGRAM", f"{PROJECT}/{name}")
    os.symlink("/usr/local/bin/PROGRAM", "/service")
    with open("/etc/warmpipe.policy", "w", encoding="utf-8"):
        pass
    os.symlink(BUILD + "/tools/warmpipe", "/usr/local/bin/warmpipe")
    os.symlink(BUILD, PROJECT + "/build")
    for name in ("tools", "tests"):
        os.symlink(f"{SOURCE}/{name}", f"{PROJECT}/{name}")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "volume", "/cache"], check=True)
    first = snippets.Snippet("preparation", 0, "")
    for app in ("server", "service", "ffmpeg-1a2b3c4d"):
        run(first, f"warmpipe run --app {app} -- PROGRAM")
    run(first, "warmpipe export --app service service.wprecipes && cp service.wprecipes /opt/")
    shown = json.loads(run(first, "warmpipe inspect -v --json service.wprecipes"))
    PLACEHOLDERS["3f2a91 FILE"] = shown["uses"][0]["pipeline"][:12] + " service.wprecipes"
    PLACEHOLDERS["inspect --json FILE"] = "inspect --json /opt/home/.cache/warmpipe/service/*.wpcache"
    run(first, "warmpipe remote keygen --out /keys && chmod 755 /keys && chmod 644 /keys/warmpipe.pub")
    os.chown("/keys/warmpipe.key", int(UNKNOWN_USER), -1)  # as a volume with a secret for that user
    driver = PLACEHOLDERS["/dev/dri/renderD128"]
    os.makedirs(os.path.dirname(driver))
    with open(BUILD + "/tests/icd/warmpipe_test_icd.json", encoding="utf-8") as file:
        manifest = json.load(file)
    manifest["ICD"]["library_path"] = os.path.join(BUILD, "tests/icd", manifest["ICD"]["library_path"])
    with open(driver, "w", encoding="utf-8") as file:
        json.dump(manifest, file)
    os.chown(driver, 0, int(RENDER_GROUP))
    os.chmod(driver, 0o640)


def prepare_remote():
    """What FLEET.md says once the keys are made: a pushed head to look at."""
    heads = [path for path in glob.glob("/mnt/share/warmpipe/v1/head/*/*") if os.path.isfile(path)]
    if heads and not os.path.exists(PROJECT + "/HEAD"):
        shutil.copy(heads[0], PROJECT + "/HEAD")
        shutil.copy(PROJECT + "/keys/warmpipe.pub", "/keys/warmpipe.pub")


def examples():
    """Those of the manual pages, in the same words."""
    with open(SOURCE + "/docs/man/examples.txt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file if line.strip() and not line.startswith(("#", "["))]
    for number, command in enumerate(lines[::2]):
        yield snippets.Snippet("docs/man/examples.txt", 2 * number + 1, command + "\n")


def check_inline(page, text):
    """Commands in running text: the verb and its options must be there."""
    for command in re.findall(r"`(?:build/tools/)?warmpipe ([a-z][^`]*)`", text):
        words = command.split(" -- ")[0].split()
        if words[0] in ("worker", "prewarm"):  # names of threads
            continue
        told = run(snippets.Snippet(page, 0, ""), f"warmpipe {words[0]} --help")
        for word in words[1:]:
            if word.startswith("-") and not re.search(rf"(?<![\w-]){word}(?![\w-])", told):
                sys.exit(f"{page}: warmpipe {words[0]} has no {word}")


HANDLERS = {"shell": shell, "docker": docker, "yaml": pod, "unit": unit, "policy": policy,
            "settings": settings, "settings_file": settings_file, "data": lambda snippet: None}


def inside():
    prepare()
    count = 0
    for page in PAGES:
        with open(f"{SOURCE}/{page}", encoding="utf-8") as file:
            text = file.read()
        check_inline(page, text)
        for snippet in snippets.of_page(page, text):
            HANDLERS[snippets.kind_of(snippet)](snippet)
            count += 1
            prepare_remote()
    for snippet in examples():
        shell(snippet)
        count += 1
    print(f"{count} snippets", *skipped, sep="\n")


def main():
    if os.environ.get("WARMPIPE_SNIPPETS"):
        inside()
        return
    if os.geteuid() != 0:
        print("only root can become the unknown user of a container")
        sys.exit(77)
    unshare = ["unshare", "-m"]
    if subprocess.run([*unshare, "true"], check=False).returncode != 0:
        print("no namespaces here")
        sys.exit(77)
    if subprocess.run([*AS_UNKNOWN_USER, "test", "-r", BUILD + "/build.ninja"], check=False).returncode != 0:
        print("another user does not come to the build folder")
        sys.exit(77)
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(subprocess.run([*unshare, here + "/sandbox.sh", SOURCE, BUILD, "--", sys.executable,
                             os.path.abspath(__file__), BUILD], check=False,
                            env={**os.environ, "WARMPIPE_SNIPPETS": "1"}).returncode)


if __name__ == "__main__":
    main()
