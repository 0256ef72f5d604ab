# SPDX-License-Identifier: Apache-2.0
"""How much of each folder the tests must run, in percent: lines, branches. Branches are gcc's: of
each condition, both ways. The floors of the folders that read foreign bytes stand as high as they
do because a branch there that no test takes is one that an enemy takes first."""

FLOORS = {
    # Measured with the tests of one module each alone; those through the loader come on top.
    "common/base": (67, 64),
    "common/blobs": (91, 81),
    "common/codec": (97, 92),
    "common/driver": (92, 89),
    "common/files": (95, 88),
    "common/quota": (95, 82),
    "common/recipes": (92, 75),
}
