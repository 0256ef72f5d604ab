# SPDX-License-Identifier: Apache-2.0
"""A reader of every file that warmpipe keeps, written from docs/FORMAT.md alone: what this file does
and the product does otherwise is a fault of one of the two, or of the page.

Each `read_` function takes the bytes of a file, accounts for every one of them, recomputes every
digest, and raises Refused, with the reason id where the page names one."""

import json
import os
import re
import stat
import struct

import xxh3


class Refused(Exception):
    """The file is not what docs/FORMAT.md describes. args[0]: the reason id."""


class Cursor:
    """Bytes, taken from the front. What is left when done() is called is a fault."""

    def __init__(self, data, reason):
        self.data, self.at, self.reason = data, 0, reason

    def bytes(self, size):
        if self.at + size > len(self.data):
            raise Refused(self.reason)
        self.at += size
        return self.data[self.at - size : self.at]

    def u32(self):
        return struct.unpack("<I", self.bytes(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.bytes(8))[0]

    def digest(self):
        low, high = struct.unpack("<QQ", self.bytes(16))
        return high << 64 | low

    def done(self):
        if self.at != len(self.data):
            raise Refused(self.reason)


def text_of(digest):
    return format(digest, "032x")


def check_of(data):
    return xxh3.digest(data) & (1 << 64) - 1


# Cache files and parts

ENVELOPE_MAGIC = b"\x89WPC\r\n\x1a\n"
HEADER_SIZE = 960
IDENTITY_FIELDS = ("vendor_id", "device_id", "api_version", "driver_version", "driver_id",
                   "pointer_size")


def read_identity(data):
    cursor = Cursor(data, "bad_section_table")
    identity = {name: cursor.u32() for name in IDENTITY_FIELDS}
    identity["conformance"] = cursor.bytes(4)
    identity["uuid"] = cursor.bytes(16)
    for name in ("device_name", "driver_name", "driver_info"):
        field = cursor.bytes(256)
        string = field.split(b"\0")[0]
        if string.ljust(256, b"\0") != field or len(string) > 255:
            raise Refused("bad_section_table")
        identity[name] = string
    cursor.done()
    identity["digest"] = xxh3.digest(data)
    return identity


def write_header(envelope):
    """The header as the page has it, from what was read out of one."""
    header = ENVELOPE_MAGIC + struct.pack("<3I", 1, HEADER_SIZE, 0x01020304)
    header += struct.pack("<I2Q", envelope["pointer_size"], envelope["generation"],
                          envelope["saved_at"])
    header += envelope["identity_bytes"] + struct.pack("<3I", 1, 1, 0)
    header += struct.pack("<2Q", HEADER_SIZE, envelope["blob_size"]) + envelope["blob_digest"]
    header = header.ljust(HEADER_SIZE - 16, b"\0")
    value = xxh3.digest(header)
    return header + struct.pack("<QQ", value & (1 << 64) - 1, value >> 64)


def read_envelope(data, pointer_size=None):
    """`pointer_size`: of the process that is to use the blob; None: nobody is to."""
    if data[:8] != ENVELOPE_MAGIC[: len(data[:8])]:
        raise Refused("bad_magic")
    if len(data) < 24:
        raise Refused("truncated")
    if struct.unpack_from("<I", data, 8)[0] != 1:
        raise Refused("bad_format_version")
    if data[16:20] != b"\x04\x03\x02\x01":
        raise Refused("bad_endianness")
    if pointer_size and struct.unpack_from("<I", data, 20)[0] != pointer_size:
        raise Refused("bad_pointer_size")
    if len(data) < HEADER_SIZE:
        raise Refused("truncated")
    header, blob = data[:HEADER_SIZE], data[HEADER_SIZE:]
    cursor = Cursor(header, "bad_section_table")
    cursor.bytes(20)
    envelope = {"pointer_size": cursor.u32(), "generation": cursor.u64(),
                "saved_at": cursor.u64(), "identity_bytes": cursor.bytes(812)}
    cursor.bytes(20)
    envelope["blob_size"] = cursor.u64()
    envelope["blob_digest"] = cursor.bytes(16)
    cursor.bytes(48)
    if cursor.digest() != xxh3.digest(header[: HEADER_SIZE - 16]):
        raise Refused("bad_header_digest")
    cursor.done()
    envelope["identity"] = read_identity(envelope["identity_bytes"])
    if (envelope["generation"] == 0 or write_header(envelope) != header
            or envelope["identity"]["pointer_size"] != envelope["pointer_size"]):
        raise Refused("bad_section_table")
    if len(blob) != envelope["blob_size"]:
        raise Refused("truncated" if len(blob) < envelope["blob_size"] else "trailing_bytes")
    if struct.pack("<QQ", check_of(blob), xxh3.digest(blob) >> 64) != envelope["blob_digest"]:
        raise Refused("bad_section_digest")
    identity = envelope["identity"]
    if blob[:32] != struct.pack("<4I", 32, 1, identity["vendor_id"],
                                identity["device_id"]) + identity["uuid"]:
        raise Refused("bad_blob_header")
    return envelope


# Markers and strikes

SLOTS = 64


def read_marker(data):
    """A plain record, or a page of this machine's byte order."""
    cursor = Cursor(data, "invalid")
    magic = cursor.bytes(8)
    if magic not in (b"wpmark\n\x01", b"wpmark\n\x02"):
        raise Refused("invalid")
    marker = {name: cursor.u64() for name in ("id", "generation", "strike", "set_at")}
    marker["process"] = cursor.u32()
    marker["program"] = cursor.bytes(32)
    marker.update(saved=0, writing=0, keys=[1], counts=True)
    if magic[7] == 1:
        marker["without"] = 0
    else:
        marker["deaths"] = cursor.u32()
        marker["boot"] = cursor.bytes(16)
        fields = struct.unpack("=4I2Q", cursor.bytes(32))
        marker.update(zip(("ended", "returned", "disproved", "without"), fields))
        marker.update(saved=fields[4], writing=fields[5])
        slots = [struct.unpack("=Q6I", cursor.bytes(32)) for _ in range(SLOTS)]
        inside = [slot for slot in slots if slot[1] in (1, 2) and slot[2] != slot[3]]
        marker.update(keys=[slot[0] for slot in inside][:8],
                      counts=any(slot[1] == 1 for slot in inside))
    cursor.done()
    if marker["id"] == 0:
        raise Refused("invalid")
    return marker


# program.json

NUMBERS = {"format", "since", "starts", "requests", "shared", "driver_hits", "driver_misses",
           "prewarmed", "create_ns", "compile_ns", "app_caches_kept", "app_caches_read_runs",
           "app_caches_read_days", "app_caches_last_day", "app_caches_made", "app_caches_read"}
STRINGS = {"app_caches", "app_caches_answers", "slow_calls", "pipeline_keys", "driver_settings"}
# What a writer lays out 20 columns wide.
WIDE = ("since", "starts", "requests", "shared", "driver_hits", "driver_misses", "prewarmed",
        "create_ns", "compile_ns")


def no_constant(name):
    raise ValueError(name)


def nesting(value):
    if isinstance(value, (dict, list)):
        members = value.values() if isinstance(value, dict) else value
        return 1 + max(map(nesting, members), default=0)
    return 0


def read_program(data):
    try:
        if len(data) > 64 * 1024:
            raise ValueError("too large")
        program = json.loads(data.decode("utf-8"), parse_constant=no_constant, parse_float=str)
    except (ValueError, RecursionError):
        raise Refused("bad_program_file") from None
    if not isinstance(program, dict) or nesting(program) > 33:
        raise Refused("bad_program_file")
    for name, value in program.items():
        is_number = type(value) is int and 0 <= value < 1 << 64
        if name in NUMBERS and not is_number or name in STRINGS and not isinstance(value, str):
            raise Refused("bad_program_file")
    if program.get("format", 0) == 0:
        raise Refused("bad_program_file")
    if program["format"] != 1:
        raise Refused("bad_format_version")
    return program


def check_program_layout(data):
    """Of a file that the product has written: counters are so wide that they are changed in place."""
    program = read_program(data)
    for name in WIDE if "since" in program else ():
        if not re.search(rb',"%s":[ 0-9]{19}[0-9](?=[,}])' % name.encode(), data):
            raise Refused("bad_program_file")
    return program


# Recipes

SEGMENT_MAGIC = b"\x89WPR\r\n\x1a\n"
CODE, FORM, ENVIRONMENT, USES, INDEX, FOOTER = range(1, 7)
RECORD_HEADER = 32
MOST_DATA = 64 << 20


def read_uses(data):
    cursor = Cursor(data, "bad_record")
    environment, entries = cursor.digest(), []
    while cursor.at < len(data) or not entries:
        pipeline, last_day, days, bits = cursor.digest(), cursor.u32(), cursor.u32(), cursor.u32()
        entries.append({"pipeline": pipeline, "last_day": last_day, "days": days & 0xffff,
                        "inline_stages": days >> 16,
                        "compile_us": bits & (1 << 30) - 1, "awaits_save": bits >> 30 & 1,
                        "saved": bits >> 31})
    return {"environment": environment, "entries": entries}


def read_environment(data):
    if len(data) > 1 << 20:
        raise Refused("bad_record")
    cursor = Cursor(data, "bad_record")

    def string():
        size = cursor.u32()
        value = cursor.bytes(size)
        if size > 255 or b"\0" in value:
            raise Refused("bad_record")
        return value

    version, vendor, device, api, properties2 = (cursor.u32() for _ in range(5))
    versions = (cursor.u32(), cursor.u32())
    names = (string(), string())
    extensions = [string() for _ in range(cursor.u32())]
    features = [(cursor.u32(), cursor.u64()) for _ in range(cursor.u32())]
    cursor.done()
    types = [kind for kind, _ in features]
    core = dict(features).get(1000059000) # VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2
    if (version != 1 or api & 0xFFF or properties2 > 1 or b"" in extensions
            or extensions != sorted(set(extensions)) or types != sorted(set(types))
            or core is not None and (core == 0 or core >> 55)):
        raise Refused("bad_record")
    return {"vendor_id": vendor, "device_id": device, "versions": versions, "names": names,
            "extensions": extensions, "features": features}


class Segment:
    """A segment as a reader that passes over damage finds it."""

    def __init__(self, data):
        self.data, self.sealed, self.torn, self.damaged = data, False, 0, 0
        self.records = [] # (kind, digest, offset, data), whole ones of the kinds 1 to 4
        self.index_entries = []
        self.read_header()
        self.walk()

    def read_header(self):
        data = self.data
        if not data:
            raise Refused("truncated")
        if data[:8] != SEGMENT_MAGIC[: len(data[:8])] and not self.record_at(32):
            raise Refused("bad_magic")
        if len(data) < 32:
            raise Refused("truncated")
        whole = struct.unpack_from("<Q", data, 24)[0] == check_of(data[:24])
        if whole and data[:8] == SEGMENT_MAGIC:
            if struct.unpack_from("<2I", data, 8) != (1, 1) or data[16:24] != bytes(8):
                raise Refused("bad_format_version")
        else:
            self.damaged += 1

    def record_at(self, at):
        """(kind, digest, size of the data), or None: no record's header checks out there."""
        head = self.data[at : at + RECORD_HEADER]
        if len(head) < RECORD_HEADER:
            return None
        kind, version, canonical, size = struct.unpack_from("<BBHI", head)
        if (struct.unpack_from("<Q", head, 24)[0] != check_of(head[:24]) or version != 1
                or canonical != 1 or not CODE <= kind <= FOOTER
                or size > MOST_DATA and kind != INDEX):
            return None
        low, high = struct.unpack_from("<QQ", head, 8)
        return kind, high << 64 | low, size

    def walk(self):
        at, lost = 32, False
        while at + RECORD_HEADER <= len(self.data):
            record = self.record_at(at)
            if not record:
                if not any(self.data[at:]):
                    break # zeros up to the end: a torn tail
                self.damaged += not lost
                lost = True
                at += 8
                continue
            kind, digest, size = record
            end = at + RECORD_HEADER + size
            padded = end + -size % 8
            if padded > len(self.data):
                break
            lost = False
            self.take(kind, digest, at, self.data[at + RECORD_HEADER : end],
                      self.data[end:padded])
            at = padded
        self.torn = len(self.data) - at

    def take(self, kind, digest, at, data, padding):
        if kind == FOOTER:
            self.take_footer(digest, at)
        elif digest != xxh3.digest(data) or any(padding):
            self.damaged += 1
        elif kind == INDEX:
            self.index_entries.append((at, data))
        else:
            self.records.append((kind, digest, at, data))

    def take_footer(self, digest, at):
        offset, size = digest & (1 << 64) - 1, digest >> 64
        if size == len(self.data) == at + RECORD_HEADER and self.index_entries:
            place, entries = self.index_entries[-1]
            expected = b"".join(
                struct.pack("<3Q", value & (1 << 64) - 1, value >> 64, kind << 56 | where)
                for kind, value, where in sorted(record[:3] for record in self.records))
            self.sealed = offset == place
            self.damaged += entries != expected


def read_segment(data):
    """A segment that nobody has damaged: each record must be of the form of the page."""
    segment = Segment(data)
    if segment.damaged or segment.torn or segment.index_entries and not segment.sealed:
        raise Refused("bad_record")
    for kind, _, _, payload in segment.records:
        if kind == CODE and (len(payload) % 4 or payload[:4] != b"\x03\x02\x23\x07"):
            raise Refused("bad_record")
        if kind == ENVIRONMENT:
            read_environment(payload)
        if kind == USES:
            read_uses(payload)
    return segment


def check_uses(segments, folder):
    """What uses name stands in some segment of their folder."""
    known = {(kind, digest) for segment in segments for kind, digest, _, _ in segment.records}
    for uses in (read_uses(data) for segment in segments
                 for kind, _, _, data in segment.records if kind == USES):
        if (ENVIRONMENT, uses["environment"]) not in known or any(
                (FORM, entry["pipeline"]) not in known for entry in uses["entries"]):
            raise Refused("bad_record", folder)


def pipelines_of(segment):
    return {entry["pipeline"] for kind, _, _, data in segment.records if kind == USES
            for entry in read_uses(data)["entries"]}


def read_crashes(data):
    """The digests in a list of crashes, or in what a process is replaying, and the deaths."""
    cursor = Cursor(data, "invalid")
    if cursor.bytes(8) != b"wpcrsh\n\x01":
        raise Refused("invalid")
    found = []
    deaths = 0
    while cursor.at < len(data):
        if len(data) - cursor.at == 8:
            deaths = struct.unpack("<Q", cursor.bytes(8))[0]
            break
        place = cursor.bytes(24)
        if struct.unpack_from("<Q", place, 16)[0] == check_of(place[:16]):
            low, high = struct.unpack_from("<QQ", place)
            found.append(high << 64 | low)
        elif any(place):
            raise Refused("invalid")
    if len(found) > 65536:
        raise Refused("invalid")
    return found, deaths


# Folders

HEX16, HEX32 = "[0-9a-f]{16}", "[0-9a-f]{32}"


def read_empty(data):
    if data:
        raise Refused("invalid")


def read_limits(data):
    """None: it says nothing, as one does whose writer was ended before it wrote."""
    match = re.fullmatch(rb"(\d{1,20}) (\d{1,20})\n", data)
    return (int(match[1]), int(match[2])) if match else None


def read_named_envelope(name, data):
    envelope = read_envelope(data)
    if not name.startswith(text_of(envelope["identity"]["digest"])):
        raise Refused("wrong_name")
    return envelope


PAGE_SIZE = 128 + SLOTS * 32


def elsewhere_of(name):
    return f"/dev/shm/warmpipe-{name}"


def read_elsewhere(name):
    """The page elsewhere of a marker, unparsed; None: it has none that counts."""
    try:
        status = os.lstat(elsewhere_of(name))
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_uid not in (0, os.geteuid()):
        return None
    if status.st_size != PAGE_SIZE:
        return None
    if stat.S_IMODE(status.st_mode) != 0o600:
        raise Refused("file_mode")
    with open(elsewhere_of(name), "rb") as file:
        return file.read()


def read_named_marker(name, data):
    if not name.endswith(".strike"):
        elsewhere = read_elsewhere(name)
        if elsewhere is not None:
            if data != b"":
                read_marker(data)
            data = elsewhere
    marker = read_marker(data)
    # A strike goes along with what is saved, to generations that its process has not seen.
    if not name.endswith(".strike") and int(name[:16], 16) != marker["id"]:
        raise Refused("wrong_name")
    return marker


# What lies where: paths below the root, and what reads them. No other file may be there.
FILES = [
    (r"\.limits\.\d+", lambda name, data: read_limits(data)),
    (rf"[^/]+/{HEX32}\.wpcache", read_named_envelope),
    (rf"[^/]+/{HEX32}\.{HEX16}\.part", read_named_envelope),
    (rf"[^/]+/{HEX32}\.lock", lambda name, data: read_empty(data)),
    (rf"[^/]+/{HEX32}\.wanted", lambda name, data: data == b"unfinished\n" or read_empty(data)),
    (rf"[^/]+/{HEX32}\.loading/{HEX16}(\.strike)?", read_named_marker),
    (rf"[^/]+/{HEX32}\.loading/killed", lambda name, data: read_empty(data)),
    (r"[^/]+/program\.json", lambda name, data: check_program_layout(data)),
    (rf"[^/]+/recipes/{HEX16}\.wprecipes", lambda name, data: read_segment(data)),
    (rf"[^/]+/recipes/{HEX32}\.crashed", lambda name, data: read_crashes(data)),
    # Empty: its process was killed before it wrote.
    (rf"[^/]+/recipes/{HEX32}\.{HEX16}\.replaying", lambda name, data: read_crashes(data) if data else []),
    (r"[^/]+/recipes/lock", lambda name, data: read_empty(data)),
    (rf"[^/]+/quarantine/{HEX32}\.(wpcache|{HEX16}\.part)", read_named_envelope),
    (rf"[^/]+/quarantine/{HEX32}\.(wpcache|{HEX16}\.part)\.txt",
     lambda name, data: data.decode("utf-8")),
]
FOLDERS = [r"[^/]+", rf"[^/]+/{HEX32}\.loading", r"[^/]+/recipes", r"[^/]+/quarantine"]


def mode_of(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def read_root(root):
    """Reads every file below a root. Gives {path below the root: what was read}; raises Refused with
    the path as args[1] for what docs/FORMAT.md does not describe."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            place = os.path.relpath(path, root)
            patterns = FOLDERS if name in folders else [pattern for pattern, _ in FILES]
            if not any(re.fullmatch(pattern, place) for pattern in patterns):
                raise Refused("unknown_file", place)
            if mode_of(path) != (0o700 if name in folders else 0o600):
                raise Refused("file_mode", place)
        for name in files:
            place = os.path.relpath(os.path.join(folder, name), root)
            reader = next(reader for pattern, reader in FILES if re.fullmatch(pattern, place))
            with open(os.path.join(folder, name), "rb") as file:
                data = file.read()
            try:
                found[place] = reader(name, data)
            except Refused as refusal:
                raise Refused(refusal.args[0], place) from None
    for folder in {os.path.dirname(place) for place in found if place.endswith(".wprecipes")}:
        check_uses([content for place, content in found.items()
                    if isinstance(content, Segment) and os.path.dirname(place) == folder], folder)
    return found
