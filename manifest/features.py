#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the "features" of the explicit manifest, by which Vulkan Configurator shows the settings:
those of common/settings/settings.def that a settings file may give (docs/SETTINGS.md). A setting is
a line: loaders parse it all in each process that creates an instance."""

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
    settings = [json.dumps(feature(*setting)) for setting in read_settings(sys.argv[1])
                if setting[2] == "anywhere"]
    print(',\n        "features": {"settings": [\n            ' + ",\n            ".join(settings) +
          "\n        ]}", end="")


if __name__ == "__main__":
    main()
