#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: picture.py < docs/quickstart.txt > docs/quickstart.svg

Draws the table that tools/quickstart prints: a bar for each cold and each warm start, on one time scale.
"""

import html
import re
import sys

ROW = re.compile(r"(\S.*?)  +([\d.]+) ms +([\d.]+) ms +([\d.]+)x$")
WIDTH, LABEL, BARS, LINE, TOP = 720, 150, 470, 26, 64
STYLE = """
text { font: 15px system-ui, sans-serif; fill: #171b20 }
.title { font-weight: 600 } .quiet { fill: #57606b; font-size: 13px } .faster { font-weight: 600; fill: #0b6b41 }
.ground { fill: #ffffff; stroke: #dde1e6 } .cold { fill: #c24a1c } .warm { fill: #10804f }
"""


def text(x, y, content, kind=""):
    return f'<text x="{x}" y="{y}" class="{kind}">{html.escape(content)}</text>'


def draw(lines):
    rows = [match.groups() for match in map(ROW.match, lines) if match]
    longest = max(float(row[1]) for row in rows)
    parts, y = [text(24, 34, lines[0], "title"), text(290, 34, lines[1], "quiet")], TOP
    for name, cold, warm, faster in rows:
        parts.append(text(24, y + 14, "driver cache", "quiet"))
        parts.append(text(24, y + LINE + 10, name))
        for i, (kind, value) in enumerate((("cold", cold), ("warm", warm))):
            width = max(2, round(BARS * float(value) / longest * 0.8))
            at = y + i * LINE
            parts.append(f'<rect x="{LABEL}" y="{at}" width="{width}" height="18" rx="3" class="{kind}"/>')
            parts.append(text(LABEL + width + 8, at + 14, f"{value} ms {kind}"))
        parts.append(text(LABEL + 230, y + LINE + 14, f"{faster} times faster", "faster"))
        y += 2 * LINE + 18
    described = "; ".join(f"driver cache {name}: {cold} ms cold, {warm} ms warm" for name, cold, warm, _ in rows)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" '
            f'role="img" aria-label="{html.escape(described)}">\n<style>{STYLE}</style>\n'
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{y - 1}" rx="8" class="ground"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    sys.stdout.write(draw(sys.stdin.read().splitlines()))
