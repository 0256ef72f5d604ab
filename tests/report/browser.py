# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that reaches nothing: what a page asks for, and what it says, is kept."""

import contextlib
import json
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service


class Browser:
    def __init__(self, chromium, chromedriver, profile):
        options = Options()
        options.binary_location = chromium
        for switch in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                       "--disable-background-networking", "--disable-component-update",
                       "--disable-sync", "--no-first-run", "--user-data-dir=" + profile):
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(chromedriver), options=options)
        self.driver.set_page_load_timeout(60)
        self.driver.set_script_timeout(60)

    def devtools(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def look(self, width, height, dark=False, scale=1, touch=False, media="screen"):
        """The window that the next page is opened in."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=scale, mobile=touch)
        self.devtools("Emulation.setTouchEmulationEnabled", enabled=touch)
        self.devtools("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, path):
        self.driver.get_log("browser"), self.driver.get_log("performance")
        self.driver.get("file://" + path)
        self.settle()

    def settle(self):
        """Until what is due has been drawn."""
        self.driver.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_elements("css selector", selector)

    def touch(self, kind, *points):
        self.devtools("Input.dispatchTouchEvent", type=kind,
                      touchPoints=[{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)])

    def click(self, element, x, y):
        """At a place of the element."""
        place = self.run("arguments[0].scrollIntoView({block: 'center'});"
                         "return arguments[0].getBoundingClientRect()", element)
        for kind in ("mousePressed", "mouseReleased"):
            self.devtools("Input.dispatchMouseEvent", type=kind, x=place["x"] + x,
                          y=place["y"] + y, button="left", clickCount=1)

    def pinch(self, element, factor):
        """Two fingers go apart, from the middle."""
        place = self.run("arguments[0].scrollIntoView({block: 'center'});"
                         "return arguments[0].getBoundingClientRect()", element)
        x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
        near = place["width"] / 2 / factor * 0.9
        points = [[(x - reach, y), (x + reach, y)]
                  for reach in (near * (1 + (factor - 1) * i / 10) for i in range(11))]
        self.touch("touchStart", *points[0])
        for step in points:
            self.touch("touchMove", *step)
        self.touch("touchEnd")

    def complaints(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Of all kinds, as addresses, but for the browser's own pages."""
        messages = (json.loads(entry["message"])["message"]
                    for entry in self.driver.get_log("performance"))
        requests = [message["params"] for message in messages
                    if message["method"] == "Network.requestWillBeSent"]
        return [request["request"]["url"] for request in requests
                if not request["documentURL"].startswith("chrome")]


@contextlib.contextmanager
def browser(chromium, chromedriver):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        opened = Browser(chromium, chromedriver, profile)
        try:
            yield opened
        finally:
            opened.driver.quit()
