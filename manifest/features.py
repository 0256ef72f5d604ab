#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the "features" of the layer's manifest, by which Vulkan Configurator shows the settings:
those of common/settings/settings.def that a settings file may give (docs/SETTINGS.md)."""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tools/codegen"))
from pages import read_settings  # noqa: E402

TYPES = {"flag": "BOOL", "list": "FLAGS", "choice": "ENUM", "number": "INT", "log": "ENUM"}


def words(values, kind):
    """The words among which a value is chosen, out of the table's own sentence."""
    if kind == "list":
        values = values.split("comma list of", 1)[1]
    if kind == "log":
        values = values.split(", each", 1)[0]
    values = values.split(" (", 1)[0]  # other spellings
    return [word for word in re.findall(r"\w+", values) if word != "or"]


def feature(name, kind, _, variable, values, default, meaning):
    entry = {
        "key": name,
        "env": variable,
        "label": name.replace("_", " ").capitalize(),
        "description": meaning[0].upper() + meaning[1:] + ".",
        "type": TYPES[kind],
        "default": default,
    }
    if kind == "flag":
        entry["default"] = default == "1"
    elif kind == "number":
        entry["default"] = int(default)
        entry["range"] = {"min": 0}
    elif kind in ("list", "choice", "log"):
        flags = words(values, kind)
        entry["flags"] = [{"key": word, "label": word.replace("_", " ").capitalize(),
                           "description": word.replace("_", " ")} for word in flags]
        if kind == "list":
            entry["default"] = flags if default == "all" else default.split(",")
    return entry


def main():
    features = {"settings": [feature(*setting) for setting in read_settings(sys.argv[1])
                             if setting[2] == "anywhere"]}
    text = json.dumps({"features": features}, indent=4)
    body = text.split("\n", 1)[1].rsplit("\n", 1)[0]  # without the outer braces
    print(",\n" + "\n".join("    " + line for line in body.split("\n")), end="")


if __name__ == "__main__":
    main()
