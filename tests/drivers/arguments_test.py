# SPDX-License-Identifier: Apache-2.0
"""What `run` and `bench` make of their arguments: nobody waits for either to see that."""

import importlib.machinery
import importlib.util
import os
import sys
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def load(name):
    loader = importlib.machinery.SourceFileLoader(f"drivers_{name}", os.path.join(HERE, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def names_of(plan):
    return [(suite, [device.name for device in devices]) for suite, devices in plan]


class ArgumentsTest(unittest.TestCase):
    def test_run(self):
        run = load("run")
        build, _, only, plan = run.parse_arguments(["--build", "/b", "--check", "warm", "sid", "nvk-170"])
        self.assertEqual((build, only, names_of(plan)), ("/b", "warm", [("sid", ["nvk-170"])]))
        _, _, only, plan = run.parse_arguments([])
        self.assertEqual((only, [suite for suite, _ in plan]), (None, list(run.SUITES)))
        _, _, _, plan = run.parse_arguments(["--quick", "bookworm-backports"])
        self.assertEqual(names_of(plan), [("bookworm-backports", ["radv-navi31", "anv-9a49"])])

    def test_bench(self):
        bench = load("bench")
        pairs, _, plan = bench.parse_arguments([])
        self.assertEqual((pairs, names_of(plan)), (31, [("sid", list(bench.DEVICES))]))
        pairs, build, plan = bench.parse_arguments(["--pairs", "3", "--build", "/b", "here",
                                                    "radv-navi10"])
        self.assertEqual((pairs, build, names_of(plan)), (3, "/b", [("here", ["radv-navi10"])]))


if __name__ == "__main__":
    unittest.main()
