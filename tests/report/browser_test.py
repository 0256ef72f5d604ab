#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""usage: browser_test.py TOOL

The page of `warmpipe report --html`, as a browser shows it: headless Chromium, which can reach
nothing. Run by the interpreter that the distribution's packages are for. Exit status 77: skipped."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True

import traces

SKIPPED = 77
PHONE = {"width": 360, "height": 740, "scale": 2, "touch": True}
DESKTOP = {"width": 1280, "height": 800}
HOSTILE = ("</script><b id=planted>&'\"><img src=x onerror=\"document.title='taken'\">\u202e"
           + "x" * 120)

# What the page is asked, in its own language.
OVERFLOW = """return [document.documentElement.scrollWidth, document.documentElement.clientWidth,
    [...document.querySelectorAll('body *')].filter(element => !element.closest('.scroll *') &&
        element.getBoundingClientRect().right > innerWidth + 0.5).map(element => element.tagName)]"""

CONTRASTS = """
const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
const light = colour => {
    const [r, g, b] = numbers(colour).map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = element => {
    for (; element; element = element.parentElement) {
        const colour = getComputedStyle(element).backgroundColor, [, , , alpha = 1] = numbers(colour);
        if (alpha === 1) return colour;
    }
};
const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
const found = [];
for (const element of document.querySelectorAll('body *')) {
    const style = getComputedStyle(element), parent = element.parentElement;
    if (!element.checkVisibility()) continue;
    if (element.matches('i')) {
        found.push([element.className, ratio(style.backgroundColor, ground(parent)), 3]);
    } else if (element.matches('rect')) {
        found.push([element.getAttribute('class'), ratio(style.fill, ground(parent)), 3]);
    } else if ([...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) {
        const size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        found.push([element.textContent.slice(0, 40), ratio(style.color, ground(element)),
                    large ? 3 : 4.5]);
    }
}
return found;"""

# Of a canvas: at each of some shares of the width, the colours met from top to bottom.
COLUMNS = """
const [canvas, shares] = arguments, context = canvas.getContext('2d');
return shares.map(share => {
    const pixels = context.getImageData(Math.floor(share * canvas.width), 0, 1, canvas.height).data;
    const colours = new Set();
    for (let i = 0; i < pixels.length; i += 4)
        if (pixels[i + 3] === 255) colours.add(`${pixels[i]},${pixels[i + 1]},${pixels[i + 2]}`);
    return [...colours];
});"""

COLOUR = """
const probe = document.createElement('i');
probe.className = arguments[0];
document.body.append(probe);
const colour = getComputedStyle(probe).backgroundColor.match(/\\d+/g).join(',');
probe.remove();
return colour;"""


class PageTest(unittest.TestCase):
    tool = None

    @classmethod
    def setUpClass(cls):
        from browser import browser

        opened = browser(shutil.which("chromium"), shutil.which("chromedriver"))
        cls.browser = opened.__enter__()
        cls.addClassCleanup(opened.__exit__, None, None, None)
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def page(self, *runs):
        """The page that the tool makes of these runs."""
        trace, page = os.path.join(self.folder, "trace"), os.path.join(self.folder, "page.html")
        with open(trace, "w", encoding="utf-8") as file:
            file.write(traces.text_of(*runs))
        subprocess.run([self.tool, "report", "--html", page, trace], check=True)
        return page

    def show(self, page, **look):
        self.browser.look(**look)
        self.browser.open(page)
        self.assertEqual(self.browser.requests(), ["file://" + page])
        self.assertEqual(self.browser.complaints(), [])

    def canvases(self):
        self.browser.settle()
        return self.browser.find("canvas")

    def drawn(self):
        return [int(canvas.get_attribute("data-drawn")) for canvas in self.canvases()]

    def press(self, label):
        self.browser.find(f"button[aria-label='{label}']")[0].click()

    def detail(self):
        self.browser.settle()
        return self.browser.find(".detail")[0].text

    def touch(self, canvas, share):
        """Touches a timeline at a share of its width, going down until there is a span."""
        hint = self.detail()
        for y in range(4, canvas.size["height"], 4):
            self.browser.click(canvas, share * canvas.size["width"], y)
            if self.detail() != hint:
                return self.detail()
        return None

    def test_fits_a_phone_and_a_desktop(self):
        pages = [traces.cold_and_warm(), traces.cold_and_warm(app=HOSTILE),
                 [run for app in ("alpha", "beta") for run in traces.cold_and_warm(app=app)]]
        for runs in pages:
            page = self.page(*runs)
            for look in (PHONE, DESKTOP):
                self.show(page, **look)
                scroll_width, width, beyond = self.browser.run(OVERFLOW)
                self.assertEqual((scroll_width, beyond), (width, []))

    def test_is_readable_in_light_and_in_dark_and_on_paper(self):
        page = self.page(*traces.cold_and_warm())
        for dark, media in ((False, "screen"), (True, "screen"), (True, "print")):
            self.show(page, dark=dark, media=media, **DESKTOP)
            ground = self.browser.run("return getComputedStyle(document.body).backgroundColor")
            mean = sum(int(part) for part in ground[4:-1].split(",")) / 3
            self.assertTrue(mean < 40 if dark and media == "screen" else mean > 215, ground)
            found = self.browser.run(CONTRASTS)
            self.assertGreater(len(found), 100)
            self.assertEqual([entry for entry in found if entry[1] < entry[2]], [])

    def test_draws_every_span_in_the_colour_of_its_result(self):
        results = ["miss", "hit", "shared", "unknown", "passed"]
        runs = []
        for pid, cache in ((1, "cold"), (2, "loaded")):
            run = traces.Run(pid, "alpha", cache, pid * 1e9)
            for i in range(40):
                run.span("pipeline", "compute", pid * 1e9 + i * 25000, 25000,
                         digest=f"{i + 1:032x}", result=results[(i + pid) % 5])
            runs.append(run)
        # The view is a hundredth longer than what is in it.
        shares = [(i + 0.5) / 40 / 1.01 for i in range(40)]
        for dark in (False, True):
            self.show(self.page(*runs), dark=dark, **DESKTOP)
            for canvas, pid in zip(self.canvases(), (1, 2), strict=True):
                for i, colours in enumerate(self.browser.run(COLUMNS, canvas, shares)):
                    expected = self.browser.run(COLOUR, results[(i + pid) % 5])
                    self.assertIn(expected, colours, f"span {i} of run {pid}")
            self.assertEqual(self.drawn(), [40, 40])

    def test_draws_as_many_spans_as_the_trace_has(self):
        runs = traces.cold_and_warm(pipelines=3000, threads=70)
        expected = [sum(event["ph"] == "X" for event in run.events) for run in runs]
        self.show(self.page(*runs), **PHONE)
        self.assertEqual(self.drawn(), expected)

    def test_tells_what_is_touched(self):
        run = traces.Run(7, "alpha", "cold", 1e6)
        run.span("pipeline", "compute", 1e6, 50000, digest="a" * 32, result="miss")
        run.span("pipeline", "graphics", 1e6 + 50000, 50000, tid=8, digest="b" * 32, result="hit")
        for look in (PHONE, DESKTOP):
            self.show(self.page(run), **look)
            [canvas] = self.canvases()
            self.assertEqual(self.touch(canvas, 0.25),
                             f"compute {'a' * 32} · miss · 50.0 ms at 0 · main thread 7")
            self.show(self.page(run), **look)
            self.assertEqual(self.touch(self.canvases()[0], 0.75),
                             f"graphics {'b' * 32} · hit · 50.0 ms at 50.0 ms · thread 8")

    def test_a_thread_without_spans_has_no_lane(self):
        run = traces.Run(7, "alpha", "cold", 1e6)
        run.name_thread(8, "warmpipe worker")
        run.span("pipeline", "compute", 1e6, 50000, digest="a" * 32, result="miss")
        self.show(self.page(run), **DESKTOP)
        self.assertEqual(self.drawn(), [1])

    def test_a_digest_of_the_table_is_found_in_the_timelines(self):
        run = traces.Run(7, "alpha", "cold", 1e6)
        run.span("pipeline", "compute", 1e6, 50000, digest="a" * 32, result="miss")
        run.span("pipeline", "compute", 1e6 + 50000, 40000, digest="b" * 32, result="miss")
        self.show(self.page(run), **DESKTOP)
        miss = self.browser.run(COLOUR, "miss")
        [canvas] = self.canvases()
        self.browser.find("td button")[1].click()
        self.browser.settle()
        first, second = self.browser.run(COLUMNS, canvas, [0.2, 0.7])
        self.assertNotIn(miss, first)  # it stands back
        self.assertIn(miss, second)
        self.assertTrue(self.detail().startswith(f"compute {'b' * 32} · miss · 40.0 ms at 50.0 ms"))

    def test_zooms_by_buttons_keys_and_two_fingers(self):
        run = traces.Run(7, "alpha", "cold", 1e6)
        for i in range(100):
            run.span("pipeline", "compute", 1e6 + i * 1000, 900, digest="a" * 32, result="miss")
        self.show(self.page(run), **PHONE)
        self.assertEqual(self.drawn(), [100])
        self.press("zoom in")
        [half] = self.drawn()
        self.assertTrue(45 <= half <= 55, half)
        self.press("zoom out")
        self.assertEqual(self.drawn(), [100])
        [canvas] = self.canvases()
        canvas.send_keys("+", "+")
        [quarter] = self.drawn()
        self.assertTrue(22 <= quarter <= 30, quarter)
        canvas.send_keys("0")
        self.assertEqual(self.drawn(), [100])
        self.browser.pinch(canvas, 4)
        [pinched] = self.drawn()
        self.assertTrue(20 <= pinched <= 40, pinched)
        self.press("show all")
        self.assertEqual(self.drawn(), [100])

    def test_a_warm_start_fills_the_width_on_request(self):
        runs = []
        for pid, cache, length in ((1, "cold", 10000), (2, "loaded", 100)):
            run = traces.Run(pid, "alpha", cache, pid * 1e9)
            for i in range(10):
                run.span("pipeline", "compute", pid * 1e9 + i * length, length,
                         digest=f"{i + 1:032x}", result="miss" if cache == "cold" else "hit")
            runs.append(run)
        self.show(self.page(*runs), **DESKTOP)
        hit = self.browser.run(COLOUR, "hit")
        self.assertNotIn(hit, self.browser.run(COLUMNS, self.canvases()[1], [0.9])[0])
        self.press("show the warm start")
        self.assertIn(hit, self.browser.run(COLUMNS, self.canvases()[1], [0.9])[0])
        self.assertEqual(self.drawn(), [1, 10])

    def test_names_from_the_trace_do_no_harm(self):
        run = traces.Run(7, HOSTILE, "cold", 1e6, device=HOSTILE, identity=HOSTILE)
        run.span("cache", "load", 1e6, 10, bytes=1, state=HOSTILE, reason=HOSTILE)
        run.span("pipeline", HOSTILE, 1e6 + 20, 500, digest="a" * 32, result=HOSTILE)
        run.name_thread(7, HOSTILE)
        self.show(self.page(run), **PHONE)
        self.assertEqual(self.browser.find("#planted, b, img"), [])
        self.assertTrue(self.browser.driver.title.startswith(HOSTILE[:20]))
        self.assertEqual(self.browser.find("h2")[0].get_attribute("textContent"),
                         HOSTILE.replace("\u202e", "\ufffd"))
        self.assertIn(HOSTILE[:40], self.touch(self.canvases()[0], 0.5))

    def test_tells_the_figures_without_its_script(self):
        page = self.page(*traces.cold_and_warm())
        self.browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.browser.look(**PHONE)
            self.browser.driver.get("file://" + page)
            text = self.browser.find("body")[0].text
            shown = [element.is_displayed() for element in self.browser.find("figure, noscript p")]
        finally:
            self.browser.devtools("Emulation.setScriptExecutionDisabled", value=False)
        for part in ("times faster", "Driver cache hits", "Slowest pipelines", "need JavaScript"):
            self.assertIn(part, text)
        self.assertNotIn("\nTimelines\n", text, "a heading with nothing below it")
        self.assertEqual(shown, [True, False])

    def test_is_shown_without_traces_too(self):
        root, page = os.path.join(self.folder, "root"), os.path.join(self.folder, "page.html")
        os.makedirs(os.path.join(root, "alpha"), 0o700)
        program = os.path.join(root, "alpha", "program.json")
        with open(os.open(program, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write('{"format":1,"since":1700000000,"starts":2,"requests":40,"driver_hits":20}')
        subprocess.run([self.tool, "report", "--dir", root, "--html", page], check=True,
                       env={}, stderr=subprocess.DEVNULL)
        self.show(page, **PHONE)
        self.assertIn("100 %", self.browser.find("main")[0].text)


def main():
    PageTest.tool = os.path.abspath(sys.argv.pop(1))
    missing = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    try:
        import selenium  # noqa: F401
    except ImportError:
        missing.append("python3-selenium")
    try:
        socket.getaddrinfo("localhost", 0)
    except OSError:
        missing.append("localhost in /etc/hosts, by which the browser's driver is found")
    if missing:
        print("no", ", no ".join(missing))
        return SKIPPED
    return 0 if unittest.main(exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
