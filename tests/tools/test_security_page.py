"""doc/SECURITY.md names for each claim the test that shows it: each of them is there."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "doc/SECURITY.md").read_text(encoding="utf-8")


def test_each_end_to_end_test_that_the_page_names_is_there():
    named = re.findall(r"(test_\w+\.py)::(test_\w+)", PAGE)
    assert len(named) > 30
    for file, test in named:
        assert re.search(rf"^def {test}\(", (ROOT / "tests/e2e" / file).read_text(encoding="utf-8"), re.M), (file, test)


def test_each_unit_test_that_the_page_names_is_there():
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*_test.cc"))
    named = re.findall(r"`([A-Z]\w+)\.([A-Z]\w+)`", PAGE)
    assert len(named) > 5
    for suite, test in named:
        assert re.search(rf"TEST(_F|_P)?\({suite}, {test}\)", code), (suite, test)
