"""berth._abi says what include/berth/berth.h says: by the header's text, and by the C compiler."""

import ctypes
import re
import shutil
import subprocess

import pytest

from conftest import LIBRARY, ROOT

from berth import _abi

HEADER = ROOT / "include/berth/berth.h"
TEXT = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.S)
STRUCTS = {
    "berth_u64": _abi.U64,
    "berth_f64": _abi.F64,
    "berth_options": _abi.Options,
    "berth_device": _abi.DeviceStruct,
    "berth_process": _abi.ProcessStruct,
    "berth_request": _abi.RequestStruct,
}
ENUMS = {
    "berth_code": _abi.CODES,
    "berth_absent": _abi.ABSENT,
    "berth_depth": _abi.DEPTHS,
    "berth_state": _abi.STATES,
    "berth_cuda": _abi.CUDA,
}
PLAIN = {
    "void": None, "int": ctypes.c_int, "size_t": ctypes.c_size_t, "double": ctypes.c_double,
    "uint8_t": ctypes.c_uint8, "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    **{name: ctypes.c_int for name in ENUMS}, **STRUCTS,
}  # fmt: skip


def type_of(words):
    """ctypes' type for "const char*", "berth_look**" …"""
    plain = words.replace("const ", "").replace(" ", "")
    name, stars = plain.rstrip("*"), plain.count("*")
    if plain == "char*":
        return ctypes.c_char_p
    if plain == "char**":
        return ctypes.POINTER(ctypes.c_char_p)
    if stars == 0:
        return PLAIN[name]
    if name in PLAIN:
        assert stars == 1, words
        return ctypes.c_void_p if name == "void" else ctypes.POINTER(PLAIN[name])
    assert re.search(rf"typedef struct {name} {name};", TEXT), f"an unknown type: {words}"
    return ctypes.c_void_p if stars == 1 else ctypes.POINTER(ctypes.c_void_p)


def declared_functions():
    pattern = re.compile(r"^([a-z_0-9]+(?: [a-z_0-9]+)*[ *]+)(berth_\w+)\(([^)]*)\);", re.M)
    for result, name, arguments in pattern.findall(re.sub(r"\n[ \t]+", " ", TEXT)):
        listed = [] if arguments.strip() == "void" else [one.strip() for one in arguments.split(",")]
        yield name, type_of(result), [type_of(re.sub(r"\w+$", "", one)) for one in listed]


def declared_members(struct):
    body = re.search(r"typedef struct \{([^}]*)\} " + struct + ";", TEXT)
    assert body, f"the header has no {struct}"
    for line in filter(None, (one.strip() for one in body[1].split(";"))):
        if "(*" in line:
            yield re.search(r"\(\*(\w+)\)", line)[1], _abi.ON_NOTE
            continue
        first, *more = line.split(",")
        kind, name = re.fullmatch(r"(.*[ *])(\w+)", first, re.S).groups()
        for one in (name, *more):
            yield one.strip(), type_of(kind)


def test_functions_are_those_of_the_header():
    declared = {name: (result, arguments) for name, result, arguments in declared_functions()}
    assert len(declared) > 30, "the header was not understood"
    assert list(declared) == list(_abi.FUNCTIONS)
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        assert declared[name] == (result, arguments), name


@pytest.mark.parametrize("struct", STRUCTS)
def test_members_are_those_of_the_header(struct):
    assert list(declared_members(struct)) == [(name, kind) for name, kind in STRUCTS[struct]._fields_]


@pytest.mark.parametrize("enum", ENUMS)
def test_words_stand_in_the_order_of_the_header(enum):
    body = re.search(r"typedef enum \{([^}]*)\} " + enum + ";", TEXT)[1]
    names = [one.split("=")[0].strip() for one in body.split(",") if one.strip()]
    assert len(names) == len(ENUMS[enum])
    for name, word in zip(names, ENUMS[enum]):
        assert name.lower().endswith(word.replace(" ", "_")), (name, word)


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_the_compiler_lays_them_out_as_ctypes_does(tmp_path):
    wanted = {}
    for name, struct in STRUCTS.items():
        wanted[f"sizeof({name})"] = ctypes.sizeof(struct)
        for member, _ in struct._fields_:
            wanted[f"offsetof({name}, {member})"] = getattr(struct, member).offset
    source = tmp_path / "layout.c"
    lines = "".join(f'printf("%zu\\n", {one});\n' for one in wanted)
    source.write_text(f'#include <stdio.h>\n#include "{HEADER}"\nint main(void) {{\n{lines}}}\n')
    subprocess.run(["cc", "-std=c99", "-o", tmp_path / "layout", source], check=True)
    printed = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout.split()
    assert dict(zip(wanted, map(int, printed))) == wanted


def test_the_library_is_of_the_header(here):
    library = _abi.library()
    declared = int(re.search(r"#define BERTH_\w*VERSION (0x[0-9a-f]+)u", TEXT)[1], 16)
    assert library.berth_version() == declared, LIBRARY
    numbers = f"{declared >> 16}.{declared >> 8 & 255}.{declared & 255}"
    assert _abi.text(library.berth_version_text()).partition("-")[0] == numbers
