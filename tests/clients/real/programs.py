# SPDX-License-Identifier: Apache-2.0
"""The table: which programs there are, where they come from, how they are run, what of theirs is
compared, and by which start they are warm."""
import dataclasses
import os
import re
import struct

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclasses.dataclass(frozen=True)
class Program:
    """In command and environment, {here} is this folder, {work} an empty folder of this start, {npm}
    the folder of what npm has fetched, {device} the name of the driver's device."""
    name: str
    command: tuple
    # Debian's package, or "npm NAME...".
    source: str
    # Where what it draws is compared; "played": nowhere.
    draws_on: str = "lavapipe"
    # Files that must be there beyond the program itself.
    needs: tuple = ()
    # The drivers on which the quick set runs it.
    quick: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)
    # Where it draws, these as well.
    drawing_environment: dict = dataclasses.field(default_factory=dict)
    # What is compared between starts: lines of its output that match (None: all of them), and files
    # that it writes.
    lines: str | None = None
    files: tuple = ()
    # It runs until SIGTERM.
    endless: bool = False
    # What prints the version; None: the package's is told.
    version: tuple | None = None
    # The first start that must be warm: the third for a program with caches of its own, which are
    # served once a run was seen not to keep them.
    warm_by: int = 3
    # How it is made ready: a function of {work}.
    prepare: object = None

    def packages(self):
        return self.source.removeprefix("npm ").split() if self.source.startswith("npm ") else []


def ffmpeg(filters, seconds):
    """Five frames a second."""
    return ("ffmpeg", "-v", "error", "-init_hw_device", "vulkan=vk:0", "-filter_hw_device", "vk",
            "-f", "lavfi", "-i", f"testsrc=s=64x48:d={seconds}:r=5", "-vf",
            f"format=yuv420p,hwupload,{filters},hwdownload,format=yuv420p", "-f", "framemd5", "-")


def write_console_program(work):
    """A program for Dolphin's console: one jump to itself. Dolphin compiles what it draws with."""
    header = bytearray(0x100)
    for offset, value in ((0x00, 0x100), (0x48, 0x80003100), (0x90, 32), (0xe0, 0x80003100)):
        struct.pack_into(">I", header, offset, value)
    with open(os.path.join(work, "loop.dol"), "wb") as file:
        file.write(bytes(header) + struct.pack(">I", 0x48000000) * 8)


def write_video(work):
    """A frame of stripes."""
    width, height = 64, 48
    planes = bytes(16 + 3 * (x + 2 * y) % 220 for y in range(height) for x in range(width))
    planes += bytes(16 + 7 * x % 220 for x in range(width * height // 2))
    with open(os.path.join(work, "video.y4m"), "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F5:1 C420\nFRAME\n" % (width, height) + planes)


CHROMIUM = ("chromium", "--headless", "--ignore-gpu-blocklist", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--user-data-dir={work}/profile",
            *(("--no-sandbox",) if os.geteuid() == 0 else ()))
GGML = "{npm}/node_modules/@node-llama-cpp/linux-x64-vulkan/bins/linux-x64-vulkan"
NCNN = "{build}/tests/clients/ncnn/ncnn_networks"

BOTH = ("lavapipe", "played")

PROGRAMS = (
    # Not avgblur_vulkan: on a busy machine its frames differ from run to run by themselves; nor
    # chromaber_vulkan, which crashes by itself in ffmpeg 9.0; nor scale_vulkan, which
    # fails in 6.1 and is not in 8.1. ffmpeg 7.1 dies on Debian 13's lavapipe in one run of
    # a hundred, without the layer as well, with one frame too.
    Program("ffmpeg-filters", ffmpeg("transpose_vulkan,gblur_vulkan,hflip_vulkan,"
                                     "flip_vulkan", 0.2),
            "ffmpeg", quick=BOTH, warm_by=2, version=("ffmpeg", "-version")),
    # One frame: ffmpeg 7.1 on a busy machine uploads the second one over the first, now and then.
    # On lavapipe of Mesa 22.3 it dies in one run of a thousand: a thread of the driver's, if it is
    # late, writes into a semaphore that ffmpeg has destroyed; without the layer as well.
    Program("ffmpeg-libplacebo", ffmpeg("libplacebo=w=96:h=64:upscaler=ewa_lanczos", 0.2),
            "ffmpeg", quick=BOTH, version=("ffmpeg", "-version")),
    # Without the automatic profiles: their script ends while mpv starts, and mpv 0.40 warns of that
    # when it comes at the wrong moment.
    Program("mpv", ("mpv", "--no-config", "--load-auto-profiles=no", "--vo=gpu-next",
                    "--gpu-api=vulkan", "--vulkan-device={device}", "--no-audio", "--pause",
                    "--geometry=160x120", "--osd-level=0", "--msg-level=all=warn",
                    "--script={here}/picture.lua", "{work}/video.y4m"),
            "mpv", quick=BOTH, environment={"PICTURE": "{work}/picture.png"},
            files=("picture.png",), version=("mpv", "--version"),
            prepare=write_video),
    Program("vkcube", ("vkcube", "--c", "20", "--present_mode", "0"), "vulkan-tools", quick=BOTH,
            lines="^$"),
    Program("vkmark", ("vkmark", "--winsys=xcb", "-b", ":duration=0.2", "-b", "clear", "-b", "cube",
                       "-b", "shading", "-b", "desktop", "-b", "effect2d"),
            "vkmark", lines="^$"),
    Program("vkd3d-triangle", ("vkd3d-triangle",), "vkd3d-demos", quick=BOTH, endless=True,
            lines="^$"),
    Program("vkd3d-gears", ("vkd3d-gears",), "vkd3d-demos", endless=True, lines="^$"),
    Program("zink", ("glmark2", "--validate", "-b", "build", "-b", "shading:shading=phong",
                     "-b", "bump:bump-render=normals"),
            "glmark2-x11", lines=r"^ *GL_|Validation:|^\[",
            environment={"MESA_LOADER_DRIVER_OVERRIDE": "zink", "LIBGL_KOPPER_DRI2": "1"},
            drawing_environment={"LIBGL_ALWAYS_SOFTWARE": "1"},
            version=("glmark2", "--version")),
    Program("qt-quick", ("/usr/lib/qt6/bin/qml", "{here}/window.qml", "--", "{work}/picture.ppm"),
            "qml-qt6", needs=("/usr/lib/x86_64-linux-gnu/qt6/qml/QtQuick/Window",),
            environment={"QSG_RHI_BACKEND": "vulkan", "QT_QPA_PLATFORM": "xcb"},
            files=("picture.ppm",)),
    Program("gstreamer", ("gst-launch-1.0", "videotestsrc", "num-buffers=5", "!",
                          "video/x-raw,format=RGBA,width=64,height=48", "!", "vulkanupload", "!",
                          "vulkancolorconvert", "!",
                          "video/x-raw(memory:VulkanImage),format=BGRA", "!", "vulkandownload", "!",
                          "filesink", "location={work}/frames"),
            "gstreamer1.0-plugins-bad", lines="^$", files=("frames",), warm_by=2,
            needs=("/usr/lib/x86_64-linux-gnu/gstreamer-1.0/libgstvulkan.so",)),
    # GTK draws with Vulkan since 4.14; before, nothing is compiled and nothing shown.
    Program("gtk", ("gtk4-demo",), "gtk-4-examples", draws_on="played", endless=True,
            environment={"GSK_RENDERER": "vulkan", "GDK_BACKEND": "x11", "GTK_A11Y": "none"}),
    Program("supertuxkart", ("supertuxkart", "--render-driver=vulkan", "--windowed",
                             "--screensize=320x240", "--no-sound", "--no-start-screen",
                             "--track=lighthouse", "--numkarts=1", "--profile-time=1"),
            "supertuxkart", draws_on="played", warm_by=2),
    Program("dolphin", ("/usr/games/dolphin-emu-nogui", "--platform=headless", "-u", "{work}/user",
                        "-v", "Vulkan", "-e", "{work}/loop.dol"),
            "dolphin-emu", endless=True, lines="^$", prepare=write_console_program),
    Program("chromium-webgl", (*CHROMIUM, "--use-angle=vulkan", "--enable-features=Vulkan",
                               "--dump-dom", "file://{here}/page.html"),
            "chromium", lines="<title>", version=("chromium", "--version")),
    Program("dawn", ("node", "{here}/webgpu.mjs"), "npm webgpu",
            draws_on="swiftshader", environment={"WEBGPU_FROM": "{npm}"}, warm_by=2),
    Program("wgpu", ("{npm}/node_modules/.bin/deno", "run", "--unstable-webgpu", "--allow-all",
                     "{here}/webgpu.mjs"),
            "npm deno", warm_by=2),
    Program("ggml", ("/usr/bin/python3", "{here}/ggml.py", GGML),
            "npm @node-llama-cpp/linux-x64-vulkan",
            environment={"GGML_VK_VISIBLE_DEVICES": "0"},
            # lavapipe takes a minute for each of these.
            drawing_environment={"WITHOUT": "mul_mat"}, warm_by=2, needs=(GGML,)),
    # A program of ours on a library of others, where CMake has found it.
    Program("ncnn", (NCNN,), "ncnn with Vulkan, for CMake", version=(NCNN, "--version"),
            # lavapipe takes twenty seconds for all four.
            drawing_environment={"NETWORKS": "squeezenet"}, warm_by=2),
)


def version_line(text):
    """The first word of a program's version lines that looks like one."""
    found = re.search(r"\d+\.\d[\w.+:~-]*", text)
    return found[0] if found else "?"
