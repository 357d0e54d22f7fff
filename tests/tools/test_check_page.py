"""tools/check_page.py must be able to fail."""

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_page  # noqa: E402


@pytest.fixture
def copy(tmp_path):
    if reason := check_page.bring_tools(ROOT):
        pytest.skip(reason)
    shutil.copytree(ROOT / "web", tmp_path / "web")
    (tmp_path / "build/page").mkdir(parents=True)
    (tmp_path / "build/page/node_modules").symlink_to(check_page.modules(ROOT))
    return tmp_path


def test_a_wrong_type_is_found(copy):
    (copy / "web/src/model/wrong.ts").write_text("export const a: number = 'text';\n")
    found = check_page.type_findings(copy / "web", check_page.modules(copy))
    assert any("wrong.ts" in line for line in found), found


def test_a_failing_unit_test_is_found(copy):
    for test in (copy / "web/tests/unit").glob("*.test.ts"):
        test.unlink()
    wrong = 'import assert from "node:assert/strict";\nimport { test } from "node:test";\n'
    wrong += 'test("one is two", () => assert.equal(1, 2));\n'
    (copy / "web/tests/unit/wrong.test.ts").write_text(wrong)
    assert any("one is two" in line for line in check_page.test_findings(copy))


def test_another_lock_file_wants_another_installation(copy):
    (copy / "build/page/installed").write_text(check_page.wanted_hash(copy))
    assert check_page.are_there(copy)
    (copy / "web/package-lock.json").write_text("{}")
    assert not check_page.are_there(copy)
