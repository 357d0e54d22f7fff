"""What berth prints in nvidia-smi's place when the driver library tells it, by dlopen. The fake plays the machine of
each capture. What is printed must be what the capture itself prints again."""

import json
import re

import pytest
from conftest import FakeDriver, Machine, scenario
from test_replay import CAPTURES, captured, text_of

FAR = 5_000_000  # No kernel has a process of such a number: who is listed is not by chance somebody here.

PRIVATE = "nvidia-smi asks a private entry point, NVML has none (doc/FAKES.md)"
ONE_LOOK = "a rate is made of two looks, this is the first (doc/FAKES.md)"
NOT_HERE = "the process lives on the captured machine"
OF_THIS_MACHINE = "told by the kernel of the machine it runs on, which has no such device"
NOT_IN_A_DUMP = "the driver tells it, no dump does"

# What may differ: a label of -q, an element of -q -x or a column. Each with what the driver's side may say there.
ALLOWED = {
    "Timestamp": (".*", "the time of the look"),
    "timestamp": (".*", "the time of the look"),
    "GPU Part Number": ("N/A", PRIVATE),
    "gpu_part_number": (r"\[?N/A\]?", PRIVATE),
    "Host Max": ("N/A", PRIVATE),
    "max_host_link_gen": ("N/A", PRIVATE),
    "pcie.link.gen.hostmax": (r"\[N/A\]", PRIVATE),
    "Sparse Operation Mode": ("N/A", PRIVATE),
    "sparse_operation_mode": (r"\[?N/A\]?", PRIVATE),
    "Tx Throughput": ("N/A", ONE_LOOK),
    "Rx Throughput": ("N/A", ONE_LOOK),
    "tx_util": ("N/A", ONE_LOOK),
    "rx_util": ("N/A", ONE_LOOK),
    "pcie_sent_rate_bytes_per_second [B/s]": (r"\[N/A\]", ONE_LOOK),
    "pcie_received_rate_bytes_per_second [B/s]": (r"\[N/A\]", ONE_LOOK),
    "Name": (r"\[Not Found\]", NOT_HERE),
    "process_name": (r"\[Not Found\]", NOT_HERE),
    "pci_path": (r"\[.*\]", OF_THIS_MACHINE),
    "cpu_affinity": (r"\[.*\]", OF_THIS_MACHINE),
    "kernel_driver": ("nvidia", NOT_IN_A_DUMP),
    "multiprocessors": (r"\d+", NOT_IN_A_DUMP),
    "gsp.mode.default": ("Enabled|Disabled", NOT_IN_A_DUMP),
    "display_attached": ("Yes|No", "NVML has one question for it and for the older display_mode"),
    "is_running": ("0", "the text of -q does not say which of the accounted processes still run"),
}

needs_captures = pytest.mark.skipif(
    not captured(), reason=f"no captures of real machines in {CAPTURES} (BERTH_CAPTURES names another folder)"
)
each_capture = pytest.mark.parametrize("name", [name for name in captured() if "lost" not in name])


def as_the_driver_has_it(snapshot):
    """The machine of a dump, with what the driver's library tells in one breath told together."""
    for process in snapshot["gpu_processes"]:
        process["pid"] += FAR
    for device in snapshot["devices"]:
        if device["mig"]:
            device["ecc_uncorrected_volatile_sram"] = device["ecc_uncorrected_errors"]
        elif not device["lost"]:
            device["gsp_mode_default"] = device["gsp_mode"]
            if device["display_attached"] is None:
                device["display_attached"] = device.get("display_mode")
    return snapshot


class Both:
    """A captured machine twice: its dump, and the driver that has its devices."""

    def __init__(self, directory, name):
        self.nowhere = Machine(directory, sim=None)
        self.dump = f"{CAPTURES}/{name}"
        told = self.nowhere.run("status", "--json", "--replay", self.dump)
        snapshot = as_the_driver_has_it(json.loads(told.stdout))
        self.pids = {process["pid"] for process in snapshot["gpu_processes"]}
        self.driver = FakeDriver(directory, snapshot)

    def lines(self, *words):
        """(what the dump prints, what the driver's machine prints), line by line."""
        replayed = self.nowhere.run("smi", *words, "--replay", self.dump)
        asked = self.driver.run("smi", *words)
        # A lost card of the fake gives no handle, that of the dump still told its UUID.
        code = 15 if "lost" in self.dump else replayed.returncode
        assert (asked.returncode, replayed.returncode, asked.stderr) == (code, 0, "")
        text = asked.stdout
        for pid in self.pids:
            near = str(pid - FAR)
            text = text.replace(str(pid), near if words else near.rjust(len(str(pid))))
        return replayed.stdout.rstrip("\n").splitlines(), text.rstrip("\n").splitlines()


@pytest.fixture
def both(name, tmp_path):
    return Both(tmp_path, name)


def is_allowed(label, value):
    return label in ALLOWED and re.fullmatch(ALLOWED[label][0], value) is not None


def label_and_value(line):
    element = re.fullmatch(r"\s*<(\w+)>(.*)</\1>", line)
    if element:
        return element[1], element[2]
    label, _, value = line.partition(" : ")
    return label.strip(), value.strip()


def wrong_lines(right, told):
    """The lines that differ and may not."""
    assert len(right) == len(told), "lines are missing, or there are others"
    differing = [(one, other) for one, other in zip(right, told) if one != other]
    return [
        (one, other)
        for one, other in differing
        if label_and_value(one)[0] != label_and_value(other)[0] or not is_allowed(*label_and_value(other))
    ]


@needs_captures
@each_capture
def test_the_log_of_the_driver_is_that_of_the_dump(both):
    right, told = both.lines("-q")
    assert wrong_lines(right, told) == []
    assert len(right) > 150


@needs_captures
@pytest.mark.parametrize("name", [name for name in captured() if "#" in name])
def test_the_log_of_the_driver_is_that_of_the_vendors_tool(both, name):
    _, told = both.lines("-q")
    real = text_of(name).rstrip("\n").splitlines()
    assert wrong_lines(real, told) == []
    assert len(real) > 150


@needs_captures
@each_capture
def test_the_xml_of_the_driver_is_that_of_the_dump(both):
    right, told = both.lines("-q", "-x")
    assert wrong_lines(right, told) == []
    assert len(right) > 150


def all_fields(machine):
    return re.findall(r'^"([\w.]+)"', machine.run("smi", "--help-query-gpu").stdout, re.M)


@needs_captures
@each_capture
def test_every_column_of_the_driver_is_that_of_the_dump(both):
    fields = all_fields(both.nowhere)
    right, told = both.lines(f"--query-gpu={','.join(fields)}", "--format=csv")
    right, told = ([line.split(", ") for line in lines] for lines in (right, told))
    assert right[0] == told[0] and len(right[0]) == len(fields) > 400
    wrong = [
        f"{column}: {cell}, the dump: {wanted}"
        for row, other in zip(right[1:], told[1:], strict=True)
        for column, wanted, cell in zip(right[0], row, other, strict=True)
        if wanted != cell and not is_allowed(column, cell)
    ]
    assert wrong == []


def without_date_and_names(lines):
    return [re.sub(r"( (?:C|G|C\+G|M\+C)   ).{38}", r"\1", line) for line in lines[1:]]


@needs_captures
@each_capture
def test_the_table_of_the_driver_is_that_of_the_dump(both):
    right, told = both.lines()
    assert without_date_and_names(told) == without_date_and_names(right)
    assert len(right) > 15
    for pid in both.pids:
        assert any(f" {pid - FAR} " in line and "[Not Found]" in line for line in told)


@needs_captures
@pytest.mark.parametrize("name", [name for name in captured() if "lost" in name])
def test_a_lost_card_is_lost_on_the_driver_and_its_neighbours_are_whole(both):
    """The library gives a lost card no handle: of it nothing but the loss is known."""
    right, told = ("\n".join(lines) for lines in both.lines("-q"))
    right, told = (re.split(r"^(?=GPU )", text, flags=re.M) for text in (right, told))
    assert len(right) == len(told) == 3
    for whole in (0, 1):
        assert wrong_lines(right[whole].splitlines(), told[whole].splitlines()) == []
    values = [label_and_value(line)[1] for line in told[2].splitlines() if " : " in line]
    assert set(values) == {"GPU is lost", "None", "Requested functionality has been deprecated"}
    assert values.count("GPU is lost") > 100


def test_uncorrected_errors_of_an_instance_are_in_the_log_as_in_the_table(driver_of):
    snapshot = scenario("h100-mig")
    [instance, *others] = [device for device in snapshot["devices"] if device["mig"]]
    for device in (instance, *others):
        device["ecc_uncorrected_volatile_sram"] = 7 if device is instance else 0
    driver = driver_of(snapshot)
    assert len(re.findall(r" \|\s+\d+\s+7 \| ", driver.run("smi").stdout)) == 1
    errors = re.findall(r"SRAM Uncorrectable +: (.*)", driver.run("smi", "-q").stdout)
    assert errors == ["7"] + ["0"] * len(others)
