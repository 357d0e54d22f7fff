"""What a simulated server says of itself: the same in `-q`, `--query-gpu`, `status`, `health` and `/metrics`."""

import json
import pathlib
import re
import subprocess
import xml.etree.ElementTree as ET

import pytest
from conftest import BERTH
from serving import serve_on  # noqa: F401  pylint: disable=unused-import

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "src/probe/sim/scenarios"
NAMES = sorted(path.stem for path in SOURCES.glob("*.json"))

# status --json, -q -x (below <gpu>), --query-gpu, /metrics, and what one of its units is there.
QUANTITIES = [
    ("power_limit_milliwatts", "gpu_power_readings/current_power_limit", "enforced.power.limit",
     "berth_device_power_limit_watts", 1000),
    ("power_limit_default_milliwatts", "gpu_power_readings/default_power_limit", "power.default_limit",
     "berth_device_power_limit_default_watts", 1000),
    ("power_limit_min_milliwatts", "gpu_power_readings/min_power_limit", "power.min_limit",
     "berth_device_power_limit_lowest_watts", 1000),
    ("power_limit_max_milliwatts", "gpu_power_readings/max_power_limit", "power.max_limit",
     "berth_device_power_limit_highest_watts", 1000),
    ("pcie_generation_max", "pci/pci_gpu_link_info/pcie_gen/max_link_gen", "pcie.link.gen.max",
     "berth_device_pcie_generation_max", 1),
    ("pcie_width_max", "pci/pci_gpu_link_info/link_widths/max_link_width", "pcie.link.width.max",
     "berth_device_pcie_width_max", 1),
    ("pcie_sent_rate_bytes_per_second", "pci/tx_util", None, "berth_device_pcie_sent_bytes_per_second", 1),
    ("pcie_received_rate_bytes_per_second", "pci/rx_util", None, "berth_device_pcie_received_bytes_per_second", 1),
    ("ecc_corrected_errors", None, "ecc.errors.corrected.volatile.total",
     "berth_device_ecc_corrected_errors_total", 1),
    ("ecc_uncorrected_errors", None, "ecc.errors.uncorrected.volatile.total",
     "berth_device_ecc_uncorrected_errors_total", 1),
    ("ecc_corrected_volatile_dram", "ecc_errors/volatile/dram_correctable",
     "ecc.errors.corrected.volatile.dram", None, 1),
    ("ecc_corrected_volatile_sram", "ecc_errors/volatile/sram_correctable",
     "ecc.errors.corrected.volatile.sram", None, 1),
    ("ecc_uncorrected_volatile_dram", "ecc_errors/volatile/dram_uncorrectable",
     "ecc.errors.uncorrected.volatile.dram", None, 1),
    ("ecc_sram_parity_volatile", "ecc_errors/volatile/sram_uncorrectable_parity",
     "ecc.errors.uncorrected.volatile.sram.parity", None, 1),
    ("ecc_sram_secded_volatile", "ecc_errors/volatile/sram_uncorrectable_secded",
     "ecc.errors.uncorrected.volatile.sram.secded", None, 1),
    ("ecc_corrected_aggregate_total", None, "ecc.errors.corrected.aggregate.total",
     "berth_device_ecc_corrected_lifetime_errors_total", 1),
    ("ecc_uncorrected_aggregate_total", None, "ecc.errors.uncorrected.aggregate.total",
     "berth_device_ecc_uncorrected_lifetime_errors_total", 1),
    ("remapped_rows_correctable", "remapped_rows/remapped_row_corr", "remapped_rows.correctable",
     'berth_device_remapped_rows{cause="corrected"}', 1),
    ("remapped_rows_uncorrectable", "remapped_rows/remapped_row_unc", "remapped_rows.uncorrectable",
     'berth_device_remapped_rows{cause="uncorrected"}', 1),
    ("nvlink_count", None, None, "berth_device_nvlinks", 1),
    ("nvlink_active", None, None, "berth_device_nvlinks_active", 1),
]
UNITS = {"KB/s": 1000, "MB/s": 1_000_000, "W": 1, "x": 1}


def number_in(text):
    """700.00 W, 16x, 12; None: N/A in one of its spellings."""
    found = re.fullmatch(r"([\d.]+) ?([A-Za-z/]*)", text.strip())
    return float(found[1]) * UNITS.get(found[2], 1) if found else None


@pytest.fixture(scope="module")
def frozen(tmp_path_factory):
    """Each scenario at one moment: numbers move, and the surfaces are held to the same ones."""
    folder = tmp_path_factory.mktemp("frozen")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "BERTH_LEDGER": str(folder / "ledger")}

    def said(*words):
        return subprocess.run([BERTH, *words], env=env, capture_output=True, text=True, check=False).stdout

    looks = {}
    for name in NAMES:
        path = folder / f"{name}.json"
        path.write_text(said("status", "--json", "--sim", name), encoding="utf-8")
        looks[name] = (json.loads(path.read_text(encoding="utf-8")), lambda *words, p=path: said(*words, "--replay", str(p)))
    return looks


def cards_of(look):
    return [one for one in look["devices"] if one["kind"] == "nvidia-gpu" and one["index"] is not None and not one["lost"]]


def value(card, key, unit):
    return None if card.get(key) is None else card[key] / unit


@pytest.mark.parametrize("name", NAMES)
def test_xml_and_query_say_what_status_says(frozen, name):
    look, said = frozen[name]
    cards = cards_of(look)
    if not cards:
        pytest.skip("no card answers there")
    root = ET.fromstring(re.sub(r"<!DOCTYPE[^>]*>", "", said("smi", "-q", "-x")))
    gpus = {gpu.findtext("uuid"): gpu for gpu in root.findall("gpu")}
    names = [one[2] for one in QUANTITIES if one[2]]
    rows = said("smi", f"--query-gpu=uuid,{','.join(names)}", "--format=csv,noheader,nounits").splitlines()
    queried = {row.split(", ")[0]: dict(zip(names, row.split(", ")[1:], strict=True)) for row in rows}
    for card in cards:
        for key, path, query, _, unit in QUANTITIES:
            wanted = value(card, key, unit)
            what = f"{name}, GPU {card['index']}, {key}"
            if path:
                element = gpus[card["uuid"]].find(path)
                told = None if element is None else number_in(element.text)
                if path.endswith("_util"):  # in whole KB/s
                    assert wanted is None or abs(told - wanted) <= 1000, what
                else:
                    assert told == wanted, what
            if query:
                assert number_in(queried[card["uuid"]][query]) == wanted, what


@pytest.mark.parametrize("name", NAMES)
def test_what_parts_of_a_card_say_adds_up(frozen, name):
    look, _ = frozen[name]
    for card in cards_of(look):
        what = f"{name}, GPU {card['index']}"
        limits = [card.get(f"power_limit_{which}milliwatts") for which in ("min_", "default_", "max_")]
        assert None not in limits and limits == sorted(limits), what
        assert limits[0] <= card["power_limit_milliwatts"] <= limits[2], what
        assert card["pcie_generation"] <= card["pcie_generation_max"] <= card["pcie_generation_device_max"], what
        assert card.get("pci_path", "").endswith(card["pci_address"][4:]), what
        if card["ecc_mode"]:
            for kind in ("corrected", "uncorrected"):
                parts = [card[f"ecc_{kind}_volatile_{where}"] for where in ("dram", "sram")]
                lasting = [card[f"ecc_{kind}_aggregate_{where}"] for where in ("dram", "sram")]
                assert sum(parts) == card[f"ecc_{kind}_errors"], what
                assert sum(lasting) == card[f"ecc_{kind}_aggregate_total"], what
                assert all(now <= ever for now, ever in zip(parts, lasting, strict=True)), what
            for when in ("volatile", "aggregate"):
                halves = card[f"ecc_sram_parity_{when}"] + card[f"ecc_sram_secded_{when}"]
                assert halves == card[f"ecc_uncorrected_{when}_sram"], what
            sources = [card[f"ecc_sram_source_{where}"] for where in ("l2", "sm", "microcontroller", "pcie", "other")]
            assert sum(sources) == card["ecc_uncorrected_aggregate_sram"], what
            assert card["remapped_rows_failed"] == (card["remap_banks_none"] > 0), what
        else:
            assert card["ecc_uncorrected_errors"] is None and card.get("ecc_uncorrected_aggregate_total") is None, what
        links = card.get("nvlinks")
        if links is not None:
            assert len(links) == card["nvlink_count"], what
            assert sum(link["active"] for link in links) == card["nvlink_active"], what


@pytest.mark.parametrize("name", NAMES)
def test_topology_is_known_and_the_same_from_both_ends(frozen, name):
    look, said = frozen[name]
    if not cards_of(look):
        pytest.skip("no card answers there")
    rows = [line.split("\t") for line in said("smi", "topo", "-m").splitlines() if line.startswith("GPU")]
    between = [row[1:len(rows) + 1] for row in rows]
    known = {one["index"] for one in look["devices"] if not one["lost"]}
    for i, row in enumerate(between):
        for k, how in enumerate(row):
            assert how == between[k][i], f"{name}: GPU {i} and GPU {k}"
            assert how != "N/A" or not {i, k} <= known, f"{name}: GPU {i} and GPU {k}"
    assert all(re.fullmatch(r"[\d,-]+", row[len(rows) + 1]) for i, row in enumerate(rows) if i in known), name


def test_the_8xh100_is_linked_through_its_switches(frozen):
    _, said = frozen["server-8xh100"]
    topology = said("smi", "topo", "-m").splitlines()
    assert topology[1].split("\t")[1:9] == [" X "] + ["NV18"] * 7
    links = said("smi", "nvlink", "-s")
    assert links.count("26.562 GB/s") == 8 * 18, links


@pytest.mark.parametrize("name", NAMES)
def test_health_says_the_numbers_that_the_queries_say(frozen, name):
    look, said = frozen[name]
    told = {one["id"]: {finding["code"]: finding["evidence"] for finding in one["findings"]}
            for one in json.loads(said("health", "--json"))["devices"]}
    counts = {"ecc_uncorrected": "ecc_uncorrected_errors", "ecc_corrected": "ecc_corrected_errors",
              "rows_remapped": "remapped_rows_uncorrectable"}
    for card in cards_of(look):
        for code, key in counts.items():
            evidence = told[card["id"]].get(code)
            number = card.get(key) or 0
            said_number = int(re.search(r"\d+|^one", evidence)[0].replace("one", "1")) if evidence else 0
            assert said_number == number, f"{name}, GPU {card['index']}, {code}: {evidence}"


@pytest.mark.parametrize("name", NAMES)
def test_metrics_say_what_status_says(machine_of, serve_on, name):  # noqa: F811
    machine = machine_of(name)
    server = serve_on(machine)
    text = server.get("/metrics?profile=berth").body.decode()
    look = server.get("/gpu-status").json
    samples = {}
    for line in text.splitlines():
        found = re.fullmatch(r'(\w+)\{device="([^"]*)",uuid="([^"]*)",name="[^"]*"(?:,([^}]*))?\} (\S+)', line)
        if found:
            family = found[1] + (f"{{{found[4]}}}" if found[4] else "")
            samples[family, found[3]] = float(found[5])
    for card in cards_of(look):
        for key, _, _, family, unit in QUANTITIES:
            if family is None or key.startswith("ecc_corrected"):  # which grow from look to look
                continue
            assert samples.get((family, card["uuid"])) == value(card, key, unit), f"{name}, GPU {card['index']}, {key}"


def test_prof_fields_of_a_working_card_are_told_and_those_of_an_idle_one_are_zero(machine_of, serve_on):  # noqa: F811
    text = serve_on(machine_of("server-8xh100")).get("/metrics?profile=dcgm").body.decode()
    for family in ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE",
                   "DCGM_FI_PROF_PCIE_TX_BYTES", "DCGM_FI_PROF_PCIE_RX_BYTES"):
        told = {int(gpu): float(number) for gpu, number in re.findall(rf'^{family}{{gpu="(\d)".*}} (\S+)', text, re.MULTILINE)}
        assert sorted(told) == list(range(8)), family
        assert told[0] > 0 and told[1] > 0 and told[7] == 0, f"{family}: {told}"
