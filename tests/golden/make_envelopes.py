#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the golden envelopes and markers from docs/FORMAT.md alone, without the product's code.

Needs python3-xxhash. Run it in this folder after a change of the format, which takes a new format
version; the files of the versions before stay.
"""

import struct
import xxhash

HEADER_SIZE = 960


def digest(data):
    value = xxhash.xxh3_128(data).intdigest()
    return struct.pack("<QQ", value & (1 << 64) - 1, value >> 64)


def text(string):
    return string.encode().ljust(256, b"\0")


def identity(vendor, device, api, driver_version, driver_id, pointer_size, conformance, uuid, names):
    return (
        struct.pack("<6I", vendor, device, api, driver_version, driver_id, pointer_size)
        + bytes(conformance)
        + uuid
        + b"".join(text(name) for name in names)
    )


def blob(vendor, device, uuid, payload):
    return struct.pack("<4I", 32, 1, vendor, device) + uuid + payload


def envelope(pointer_size, generation, saved_at, identity_bytes, data):
    header = b"\x89WPC\r\n\x1a\n"
    header += struct.pack("<3I", 1, HEADER_SIZE, 0x01020304)
    header += struct.pack("<I2Q", pointer_size, generation, saved_at)
    header += identity_bytes
    header += struct.pack("<I", 1)
    header += struct.pack("<2I2Q", 1, 0, HEADER_SIZE, len(data)) + digest(data)
    header = header.ljust(HEADER_SIZE - 16, b"\0")
    return header + digest(header) + data


def payload(size):
    state, out = 1, bytearray()
    for _ in range(size):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        out.append(state >> 16 & 0xFF)
    return bytes(out)


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def api_version(major, minor, patch):
    return major << 22 | minor << 12 | patch


def main():
    uuid = bytes(range(16))
    write(
        "envelope/usual.wpcache",
        envelope(
            8,
            0x0123456789ABCDEF,
            1700000000,
            identity(0x1002, 0x7310, api_version(1, 3, 230), 0x05803006, 3, 8, (1, 3, 0, 0), uuid,
                     ("Sample device", "sample", "Sample 1.2.3")),
            blob(0x1002, 0x7310, uuid, payload(1000)),
        ),
    )
    uuid = b"val-%s".ljust(16, b"\0")
    write(
        "envelope/least.wpcache",
        envelope(
            4,
            1,
            0,
            identity(0, 0, api_version(1, 0, 0), 0, 0, 4, (0, 0, 0, 0), uuid, ("", "", "")),
            blob(0, 0, uuid, b""),
        ),
    )
    uuid = b"\xff" * 16
    most = 0xFFFFFFFF
    write(
        "envelope/most.wpcache",
        envelope(
            8,
            (1 << 64) - 1,
            (1 << 64) - 1,
            identity(most, most, most, most, most, 8, (255,) * 4, uuid,
                     ("d" * 255, "n" * 255, "i" * 255)),
            blob(most, most, uuid, payload(4097)),
        ),
    )
    write(
        "marker/0123456789abcdef",
        b"wpmark\n\x01"
        + struct.pack("<4QI", 0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x1122334455667788,
                      1700000000, 4242)
        + b"a program".ljust(32, b"\0"),
    )
    slots = [(0x69B6BADBAD5C4C53, 1, 31, 30), (1, 0, 5, 0), (0x0B41187009BC5900, 2, 7, 7)]
    write(
        "marker/8123456789abcdef",
        b"wpmark\n\x02"
        + struct.pack("<4QI", 0x8123456789ABCDEF, 0xFEDCBA9876543210, 0x1122334455667788,
                      1700000000, 4242)
        + b"a program".ljust(32, b"\0")
        + struct.pack("<I", 1)
        + bytes(range(16))
        + struct.pack("<4I2Q", 0, 1, 1, 0, 0x0102030405060708, 0x1112131415161718)
        + b"".join(struct.pack("<Q3I12x", *slot) for slot in slots).ljust(64 * 32, b"\0"),
    )


if __name__ == "__main__":
    main()
