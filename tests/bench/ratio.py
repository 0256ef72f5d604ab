# SPDX-License-Identifier: Apache-2.0
"""Ratios of two interleaved series, with their uncertainty."""

import math
import random


def rank_of_interval(count, confidence=0.95):
    """How many of the smallest (and largest) of `count` values lie outside the order-statistics
    interval of their median. No distribution is assumed."""
    tail = (1 - confidence) / 2
    sum_so_far = 0.0
    for rank in range(count // 2 + 1):
        sum_so_far += math.comb(count, rank) / 2**count
        if sum_so_far > tail:
            return rank
    return count // 2


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


class Ratio:
    """The median of pairwise ratios and its 95% interval."""

    def __init__(self, value, low, high):
        self.value = value
        self.low = low
        self.high = high

    @classmethod
    def of(cls, numerators, denominators):
        ratios = sorted(n / d for n, d in zip(numerators, denominators))
        outside = max(rank_of_interval(len(ratios)), 1)
        return cls(median(ratios), ratios[outside - 1], ratios[-outside])

    def is_narrow(self):
        """An interval wider than a tenth of its ratio is no result."""
        return self.high - self.low <= self.value / 10

    def __str__(self):
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    def as_json(self):
        return {"value": self.value, "low": self.low, "high": self.high}


def orders(names, rounds):
    """An order of `names` for each round: every one of them comes equally often early and late."""
    shuffler = random.Random(1)
    for _ in range(rounds):
        order = list(names)
        shuffler.shuffle(order)
        yield order
