"""Asks the libcuda.so.1 that the loader finds, as programs do, and prints what it said as JSON.

    names NAME…       which are not found, and the content of those that are data
    functions NAME…   cuGetProcAddress and _v2 of each name, with and without its suffix, at many versions, with each flag
    tables            cuGetExportTable
    calls             what can be asked without a GPU"""

import ctypes
import json
import re
import sys

VERSIONS = [2000, 3010, 3020, 4000, 5000, 6050, 7000, 8000, 9000, 10000, 10020, 11000, 11020, 11040, 11060, 12000, 12020, 12040, 13000]
FLAGS = [0, 1, 2, 3, 4]
SUFFIX = re.compile(r"(_v\d+)?(_pt[ds][sz])?$")
UNTOUCHED = 0x1234
# The tables that tools ask for. Which of them exist is the driver's business.
TABLES = ["6bd5fb6c5bf4e74a8987d93912fd9df9", "a094798c2e7464f111f0000800200c9a", "42d85a812c23cb44b8edb3eb5b8efba0", "0" * 32]


def found(pointer):
    return {None: "null", 0: "null", UNTOUCHED: "untouched"}.get(pointer.value, "found")


def ask_names(library, names):
    """Data is given as NAME=SIZE."""
    missing, data = [], {}
    for given in names:
        name, _, size = given.partition("=")
        try:
            address = ctypes.addressof(ctypes.c_char.in_dll(library, name))
        except ValueError:
            missing.append(name)
            continue
        if size:
            data[name] = ctypes.string_at(address, int(size)).hex()
    return {"missing": missing, "data": data}


def ask_functions(library, names):
    bases = sorted({SUFFIX.sub("", name) for name in names} | set(names))
    rows = []
    newer = getattr(library, "cuGetProcAddress_v2", None)
    for name in bases:
        for version in VERSIONS:
            for flags in FLAGS:
                pointer = ctypes.c_void_p(UNTOUCHED)
                result = library.cuGetProcAddress(name.encode(), ctypes.byref(pointer), version, ctypes.c_uint64(flags))
                rows.append([name, version, flags, result, found(pointer), None])
                if newer is None:
                    continue
                pointer, status = ctypes.c_void_p(UNTOUCHED), ctypes.c_int(-7)
                result = newer(name.encode(), ctypes.byref(pointer), version, ctypes.c_uint64(flags), ctypes.byref(status))
                rows.append([name, version, flags, result, found(pointer), status.value])
    return {"rows": rows}


def path_of_driver():
    """The file behind the shim, or the driver's itself."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = [line.split()[-1] for line in maps if "/libcuda.so." in line]
    return next((path for path in paths if not path.endswith("libcuda.so.1")), paths[0])


def ask_tables(library):
    library.cuInit(0)  # the shim opens the driver
    driver = ctypes.CDLL(path_of_driver())
    said, same = [], True
    for uuid in TABLES:
        pointers = []
        for one in (library, driver):
            pointer = ctypes.c_void_p(UNTOUCHED)
            result = one.cuGetExportTable(ctypes.byref(pointer), bytes.fromhex(uuid))
            pointers.append((result, pointer.value))
        said.append([pointers[0][0], found(ctypes.c_void_p(pointers[0][1]))])
        same = same and pointers[0] == pointers[1]
    return {"tables": said, "same": same}


def ask_calls(library):
    version, count, text = ctypes.c_int(-1), ctypes.c_int(-1), ctypes.c_char_p()
    said = {"cuInit": library.cuInit(0)}
    said["cuDriverGetVersion"] = [library.cuDriverGetVersion(ctypes.byref(version)), version.value]
    said["cuDeviceGetCount"] = [library.cuDeviceGetCount(ctypes.byref(count)), count.value]
    said["cuGetErrorName"] = [library.cuGetErrorName(2, ctypes.byref(text)), (text.value or b"").decode()]
    said["cuMemAlloc_v2"] = library.cuMemAlloc_v2(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(1 << 20))
    said["cuMemGetInfo_v2"] = library.cuMemGetInfo_v2(None, None)
    return said


if __name__ == "__main__":
    cuda = ctypes.CDLL("libcuda.so.1")
    what, *given = sys.argv[1:]
    answer = {"names": lambda: ask_names(cuda, given), "functions": lambda: ask_functions(cuda, given),
              "tables": lambda: ask_tables(cuda), "calls": lambda: ask_calls(cuda)}[what]()
    print(json.dumps(answer))
