# SPDX-License-Identifier: Apache-2.0
"""The statistics that the benchmarks are judged by."""

import random
import unittest

from ratio import Ratio, median, orders, rank_of_interval
from series import Claim


class RatioTest(unittest.TestCase):
    def test_ranks_are_those_of_the_tables(self):
        # Order statistics around the median, 95%: the tables of any statistics book.
        for count, rank in ((10, 2), (20, 6), (31, 10), (50, 18)):
            self.assertEqual(rank_of_interval(count), rank)

    def test_interval_holds_the_median_as_often_as_it_says(self):
        source = random.Random(7)
        held = 0
        for _ in range(2000):
            ratio = Ratio.of([source.lognormvariate(0, 0.3) for _ in range(31)], [1] * 31)
            held += ratio.low <= 1 <= ratio.high
        self.assertTrue(0.95 <= held / 2000 <= 0.985, held)

    def test_a_ratio_is_the_median_of_the_pairs(self):
        ratio = Ratio.of([2, 9, 4], [1, 3, 4])
        self.assertEqual((ratio.low, ratio.value, ratio.high), (1, 2, 3))
        self.assertEqual(median([4, 1, 3, 2]), 2.5)

    def test_a_limit_is_kept_by_the_whole_interval(self):
        most, least = Claim("", "", None, at_most=1.1), Claim("", "", None, at_least=1.0)
        self.assertTrue(most.met(Ratio(1.05, 1.0, 1.1)))
        self.assertFalse(most.met(Ratio(1.05, 1.0, 1.11)))
        self.assertTrue(least.met(Ratio(1.05, 1.0, 1.2)))
        self.assertFalse(least.met(Ratio(1.05, 0.99, 1.2)))

    def test_a_wide_interval_is_no_result(self):
        self.assertTrue(Ratio(1.0, 0.96, 1.05).is_narrow())
        self.assertFalse(Ratio(1.0, 0.94, 1.05).is_narrow())

    def test_every_side_runs_early_as_often_as_late(self):
        firsts = [order[0] for order in orders("abc", 3000)]
        for name in "abc":
            self.assertTrue(900 < firsts.count(name) < 1100, firsts.count(name))


if __name__ == "__main__":
    unittest.main()
