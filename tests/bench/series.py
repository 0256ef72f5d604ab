"""A series: two sides that are run in turn, and the claims that are made about them."""

import os

from process import Failure
from ratio import Ratio, orders


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
        """A limit is met when the interval's lower end is."""
        if self.at_most is not None:
            return ratio.low <= self.at_most
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
        for order in orders(runs, pairs):
            for name in order:
                runs[name].append(sides[name].run(output_path))
        self.check()
        return [self.judge(claim, runs) for claim in self.claims]

    def judge(self, claim, runs):
        ours, theirs, again = ([claim.figure(run) for run in runs[name]]
                               for name in ("ours", "theirs", "again"))
        ratio = Ratio.of(theirs, ours) if claim.inverse else Ratio.of(ours, theirs)
        return {"name": f"{self.name}.{claim.name}", "says": claim.says, "limit": claim.limit(),
                "met": claim.met(ratio), "ratio": ratio, "self": Ratio.of(again, theirs),
                "ours": sorted(ours)[len(ours) // 2], "theirs": sorted(theirs)[len(theirs) // 2],
                "commands": {"ours": str(self.ours.program), "theirs": str(self.theirs.program)}}


def expect(condition, what):
    if not condition:
        raise Failure(what)
