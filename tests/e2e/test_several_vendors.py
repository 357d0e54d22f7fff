"""A machine with cards of NVIDIA and AMD: each vendor's versions stand in every answer, and apart."""

import json

import pytest
from conftest import ROOT, Machine, many_devices, wait_until
from serving import Server

AMD = {"vendor": "AMD", "driver_version": "6.10.5", "runtime": "ROCm", "runtime_version": "6.3.0-39"}
IN_TREE = AMD | {"driver_version": None, "why": {"driver_version": "unsupported"}}


def mixed(**amd):
    """Two cards of NVIDIA and one of AMD, whose programs count it from 0."""
    snapshot = many_devices(2)
    card = {"kind": "amd-gpu", "id": "00000000:c1:00.0", "pci_address": "00000000:c1:00.0", "index": 2,
            "runtime_index": 0, "name": "AMD Instinct MI210", "unusable_because": "readings not supported yet"}  # fmt: skip
    snapshot["devices"].append(card)
    snapshot["host"]["other_vendors"] = [AMD | amd]
    return snapshot


class Mixed(Machine):
    def __init__(self, directory):
        self.file = directory / "mixed.json"
        super().__init__(directory, sim=str(self.file))
        self.becomes()

    def becomes(self, **amd):
        self.snapshot = mixed(**amd)
        self.file.write_text(json.dumps(self.snapshot), encoding="utf-8")


@pytest.fixture
def both(tmp_path):
    return Mixed(tmp_path)


def test_status_tells_each_vendors_versions(both):
    nvidia = both.snapshot["host"]
    told = json.loads(both.run("status", "--json").stdout)
    assert told["host"]["driver_version"] == nvidia["driver_version"]
    assert told["host"]["cuda_version_supported"] == nvidia["cuda_version_supported"]
    assert told["host"]["other_vendors"] == [AMD]
    of_devices = [(device["driver_version"], device["cuda_version"]) for device in told["devices"]]
    of_nvidia = (nvidia["driver_version"], nvidia["cuda_version_supported"])
    assert of_devices == [of_nvidia, of_nvidia, (AMD["driver_version"], None)]
    assert told["devices"][2]["why"]["cuda_version"] == "unsupported"
    text = both.run("status", env={"COLUMNS": "160"}).stdout
    assert f"NVIDIA driver {nvidia['driver_version']}  CUDA up to {nvidia['cuda_version_supported']} (" in text
    assert "  AMD driver 6.10.5  ROCm 6.3.0-39\n" in text


def test_a_driver_of_the_kernels_own_has_no_version_and_says_so(both):
    both.becomes(**IN_TREE)
    assert json.loads(both.run("status", "--json").stdout)["host"]["other_vendors"] == [IN_TREE]
    assert "  AMD: in-tree driver of this kernel  ROCm 6.3.0-39\n" in both.run("status", env={"COLUMNS": "160"}).stdout


def test_a_record_keeps_them_and_two_records_tell_whose_changed(both):
    def recorded(known=()):
        assert both.run("run", "-q", "--", "true").returncode == 0
        runs = json.loads(both.run("runs", "--json").stdout)["runs"]
        [new] = [run["id"] for run in runs if run["id"] not in known]
        wait_until(lambda: json.loads(both.run("show", new, "--json").stdout)["complete"], "the record is complete")
        return new

    first = recorded()
    assert json.loads(both.run("show", first, "--json").stdout)["given"]["host"]["other_vendors"] == [AMD]
    rows = [" ".join(line.split()) for line in both.run("manifest").stdout.splitlines()]
    for row in (f"NVIDIA driver {both.snapshot['host']['driver_version']}", "AMD driver 6.10.5", "ROCm 6.3.0-39"):
        assert row in rows, rows
    assert f"NVIDIA driver {both.snapshot['host']['driver_version']}, CUDA up to" in both.run("show", first).stdout
    both.becomes(**IN_TREE | {"runtime_version": "6.4.0-47"})
    second = recorded(known=[first])
    told = json.loads(both.run("manifest", "diff", first, second, "--json").stdout)
    assert "NVIDIA driver" not in json.dumps(told)
    text = both.run("manifest", "diff", first, second).stdout
    assert "AMD driver" in text and "in-tree driver of this kernel" in text and "6.4.0-47" in text, text


def test_a_server_tells_them_as_its_document_says(both):
    server = Server(both)
    try:
        answers = {path: server.get(path, over="unix").json for path in ("/api/v1/overview", "/gpu-status")}
        metrics = server.get("/metrics", over="unix").body.decode()
    finally:
        server.close()
    for path, answer in answers.items():
        assert answer["host"]["other_vendors"] == [AMD], path
    assert 'berth_other_vendor_info{vendor="AMD",driver_version="6.10.5",runtime="ROCm",runtime_version="6.3.0-39"} 1' in metrics
    jsonschema = pytest.importorskip("jsonschema", reason="python3-jsonschema is not installed")
    document = json.loads((ROOT / "src/serve/openapi.json").read_text(encoding="utf-8"))
    for name, path in (("Overview", "/api/v1/overview"), ("Snapshot", "/gpu-status")):
        schemas = document["components"]["schemas"]
        told = schemas[name]["properties"]["host"]
        told = schemas[told["$ref"].rsplit("/", 1)[1]] if "$ref" in told else told
        assert told["properties"]["other_vendors"]["items"] == {"$ref": "#/components/schemas/OtherVendor"}
        schema = told | {"components": document["components"]}
        jsonschema.Draft202012Validator(schema).validate(answers[path]["host"])
    strict = document["components"]["schemas"]["OtherVendor"]
    assert set(AMD) == set(strict["required"]) <= set(strict["properties"])
