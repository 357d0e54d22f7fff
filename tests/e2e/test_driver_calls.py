"""What each command asks the driver: what it prints or decides by, and nothing else."""

import re

import pytest
from conftest import Terminal, end, many_devices, wait_until
from serving import serve_on  # noqa: F401  pylint: disable=unused-import

# Identifies a card: every look begins with it.
WHO = "HandleByIndex_v2 PciInfo_v3 UUID "
# The processes on it.
PROCESSES = "ComputeRunningProcesses_v3 GraphicsRunningProcesses_v3 MPSComputeRunningProcesses_v3 "
# By what it is judged failed.
VERDICTS = "FieldValues UnrepairableMemoryFlag_v1 "
# By what it is free, and an instance or a whole card.
STATE = "MinorNumber ComputeMode MemoryInfo_v2 MigMode Samples UtilizationRates "
LIBRARY = ["nvmlDeviceGetCount_v2", "nvmlInit_v2", "nvmlSystemGetDriverVersion"]
CUDA = "nvmlSystemGetCudaDriverVersion_v2"
# Whether library and kernel module are of one version, and which cards the driver keeps back.
HEALTH_OF_DRIVER = ["nvmlSystemGetNVMLVersion", "nvmlGetExcludedDeviceCount"]

# What each command asks of the library, and of each card.
ASKED = {
    "smi -L": (LIBRARY, WHO + "Name MigMode"),
    # The modes a second time for what they will be after the next reset.
    "smi": (
        [*LIBRARY, CUDA],
        WHO + PROCESSES + "Name PersistenceMode DisplayActive EccMode EccMode TotalEccErrors FanSpeed TemperatureV "
        "PerformanceState PowerUsage EnforcedPowerLimit MemoryInfo_v2 UtilizationRates ComputeMode MigMode MigMode "
        "nvmlDeviceValidateInforom",
    ),
    "smi --query-gpu=index,power.draw,memory.used --format=csv": (LIBRARY, WHO + "PowerUsage MemoryInfo_v2"),
    # The thresholds and margins say how hot is hot; the second FieldValues are of the margins.
    "": (
        [*LIBRARY, CUDA, *HEALTH_OF_DRIVER],
        WHO + PROCESSES + VERDICTS + STATE + "Name TemperatureV TemperatureThreshold FieldValues MarginTemperature "
        "PowerUsage EnforcedPowerLimit ClockInfo FanSpeed CurrentClocksEventReasons TotalEccErrors SramEccErrorStatus "
        "CurrPcieLinkGeneration MaxPcieLinkGeneration CurrPcieLinkWidth MaxPcieLinkWidth",
    ),
    # Cores and clock: whether an inherited list that counts from the fastest card is clear. Architecture: what
    # --need asks of a maker without compute capabilities.
    "pick": (
        [*LIBRARY, *HEALTH_OF_DRIVER],
        WHO + PROCESSES + VERDICTS + STATE + "Name Architecture CudaComputeCapability NumGpuCores MaxClockInfo",
    ),
}  # fmt: skip


@pytest.mark.parametrize("command", ASKED)
def test_a_command_asks_the_driver_for_what_it_prints_or_decides_by(driver_of, tmp_path, command):
    driver = driver_of(many_devices(2))
    calls = tmp_path / "calls"
    driver.env["BERTH_FAKE_NVML_CALLS"] = str(calls)
    done = driver.run(*command.split())
    assert done.returncode == 0, done.stdout + done.stderr
    library, card = ASKED[command]
    names = [name if name.startswith("nvml") else "nvmlDeviceGet" + name for name in card.split()]
    wanted = [f"{name} " for name in library] + [f"{name} {gpu}" for name in names for gpu in range(2)]
    assert sorted(calls.read_text(encoding="utf-8").splitlines()) == sorted(wanted)


def test_an_inherited_list_counts_from_the_fastest_card_where_the_cards_differ_in_clock_alone(driver_of):
    cards = many_devices(2)
    cards["devices"][1]["clock_sm_max_megahertz"] = 1755
    driver = driver_of(cards)
    done = driver.run("pick", env={"CUDA_VISIBLE_DEVICES": "0"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "export CUDA_DEVICE_ORDER=PCI_BUS_ID" in done.stderr
    one_way = driver.run("pick", env={"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
    assert (one_way.returncode, one_way.stdout) == (0, "0\n")


# What `berth serve` asks of a card in every look. All else costs many calls, some of them of milliseconds, and is asked
# every ten seconds. That is what health judges by, memory errors, and limits.
IN_EVERY_LOOK = set(
    (PROCESSES + STATE + "DisplayMode DisplayActive PersistenceMode PerformanceState PowerUsage EnforcedPowerLimit EccMode "
     "TotalEnergyConsumption TemperatureV ClockInfo CurrentClocksEventReasons TotalEccErrors FieldValues EncoderUtilization "
     "DecoderUtilization CurrPcieLinkGeneration CurrPcieLinkWidth PcieReplayCounter").split()
)  # fmt: skip


def looks_in(calls):
    """What each look asked of the card, the latest left out: it may not be over."""
    text = calls.read_text(encoding="utf-8") if calls.exists() else ""
    return [re.findall(r"^nvmlDeviceGet(\w+) 0$", one, re.M) for one in text.split("nvmlDeviceGetCount_v2 \n")[1:-1]]


def test_a_server_asks_what_costs_milliseconds_in_few_of_its_looks(driver_of, tmp_path, serve_on):  # noqa: F811
    driver = driver_of(many_devices(1))
    calls = tmp_path / "calls"
    driver.env["BERTH_FAKE_NVML_CALLS"] = str(calls)
    server = serve_on(driver, "--interval", "200ms")
    wait_until(lambda: len(looks_in(calls)) >= 8, "eight looks")
    server.close()
    # The first asks who the card is, and a later one the details.
    beyond = [more for one in looks_in(calls)[:8] if (more := set(one) - IN_EVERY_LOOK)]
    assert 1 <= len(beyond) <= 2, beyond
    assert any("RemappedRows" in one for one in beyond), "the details were never asked for"


def test_top_asks_what_costs_milliseconds_at_most_once(driver_of, tmp_path):
    driver = driver_of(many_devices(1))
    calls = tmp_path / "calls"
    driver.env["BERTH_FAKE_NVML_CALLS"] = str(calls)
    terminal = Terminal(120)
    top = driver.start_on(terminal, "top", "--delay", "200ms")
    try:
        wait_until(lambda: terminal.read() and len(looks_in(calls)) >= 8, "eight looks")
        terminal.type(b"q")
        wait_until(lambda: terminal.read() and top.poll() is not None, "top ends")
    finally:
        end(top)
        terminal.close()
    first, *later = looks_in(calls)[:8]
    assert "UUID" in first
    assert set().union(*later) <= IN_EVERY_LOOK, set().union(*later) - IN_EVERY_LOOK
