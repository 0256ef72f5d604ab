# SPDX-License-Identifier: Apache-2.0
"""The tool over many programs, against looking at the same files; and how long it takes to start."""

import json
import os
import shutil
import subprocess

from process import Program, empty_directory
from saving import test_driver
from series import Claim, Series, Side, expect
from sharing import AddedTime

FOLDERS = 1000


def many_folders(bench):
    """A root with a thousand programs: the folder of one small program, again and again."""
    root = empty_directory(bench.path("folders"))
    program = Program([bench.client, "--compute", "2", "--graphics", "1"],
                      {**bench.radv(), **bench.layer(root, WARMPIPE_APP="app-0000")})
    program.run(bench.path("output"))
    for number in range(1, FOLDERS):
        shutil.copytree(os.path.join(root, "app-0000"), os.path.join(root, f"app-{number:04}"))
    return root


def verb(name):
    def make(bench):
        root = many_folders(bench)
        tool = os.path.join(bench.build, "tools/warmpipe")
        environment = {"HOME": bench.home, "WARMPIPE_DIR": root, "PATH": "/usr/bin:/bin"}
        ours = Program([tool, name], environment)
        theirs = Program(["/bin/ls", "-lR", root], environment)

        def check():
            out = subprocess.run([tool, name, "--json"], env=environment, check=True,
                                 stdout=subprocess.PIPE).stdout
            programs = json.loads(out)["programs"]
            expect(len(programs) == FOLDERS, f"{len(programs)} programs")

        return Series(f"tool-{name}", Side(ours), Side(theirs), [
            Claim("process", f"warmpipe {name} with {FOLDERS} program folders / ls -lR of the same",
                  lambda run: run["process_ns"], at_most=3),
        ], check=check)
    return make


def verify(bench):
    """One large cache file, against its digest alone."""
    xxhsum = shutil.which("xxhsum")
    expect(xxhsum, "no xxhsum (package xxhash)")
    root = empty_directory(bench.path("large"))
    Program([bench.client, "--compute", "2", "--graphics", "0"], {
        **test_driver(bench), "WPTEST_ICD_RECORD_BYTES": 100 << 20,
        **bench.layer(root, WARMPIPE_APP="app")}).run(bench.path("output"))
    (file,) = [os.path.join(folder, name) for folder, _, names in os.walk(root)
               for name in names if name.endswith(".wpcache")]
    expect(os.path.getsize(file) > 100 << 20, "a large file")
    environment = {"HOME": bench.home, "PATH": "/usr/bin:/bin"}
    ours = Program([os.path.join(bench.build, "tools/warmpipe"), "verify", file], environment)
    theirs = Program([xxhsum, "-q", "-H128", file], environment)
    return Series("tool-verify", Side(ours), Side(theirs), [
        Claim("process", "warmpipe verify of a large file / xxhsum -H128 of the same",
              lambda run: run["process_ns"], at_most=2),
    ])


def one_program(bench):
    """The environment of a tool whose root has one program."""
    root = empty_directory(bench.path("start"))
    Program([bench.client, "--compute", "2", "--graphics", "1"],
            {**bench.radv(), **bench.layer(root, WARMPIPE_APP="app")}).run(bench.path("output"))
    return {"HOME": bench.home, "WARMPIPE_DIR": root, "PATH": "/usr/bin:/bin"}


def start(name):
    """A verb that has next to nothing to do, against a tool of its kind that has nothing to do."""
    def make(bench):
        ccache = shutil.which("ccache")
        expect(ccache, "no ccache")
        environment = one_program(bench)
        ours = Program([os.path.join(bench.build, "tools/warmpipe"), name], environment)
        theirs = Program([ccache, "--show-stats"], {
            **environment, "CCACHE_DIR": empty_directory(bench.path("ccache"))})
        return Series(f"tool-start-{name}", Side(ours), Side(theirs), [
            Claim("process", f"warmpipe {name} with one program / ccache --show-stats with nothing",
                  lambda run: run["process_ns"], at_most=1.3),
        ])
    return make


def start_run(bench):
    theirs = Program(["/bin/true"], one_program(bench))
    ours = Program([os.path.join(bench.build, "tools/warmpipe"), "run", "--", "/bin/true"],
                   theirs.environment)
    return AddedTime("tool-start-run", Side(ours), Side(theirs), [
        Claim("added", "ns that warmpipe run adds to a program that does nothing",
              lambda run: run["process_ns"], at_most=3000000),
    ])


SERIES = {"tool-list": verb("list"), "tool-stats": verb("stats"), "tool-verify": verify,
          "tool-start-list": start("list"), "tool-start-stats": start("stats"),
          "tool-start-run": start_run}
