# SPDX-License-Identifier: Apache-2.0
"""The structs that create-infos reach, with their members as the codec writes them."""
from collections import namedtuple

Entry = namedtuple("Entry", "kind path count type live optional", defaults=("ALWAYS", False))
Check = namedtuple("Check", "path size mask")
Arm = namedtuple("Arm", "value type")

ROLES = {
    "STRUCT": "CODEC_ENCODED",
    "LEAVE_OUT": "CODEC_LEFT_OUT",
    "SIDE_EFFECT": "CODEC_SIDE_EFFECT",
    "IDENTITY": "CODEC_IDENTITY",
}
WORD_TYPES = {"uint32_t", "int32_t", "float", "VkBool32", "VkFlags", "VkSampleMask"}
LONG_TYPES = {"uint64_t", "int64_t", "VkFlags64", "VkDeviceSize", "VkDeviceAddress"}
MAX_CHILDREN = 64


class Struct:
    """One struct: `members` and `checks` as the tables hold them, `children` by name."""

    def __init__(self, name, role):
        self.name = name
        self.role = role
        self.c_name = name
        self.missing = False
        self.stype_text = "CODEC_NO_STYPE"
        self.declarations = []
        self.fields = []  # as the registry has them, without sType and pNext
        self.members = []
        self.checks = []
        self.children = []

    def flat(self):
        """A C expression: bytes of the struct in memory, its head left out, that are the canonical
        form of its members; 0 where memory and form differ."""
        widths = {
            "CODEC_WORDS": "4",
            "CODEC_LONGS": "8",
            "CODEC_HALF": "2",
            "CODEC_BYTES": "1",
            "CODEC_SIZE": "sizeof(size_t)",
        }
        if not self.members or any(m.kind not in widths for m in self.members):
            return "0"
        total = " + ".join(f"{widths[m.kind]} * {m.count}" for m in self.members)
        if self.stype_text != "CODEC_NO_STYPE":
            # What stands behind its one member is padding.
            first = f"offsetof({self.c_name}, {self.members[0].path})"
            return f"{first} == sizeof(VkBaseInStructure) ? {total} : 0" if len(self.members) == 1 else "0"
        portable = any(m.kind == "CODEC_SIZE" for m in self.members)
        condition = f"{total} == sizeof({self.c_name})" + (" && sizeof(size_t) == 8" if portable else "")
        return f"{condition} ? {total} : 0"


class Union:
    """A union of which a selector says what it holds: structs, or a 32-bit value."""

    def __init__(self, name):
        self.name = name
        self.c_name = name
        self.missing = False
        self.declarations = []
        self.arms = []


class Model:
    def __init__(self, registry, rules, partial):
        self.registry = registry
        self.partial = partial
        self.names = {}  # name that the registry resolves to → name in rules.def
        self.c_names = {}  # likewise → name in C
        self.omitted = {(a[0], a[1]) for keyword, a in rules if keyword == "OMIT"}
        self.forms = {(a[0], a[1]): a[2] for keyword, a in rules if keyword == "FORM"}
        self.live = {(a[0], a[1]): a[2] for keyword, a in rules if keyword == "LIVE"}
        self.structs = []
        self.unions = []
        for keyword, arguments in rules:
            if keyword in ROLES:
                self._declare(Struct(arguments[0], ROLES[keyword]), self.structs)
            elif keyword == "UNION":
                self._declare(Union(arguments[0]), self.unions)
        for entry in self.structs + self.unions:
            if not entry.missing:
                self._name(entry)
        for union in self.unions:
            if not union.missing:
                self._describe_union(union)
        for struct in self.structs:
            if not struct.missing:
                self._describe(struct)
        self._check_depth()
        by_name = {struct.name: struct for struct in self.structs}
        self.cache_forbidding = [
            (by_name[arguments[0]], arguments[1])
            for keyword, arguments in rules
            if keyword == "FORBID_CACHE" and not by_name[arguments[0]].missing
        ]
        self.dynamic_states = sorted(registry.enumerants["VkDynamicState"])

    def _declare(self, declared, to):
        name = declared.name
        declared.missing = self.registry.get(name) is None
        if declared.missing and not self.partial:
            raise KeyError(f"no registry knows {name}")
        self.names[self.registry.resolve(name)] = name
        to.append(declared)

    def _name(self, declared):
        """What the headers lack gets a definition of its own, under a name of its own."""
        resolved = self.registry.resolve(declared.name)
        if resolved not in self.registry.headers:
            declared.c_name = f"{self.registry.get(declared.name).category} newer_{declared.name}"
        self.c_names[resolved] = declared.c_name

    def _define(self, declared):
        if declared.c_name != declared.name:
            members = self.registry.get(declared.name).members
            declared.declarations = [self._declaration(m) for m in members]

    def _describe_union(self, union):
        self._define(union)
        for member in self.registry.get(union.name).members:
            if member.pointers or member.extent or not member.selections:
                raise ValueError(f"{union.name}.{member.name} is not understood")
            entry = self.registry.get(member.type)
            if entry is not None and entry.category == "struct":
                arm = self._require(member.type)
            elif self._is_scalar(member.type) and self._width(member.type) == 4:
                arm = "CODEC_STRUCT_COUNT"
            else:
                raise ValueError(f"{union.name}.{member.name} is not understood")
            union.arms += [Arm(self.registry.value(value), arm) for value in member.selections]

    def _describe(self, struct):
        entry = self.registry.get(struct.name)
        stype = next((m.stype for m in entry.members if m.name == "sType"), None)
        if stype:
            struct.stype_text = str(self.registry.value(stype))
        self._define(struct)
        struct.children = [
            self.names[other.name]
            for other in self.registry.types.values()
            if other.name in self.names
            and self.registry.resolve(struct.name)
            in [self.registry.resolve(parent) for parent in other.extends]
        ]
        struct.children.sort()
        if len(struct.children) > MAX_CHILDREN:
            raise ValueError(f"{struct.name} has too many children")
        if struct.role == "CODEC_ENCODED":
            for member in entry.members:
                if member.name not in ("sType", "pNext"):
                    struct.fields.append(member)
                    self._add(struct, entry, member)

    def value_types(self):
        """Names of the types that members of the structs have, those of the left out ones too."""
        structs = [self.registry.get(s.name) for s in self.structs if not s.missing]
        members = [m for struct in structs for m in struct.members if m.name != "sType"]
        return sorted({member.type for member in members})

    def definitions(self):
        """Structs and unions, each behind those that it holds."""
        entries = {self.registry.resolve(e.name): e for e in self.structs + self.unions}
        ordered = []

        def place(entry):
            if entry in ordered or entry.missing:
                return
            for member in self.registry.get(entry.name).members:
                held = entries.get(self.registry.resolve(member.type))
                if held is not None and not member.pointers:
                    place(held)
            ordered.append(entry)

        for entry in entries.values():
            place(entry)
        return ordered

    def _check_depth(self):
        """No struct may reach itself: that bounds how deep the walkers go."""
        arms = {
            f"{i}": [a.type for a in union.arms if a.type != "CODEC_STRUCT_COUNT"]
            for i, union in enumerate(self.unions)
        }
        below = {
            s.name: [
                name[len("CODEC_"):]
                for m in s.members
                for name in (arms[m.type] if m.kind == "CODEC_UNION" else [str(m.type)])
                if name.startswith("CODEC_")
            ]
            + s.children
            for s in self.structs
        }

        def descend(name, path):
            if name in path:
                raise ValueError(f"{name} reaches itself")
            for inner in below[name]:
                descend(inner, path + [name])

        for name in below:
            descend(name, [])

    def _declaration(self, member):
        if member.pointers:
            return f"const void *{member.name}"
        extent = f"[{member.extent}]" if member.extent else ""
        entry = self.registry.get(member.type)
        resolved = self.registry.resolve(member.type)
        if resolved in self.names or member.type == "size_t":
            return f"{self.c_names.get(resolved, member.type)} {member.name}{extent}"
        width = 8 if entry and entry.category == "handle" else self._width(member.type)
        return f"uint{width * 8}_t {member.name}{extent}"

    def _width(self, name):
        """Bytes of a scalar type."""
        entry = self.registry.get(name)
        if name in WORD_TYPES or name == "VkStructureType":
            return 4
        if name in LONG_TYPES:
            return 8
        if name == "uint16_t":
            return 2
        if name in ("uint8_t", "char"):
            return 1
        if entry is not None and entry.category == "enum":
            return 8 if name.endswith("FlagBits2") or name.endswith("FlagBits3KHR") else 4
        if entry is not None and entry.category in ("bitmask", "basetype"):
            return self._width(entry.base)
        raise ValueError(f"no width known for {name}")

    def _words(self, name):
        """How many 32-bit values a plain struct or union is made of; None if of anything else."""
        entry = self.registry.get(name)
        if entry is None or entry.category not in ("struct", "union"):
            return None
        self._require(name)
        counts = []
        for member in entry.members:
            words = self._member_words(member)
            if words is None:
                return None
            counts.append(words)
        return max(counts) if entry.category == "union" else sum(counts)

    def _member_words(self, member):
        if member.pointers or member.bit_field or member.name in ("sType", "pNext"):
            return None
        each = self._words(member.type)
        if each is None and self._is_scalar(member.type) and self._width(member.type) == 4:
            each = 1
        if each is None:
            return None
        return each * self._extent(member)

    def _extent(self, member):
        if member.extent is None:
            return 1
        return int(member.extent) if member.extent.isdigit() else self.registry.value(member.extent)

    def _is_scalar(self, name):
        entry = self.registry.get(name)
        return (
            name in WORD_TYPES | LONG_TYPES | {"uint16_t", "uint8_t", "char"}
            or (entry is not None and entry.category in ("enum", "bitmask"))
        )

    def _require(self, name):
        if self.registry.resolve(name) not in self.names:
            raise KeyError(f"{name} is reached but not in rules.def")
        return "CODEC_" + self.names[self.registry.resolve(name)]

    def _add(self, struct, entry, member):
        key = (struct.name, member.name)
        if key in self.omitted:
            return
        if key in self.forms:
            struct.members.append(Entry("CODEC_" + self.forms[key], member.name, 0, 0))
            return
        self._add_checks(struct, member.type, member.name, member)
        if member.pointers:
            added = self._target(entry, member)._replace(optional=member.optional)
        elif member.selector:
            added = self._union(entry, member)
        else:
            added = self._value(member)
        if key in self.live:
            added = added._replace(live=self.live[key])
            if added.kind == "CODEC_EMBEDDED":
                added = added._replace(kind="CODEC_EMBEDDED_MAYBE")
        last = struct.members[-1] if struct.members else None
        if last and last.kind == added.kind and added.kind in ("CODEC_WORDS", "CODEC_LONGS"):
            struct.members[-1] = last._replace(count=last.count + added.count)
        else:
            struct.members.append(added)

    def _add_checks(self, struct, type_name, path, member):
        """Flags are checked in place, those of plain structs inside this one too."""
        if member.pointers:
            return
        mask = self.registry.mask(type_name)
        if mask is not None:
            struct.checks.append(Check(path, self._width(type_name), mask))
        inner = self.registry.get(type_name)
        if inner is not None and inner.category == "struct" and self._words(type_name):
            for child in inner.members:
                self._add_checks(struct, child.type, f"{path}.{child.name}", child)

    def _value(self, member):
        words = self._member_words(member)
        if words is not None:
            return Entry("CODEC_WORDS", member.name, words, 0)
        if member.type == "size_t":
            return Entry("CODEC_SIZE", member.name, 1, 0)
        entry = self.registry.get(member.type)
        if entry is not None and entry.category == "handle":
            return Entry("CODEC_HANDLE", member.name, 0, self.registry.value(entry.object_type))
        if entry is not None and entry.category == "struct":
            return Entry("CODEC_EMBEDDED", member.name, 0, self._require(member.type))
        kind = {8: "CODEC_LONGS", 2: "CODEC_HALF", 1: "CODEC_BYTES"}[self._width(member.type)]
        return Entry(kind, member.name, self._extent(member), 0)

    def _union(self, entry, member):
        names = [m.name for m in entry.members]
        if names.index(member.selector) > names.index(member.name):
            raise ValueError(f"{entry.name}.{member.selector} stands behind what it selects")
        unions = [self.registry.resolve(u.name) for u in self.unions]
        if self.registry.resolve(member.type) not in unions:
            raise KeyError(f"{member.type} is reached but not in rules.def")
        index = unions.index(self.registry.resolve(member.type))
        return Entry("CODEC_UNION", member.name, member.selector, str(index))

    def _target(self, entry, member):
        if member.length == "null-terminated":
            return Entry("CODEC_STRING", member.name, 0, 0)
        if member.length == "(rasterizationSamples + 31) / 32":
            return Entry("CODEC_SAMPLE_MASK", member.name, "rasterizationSamples", 0)
        target = self.registry.get(member.type)
        is_struct = target is not None and target.category in ("struct", "union")
        if member.length is None:
            if is_struct:
                return Entry("CODEC_POINTER", member.name, 0, self._require(member.type))
            if self._is_scalar(member.type) and self._width(member.type) == 4:
                return Entry("CODEC_WORD_POINTER", member.name, 0, 0)
            raise ValueError(f"{entry.name}.{member.name}: no length")
        names = [m.name for m in entry.members]
        if member.length not in names or names.index(member.length) > names.index(member.name):
            raise ValueError(f"{entry.name}.{member.name}: length '{member.length}' not understood")
        if is_struct:
            return Entry("CODEC_ARRAY", member.name, member.length, self._require(member.type))
        if target is not None and target.category == "handle":
            object_type = self.registry.value(target.object_type)
            return Entry("CODEC_HANDLE_ARRAY", member.name, member.length, object_type)
        counts = {m.name: m.type for m in entry.members}
        if counts[member.length] == "size_t":
            return Entry("CODEC_DATA", member.name, member.length, 0)
        kind = {4: "CODEC_WORD_ARRAY", 1: "CODEC_BYTE_ARRAY"}[self._width(member.type)]
        return Entry(kind, member.name, member.length, 0)
