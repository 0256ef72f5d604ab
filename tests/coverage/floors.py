# SPDX-License-Identifier: Apache-2.0
"""How much of each folder the tests must run, in percent: lines, branches. Branches are gcc's: of
each condition, both ways. Folders that read foreign bytes have to run 90% of their branches at least:
a branch there that no test takes is one that an enemy takes first. What they leave is said beside
them; `tests/coverage/run --report --lines FOLDER` names each line."""

FLOORS = {
    # Left: control groups whose files are there in part, or tell nonsense; a line of the log that
    # vsnprintf refuses or a signal interrupts; logs to /dev/fd.
    "common/base": (98, 92),
    # Left: what a clock, a chance of 2^-64 or another process at the very moment makes (a key of 0, a
    # year beyond gmtime_r, a file that goes between two looks); more markers than are read; more than 64
    # pages of a process, and more than 16 blobs that it skips.
    "common/blobs": (98, 90),
    # Left: kinds of members that only structs have which no test describes; forms beyond 16 MiB; of
    # each member that the encoder refuses, the same in the decoder, which canonical_fuzz runs.
    "common/codec": (94, 90),
    "common/driver": (96, 91),
    "common/files": (96, 90),
    "common/quota": (97, 87),
    # Left: records beyond 4 GiB and segments beyond a gigabyte; files of other users; samplers and
    # render passes in a merge; each further field of an index entry or a footer that is wrong alone.
    "common/recipes": (98, 90),
    # Left: code and forms of gigabytes; drivers that refuse one kind of object each; no memory in the
    # middle of a kind that no test starves.
    "common/replay": (96, 90),
    # Left: no memory for a value; a file that changes between two looks; odd white space.
    "common/settings": (97, 91),
    # Left: instructions that end in the middle of an operand; ids of every kind in every place.
    "common/spirv": (98, 93),
}
