#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the checked-in canonical forms (canonical/*.hex) by hand, from what
docs/decisions/0020-canonical-form.md says alone, so that code and document are held against each
other.

usage: tests/golden/make_canonical.py [DIRECTORY]

A handle's content digest is its number and its VkObjectType; canonical_test.cpp and
canonical_graphics_test.cpp hold the create-infos. Needs python3-xxhash.
"""
import pathlib
import struct
import sys

import xxhash

CHAIN_END = 0x7FFFFFFF
MODULE, PIPELINE_LAYOUT, RENDER_PASS, PIPELINE, SET_LAYOUT, SAMPLER = 15, 17, 18, 19, 20, 21
CONVERSION = 1000156000


def u32(*values):
    return b"".join(struct.pack("<I", value & 0xFFFFFFFF) for value in values)


def u64(*values):
    return b"".join(struct.pack("<Q", value) for value in values)


def f32(*values):
    return struct.pack(f"<{len(values)}f", *values)


def handle(number, object_type):
    """A handle: the digest of what it stands for, low half first; zeros for none."""
    return u64(number, object_type if number else 0)


def there(*parts):
    """A pointer that leads somewhere."""
    return b"\1" + b"".join(parts)


ABSENT = b"\0"
END = u32(CHAIN_END)


def string(text):
    return u32(len(text)) + text.encode()


def stage(bit, module, constants=ABSENT, chain=b"", flags=0):
    return u32(flags, bit) + handle(module, MODULE) + string("main") + constants + chain + END


def compute():
    constants = there(
        u32(2),  # entries
        there(u32(0, 0), u64(4), u32(7, 4), u64(2)),
        u64(6),  # bytes of data
        there(b"\1\2\3\4\5\6"),
    )
    chain = (
        u32(1000225001, 32)  # required subgroup size
        + u32(1000068000, 2, 2, 0, 1)  # robustness
    )
    flags = 0x10 | 1 << 34  # of the chained flags, less what is left out
    only_stage = stage(0x20, 1, constants, chain, flags=2)
    return u32(29) + u64(flags) + only_stage + handle(2, PIPELINE_LAYOUT) + END


def heap():
    """A pipeline of VK_EXT_descriptor_heap: no layout, and mappings instead."""
    embedded = (
        u32(31, 0, 1, 0, 1, 0, 0, 0)[4:]  # a sampler, which its pointer has told to be one
        + f32(0.0)
        + u32(0)
        + f32(1.0)
        + u32(0, 0)
        + f32(0.0, 1.0)
        + u32(0, 0)
        + u32(1000130001, 1)  # reduction mode
        + END
    )
    bank = u32(1000580000, 3)
    mappings = [
        u32(0, 0, 1, 1, 0) + u32(16, 32) + there(embedded) + u32(5, 6) + END,
        u32(1, 2, 1, 0x7FFFFFFF, 1) + u32(1, 2, 3, 4) + ABSENT + u32(1, 5, 6, 7, 8) + bank + END,
        u32(2, 0, 1, 0x20, 4) + u32(9, 10) + END,
        u32(3, 1, 1, 0x20, 6) + u32(64) + END,
    ]
    chain = u32(1000135006, 4) + there(*mappings)
    flags = 1 << 36
    return u32(29) + u64(flags) + stage(0x20, 1, chain=chain) + handle(0, PIPELINE_LAYOUT) + END


def module():
    code = u32(0x07230203, 0x00010000)
    digest = xxhash.xxh3_128(code).intdigest()
    return u32(16, 0) + u64(len(code)) + u64(digest & (1 << 64) - 1, digest >> 64) + END


def set_layout():
    bindings = [
        u32(0, 1, 2, 0x11) + there(handle(3, SAMPLER), handle(4, SAMPLER)),
        u32(1, 6, 1, 0x20) + ABSENT,  # its samplers are ignored
    ]
    chain = u32(1000161000, 2) + there(u32(4, 0))  # binding flags
    return u32(32, 0, 2) + there(*bindings) + chain + END


def pipeline_layout():
    sets = there(handle(5, SET_LAYOUT), handle(0, SET_LAYOUT))
    return u32(30, 0, 2) + sets + u32(1) + there(u32(0x20, 0, 16)) + END


def template():
    entry = u32(0, 0, 1, 6) + u64(16, 8)
    return (
        u32(1000085000, 0, 1)
        + there(entry)
        + u32(0)  # for descriptor sets
        + handle(5, SET_LAYOUT)
        + u32(0)
        + handle(0, PIPELINE_LAYOUT)  # ignored
        + u32(0)
        + END
    )


def sampler():
    return (
        u32(31, 0, 1, 1, 1, 0, 0, 0)
        + f32(0.5)
        + u32(0)
        + f32(1.0)
        + u32(0, 0)
        + f32(0.0, 4.0)
        + u32(0, 0)
        + u32(1000156001)
        + handle(6, CONVERSION)
        + END
    )


def conversion():
    return u32(1000156000, 1000156003, 3, 1, 0, 0, 0, 0, 0, 1, 1, 0) + END


def render_pass():
    attachment = u32(0, 37, 1, 1, 0, 2, 1, 0, 2)
    subpass = u32(0, 0, 0) + ABSENT + u32(1) + there(u32(0, 2)) + ABSENT + ABSENT + u32(0) + ABSENT
    return u32(38, 0, 1) + there(attachment) + u32(1) + there(subpass) + u32(0) + ABSENT + END


def render_pass_2():
    attachment = u32(0, 126, 1, 1, 0, 1, 0, 0, 3) + END
    reference = u32(0, 3, 6) + END
    no_color = u32(0) + ABSENT + ABSENT
    subpass = u32(0, 0, 0, 0) + ABSENT + no_color + there(reference) + u32(0) + ABSENT + END
    dependency = u32(0xFFFFFFFF, 0, 0x100, 0x100, 0, 0x400, 1, -1) + END
    return (
        u32(1000109004, 0, 1)
        + there(attachment)
        + u32(1)
        + there(subpass)
        + u32(1)
        + there(dependency)
        + u32(1)
        + there(u32(3))
        + END
    )


def graphics():
    vertex_input = u32(0, 1) + there(u32(0, 16, 0)) + u32(1) + there(u32(0, 0, 109, 4)) + END
    input_assembly = u32(0, 3, 0) + END
    viewport = u32(0, 1) + ABSENT + u32(1) + there(u32(-1, 0, 64, 32)) + END  # viewports: dynamic
    rasterization = u32(0, 0, 0, 0, 2, 1, 0) + f32(0.0, 0.0, 0.0, 1.0) + END
    multisample = u32(0, 4, 0) + f32(0.0) + there(u32(0xF)) + u32(0, 0) + END
    stencil = u32(0, 0, 0, 7, 255, 255, 1)
    depth_stencil = u32(0, 1, 1, 3, 0, 1) + stencil * 2 + f32(0.0, 1.0) + END
    attachment = u32(1, 6, 7, 0, 1, 0, 0, 15)
    color_blend = u32(0, 0, 3, 1) + there(attachment) + f32(-0.0, 0.0, 0.0, 0.0) + END
    return (
        u32(28)
        + u64(0)
        + u32(2)
        + there(stage(1, 7), stage(0x10, 8))
        + there(vertex_input)
        + there(input_assembly)
        + ABSENT  # no tessellation
        + there(viewport)
        + there(rasterization)
        + there(multisample)
        + there(depth_stencil)
        + there(color_blend)
        + there(u32(0, 1), there(u32(0)), END)  # dynamic state: the viewport
        + handle(2, PIPELINE_LAYOUT)
        + handle(9, RENDER_PASS)
        + u32(0)
        + END
    )


def fragment_output():
    """A pipeline library of the fragment output interface, for dynamic rendering."""
    multisample = u32(0, 1, 0) + f32(0.0) + ABSENT + u32(0, 0) + END
    color_blend = u32(0, 0, 0, 1) + there(u32(0, 0, 0, 0, 0, 0, 0, 15)) + f32(0, 0, 0, 0) + END
    chain = u32(1000044002, 0, 1) + there(u32(37)) + u32(0, 0) + u32(1000320002, 8)
    return (
        u32(28)
        + u64(0x800)
        + u32(0)
        + ABSENT * 6
        + there(multisample)
        + ABSENT
        + there(color_blend)
        + ABSENT
        + handle(0, PIPELINE_LAYOUT)
        + handle(0, RENDER_PASS)
        + u32(0)
        + chain
        + END
    )


def vertex_input():
    """A library without shaders keeps the layout that Vulkan ignores."""
    assembly = u32(0, 3, 0) + END
    chain = u32(1000320002, 1)
    return (
        u32(28)
        + u64(0x800)
        + u32(0)
        + ABSENT * 2
        + there(assembly)
        + ABSENT * 7
        + handle(2, PIPELINE_LAYOUT)
        + handle(0, RENDER_PASS)
        + u32(0)
        + chain
        + END
    )


def ray_tracing():
    group = u32(0, 0, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF) + ABSENT + END
    libraries = there(u32(1), there(handle(10, PIPELINE)), END)
    interface = there(u32(32, 8), END)
    return (
        u32(1000150015)
        + u64(0)
        + u32(1)
        + there(stage(0x100, 11))
        + u32(1)
        + there(group)
        + u32(1)
        + libraries
        + interface
        + ABSENT
        + handle(2, PIPELINE_LAYOUT)
        + END
    )


FORMS = [
    compute, heap, module, set_layout, pipeline_layout, template, sampler, conversion, render_pass,
    render_pass_2, graphics, fragment_output, vertex_input,
    ray_tracing,
]


def main():
    here = pathlib.Path(__file__).parent
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "canonical"
    directory.mkdir(exist_ok=True)
    for form in FORMS:
        data = form()
        lines = [data[i : i + 16].hex(" ") + "\n" for i in range(0, len(data), 16)]
        (directory / f"{form.__name__}.hex").write_text("".join(lines), encoding="ascii")


if __name__ == "__main__":
    main()
