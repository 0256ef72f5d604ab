#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: files_test.py --build BUILD-DIRECTORY [TEST...]

Holds docs/FORMAT.md against the product, by a second reader of the formats (formats.py) that was
written from that page alone: it reads all that real programs leave behind, and of damaged copies it
and the tool must think alike."""

import argparse
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import formats # noqa: E402
import xxh3 # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(HERE))
GOLDEN = os.path.join(SOURCE, "tests/golden")
APP = "formats"
build = ""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)


def opinion(reader, *arguments):
    """'ok', or the reason id with which the reader refuses."""
    try:
        reader(*arguments)
        return "ok"
    except formats.Refused as refusal:
        return refusal.args[0]


def tool(*arguments):
    command = [os.path.join(build, "tools/warmpipe"), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})


def verify(folder):
    """What the tool says of every file below the folder: {path: reason id}."""
    answer = tool("verify", "--json", folder)
    return {row["path"]: row["reason"] for row in json.loads(answer.stdout)["files"]}


def digest_bytes(data):
    value = xxh3.digest(data)
    return struct.pack("<QQ", value & (1 << 64) - 1, value >> 64)


def sign(envelope):
    """Makes both digests right, so that it is the fields that are judged."""
    data = bytearray(envelope)
    data[880:896] = digest_bytes(bytes(data[960:]))
    data[944:960] = digest_bytes(bytes(data[:944]))
    return bytes(data)


class Digests(unittest.TestCase):
    def test_as_the_library_has_them(self):
        self.assertEqual(formats.text_of(xxh3.digest(b"")), "99aa06d3014798d86001c324468d497f")
        # The digest of the digests of the first bytes of a pattern, by xxhash.h 0.8.1.
        pattern = bytes((i * i >> 3) & 0xFF for i in range(5000))
        sizes = [*range(300), *range(300, 5000, 97)]
        self.assertEqual(
            formats.text_of(xxh3.digest(b"".join(digest_bytes(pattern[:size]) for size in sizes))),
            "712681b86039cfce016b66eebdaf8fb5")


class Golden(unittest.TestCase):
    def test_cache_files(self):
        for name, size in (("usual", 8), ("least", 4), ("most", 8)):
            data = read(f"{GOLDEN}/envelope/{name}.wpcache")
            self.assertEqual(opinion(formats.read_envelope, data, size), "ok", name)

    def test_marker(self):
        name = "0123456789abcdef"
        marker = formats.read_named_marker(name, read(f"{GOLDEN}/marker/{name}"))
        self.assertEqual(marker["strike"], 0x1122334455667788)
        name = "8123456789abcdef"
        page = formats.read_named_marker(name, read(f"{GOLDEN}/marker/{name}"))
        self.assertEqual((page["strike"], page["saved"], page["keys"], page["counts"]),
                         (0x1122334455667788, 0x0102030405060708, [0x69B6BADBAD5C4C53], True))

    def test_recipes(self):
        for name, sealed in (("0123456789abcdef", True), ("fedcba9876543210", False)):
            segment = formats.Segment(read(f"{GOLDEN}/recipes/{name}.wprecipes"))
            self.assertEqual((len(segment.records), segment.damaged, segment.torn, segment.sealed),
                             (4, 0, 0, sealed))
            self.assertEqual(len(formats.pipelines_of(segment)), 1)

    def test_crashes(self):
        data = read(f"{GOLDEN}/recipes/" + "0123456789abcdef" * 2 + ".crashed")
        crashed, deaths = formats.read_crashes(data)
        self.assertEqual(len(crashed), 2)
        self.assertEqual(deaths, 2)


class Program(unittest.TestCase):
    """A root that programs have written to, on RADV's null device."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="warmpipe-formats-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.root = os.path.join(self.folder, "cache")
        self.copies = os.path.join(self.folder, "copies")
        self.random = random.Random(1)
        answer = subprocess.run([f"{SOURCE}/tests/drivers/environment", "radv-navi10"],
                                stdout=subprocess.PIPE, text=True, check=False)
        if answer.returncode != 0:
            self.skipTest("no RADV")
        self.driver = dict(line.split("=", 1) for line in answer.stdout.splitlines())

    def client(self, *arguments, status=0, **variables):
        """Runs the client in the layer, and gives the layer's last line of statistics."""
        stats = os.path.join(self.folder, "stats")
        environment = {
            "HOME": self.folder, "PATH": os.environ["PATH"], **self.driver,
            "MESA_SHADER_CACHE_DISABLE": "true", "XDG_DATA_HOME": os.path.join(build, "share"),
            "WARMPIPE_ENABLE": "1", "WARMPIPE_DIR": self.root, "WARMPIPE_APP": APP,
            "WARMPIPE_STATS": stats, **variables}
        open(stats, "w").close()
        client = os.path.join(build, "tests/clients/pipelines/pipelines")
        answer = subprocess.run([client, *arguments], env=environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(answer.returncode, status, answer.stderr)
        lines = read(stats).splitlines()
        self.assertTrue(lines or status, "the layer was not in the chain")
        return json.loads(lines[-1]) if lines else None

    def files(self):
        """Every file that is there, read: {path: content}."""
        try:
            return formats.read_root(self.root)
        except formats.Refused as refusal:
            self.fail(f"{refusal.args[1]}: {refusal.args[0]}")

    def of(self, files, suffix):
        return [content for path, content in sorted(files.items()) if path.endswith(suffix)]

    def path_of(self, suffix):
        return next(os.path.join(self.root, path) for path in self.files()
                    if path.endswith(suffix))

    def test_a_start(self):
        stats = self.client("--compute", "6", "--graphics", "3")
        files = self.files()
        cache, = self.of(files, ".wpcache")
        self.assertEqual(cache["blob_size"], stats["cache"]["saved_bytes"] - 960
                         if stats["cache"]["saved_bytes"] > cache["blob_size"]
                         else stats["cache"]["saved_bytes"])
        segment, = self.of(files, ".wprecipes")
        self.assertGreaterEqual(len(segment.data), 32 << 10)
        self.assertEqual((len(formats.pipelines_of(segment)), segment.sealed), (9, True))
        program = files[f"{APP}/program.json"]
        self.assertEqual((program["starts"], program["requests"]), (1, 9))

    def test_small_starts_share_a_segment_that_stays_open(self):
        for start in range(2):
            self.client("--compute", "1", "--graphics", "0", "--seed", str(start))
        segment, = self.of(self.files(), ".wprecipes")
        self.assertLess(len(segment.data), 32 << 10)
        self.assertEqual((len(formats.pipelines_of(segment)), segment.sealed), (2, False))

    def test_many_starts_are_sealed_and_compacted(self):
        # A start compacts what the ones before it have left, unless it ends before it comes to that.
        starts, segments = 0, []
        while starts < 6 or (starts < 30 and len(segments) == starts):
            self.client("--compute", "120", "--graphics", "0", "--seed", str(starts))
            segments = self.of(self.files(), ".wprecipes")
            starts += 1
        self.assertTrue(any(segment.sealed for segment in segments))
        self.assertLess(len(segments), starts)
        pipelines = set().union(*map(formats.pipelines_of, segments))
        self.assertEqual(len(pipelines), starts * 120)
        self.assertEqual(self.files()[f"{APP}/program.json"]["starts"], starts)

    def test_own_caches_are_learnt(self):
        for _ in range(3):
            self.client("--compute", "4", "--graphics", "0", "--cache",
                        f"readback={self.folder}/own")
        self.assertIn("app_caches", self.files()[f"{APP}/program.json"])

    def use_test_driver(self):
        """tests/icd, which can be told to abort as soon as it is given a blob."""
        manifest = os.path.join(build, "tests/icd/warmpipe_test_icd.json")
        self.driver = {"VK_DRIVER_FILES": manifest, "VK_ICD_FILENAMES": manifest}
        return {"WPTEST_ICD_CACHE_CREATE": "abort_data"}

    def test_two_deaths(self):
        few = ("--compute", "4", "--graphics", "0")
        deadly = self.use_test_driver()
        self.client(*few)
        generation = self.of(self.files(), ".wpcache")[0]["generation"]

        self.client(*few, status=-6, **deadly)
        markers = [(path, content) for path, content in self.files().items() if ".loading/" in path]
        self.assertEqual(len(markers), 1)
        self.assertEqual((markers[0][1]["generation"], markers[0][1]["strike"]), (generation, 0))
        self.assertEqual(markers[0][1]["without"], 0)

        # The blob is skipped once, and what this start saves becomes a part.
        stats = self.client(*few, "--seed", "1")
        self.assertEqual(stats["cache"]["reason"], "suspect")
        files = self.files()
        strike, = self.of(files, f"{generation:016x}.strike")
        self.assertEqual(strike["id"], markers[0][1]["id"])
        self.assertEqual(len(self.of(files, ".part")), 1)

        # The marker of the second death names the strike; the next start puts the blob away.
        self.client(*few, status=-6, **deadly)
        markers = [content for path, content in self.files().items()
                   if ".loading/" in path and not path.endswith(".strike")]
        self.assertIn((generation, strike["id"]),
                      [(marker["generation"], marker["strike"]) for marker in markers])
        self.client(*few)
        files = self.files()
        self.assertEqual([blob["generation"] for path, blob in files.items()
                          if "/quarantine/" in path and not path.endswith(".txt")], [generation])

    def test_deaths_without_the_blob_as_well(self):
        few = ("--compute", "4", "--graphics", "0")
        deadly = self.use_test_driver()
        self.client(*few)
        generation = self.of(self.files(), ".wpcache")[0]["generation"]
        self.client(*few, status=-6, **deadly)
        self.client(*few, "--end", "kill", status=-9)  # goes without the blob
        strike, = self.of(self.files(), f"{generation:016x}.strike")
        without, = (content for path, content in self.files().items()
                    if ".loading/" in path and not path.endswith(".strike"))
        self.assertEqual((strike["without"], without["without"], without["strike"]),
                         (0, 1, strike["id"]))
        self.client(*few, status=-6, **deadly)
        strike, = self.of(self.files(), f"{generation:016x}.strike")
        self.assertEqual((strike["without"], strike["deaths"]), (2, 1))  # it came farther

    def test_damaged_markers_say_nothing(self):
        few = ("--compute", "4", "--graphics", "0")
        deadly = self.use_test_driver()
        self.client(*few)
        self.client(*few, status=-6, **deadly)
        path = next(os.path.join(self.root, path) for path in self.files() if ".loading/" in path)
        elsewhere = formats.elsewhere_of(os.path.basename(path))
        good = read(elsewhere if os.path.exists(elsewhere) else path)
        if os.path.exists(elsewhere):
            os.unlink(elsewhere)  # now it is as after the next start: the marker is the page
        zeros = good[:8] + bytes(8) + good[16:]
        for bad in (b"", good[:-1], good + b"\0", b"\0" + good[1:], zeros):
            self.assertEqual(opinion(formats.read_marker, bad), "invalid")
            write(path, bad)
            stats = self.client(*few)
            self.assertEqual((stats["cache"]["state"], stats["pipelines"]["driver_misses"]),
                             ("loaded", 0))
        write(path, good)
        self.assertEqual(self.client(*few)["cache"]["reason"], "suspect")

    def compare(self, suffix, copies, reader, name_of):
        """The tool and the second reader must give the same reason for each copy."""
        expected = {}
        for number, data in enumerate(copies):
            path = os.path.join(self.copies, str(number), name_of(data) + suffix)
            write(path, data)
            expected[path] = opinion(reader, data)
        found = verify(self.copies)
        for number, (path, reason) in enumerate(expected.items()):
            self.assertEqual(found.get(path), reason, f"copy {number}")
        return list(expected.values())

    def test_damaged_cache_files(self):
        self.client("--compute", "2", "--graphics", "0")
        good = read(self.path_of(".wpcache"))
        copies = [good]
        for at in [*range(64), *range(64, 960, 3), *range(960, len(good), 97)]:
            copies.append(good[:at] + bytes([good[at] ^ 1 << self.random.randrange(8)])
                          + good[at + 1 :])
        for size in (0, 1, 7, 8, 23, 24, 959, 960, 961, 991, len(good) - 1):
            copies.append(good[:size])
        for more in (1, 64, 4096):
            copies += [good + bytes(more), sign(good + bytes(more))]
        # Whole by its digests, and wrong in a field: the bytes between 8 and 944.
        for at in [*range(8, 64), *range(64, 944, 5), 851, *range(852, 944)]:
            changed = bytearray(good)
            changed[at] ^= 1 << self.random.randrange(8)
            data = bytearray(sign(changed))
            data[880:896] = changed[880:896]
            data[944:960] = digest_bytes(bytes(data[:944]))
            copies += [sign(changed), bytes(data)]
        copies.append(sign(good[:24] + bytes(8) + good[32:]))
        for at in range(960, 992): # the driver's own header
            changed = bytearray(good)
            changed[at] ^= 0x10
            copies.append(sign(changed))
        reasons = self.compare(
            ".wpcache", copies, lambda data: formats.read_envelope(data, None),
            lambda data: formats.text_of(xxh3.digest(data[40:852])) if len(data) >= 852
            else "0" * 32)
        self.assertEqual(reasons[0], "ok")
        self.assertEqual(set(reasons) - {"ok"}, {
            "bad_magic", "truncated", "bad_format_version", "bad_endianness",
            "bad_header_digest", "bad_section_table", "trailing_bytes", "bad_section_digest",
            "bad_blob_header"})

    def counts_of_tool(self, data):
        path = os.path.join(self.copies, "0123456789abcdef.wprecipes")
        write(path, data)
        answer = tool("inspect", "--json", path)
        if not answer.stdout:
            return "refused"
        found = json.loads(answer.stdout)
        if "modules" not in found:
            return "refused"
        return {**{name: found[name]["count"] for name in ("modules", "forms", "environments")},
                "sealed": found["sealed"], "damaged": found["damaged_records"] > 0}

    def counts_of_reader(self, data):
        try:
            segment = formats.Segment(data)
        except formats.Refused:
            return "refused"
        distinct = {(kind, digest) for kind, digest, _, _ in segment.records}
        counts = {name: sum(of == kind for of, _ in distinct)
                  for name, kind in (("modules", formats.CODE), ("forms", formats.FORM),
                                     ("environments", formats.ENVIRONMENT))}
        return {**counts, "sealed": segment.sealed, "damaged": segment.damaged > 0}

    def test_damaged_segments(self):
        self.client("--compute", "3", "--graphics", "1")
        path = self.path_of(".wprecipes")
        sealed = os.path.join(self.folder, "sealed.wprecipes")
        answer = tool("export", "--dir", self.root, "--app", APP, sealed)
        self.assertTrue(os.path.exists(sealed), answer.stderr)
        for good in (read(path), read(sealed)):
            self.assertEqual(opinion(formats.read_segment, good), "ok")
            copies = [good, b"", good[:31], good[:63]]
            for _ in range(60):
                copies.append(good[: self.random.randrange(len(good))])
            for at in [*range(32), *(self.random.randrange(len(good)) for _ in range(150))]:
                copies.append(good[:at] + bytes([good[at] ^ 1 << self.random.randrange(8)])
                              + good[at + 1 :])
            copies += [good + bytes(8), good + bytes(31), good + b"x" * 40]
            for number, data in enumerate(copies):
                self.assertEqual(self.counts_of_tool(data), self.counts_of_reader(data),
                                 f"copy {number} of {len(good)} bytes")

    def test_damaged_program_files(self):
        self.client("--compute", "2", "--graphics", "0")
        path = os.path.join(self.root, APP, "program.json")
        good = read(path)
        copies = [
            good, b"", b"{}", b"[]", b"null", good[:-1] + b" ", good + b"x", good[:-2],
            b'{"format":1}', b'{"format":2}', b'{"format":0}', b'{"format":"1"}', b'{"format":1.0}',
            b'{"format":1,}', b'{,"format":1}', b'{"format":1,"format":2}', b'{"format":1e0}',
            b'{"format":1,"since":-1}', b'{"format":1,"since":01}', b'{"format":1,"starts":null}',
            b'{"format":1,"starts":18446744073709551615}', b'{"format":1,"other":NaN}',
            b'{"format":1,"starts":18446744073709551616}', b'{"format":1,"other":[{"a":[-1.5e3]}]}',
            b'{"format":1,"other":' + b"[" * 31 + b"]" * 31 + b"}",
            b'{"format":1,"other":' + b"[" * 32 + b"]" * 32 + b"}",
            b'{"format":1,"other":"\xff"}', b'{"format":1,"other":"\n"}',
            b'{"format":1,"other":"\\u12"}', b'{"format":1,"app_caches":3}',
            b'{"format":1,"driver_settings":1}', b'{"format":1,"driver_settings":"\\u0041"}',
            b'{"format":1,"app_caches":"maybe"}', b'{"format":1,"app_caches_answers":"x y"}',
            b'{"format":1' + b" " * 65536 + b"}",
        ]
        for _ in range(150):
            at = self.random.randrange(len(good))
            copies.append(good[:at] + bytes([self.random.randrange(256)]) + good[at + 1 :])
        for data in copies:
            write(path, data)
            answer = tool("stats", "--json", "--dir", self.root)
            told = "refused" if answer.returncode else "ok"
            mine = "ok" if opinion(formats.read_program, data) == "ok" else "refused"
            self.assertEqual(told, mine, f"{data[:120]!r} {answer.stdout} {answer.stderr}")


def main():
    global build
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"))
    arguments, rest = parser.parse_known_args()
    build = os.path.abspath(arguments.build)
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
