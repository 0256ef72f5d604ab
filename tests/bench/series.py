# SPDX-License-Identifier: Apache-2.0
"""A series: two sides that are run in turn, and the claims that are made about them."""

import os

from process import Failure
from ratio import Ratio, orders

# How often the pairs are repeated while an interval is too wide to be a result.
MOST_ROUNDS = 4


class Claim:
    """A limit on a ratio. `figure` reads the figure out of what a run took."""

    def __init__(self, name, says, figure, at_most=None, at_least=None, inverse=False):
        self.name = name
        self.says = says
        self.figure = figure
        self.at_most = at_most
        self.at_least = at_least
        self.inverse = inverse

    def limit(self):
        return f"≤ {self.at_most:g}" if self.at_most is not None else f"≥ {self.at_least:g}"

    def met(self, ratio):
        """A limit is met when the whole interval keeps it."""
        if self.at_most is not None:
            return ratio.high <= self.at_most
        return ratio.low >= self.at_least


class Side:
    """One of the two programs. `before` is called ahead of each run and gives the program to run;
    `after` looks at what the run has left. Neither is timed."""

    def __init__(self, program, before=None, after=None):
        self.program = program
        self.before = before or (lambda program: program)
        self.after = after or (lambda: None)

    def run(self, output_path):
        figures = self.before(self.program).run(output_path)
        self.after()
        return figures


class Series:
    """`ours` against `theirs`: theirs is run twice in each round, for the ratio to itself."""

    def __init__(self, name, ours, theirs, claims, check=None):
        self.name = name
        self.ours = ours
        self.theirs = theirs
        self.claims = claims
        # Looks, untimed, whether the layer does what the series is about; before and after it.
        self.check = check or (lambda: None)

    def measure(self, pairs, work):
        output_path = os.path.join(work, "output")
        runs = {"ours": [], "theirs": [], "again": []}
        sides = {"ours": self.ours, "theirs": self.theirs, "again": self.theirs}
        self.check()
        for _ in range(MOST_ROUNDS):
            for order in orders(runs, pairs):
                for name in order:
                    runs[name].append(sides[name].run(output_path))
            results = [self.judge(claim, runs) for claim in self.claims]
            if all("ratio" not in result or result["ratio"].is_narrow() for result in results):
                break
        self.check()
        return results

    def judge(self, claim, runs):
        ours, theirs, again = ([claim.figure(run) for run in runs[name]]
                               for name in ("ours", "theirs", "again"))
        ratio = Ratio.of(theirs, ours) if claim.inverse else Ratio.of(ours, theirs)
        return {"name": f"{self.name}.{claim.name}", "says": claim.says, "limit": claim.limit(),
                "met": claim.met(ratio) if ratio.is_narrow() else None, "pairs": len(ours),
                "ratio": ratio, "self": Ratio.of(again, theirs),
                "ours": sorted(ours)[len(ours) // 2], "theirs": sorted(theirs)[len(theirs) // 2],
                "commands": {"ours": str(self.ours.program), "theirs": str(self.theirs.program)}}


def expect(condition, what):
    if not condition:
        raise Failure(what)
