#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: progress_test.py TOOL

On a terminal, whatever takes long says what it does and how far it is. The server and the build here go on
only once the terminal has shown it, so a silent command fails, however fast or slow the machine is.
"""

import http.server
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

TOOL = os.path.abspath(sys.argv[1])
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LONGEST_S = 60  # a test that hangs fails


class Terminal:
    """Runs a command on a terminal; `shown` is set once the text is on it."""

    def __init__(self, command, wanted, environment):
        self.text, self.wanted, self.shown = b"", wanted.encode(), threading.Event()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm", **environment})

    def read_to_end(self):
        timer = threading.Timer(LONGEST_S, os.kill, (self.pid, signal.SIGKILL))
        timer.start()
        while True:
            try:
                data = os.read(self.fd, 4096)
            except OSError:  # the terminal's last process has gone
                break
            if not data:
                break
            self.text += data
            if self.wanted in self.text:
                self.shown.set()
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        timer.cancel()
        return status


def screen_of(text):
    """What is left of each line that was drawn over."""
    return [line.split("\r")[-1].replace("\033[K", "") for line in text.decode().split("\n")]


def silent_server(terminal):
    """It answers once the terminal has shown what is wanted of it; `terminal` is filled later."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            terminal[0].shown.wait(LONGEST_S)
            self.send_error(404)

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}/"


def test_pull(folder):
    terminals = []
    server, url = silent_server(terminals)
    command = [TOOL, "pull", "--remote", url, "--insecure", "--app", "a", "--dir", folder]
    terminal = Terminal(command, "warmpipe pull: pulling, 0:0", {"HOME": folder})
    terminals.append(terminal)
    status = terminal.read_to_end()
    assert terminal.shown.is_set(), (status, terminal.text)
    assert not any("pulling" in line for line in screen_of(terminal.text)), terminal.text
    # Elsewhere than on a terminal there is no such line.
    told = subprocess.run(command, env={**os.environ, "HOME": folder}, stderr=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, check=False).stderr
    assert b"pulling" not in told, told
    server.shutdown()


def test_sync(folder):
    """It goes on until it is told to end."""
    subprocess.run([TOOL, "remote", "keygen", "--out", folder + "/keys"], check=True,
                   stdout=subprocess.DEVNULL)
    terminal = Terminal([TOOL, "sync", "--remote", "file://" + folder + "/remote", "--public-key",
                         folder + "/keys/warmpipe.pub", "--app", "a", "--dir", folder],
                        "warmpipe sync: pulling and pushing, 0:0", {"HOME": folder})

    def end():
        terminal.shown.wait(LONGEST_S)
        os.kill(terminal.pid, signal.SIGTERM)

    os.mkdir(folder + "/remote")
    threading.Thread(target=end, daemon=True).start()
    status = terminal.read_to_end()
    assert terminal.shown.is_set(), (status, terminal.text)
    assert not any("pulling" in line for line in screen_of(terminal.text)), terminal.text


def test_quickstart(folder):
    """Its build is one that goes on once the terminal has shown how far it is."""
    os.makedirs(folder + "/tools")
    os.makedirs(folder + "/bin")
    shutil.copy(SOURCE + "/tools/quickstart", folder + "/tools/quickstart")
    go_on = folder + "/go-on"
    for path, text in ((folder + "/tools/setup", "exit 0"),
                       (folder + "/bin/cmake", f"echo '[3/7] Building'; while [ ! -e {go_on} ]; do"
                                               " sleep 0.05; done; exit 1")):
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(path, 0o755)
    terminal = Terminal([folder + "/tools/quickstart"], "3 of 7",
                        {"PATH": folder + "/bin:" + os.environ["PATH"]})

    def release():
        terminal.shown.wait(LONGEST_S)
        open(go_on, "w", encoding="utf-8").close()

    threading.Thread(target=release, daemon=True).start()
    status = terminal.read_to_end()
    assert terminal.shown.is_set(), terminal.text
    assert status == 1, status
    assert not any("3 of 7" in line for line in screen_of(terminal.text)), terminal.text


for test in (test_pull, test_sync, test_quickstart):
    with tempfile.TemporaryDirectory() as place:
        test(place)
