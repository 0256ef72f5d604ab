# SPDX-License-Identifier: Apache-2.0
"""Reads a Vulkan registry (vk.xml): types, flag bits, enumerants, who extends whom.

Several files may be read into one Registry: what an earlier file defines is kept, a later one adds
what the earlier ones lack. That is how facts about structs newer than the installed registry come
in.
"""
import re
import xml.etree.ElementTree as ElementTree

ENUM_BASE = 1000000000
ENUM_BLOCK = 1000


# Parents that registries have named and newer ones do not (1.4.309).
TAKEN_BACK = {"VkMemoryBarrierAccessFlags3KHR": {"VkMemoryBarrier2"}}


class Member:
    """One member of a struct, as the registry declares it."""

    def __init__(self, element):
        self.name = element.findtext("name")
        self.type = element.findtext("type")
        # What stands around <type> and <name>; comments are no part of the declaration.
        text = element.text or ""
        for child in element:
            if child.tag != "comment":
                text += "" if child.tag in ("type", "name") else child.text or ""
                text += child.tail or ""
        self.pointers = text.count("*")
        extent = re.search(r"\[(\w*)\]", "".join(element.itertext()))
        self.extent = extent.group(1) if extent else None
        self.bit_field = ":" in text
        self.length = element.get("altlen") or element.get("len")
        self.stype = element.get("values")
        # Of a union in a struct: the member that says which of its own is live. Of those: the values
        # of that member for which it is they.
        self.selector = element.get("selector")
        self.selections = [v for v in (element.get("selection") or "").split(",") if v]
        # What the registry does not check by itself may be NULL for a reason given in prose.
        # Of "false,true" the second word is about the elements.
        self.optional = ((element.get("optional") or "").split(",")[0] == "true" or
                         bool(element.get("noautovalidity")))


class Type:
    def __init__(self, element):
        self.name = element.get("name") or element.findtext("name")
        self.category = element.get("category")
        self.alias = element.get("alias")
        parents = (element.get("structextends") or "").split(",")
        self.extends = [n for n in parents if n and n not in TAKEN_BACK.get(self.name, ())]
        self.bits = element.get("requires") or element.get("bitvalues")
        self.base = element.findtext("type")
        self.object_type = element.get("objtypeenum")
        self.members = [
            Member(m)
            for m in element.findall("member")
            if "vulkan" in (m.get("api") or "vulkan").split(",")
        ]


class Registry:
    def __init__(self):
        self.types = {}
        self.values = {}  # enumerant → integer
        self.bits = {}  # ...FlagBits type → mask of every bit it names
        self.enumerants = {}  # enum or ...FlagBits type → value → name
        self.headers = set()  # types that the installed headers define
        self._aliases = {}  # enumerant → enumerant

    def read(self, path, installed):
        root = ElementTree.parse(path).getroot()
        for element in root.findall("types/type"):
            if "vulkan" in (element.get("api") or "vulkan").split(","):
                self._add_type(Type(element), installed)
        for block in root.findall("enums"):
            for element in block.findall("enum"):
                self._add_value(element, block.get("name"), None)
        for feature in root.findall("feature"):
            if "vulkan" in feature.get("api", "").split(","):
                self._add_requirements(feature, None)
        for extension in root.findall("extensions/extension"):
            if "vulkan" in (extension.get("supported") or "").split(","):
                self._add_requirements(extension, int(extension.get("number")))

    def resolve(self, name):
        """The name that an alias stands for."""
        while name in self.types and self.types[name].alias:
            name = self.types[name].alias
        return name

    def get(self, name):
        return self.types.get(self.resolve(name))

    def value(self, name):
        while name in self._aliases:
            name = self._aliases[name]
        return self.values[name]

    def mask(self, type_name):
        """Every bit known for a flags or flag bits type; None where the type is neither."""
        flags = self.get(type_name)
        if flags is None:
            return None
        if flags.category == "bitmask":
            return self.bits.get(flags.bits, 0)
        return self.bits.get(flags.name) if flags.name in self.bits else None

    def names_of(self, type_name):
        """(value, name) of every enumerant of an enum, or bit of a flags type, ascending."""
        entry = self.get(type_name)
        owner = entry and (entry.bits if entry.category == "bitmask" else entry.name)
        return sorted(self.enumerants.get(owner, {}).items())

    def _add_type(self, entry, installed):
        known = self.types.get(entry.name)
        if known is None:
            self.types[entry.name] = entry
        elif not known.alias:
            # A newer file may know further parents, and bits of a type that had none.
            known.extends += [n for n in entry.extends if n not in known.extends]
            known.bits = known.bits or entry.bits
        if installed:
            self.headers.add(entry.name)

    def _add_requirements(self, owner, number):
        for element in owner.iter("enum"):
            if element.get("extends") and not element.get("protect"):
                self._add_value(element, element.get("extends"), number)

    def _add_value(self, element, owner, number):
        name = element.get("name")
        if element.get("alias"):
            self._aliases[name] = element.get("alias")
            return
        if element.get("bitpos"):
            value = 1 << int(element.get("bitpos"))
        elif element.get("offset"):
            number = int(element.get("extnumber") or number)
            value = ENUM_BASE + (number - 1) * ENUM_BLOCK + int(element.get("offset"))
            if element.get("dir") == "-":
                value = -value
        elif re.fullmatch(r"-?(0x[0-9A-Fa-f]+|\d+)", element.get("value") or ""):
            value = int(element.get("value"), 0)
        else:
            return
        self.values[name] = value
        self.enumerants.setdefault(owner, {}).setdefault(value, name)
        if "FlagBits" in owner:
            self.bits[owner] = self.bits.get(owner, 0) | value
