#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the golden recipes from docs/FORMAT.md alone, without the product's code.

Needs python3-xxhash. Run it in this folder after a change of the format, which takes a new format
version; the files of the versions before stay.
"""

import struct
import xxhash

CODE, FORM, ENVIRONMENT, USES, INDEX, FOOTER = range(1, 7)


def number(data):
    return xxhash.xxh3_128(data).intdigest()


def halves(value):
    return struct.pack("<QQ", value & (1 << 64) - 1, value >> 64)


def digest(data):
    return halves(number(data))


def checked(data):
    return data + digest(data)[:8]


def record(kind, data, instead=None):
    head = struct.pack("<BBHI", kind, 1, 1, len(data)) + (instead or digest(data))
    return checked(head) + data + b"\0" * (-len(data) % 8)


def uses(environment, entries):
    data = digest(environment)
    for pipeline, last_day, days, inline_stages, compile_us in entries:
        data += digest(pipeline) + struct.pack("<IHHI", last_day, days, inline_stages, compile_us)
    return data


def segment(records, sealed):
    file = checked(b"\x89WPR\r\n\x1a\n" + struct.pack("<IIQ", 1, 1, 0))
    index = []
    for kind, data in records:
        index.append((kind, number(data), len(file)))
        file += record(kind, data)
    if sealed:
        offset = len(file)
        entries = b""
        for kind, value, place in sorted(index):
            entries += halves(value) + struct.pack("<Q", kind << 56 | place)
        file += record(INDEX, entries)
        file += record(FOOTER, b"", struct.pack("<QQ", offset, len(file) + 32))
    return file


def crashes(digests):
    return b"wpcrsh\n\x01" + b"".join(checked(one) for one in digests)


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def main():
    code = struct.pack("<5I", 0x07230203, 0x00010000, 0, 1, 0)
    form = b"a form of thirty-three bytes here"
    environment = b"an environment"
    records = [
        (CODE, code),
        (FORM, form),
        (ENVIRONMENT, environment),
        (USES, uses(environment, [(form, 20000, 3, 5, 1500)])),
    ]
    write("recipes/0123456789abcdef.wprecipes", segment(records, True))
    write("recipes/fedcba9876543210.wprecipes", segment(records, False))
    write(
        "recipes/" + "0123456789abcdef" * 2 + ".crashed",
        crashes([digest(form), digest(code)]) + b"\0" * 24 + struct.pack("<Q", 2),
    )


if __name__ == "__main__":
    main()
