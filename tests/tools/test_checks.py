"""Each check lets pass what is right and can fail."""

import re
from pathlib import Path

import pytest

import check_binary
import check_compile_fail
import check_format
import check_layers
import check_lengths
import check_po
import run_tests
from test_report import Report

CMAKE = """\
berth_folder(base)
berth_folder(snapshot DEPS base)
berth_folder(place DEPS snapshot)
berth_folder(view DEPS place)
berth_folder(app DEPS view)
"""


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def layers(root: Path, name: str, text: str) -> list[str]:
    files = {"CMakeLists.txt": CMAKE, "src/base/fd.h": "", "src/place/place.h": "", name: text}
    found = check_layers.findings(write(root, files))
    return [line for line in found if not line.startswith("CMakeLists.txt")]


def test_layers_allows_an_arrow_and_what_lies_behind_it(tmp_path: Path) -> None:
    assert layers(tmp_path, "src/view/a.cc", '#include "base/fd.h"\n#include "place/place.h"\n') == []


def test_layers_refuses_an_include_against_the_arrows(tmp_path: Path) -> None:
    found = layers(tmp_path, "src/snapshot/a.cc", '#include "place/place.h"\n')
    assert found == ["src/snapshot/a.cc:1: snapshot must not include place/ (no such arrow)"]


def test_layers_refuses_a_path_from_elsewhere(tmp_path: Path) -> None:
    assert "write the path from src/" in layers(tmp_path, "src/view/a.cc", '#include "../a.h"\n')[0]


def test_layers_refuses_a_folder_without_a_library(tmp_path: Path) -> None:
    assert "no berth_folder()" in layers(tmp_path, "src/misc/a.cc", "")[0]


def test_layers_lets_a_word_that_says_little_name_one_type_only(tmp_path: Path) -> None:
    texts = {"CMakeLists.txt": CMAKE, "src/base/a.h": "struct Place {};\n// struct Step {\nstruct Step;\n",
             "src/base/b.cc": "namespace {\nenum class Place { here };\nstruct Step {};\n}\n",
             "src/base/c_test.cc": "struct Place {};\n"}  # fmt: skip
    found = [line for line in check_layers.findings(write(tmp_path, texts)) if "each needs" in line]
    assert found == ["src/base/b.cc:2: Place is a type of src/base/a.h:1, too: each needs its own"]


def test_layers_compares_the_drawing_with_the_build(tmp_path: Path) -> None:
    drawing = "```arrows\nbase → ∅\nsnapshot, place → base\n```\n"
    write(tmp_path, {"CMakeLists.txt": CMAKE, "doc/DESIGN.md": drawing})
    found = check_layers.findings(tmp_path)
    assert any("place does not link" in line for line in found)
    assert not any("snapshot does not link" in line for line in found)


@pytest.mark.parametrize(
    "line",
    [
        "auto p = fork();",
        "::kill(pid, 9);",
        "auto now = std::chrono::steady_clock::now();",
        "std::this_thread::sleep_for(1s);",
        'auto home = std::getenv("HOME");',
        "std::exit(1);",
        "std::cout << 1;",
        'fmt::print("a");',
        'auto red = "\\x1b[31m";',
        'auto text = number + " GiB";',
        'auto text = fmt::format("{:.1f} GiB", number);',
        "nvmlReturn_t code;",
        "std::random_device source;",
        "::syscall(SYS_landlock_restrict_self, rules, 0U);",
        "if (device.kind == DeviceKind::amd_gpu) return;",
        'if (path.starts_with("/dev/nvidia")) return;',
        'auto maker = R"(NVIDIA)";',
        "const bool is_nvidias = true;",
        "int amd_cards;",
        'const char* folder = "/dev/davinci";',
        "return is_of(Runtime::cuda, device);",
        "#include <sqlite3.h>",
        "#include <nvml.h>",
        'auto text = fmt::format("{:<8}", name);',
    ],
)
def test_layers_refuses_what_has_its_own_place(tmp_path: Path, line: str) -> None:
    assert len(layers(tmp_path, "src/place/a.cc", line + "\n")) >= 1


@pytest.mark.parametrize(
    "line",
    [
        "// fork() and exit(1) are spoken of here, GiB too",
        'auto text = "fork() in a text";',
        "process.kill(signal);",
        "supervisor->exit();",
        "auto forked = fork_process(body);",
        "std::fprintf(stderr, \"a\");",
        "Exit exit;",
        "if (device.kind == DeviceKind::other || runtime == Runtime::none) return;",
        'auto text = "less than 1 MiB";',
        'auto text = "see nvidia-smi -q; the list must ascend";  // as NVIDIA says',
        "int intelligence, amdahl;",
    ],
)
def test_layers_lets_pass_what_only_looks_alike(tmp_path: Path, line: str) -> None:
    assert layers(tmp_path, "src/place/a.cc", line + "\n") == []


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("string", "std::string_view text;  // std::string\n" 'auto name = "std::string";'),
        ("algorithm", "auto b = std::move(a.at[0]); a.find(b); a->sort(b); mine::copy(b);"),
        ("vector", '#include "base/vector.h"\nstd::span<int> all;'),
        ("optional", "long n = 1'000; std::string text = read('a');"),
        ("cstdint", "std::size_t size;"),
        ("functional", "std::map<int, int> all;"),
    ],
)
def test_layers_refuses_a_header_of_which_nothing_is_used(tmp_path: Path, header: str, code: str) -> None:
    for name in ("src/place/a.cc", "src/place/a_test.cc", "tests/stress/a.h"):
        found = layers(tmp_path, name, f"#include <fmt/format.h>\n#include <{header}>\n{code}\n")
        assert found == [f"{name}:2: <{header}> is included and nothing of it is used"]
        (tmp_path / name).unlink()


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("string", "auto text = std::to_string(1);"),
        ("string", "using namespace std::string_literals;"),
        ("algorithm", "bool has = std::ranges::any_of(all, is_free);"),
        ("algorithm", "std::move(all.begin(), all.end(), out);"),
        ("algorithm", "sort(all.begin(), all.end());"),
        ("variant", "visit(print, answer);"),
        ("tuple", "get<0>(pair);"),
        ("optional", "long n = 1'000; std::optional<char> text = 'a';"),
        ("filesystem", "namespace fs = std::filesystem;"),
        ("chrono", "std::this_thread::yield(); using std::chrono::seconds;"),
        ("cerrno", "if (code == ENOENT) return;"),
        ("cstdint", "uint8_t byte;"),
        ("cstdint", "auto most = UINT64_MAX;"),
        ("memory", "auto one = std::make_shared<int>(1);"),
        ("map", "std::multimap<int, int> all;"),
        ("utility", "f(std::move(a));"),
        ("cstdlib", ""),
    ],
)
def test_layers_lets_pass_a_header_of_which_a_name_is_used(tmp_path: Path, header: str, code: str) -> None:
    assert layers(tmp_path, "src/place/a.cc", f"#include <{header}>\n{code}\n") == []


def test_layers_lets_a_test_fork_but_not_sleep(tmp_path: Path) -> None:
    assert layers(tmp_path, "src/place/a_test.cc", "auto p = fork();\n") == []
    assert len(layers(tmp_path, "src/place/a_test.cc", "usleep(5);\n")) == 1


def test_lengths_warns_of_a_long_file_and_refuses_a_very_long_one(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "src/a.cc": "int a;\n" * 501,
            "src/b.cc": "int b;\n" * 401,
            "src/c.cc": "int c;\n" * 400,
            "src/b_test.cc": "\n" * 800,
            "src/a_test.cc": "\n" * 801,
            "tests/data/huge.json": "\n" * 9000,
        },
    )
    assert [line.split(":")[0] for line in check_lengths.warnings(tmp_path)] == ["src/b.cc"]
    assert [line.split(":")[0] for line in check_lengths.findings(tmp_path)] == ["src/a.cc", "src/a_test.cc"]


def test_lengths_leaves_a_table_whole(tmp_path: Path) -> None:
    rows = '    {"a", 1},\n' * 700
    write(
        tmp_path,
        {
            "src/table.cc": "constexpr Row table[] = {\n" + rows + "};\nint f();\n",
            "src/code.cc": "constexpr Row table[] = {\n" + rows + "};\n" + "int f();\n" * 400,
        },
    )
    assert [line.split(":")[0] for line in check_lengths.findings(tmp_path)] == ["src/code.cc"]


def test_format_names_the_file_that_differs_and_mends_it(tmp_path: Path) -> None:
    write(tmp_path, {"a.cc": "int  a ;\n", "b.cc": "int b;\n", ".clang-format": "BasedOnStyle: Google\n"})
    found = check_format.findings(tmp_path)
    assert len(found) == 1 and found[0].startswith("a.cc:1:")
    check_format.findings(tmp_path, fix=True)
    assert check_format.findings(tmp_path) == []


PO = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'


def po(root: Path, source: str, catalogue: str) -> list[str]:
    return check_po.findings(write(root, {"src/view/a.cc": source, "po/zh_CN.po": PO + catalogue}))


def test_po_is_content_with_a_translation(tmp_path: Path) -> None:
    assert po(tmp_path, 'tr("a " "dog");', 'msgid "a dog"\nmsgstr "狗"\n') == []


def test_po_wants_every_word_translated(tmp_path: Path) -> None:
    assert "no translation" in po(tmp_path, 'tr("a dog");', "")[0]
    assert "no translation" in po(tmp_path, 'tr("a dog");', 'msgid "a dog"\nmsgstr ""\n')[0]


def test_po_refuses_words_that_nothing_says(tmp_path: Path) -> None:
    assert "nothing says this" in po(tmp_path, "", 'msgid "a dog"\nmsgstr "狗"\n')[0]


def test_po_refuses_a_translation_that_loses_a_placeholder(tmp_path: Path) -> None:
    found = po(tmp_path, 'trf("{} of {}", 1, 2);', 'msgid "{} of {}"\nmsgstr "{}"\n')
    assert "placeholders" in found[0]


@pytest.mark.parametrize("said", ["没有设备,请等待", "设备(空闲)", "没有设备: {}", "等待? 请看", "有设备;空闲"])
def test_po_refuses_half_width_marks_in_a_chinese_sentence(tmp_path: Path, said: str) -> None:
    found = po(tmp_path, 'trf("{} a", 1);', f'msgid "{{}} a"\nmsgstr "{said.replace("{}", "")}{{}}"\n')
    assert found and "full-width" in found[0], found


@pytest.mark.parametrize("said", ["所在位置：域:总线:设备.功能", "请写 f(x, y) 或 a:b", "（按 ! 显示）", "`等待,设备`", "没有设备：{}"])
def test_po_leaves_alone_what_is_spelled_as_its_format(tmp_path: Path, said: str) -> None:
    assert po(tmp_path, 'trf("{} a", 1);', f'msgid "{{}} a"\nmsgstr "{said.replace("{}", "")}{{}}"\n') == []


@pytest.mark.parametrize(("english", "chinese", "is_right"), [
    ("the policy allows it", "规则允许", False), ("the policy allows it", "策略允许", True),
    ("no rule finds it", "没有策略发现它", False), ("rules of the policy", "策略的规则", True),
])
def test_po_keeps_rules_and_policies_apart(tmp_path: Path, english: str, chinese: str, is_right: bool) -> None:
    found = po(tmp_path, f'tr("{english}");', f'\nmsgid "{english}"\nmsgstr "{chinese}"\n')
    assert bool(found) != is_right, found


def test_po_has_one_measure_word_for_a_device(tmp_path: Path) -> None:
    found = po(tmp_path, 'trf("{} a", 1);', 'msgid "{} a"\nmsgstr "{} 台设备"\n')
    assert found and "个设备" in found[0], found


def test_po_allows_placeholders_in_another_order(tmp_path: Path) -> None:
    assert po(tmp_path, 'trf("{} of {}", 1, 2);', 'msgid "{} of {}"\nmsgstr "{1} 中 {0}"\n') == []


def test_po_reads_the_words_of_tables(tmp_path: Path) -> None:
    table = "constexpr auto all_verbs = x({\n    {\"run\", \"run a job\", \"berth run\", make},\n});\n"
    write(tmp_path, {"src/app/main.cc": table, "po/zh_CN.po": PO})
    assert any("'run a job'" in line for line in check_po.findings(tmp_path))
    assert not any("'run'" in line for line in check_po.findings(tmp_path))


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ('fail_system(errno, "open {}", path);', "cannot open {}: {}"),
        ('fail(ErrorCode::io, "{} is not a directory", name);', "{} is not a directory"),
        ('e.because("writing {}", f(x, "y"));', "writing {}: {}"),
        ('sentence("no run {}", id);', "no run {}"),
        ('options.filled_value("--memory", memory_, "a share", "SIZE");', "a share"),
        ('options.flag("--json", json_, "as JSON");', "as JSON"),
        ('options.begin_group("Which device");', "Which device"),
        ('free ? tr("free") : tr("in use");', "in use"),
        ('options.value("--signal", signal_, "TERM, …", "SIGNAL");', "TERM, …"),
    ],
)
def test_po_finds_words_that_helpers_and_errors_pass_on(tmp_path: Path, source: str, word: str) -> None:
    assert f"po/zh_CN.po: no translation of {word!r}" in po(tmp_path, f"void f() {{ {source} }}", "")


@pytest.mark.parametrize("call", ['tr("gone")', 'trf("{} is gone", x)'])
def test_po_refuses_words_that_are_translated_below_what_shows_them(tmp_path: Path, call: str) -> None:
    source = f"// says tr() and trf()\nvoid f() {{\n  fail(ErrorCode::io, Sentence({call}));\n}}\n"
    catalogue = PO + 'msgid "gone"\nmsgstr "没了"\n\nmsgid "{} is gone"\nmsgstr "{} 没了"\n'
    used = {"src/app/b.cc": 'tr("gone"); trf("{} is gone", x);', "po/zh_CN.po": catalogue}
    planted = write(tmp_path, used | {"src/lease/a.cc": source})
    assert [line.split(":")[:2] for line in check_po.findings(planted)] == [["src/lease/a.cc", "3"]]
    (tmp_path / "src/lease/a.cc").rename(tmp_path / "src/lease/a_test.cc")
    assert check_po.findings(tmp_path) == [], "a test says what it likes"


def test_po_refuses_sentences_of_more_than_20_words() -> None:
    short = " ".join(["word"] * 20)
    texts = {f"{short}. `a b c d` {' '.join(['word'] * 19)}.", f"{short} word", f"{short}: {{}}"}
    found = check_po.long_texts(texts)
    assert len(found) == 2 and found[0].endswith(f"words: '{short} word'"), found


def test_po_has_a_reason_for_each_file_that_translates_below_what_shows() -> None:
    for name, reason in check_po.TRANSLATE_HERE.items():
        assert (check_po.repository.ROOT / name).is_file() and reason


def test_po_leaves_alone_an_error_that_is_translated_already(tmp_path: Path) -> None:
    found = po(tmp_path, 'void f() { fail(ErrorCode::io, trf("{} is gone", x)); }', "")
    assert found == ["po/zh_CN.po: no translation of '{} is gone'"]


@pytest.mark.parametrize("name", ["po/zh_CN.po", "web/src/words/words.ts", "doc/HABITS.zh-CN.md"])
def test_po_finds_a_replaced_word_wherever_chinese_stands(tmp_path: Path, name: str) -> None:
    texts = {"po/zh_CN.po": PO, name: PO + "# 一个任务\n# 一个作业\n", "README.md": "作业\n"}
    line = texts[name].count("\n")
    found = check_po.findings(write(tmp_path, texts))
    assert found == [f"{name}:{line}: '作业': write '任务' (job)"]


def test_po_replaces_no_notion_s_own_word() -> None:
    words = [word for word, _ in check_po.NOTIONS.values()]
    replaced = [pattern for _, pattern in check_po.NOTIONS.values()]
    assert not [word for word in words if any(re.search(pattern, word) for pattern in replaced)]


def test_binary_refuses_a_symbol_of_a_newer_glibc() -> None:
    symbols = "  5: 0 0 FUNC GLOBAL DEFAULT UND arc4random@GLIBC_2.36 (3)\n"
    assert check_binary.glibc_findings(symbols) == ["arc4random needs glibc 2.36, more than 2.35"]
    assert check_binary.glibc_findings(symbols.replace("2.36", "2.9")) == []


def readelf_of(answers):
    return lambda path, option: answers.get(option, "")


SOUND = {"--dynamic": " 0x1 (FLAGS) BIND_NOW\n", "--segments": "GNU_RELRO\n"}
NEWER = "  5: 0 0 FUNC GLOBAL DEFAULT UND arc4random@GLIBC_2.38 (3)\n"


@pytest.mark.parametrize(
    ("dynamic", "symbols", "expected"),
    [
        ("", "", []),
        (" 0x1 (NEEDED) Shared library: [libssl.so.3]\n", "", ["it needs libssl.so.3"]),
        ("", " UND _Znwm@GLIBCXX_3.4 (2)\n", ["_Znwm comes from a C++ runtime that was to be linked in"]),
    ],
    ids=["sound", "a library", "a runtime"],
)
def test_binary_is_held_to_all_but_its_glibc_where_that_is_newer(
    monkeypatch, dynamic: str, symbols: str, expected: list[str]
) -> None:
    answers = SOUND | {"--dynamic": SOUND["--dynamic"] + dynamic, "--dyn-syms": NEWER + symbols}
    monkeypatch.setattr(check_binary, "readelf", readelf_of(answers))
    monkeypatch.setattr(check_binary, "stripped_size", lambda path, strip: 1)
    told = [f"berth: {one}" for one in expected]
    assert check_binary.findings(Path("berth"), newer_glibc=True) == told
    older = check_binary.findings(Path("berth"))
    assert [one for one in older if "glibc 2.38" in one] and older[1:] == told


@pytest.mark.parametrize(("newer_glibc", "most"), [(False, 53 << 18), (True, 15 << 20)])
def test_binary_is_as_large_as_its_system_makes_it_at_most(monkeypatch, newer_glibc: bool, most: int) -> None:
    monkeypatch.setattr(check_binary, "readelf", readelf_of(SOUND))
    for size, told in ((most, []), (most + 1, [f"berth: {most + 1} bytes stripped, at most {most}"])):
        monkeypatch.setattr(check_binary, "stripped_size", lambda path, strip, size=size: size)
        assert check_binary.findings(Path("berth"), newer_glibc=newer_glibc) == told


def test_binary_is_checked_on_every_system(monkeypatch) -> None:
    report, asked = Report(), []
    monkeypatch.setattr(check_binary, "reason_to_allow_newer_glibc", lambda: "built against glibc 2.39")
    monkeypatch.setattr(check_binary, "findings", lambda path, newer_glibc: asked.append(newer_glibc) or ["big"])
    for name in ("generated_findings", "readme_findings"):
        monkeypatch.setattr(run_tests.check_docs, name, lambda *_: [])
    run_tests.checks_of_the_program(report)
    assert asked == [True]
    assert [name for name, _ in report.failed] == ["check:binary"]
    assert [name for name, _ in report.skipped] == ["check:glibc of the binary"]


def test_binary_refuses_a_library_that_may_be_absent() -> None:
    dynamic = " 0x1 (NEEDED) Shared library: [libstdc++.so.6]\n 0x1 (NEEDED) Shared library: [libc.so.6]\n"
    assert check_binary.library_findings(dynamic) == ["it needs libstdc++.so.6"]


def test_binary_refuses_what_is_not_hardened() -> None:
    assert len(check_binary.hardening_findings("", "")) == 2


def test_compile_fail_notices_what_compiles_after_all(tmp_path: Path) -> None:
    write(tmp_path, {"src/x.h": "", "tests/compile_fail/a.cc": "// refused: anything\nint a;\n"})
    assert "must not" in check_compile_fail.findings(tmp_path)[0]


def test_compile_fail_wants_the_reason_it_expects(tmp_path: Path) -> None:
    text = "// refused: another reason\n#ifdef BERTH_WRONG\nint a = nothing;\n#endif\n"
    write(tmp_path, {"src/x.h": "", "tests/compile_fail/a.cc": text})
    assert "without saying" in check_compile_fail.findings(tmp_path)[0]


def test_compile_fail_is_not_silent_where_there_is_nothing(tmp_path: Path) -> None:
    assert check_compile_fail.findings(tmp_path) != []
