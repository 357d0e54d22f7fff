"""Each file in pasted/ is what people paste from tutorials. It runs unmodified against berth's links,
and works, or what it is told stands in doc/HABITS.md."""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import urllib.request

import pytest
from conftest import E2E, PASTED, two_cards

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = "NVIDIA H100 80GB HBM3"


def done_well(done):
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert "SIMULATED" not in done.stderr
    return done.stdout


def with_process(snapshot, pid):
    card = snapshot["devices"][0]["id"]
    snapshot["gpu_processes"] = [
        {"device": card, "pid": pid, "type": "C", "memory_used_bytes": 3 << 30}
    ]
    return snapshot


def test_six_fields_with_the_one_that_the_real_one_refuses(desk):
    rows = list(csv.reader(io.StringIO(done_well(desk.paste("six_fields.sh"))), skipinitialspace=True))
    assert len(rows) == 3
    assert rows[1][0] == NAME and rows[1][2] == "13.0"
    assert rows[1][4] == "40000 MiB" and rows[1][5] == "91 %"


def test_a_dump_saved_by_a_python_script(desk):
    assert "saved" in done_well(desk.paste("dump_to_file.py"))
    report = (desk.directory / "gpu_report.txt").read_text(encoding="utf-8")
    assert report.startswith("\n==============NVSMI LOG==============\n")
    assert report.count("Product Name") == 2


def test_a_flask_page_of_the_json_that_the_real_one_lacks(desk):
    if subprocess.run(["/usr/bin/python3", "-c", "import flask"], capture_output=True).returncode:
        pytest.skip("python3-flask is not installed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        ["/usr/bin/python3", "-m", "flask", "--app", PASTED / "flask_page.py", "run", "--port", str(port)],
        cwd=desk.directory, env=desk.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )

    def page():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/gpu", timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            return None

    try:
        text = E2E.wait_until(page, "the page", timeout=20)
    finally:
        E2E.end(server)
    assert NAME in text and "fb_memory_usage" in text


def test_a_health_check_of_name_and_memory(desk):
    lines = done_well(desk.paste("health_check.py")).splitlines()
    assert lines == [
        f"GPU: {NAME}  memory: 40000 MiB / 81559 MiB",
        f"GPU: {NAME}  memory: 0 MiB / 81559 MiB",
    ]


def test_the_health_check_fails_where_there_is_no_driver(desk):
    desk.env["BERTH_NVML"] = "/nonexistent/libnvidia-ml.so.1"
    done = desk.paste("health_check.py")
    assert done.returncode == 1
    assert "couldn't find libnvidia-ml.so" in done.stdout


def test_the_table_again_and_again_until_ctrl_c(desk):
    text = desk.paste_until("loop.sh", lambda text: text.count("| Processes:") >= 2)
    assert text.count("| NVIDIA-SMI 580.95.05") >= 2


def test_the_memory_section_of_the_dump(desk):
    lines = done_well(desk.paste("memory_section.sh")).splitlines()
    used = [line.split(":")[1].strip() for line in lines if re.match(r"\s+Used\s*:", line)]
    assert used[0] == "40000 MiB", lines


def test_a_loop_like_watch(desk):
    text = desk.paste_until("watch_loop.sh", lambda text: text.count("MiB /") >= 4)
    assert "40000MiB /  81559MiB" in text


def test_watch_itself_shows_the_table(desk):
    if not shutil.which("watch"):
        pytest.skip("watch is not installed")
    terminal = E2E.Terminal(120)
    process = subprocess.Popen(
        ["watch", "-n", "0.5", "nvidia-smi"], env=desk.env, stdin=terminal.slave,
        stdout=terminal.slave, stderr=terminal.slave, start_new_session=True,
    )
    try:
        E2E.wait_until(lambda: b"81559MiB" in terminal.read(), "the table in watch")
    finally:
        E2E.end(process)
        terminal.close()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("emptiest_by_awk.sh", "CUDA_VISIBLE_DEVICES=1\n"),
        ("emptiest_by_sort.sh", "using GPU 1\n"),
        ("gpustat_json.py", "free GPUs: [1]\n"),
        ("count_gpus.sh", "2\n"),
        ("cuda_version.sh", "13.0\n"),
    ],
)
def test_small_scripts_answer_as_they_should(desk, script, said):
    assert done_well(desk.paste(script)) == said


def test_waiting_until_a_card_is_empty(desk_of):
    snapshot = two_cards()
    snapshot["devices"][0]["memory_used_bytes"] = 0
    assert done_well(desk_of(snapshot).paste("wait_for_memory.sh")).endswith("starting\n")


def test_gpustat_in_a_loop(desk_of):
    desk = desk_of(with_process(two_cards(), os.getpid()))
    lines = done_well(desk.paste("gpustat_loop.sh")).splitlines()
    cards = [line for line in lines if line.startswith("[0]")]
    assert len(cards) == 3
    assert re.search(rf"\| python3?[^/ ]*/{os.getpid()}\(3072M\)$", cards[0]), cards[0]


def test_gpustat_takes_i_as_an_interval(desk):
    text = desk.paste_until("gpustat_watch.sh", lambda text: text.count("[1]") >= 2)
    assert "40000 / 81559 MB" in text


def test_the_parser_of_gputil(desk):
    lines = done_well(desk.paste("gputil.py")).splitlines()
    assert lines[0].startswith(f"0 {NAME} 91% 49% ")
    assert lines[1].startswith(f"1 {NAME} 0% 0% ")


def test_the_xml_in_an_element_tree(desk):
    assert done_well(desk.paste("xml_report.py")) == f"{NAME} 40000 MiB\n{NAME} 0 MiB\n"


def test_who_is_on_the_cards(desk_of):
    desk = desk_of(with_process(two_cards(), os.getpid()))
    assert done_well(desk.paste("pids_on_gpu.sh")) == f"{os.getpid()}, 3072 MiB\n"


def test_the_process_number_is_the_fifth_word_of_its_row(desk_of):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        desk = desk_of(with_process(two_cards(), child.pid))
        assert done_well(desk.paste("kill_python.sh")) == f"{child.pid}\n"
    finally:
        E2E.end(child)


def test_usage_logged_into_a_file(desk):
    log = desk.directory / "usage.csv"
    desk.paste_until("log_usage.sh", lambda _: log.exists() and log.read_text().count("\n") >= 5)
    lines = log.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "timestamp, index, utilization.gpu [%], memory.used [MiB]"
    assert sum(line.startswith("timestamp") for line in lines) == 1


def test_the_monitors(desk):
    text = done_well(desk.paste("monitors.sh"))
    assert text.count("# gpu ") == 2
    assert re.search(r"^GPU0\t X \t", text, re.M)


def test_a_setting_is_refused_with_the_way_to_make_it(desk):
    done = desk.paste("persistence.sh")
    assert done.returncode == 4
    assert "sudo /usr/bin/nvidia-smi -pm 1" in done.stdout
    assert "-pl" not in done.stdout


# As lspci of pciutils prints what PLUGGED_IN plugs in, on a server that has more than cards.
BRIDGE = "00:00.0 Host bridge: Intel Corporation Device 09a2 (rev 04)\n"
CARDS = """\
3b:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
3b:00.1 Audio device: NVIDIA Corporation Device 22ba (rev a1)
af:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 40GB] (rev a1)
"""
NETWORK = "ca:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n"


def with_lspci(desk, printed):
    """The desk with a stand-in for lspci behind berth's links on PATH, as /usr/bin is."""
    place = desk.directory / "pciutils"
    place.mkdir()
    (place / "lspci").write_text(f"#!/bin/sh\ncat <<'END'\n{printed}END\n", encoding="utf-8")
    (place / "lspci").chmod(0o755)
    links, _, others = desk.env["PATH"].partition(":")
    desk.env["PATH"] = f"{links}:{place}:{others}"
    return desk


def test_lspci_is_asked_and_not_berth(desk):
    """It lists what is plugged in, driver or not; so does plain berth."""
    done = with_lspci(desk, BRIDGE + CARDS + NETWORK).paste("lspci.sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, CARDS, "")
    assert "lspci" in (ROOT / "doc/HABITS.md").read_text(encoding="utf-8")


def test_lspci_shows_nothing_where_no_card_is_plugged_in_whatever_berth_sees(desk):
    assert "H100" in subprocess.run(["nvidia-smi", "-L"], env=desk.env, capture_output=True, text=True).stdout
    done = with_lspci(desk, BRIDGE + NETWORK).paste("lspci.sh")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_lspci_of_this_machine_lists_the_cards_that_it_has(desk):
    if shutil.which("lspci", path=desk.env["PATH"]) is None:
        pytest.skip("lspci is not installed (pciutils)")
    vendors = pathlib.Path("/sys/bus/pci/devices").glob("*/vendor")
    plugged_in_here = sorted(vendor.parent.name for vendor in vendors if vendor.read_text().strip() == "0x10de")
    if not plugged_in_here:
        pytest.skip("no NVIDIA device is plugged into this machine: lspci has none to show")
    listed = [line.split()[0] for line in done_well(desk.paste("lspci.sh")).splitlines()]
    assert len(listed) == len(plugged_in_here)
    assert all(whole.endswith(short) for short, whole in zip(sorted(listed), plugged_in_here, strict=True))


PLUGGED_IN = """
mount -t tmpfs none /sys/bus/pci/devices || exit 9
add() {  # address, device, class
    mkdir "/sys/bus/pci/devices/$1"
    echo 0x10de > "/sys/bus/pci/devices/$1/vendor"
    echo "$2" > "/sys/bus/pci/devices/$1/device"
    echo "$3" > "/sys/bus/pci/devices/$1/class"
}
add 0000:3b:00.0 0x2330 0x030200
add 0000:3b:00.1 0x22ba 0x040300
add 0000:af:00.0 0x20b2 0x030200
exec "$@"
"""


@pytest.fixture
def plugged_in():
    """Words before a program's that show it two NVIDIA cards (and the sound of one) that no driver has."""
    as_user = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    words = ["unshare", *as_user, "--mount", "sh", "-c", PLUGGED_IN, "sh"]
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare (util-linux)")
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"needs root or a user namespace, and /sys: {tried.stderr.strip()}")
    return words


def test_plain_berth_lists_what_lspci_does_without_a_driver_and_says_why_none_is_usable(desk, plugged_in):
    env = {name: value for name, value in desk.env.items() if not name.startswith("BERTH_FAKE")}
    env |= {"BERTH_NVML": "/nonexistent/libnvidia-ml.so.1", "COLUMNS": "160", "LC_ALL": "C.UTF-8"}

    def told(*words):
        return subprocess.run([*plugged_in, E2E.BERTH, *words], env=env, capture_output=True, text=True,
                              timeout=30, check=False)  # fmt: skip

    picture = told().stdout
    assert "0 of 2 free  2 unusable" in picture
    for device in ("10de:2330", "10de:20b2"):
        [line] = [line for line in picture.splitlines() if device in line]
        assert line.endswith("unusable")
    assert picture.count("no kernel driver is bound to it") == 2
    assert "10de:22ba" not in picture, "the sound of a card is no card"
    assert "libnvidia-ml.so.1: cannot open shared object file" in picture
    assert "install the NVIDIA driver" in picture
    cards = json.loads(told("status", "--json").stdout)["devices"]
    of_lspci = [f"00000000:{line.split()[0]}" for line in CARDS.splitlines() if "Audio" not in line]
    assert [(card["pci_address"], card["state"]) for card in cards] == [(one, "unusable") for one in of_lspci]
    assert len(of_lspci) == 2


@pytest.mark.parametrize("page", ["HABITS.md", "HABITS.zh-CN.md"])
def test_every_habit_has_its_line_in_the_document(page):
    text = (ROOT / "doc" / page).read_text(encoding="utf-8")
    missing = [path.name for path in sorted(PASTED.iterdir())
               if path.is_file() and path.name not in text]
    assert not missing
