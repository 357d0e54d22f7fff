"""Holds #includes against the arrows between folders and to what is used, some words to the one place for them.

The arrows are the DEPS of berth_folder() in CMakeLists.txt; doc/DESIGN.md must draw the same ones.
"""

import fnmatch
import functools
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import repository

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
COMMENT_OR_STRING = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)\"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.S,
)


@dataclass(frozen=True)
class OnlyHere:
    """What may be written in some files only."""

    what: str
    pattern: re.Pattern[str]
    allowed: re.Pattern[str]  # matched against the path under the repository's root
    in_strings: bool = False  # look inside string literals, else outside of them
    in_tests: bool = False  # tests are held to it as well


def called(names: str) -> re.Pattern[str]:
    """A call of one of these functions; not of a member or of something in a namespace of ours."""
    return re.compile(r"(?<![\w.>])(?<!\w::)(?:std::|std::this_thread::)?(?:" + names + r")\s*\(")


# A declaration "pid_t fork(...)" cannot be told from a call without a parser, and there is no need:
# naming one's own function like a system call is what the rule is against.
RULES = [
    OnlyHere(
        "fork, exec, kill, wait and pidfds belong to base/process_posix.cc and process_answer.cc",
        re.compile(
            called(
                r"v?fork|execv|execvp|execve|execvpe|execl|execlp|execle|fexecve|execveat|kill|killpg"
                r"|tgkill|posix_spawnp?|pidfd_\w+|waitpid|waitid|wait4|clone3?|_exit|_Exit"
            ).pattern
            + r"|\bSYS_(?:v?fork|clone3?|execve|execveat|kill|tgkill|pidfd_\w+|wait4|waitid)\b"
        ),
        re.compile(r"src/base/process_(posix|answer)\.cc|src/lib/helper_client\.cc|src/guard/"),
    ),
    OnlyHere(
        "the clock is read and waited for in base/clock_system.cc; take a Clock",
        re.compile(
            called(
                r"sleep|usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until|clock_gettime"
                r"|gettimeofday|time\s*\(\s*(?:nullptr|NULL|0)\s*\)|timespec_get"
            ).pattern
            + r"|\w+_clock::now\s*\("
        ),
        re.compile(r"src/base/clock_system\.cc|src/guard/"),
        in_tests=True,
    ),
    OnlyHere(
        "the environment is read in app/ (and lib/, guard/); take a value",
        re.compile(called(r"getenv|secure_getenv|setenv|putenv|unsetenv").pattern + r"|\benviron\b"),
        re.compile(r"src/app/|src/lib/|src/guard/|src/host_environment/mps\.cc"),
    ),
    OnlyHere(
        "only app/ ends the program; return a Result",
        called(r"exit|quick_exit|at_quick_exit|atexit"),
        re.compile(r"src/app/"),
    ),
    OnlyHere(
        "only app/ prints; return text",
        re.compile(
            r"std::cout|std::cerr|(?<![\w.>:])stdout\b|(?<![\w.>])(?:std::)?(?:printf|puts|putchar)\s*\("
            r"|fmt::print\s*\("
        ),
        re.compile(r"src/app/"),
    ),
    OnlyHere(
        "terminal escape codes belong to view/ and top/screen_writer.cc (and smi/, whose formats have some)",
        re.compile(r"\\(?:x1[bB]|033|e|u001[bB])[\[\]]"),
        re.compile(r"src/view/|src/smi/|src/top/screen_writer\.cc"),
        in_strings=True,
    ),
    OnlyHere(
        "MiB and GiB are written by view/ and smi/ (and read by base/text.cc and probe/drm/fdinfo.cc)",
        # A value's unit: after a placeholder, or at the start of a text that is put behind a number.
        re.compile(r"(?:\{[^{}]*\}|\") ?[KMGT]iB\b"),
        re.compile(r"src/view/|src/smi/|src/base/text\.cc|src/probe/drm/fdinfo\.cc"),
        in_strings=True,
    ),
    OnlyHere(
        "the driver's own types stay in probe/nvml/",
        re.compile(r"\bnvml[A-Z]\w*"),
        re.compile(r"src/probe/nvml/"),
    ),
    OnlyHere(
        "which vendor it is says the table: ask facts_of(kind) or facts_of(runtime)",
        re.compile(r"\b(?:DeviceKind::(?!other\b)\w+|Runtime::(?!none\b)\w+)"),
        # The sources, and what is about NVIDIA's own software: its
        # cards, nvidia-smi, CUDA's variable, programs of CUDA.
        re.compile(
            r"src/(?:probe|cards|smi|diagnose/doctor)/|src/snapshot/(?:device_kind(?:_rows)?\.(?:h|cc)|fields\.cc|builder\.h)$"
            r"|src/place/visible_\w+\.cc$|src/run/gpus_to_prove\.cc$|src/view/doctor_(?:text|json)\.cc$"
            r"|src/.*/example_\w+\.h$"
        ),
    ),
    OnlyHere(
        "columns are padded by view/table.h and Line, which know wide characters",
        re.compile(r"\{:[<>^]"),
        re.compile(r"src/smi/"),  # as nvidia-smi pads them
        in_strings=True,
    ),
    OnlyHere(
        "Landlock belongs to run/isolate.cc",
        re.compile(r"\b(?:SYS|__NR)_landlock_\w+|\bLANDLOCK_\w+|\bPR_SET_NO_NEW_PRIVS\b"),
        re.compile(r"src/run/isolate\.cc"),
        in_tests=True,
    ),
    OnlyHere(
        "no random_device: it needs a newer glibc than berth promises to run on",
        re.compile(r"\brandom_device\b"),
        re.compile(r"$^"),
        in_tests=True,
    ),
]
HEADERS_ONLY_HERE = {
    "sqlite3.h": re.compile(r"src/record/history/"),
    "nvml.h": re.compile(r"$^"),
    "cuda.h": re.compile(r"$^"),
    "sys/socket.h": re.compile(r"src/serve/|src/probe/probe_process/|src/base/(?:line_socket|port)\.cc|src/base/port_test\.cc|src/lib/serve_client\.cc"),
    "sys/pidfd.h": re.compile(r"$^"),
}

# For which names of std each header is included, its own apart, rather too many than too few; "*": the rest of one.
# A header of which that cannot be told for certain is not here.
INCLUDED_FOR = {
    "algorithm": "all_of any_of none_of for_each* *find* *search* count* equal mismatch copy* move move_backward fold_*"
    " transform generate* replace* remove remove_if remove_copy* unique unique_copy reverse reverse_copy rotate*"
    " shift_* *shuffle *partition* *sort* nth_element *_bound equal_range *merge* includes set_* *heap* min* max* clamp"
    " lexicographical_* *_permutation fill* swap_ranges iter_swap *s_with contains* sample *_result",
    "array": "tuple_* get",
    "atomic": "atomic* memory_order* kill_dependency",
    "bit": "bit_* byteswap endian has_single_bit popcount rot* count*",
    "cerrno": "errno E*",
    "charconv": "*_chars* chars_format",
    "chrono": "*literals *_cast floor ceil round abs",
    "cstdint": "*int*_t *_MIN *_MAX *_C *_WIDTH",
    "expected": "*expect*",
    "filesystem": "absolute *canonical copy* create_* current_path equivalent exists *file* *link* is_directory"
    " is_empty is_other is_socket last_* permissions proximate relative remove* rename space status* temp_*",
    "fstream": "*filebuf",
    "functional": "*function* *bind* *hash* *equal_to less* greater* plus minus multiplies divides modulus negate"
    " logical_* bit_* identity reference_wrapper unwrap_* *ref *invoke* *_fn *placeholder* *searcher",
    "limits": "numeric_limits* float_*",
    "memory": "*_ptr* make_unique* *shared* *alloc* *address* *_at destroy* uninitialized_* *delete* owner_* *pointer*"
    " *align* *atomic* *lifetime*",
    "mutex": "*mutex* *lock* once_flag call_once",
    "optional": "nullopt* *optional*",
    "span": "dynamic_extent as_*bytes",
    "sstream": "*stringstream *stringbuf basic_*",
    "string": "*string char_traits to_*string sto* getline basic_string erase* *literals",
    "string_view": "*literals",
    "thread": "*thread* stop_*",
    "tuple": "tuple* tie apply ignore get uses_*",
    "unordered_map": "unordered_multimap erase*",
    "utility": "move* forward* *pair* swap exchange as_const declval in_* *_sequence* to_underlying unreachable cmp_*"
    " piecewise_* get tuple_* rel_ops",
    "variant": "variant* visit get* holds_alternative monostate *variant* in_*",
} | dict.fromkeys(("deque", "map", "set", "vector"), "erase*")

# A vendor's names beside those of DeviceKind, in an identifier or a literal. Of nvidia-smi and NVML berth has the
# surfaces; "ascend" is a word.
KINDS = re.compile(r"^enum class DeviceKind \{(.*?)\};", re.M | re.S)
MAKER_WORDS = {"nvidia": r"nvidia(?!\\*[-_](?:smi|ml)\b|_smi)", "ascend": "ascend(?=[-_0-9])"}
MORE_MAKER_WORDS = ("amdgpu", "radeon", "i915", "huawei", "davinci", "hycu", "moore threads", "gaudi", "neuron")
VENDORS_NAMED = {
    r"src/probe/|src/cards/|src/smi/": "sources, cards, nvidia-smi's surfaces",
    r"src/snapshot/(?:device|device_kind\w*)\.(?:h|cc)$": "the kinds and their rows",
    r"src/snapshot/(?:unusable|fields|kernel_messages)\.cc$": "what a reading is at which vendor, and formats' old words",
    r"src/(?:diagnose|host_environment|guard)/|src/health/(?:xid|rules_speed)\.cc$|src/alert/rules_event\.cc$": "a vendor's own software and its errors",
    r"src/(?:app/verb_doctor|app/support_parts|view/doctor_text)\.cc$": "likewise: doctor, and what a report gathers",
    r"src/place/visible_(?:devices|others)\.(?:h|cc)$": "how each runtime reads its variable",
    r"src/run/container/toolkit\.(?:h|cc)$": "the contract of docker's --gpus",
    r"src/serve/metrics_dcgm\.cc$": "another exporter's format",
    r"src/view/(?:spec|topology)_text\.cc$": "one maker's word beside another's",
    r"src/base/(?:redactor|secret_\w+)\.cc$": "hosts and keys, of no device",
    r"src/.*/(?:example_\w+|builder)\.h$": "invented servers",
}
NAMES_VENDORS = re.compile("|".join(VENDORS_NAMED))
VENDOR_SAYS = "what differs by vendor says its row in snapshot/device_kind_rows.h"

# Words that say so little that each may name one type of the program only.
NAMES_ONE_TYPE = re.compile(r"\b(?:enum class|struct|class) (Look|Part|Place|Request|Row|Rule|Seen|Step|Watched)(?= final| :| \{)")


def vendor_words() -> re.Pattern[str]:
    """Of a text in small letters: without their case they are sought four times as slowly."""
    kinds = KINDS.search((Path(__file__).parents[1] / "src/snapshot/device.h").read_text(encoding="utf-8"))
    assert kinds, "src/snapshot/device.h has DeviceKind"
    makers = set(re.findall(r"^\s*([a-z]+)_?\w*", kinds[1], re.M)) - {"other"}
    words = [MAKER_WORDS.get(maker, maker) for maker in sorted(makers)] + list(MORE_MAKER_WORDS)
    return re.compile(rf"(?<![a-z])(?:{'|'.join(words)})(?:s?(?![a-z]))")


def arrows_in_cmake(text: str) -> dict[str, set[str]]:
    arrows = {}
    for call in re.finditer(r"^berth_(?:folder|library)\((\w+)[A-Z\s]*?(?:\s+DEPS\s+([^)]*))?\)", text, re.M):
        arrows[call[1]] = set((call[2] or "").split())
    return arrows


def arrows_in_design(text: str) -> dict[str, set[str]]:
    """Lines "place, lease → snapshot" of the fenced block named arrows; a folder may have several lines."""
    block = re.search(r"^```arrows\n(.*?)^```", text, re.M | re.S)
    arrows = {}
    for line in (block[1] if block else "").splitlines():
        names, _, targets = line.partition("→")
        for name in names.split(","):
            arrows.setdefault(name.strip(), set()).update({word.strip() for word in targets.split(",")} - {"∅", ""})
    return arrows


def reachable(arrows: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting.extend(arrows.get(name, ()))
    return seen


def line_of(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def blanked(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))


@functools.lru_cache(maxsize=1)  # each check of a file asks for it
def code_and_strings(text: str) -> tuple[str, str]:
    """The text without comments and literals, and the literals alone, each at its old place."""
    end = 0
    code = []
    strings = []
    for match in COMMENT_OR_STRING.finditer(text):
        before = text[end : match.start()]
        code += [before, blanked(match[0])]
        strings += [blanked(before), blanked(match[0]) if match[0].startswith("/") else match[0]]
        end = match.end()
    code.append(text[end:])
    strings.append(blanked(text[end:]))
    return "".join(code), "".join(strings)


def include_findings(name: Path, text: str, arrows: dict[str, set[str]], root: Path) -> list[str]:
    found = []
    folder = name.parts[1] if name.parts[0] == "src" and len(name.parts) > 2 else None
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        if not include:
            continue
        quote, target = include.groups()
        here = f"{name}:{number}"
        allowed = HEADERS_ONLY_HERE.get(target)
        if allowed and name.parts[0] == "src" and not allowed.match(str(name)):
            found.append(f"{here}: <{target}> has no place here")
        if quote == "<" or folder is None:
            continue
        if not (root / "src" / target).is_file():
            # Generated and test-only headers come with a path of their own.
            if ".." in target or "/" not in target:
                found.append(f'{here}: "{target}": write the path from src/')
            continue
        other = target.split("/")[0]
        if other not in reachable(arrows, folder):
            found.append(f"{here}: {folder} must not include {other}/ (no such arrow)")
    return found


def unused_includes(name: Path, text: str) -> list[str]:
    """Headers of std of which no name is used; one called without "std::" may be found by its argument."""
    code = re.sub(r"(?m)^\s*#\s*include.*", "", code_and_strings(text)[0])
    code = re.sub(r"\bstd::move(?=\([\w.>\[\]-]+\))", "std::move_one", code)  # what else it moves may be a range
    words = re.findall(r"\bstd::([\w:]+)|(?<![\w.>:])(\w+)(?=\s*[(<])|\b(u?int\w*_t|errno|[A-Z\d_]+)\b", code)
    used = {one for pair in words for word in pair for one in word.split("::")}
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        include = INCLUDE.match(line)
        names = INCLUDED_FOR.get(include[2]) if include else None
        if names is not None and not any(fnmatch.filter(used, one) for one in f"*{include[2]} {names}".split()):
            found.append(f"{name}:{number}: <{include[2]}> is included and nothing of it is used")
    return found


def rule_findings(name: Path, text: str, vendor: re.Pattern[str]) -> list[str]:
    if name.parts[0] != "src":
        return []
    is_test = name.stem.endswith("_test")
    code, strings = code_and_strings(text)
    found = []
    for rule in RULES:
        if rule.allowed.match(str(name)) or (is_test and not rule.in_tests):
            continue
        for hit in rule.pattern.finditer(strings if rule.in_strings else code):
            found.append(f"{name}:{line_of(text, hit.start())}: {hit[0].strip()}: {rule.what}")
    if not is_test and not NAMES_VENDORS.match(str(name)):
        for part in (code, strings):
            for hit in vendor.finditer(part.lower()):
                found.append(f"{name}:{line_of(text, hit.start())}: {hit[0]}: {VENDOR_SAYS}")
    return found


def type_findings(types: dict[str, list[str]]) -> list[str]:
    several = {name: places for name, places in types.items() if len(places) > 1}
    return [f"{places[1]}: {name} is a type of {places[0]}, too: each needs its own" for name, places in several.items()]


def findings(root: Path) -> list[str]:
    arrows = arrows_in_cmake((root / "CMakeLists.txt").read_text(encoding="utf-8"))
    found = []
    design = root / "doc" / "DESIGN.md"
    drawn = arrows_in_design(design.read_text(encoding="utf-8")) if design.is_file() else {}
    for name in sorted(arrows.keys() | drawn.keys()):
        if arrows.get(name) != drawn.get(name):
            found.append(f"CMakeLists.txt: {name} does not link what doc/DESIGN.md draws for it")
    vendor = vendor_words()
    types: dict[str, list[str]] = {}
    for name in repository.sources(root):
        if name.parts[0] == "src" and len(name.parts) > 2 and name.parts[1] not in arrows:
            found.append(f"{name}: the folder {name.parts[1]} has no berth_folder() in CMakeLists.txt")
            continue
        text = (root / name).read_text(encoding="utf-8")
        found += include_findings(name, text, arrows, root)
        found += unused_includes(name, text)
        found += rule_findings(name, text, vendor)
        if name.parts[0] == "src" and not name.stem.endswith("_test"):
            code, _ = code_and_strings(text)
            for declared in NAMES_ONE_TYPE.finditer(code):
                types.setdefault(declared[1], []).append(f"{name}:{line_of(text, declared.start())}")
    return found + type_findings(types)


if __name__ == "__main__":
    sys.exit(repository.finish(findings(repository.root_from_arguments())))
