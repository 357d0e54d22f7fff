"""The headers compile without a warning in each language they are for, and refuse what they must."""

import pytest

from hosts import HERE, INCLUDE, STRICT, compiler, run

USES_C = """
#include <berth/berth.h>
static const berth_options of_all = BERTH_INIT(berth_options);
int main(void) {
  berth_request request = BERTH_INIT(berth_request);
  berth_device device = BERTH_INIT(berth_device);
  berth_error* error = NULL;
  berth_context* context = NULL;
  if (of_all.sim != NULL || request.struct_size != sizeof(berth_request)) return 1;
  request.memory = "10G";
  return berth_open(&of_all, &context, &error) == BERTH_OK && device.index == 0;
}
"""


def said(source, path, *command):
    """What a compiler says of a text."""
    path.write_text(source)
    return run([*command, "-fsyntax-only", *STRICT, f"-I{INCLUDE}", path])


@pytest.mark.parametrize("name", ["gcc", "clang"])
@pytest.mark.parametrize("standard", ["c99", "c11", "c17"])
def test_the_c_header_is_c(tmp_path, name, standard):
    # In C99 a static object needs a constant: BERTH_INIT is one.
    done = said(USES_C, tmp_path / "uses.c", compiler(name), f"-std={standard}")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["g++", "clang++"])
@pytest.mark.parametrize("standard", ["c++17", "c++20", "c++23"])
def test_the_c_header_is_cpp(tmp_path, name, standard):
    done = said(USES_C, tmp_path / "uses.cc", compiler(name), f"-std={standard}")
    assert done.returncode == 0, done.stderr


# As C++17 and C++23 g++ compiles it in test_host.py, with the same warnings.
@pytest.mark.parametrize("standard, name", [(f"c++{year}", "clang++") for year in (17, 20, 23)] + [("c++20", "g++")])
def test_the_cpp_header_compiles(standard, name):
    done = run([compiler(name), f"-std={standard}", "-fsyntax-only", *STRICT, f"-I{INCLUDE}",
                HERE / "wrapper.cc"])
    assert done.returncode == 0, done.stderr


def test_the_cpp_header_compiles_without_exceptions():
    done = run([compiler("g++"), "-std=c++17", "-fno-exceptions", "-fsyntax-only", *STRICT,
                f"-I{INCLUDE}", HERE / "wrapper.cc"])
    assert done.returncode == 0, done.stderr


def test_two_files_may_include_it(tmp_path):
    for name in "one", "two":
        (tmp_path / f"{name}.cc").write_text(
            f"#include <berth/berth.hpp>\nint {name}() {{ return berth::name_of(BERTH_PRESENT)[0]; }}\n")
    done = run(["g++", "-std=c++17", f"-I{INCLUDE}", "-r", "-o", tmp_path / "both.o",
                tmp_path / "one.cc", tmp_path / "two.cc"])
    assert done.returncode == 0, done.stderr


WRONG = [
    ("return berth::Bytes(1) == berth::Milliwatts(1);", "no match for"),
    ("return (berth::Bytes(1) + berth::Celsius(1)).count();", "no match for"),
    ("berth::Bytes bytes = 5; return bytes.count();", "conversion from"),
    ("return device.memory_used ? 1 : 0;", "deleted function"),
    ("return device.memory_used < device.memory_total;", "no match for"),
    ("berth.look();", "nodiscard"),
    ("lease.apply();", "nodiscard"),
    ("berth::Lease two = lease;", "deleted function"),
    ("berth::Berth two = berth;", "deleted"),
    ("if (auto look = berth.look()) return look.error();", "cannot convert"),
]


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """What g++ says of each of the wrong lines. They are one file: the header takes most of its time."""
    def said_of(lines):
        functions = [f'#line 1 "line {number}"\nint use_{number}(berth::Berth& berth, berth::Device& device, '
                     f"berth::Lease& lease) {{ (void)berth; (void)device; (void)lease; {line} return 0; }}\n"
                     for number, line in enumerate(lines)]
        source = tmp_path_factory.mktemp("wrong") / "wrong.cc"
        return said("#include <berth/berth.hpp>\n" + "".join(functions), source, compiler("g++"), "-std=c++20")

    good = said_of("" for _ in WRONG)
    assert good.returncode == 0, good.stderr
    return said_of(line for line, _ in WRONG).stderr.splitlines()


@pytest.mark.parametrize("number, refused", [(number, refused) for number, (_, refused) in enumerate(WRONG)],
                         ids=[line for line, _ in WRONG])
def test_what_makes_no_sense_does_not_compile(errors, number, refused):
    of_the_line = [text for text in errors if text.startswith(f"line {number}:") and " error: " in text]
    assert of_the_line, "it compiles, and must not"
    assert refused in "\n".join(of_the_line), of_the_line
