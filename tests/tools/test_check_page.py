"""tools/check_page.py and tools/check_wire.py must be able to fail."""

import json
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import check_page  # noqa: E402
import check_wire  # noqa: E402


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


TEXT = {"type": "string"}


def written(schemas):
    return check_wire.types_of({"components": {"schemas": schemas}}).removeprefix(check_wire.HEAD)


def described(root):
    """A copy of what check_wire.py reads."""
    for name in (check_wire.DOCUMENT, check_wire.TYPES, check_wire.DEVICE, *check_wire.KEYS):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, root / name)
    assert check_wire.findings(root) == []


def test_a_new_kind_of_device_is_found_and_written_in_both(tmp_path):
    described(tmp_path)
    device = tmp_path / check_wire.DEVICE
    device.write_text(device.read_text().replace("  aws_neuron,", "  aws_neuron,\n  acme_npu,  // of Acme"))
    assert check_wire.findings(tmp_path) == [check_wire.OTHER_KINDS]
    check_wire.write(tmp_path)
    assert check_wire.findings(tmp_path) == []
    for name in (check_wire.DOCUMENT, check_wire.TYPES):
        assert (tmp_path / name).read_text(encoding="utf-8").count('"acme-npu"') == 1, name


def test_an_option_of_a_job_is_found_and_written_and_what_is_said_closer_of_others_is_kept(tmp_path):
    described(tmp_path)
    before = json.loads((tmp_path / check_wire.DOCUMENT).read_text(encoding="utf-8"))
    keys = tmp_path / check_wire.KEYS[1]
    keys.write_text(keys.read_text().replace('"hold", "--hold"', '"grip", "--grip"'))
    assert check_wire.findings(tmp_path) == [check_wire.OTHER_OPTIONS]
    check_wire.write(tmp_path)
    assert check_wire.findings(tmp_path) == []
    after = json.loads((tmp_path / check_wire.DOCUMENT).read_text(encoding="utf-8"))
    body = [one["paths"]["/api/v1/compose"]["post"].pop("requestBody") for one in (before, after)]
    assert before == after, "nothing else has changed"
    old, new = (one["content"]["application/json"]["schema"]["properties"] for one in body)
    assert new == {name: kind for name, kind in old.items() if name != "hold"} | {"grip": {"type": ["boolean", "null"]}}


def test_types_other_than_the_document_says_are_found(tmp_path):
    described(tmp_path)
    document = json.loads((tmp_path / check_wire.DOCUMENT).read_text(encoding="utf-8"))
    document["components"]["schemas"]["Device"]["properties"]["name"]["type"] = "string"
    (tmp_path / check_wire.DOCUMENT).write_text(json.dumps(document), encoding="utf-8")
    [found] = check_wire.findings(tmp_path)
    assert "./dev docs rewrites it" in found


def test_a_schema_becomes_the_type_that_it_says():
    card = {
        "type": "object",
        "required": ["id", "heat", "points"],
        "properties": {
            "id": {"type": ["string", "null"]},
            "heat": {"oneOf": [{"$ref": "#/components/schemas/Heat"}, {"type": "null"}]},
            "points": {"type": "array", "items": {"type": "array", "prefixItems": [TEXT], "minItems": 1,
                                                  "items": {"type": ["number", "null"]}}},
            "why": {"type": "object", "additionalProperties": TEXT, "description": "Missing: all is known."},
        },
    }
    assert written({"Heat": {"enum": ["hot", None]}, "Card": card}) == """
export type Heat = "hot" | null;

export interface Card {
  id: string | null;
  heat: Heat | null;
  points: [string, ...(number | null)[]][];
  /// Missing: all is known.
  why?: Record<string, string>;
}
"""


@pytest.mark.parametrize(("schema", "says"), [
    ({"description": "Something."}, "no type"),
    ({"type": "array"}, "a list of what"),
    ({"type": "object"}, "an object with which members"),
    ({"type": "object", "properties": {"name": TEXT}}, "does not say when"),
    ({"type": "object", "properties": {}, "required": ["name"]}, "not described"),
    ({"type": "array", "prefixItems": [TEXT], "items": False}, "minItems"),
])
def test_what_is_not_exact_is_refused(schema, says):
    with pytest.raises(check_wire.Loose, match=says):
        written({"Thing": schema})
