# SPDX-License-Identifier: Apache-2.0
"""The table of settings, common/settings/settings.def, for what is generated from it."""

import ast
import re


def read_settings(path):
    """(id, kind, from, variable, values, default, meaning) of each setting."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    string = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
    pattern = rf"SETTING\((\w+),\s*(\w+),\s*(\w+),\s*{string},\s*{string},\s*{string},\s*{string}\)"
    for name, kind, source, *strings in re.findall(pattern, text):
        yield (name, kind, source, *(ast.literal_eval(f"({part})") for part in strings))
