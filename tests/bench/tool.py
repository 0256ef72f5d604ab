# SPDX-License-Identifier: Apache-2.0
"""The tool over many programs, against looking at the same files."""

import json
import os
import shutil
import subprocess

from process import Program, empty_directory
from saving import test_driver
from series import Claim, Series, Side, expect

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


SERIES = {"tool-list": verb("list"), "tool-stats": verb("stats"), "tool-verify": verify}
