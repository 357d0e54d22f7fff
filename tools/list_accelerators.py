"""What is read of each maker's devices, as a table: from the sources that read it and from the field table.

    list_accelerators.py    prints it; ./dev docs writes it into doc/ACCELERATORS.md and its twin
"""

import re
from pathlib import Path

import repository

MARK = "<!-- made by ./dev docs: readings of each maker -->"
END = "<!-- end -->"
KINDS = "<!-- made by ./dev docs: kinds of devices -->"
SOURCES = {"AMD": "src/probe/amdgpu", "Intel": "src/probe/intel", "Huawei": "src/probe/dcmi", "others": "src/probe/presence"}
FIELD = re.compile(r'(?:fact|state)<&D::(\w+)>\(\s*"(\w+)"')
DETAIL = re.compile(r"Detail::(\w+)")
# Of AMD's cards, in words of the field table: nvtop's extract_gpuinfo_amdgpu.c, the JSON of amdgpu_top 0.11.5, the
# README of all-smi 0.7.
OTHERS = {
    "nvtop": """name pci_address utilization_gpu_percent utilization_encoder_percent utilization_decoder_percent
        memory_total_bytes memory_used_bytes memory_free_bytes temperature_celsius fan_speed_percent
        power_draw_milliwatts power_limit_milliwatts clock_graphics_megahertz clock_memory_megahertz
        clock_graphics_max_megahertz clock_memory_max_megahertz pcie_generation pcie_width pcie_generation_max
        pcie_width_max processes""",
    "amdgpu_top": """name pci_address vbios_version architecture utilization_gpu_percent utilization_memory_percent
        memory_total_bytes memory_used_bytes temperature_celsius temperature_memory_celsius
        temperature_slowdown_celsius fan_speed_percent power_draw_milliwatts power_limit_milliwatts
        power_limit_default_milliwatts clock_graphics_megahertz clock_memory_megahertz clock_graphics_max_megahertz
        clock_memory_max_megahertz throttle_reasons_mask pcie_generation pcie_width pcie_generation_max
        pcie_width_max processes asleep""",
    "all-smi": """name utilization_gpu_percent memory_total_bytes memory_used_bytes temperature_celsius
        power_draw_milliwatts clock_graphics_megahertz processes""",
}
# What the kernel's bus tells of every device, of any vendor.
OF_THE_BUS = {"name", "pci_id", "kernel_driver", "numa_node", "pcie_generation", "pcie_generation_max", "pcie_width",
              "pcie_width_max"}  # fmt: skip


def read_by(root: Path, folder: str) -> set[str]:
    """Members of Device that a source fills."""
    code = "".join(
        path.read_text(encoding="utf-8")
        for path in sorted((root / folder).glob("*.cc"))
        if not path.stem.endswith("_test")
    )
    return set(re.findall(r"(?:device|part|facts)\.(\w+)\b(?:\.get\(\))? =\s", code)) | set(
        re.findall(r"take_first\(device\.(\w+)", code)
    )


def rows(root: Path) -> list[list[str]]:
    sources = {str(path.parent.relative_to(root)) for path in (root / "src/probe").glob("*/*_source.cc")}
    if missing := sources - set(SOURCES.values()) - {"src/probe/nvml"}:
        raise ValueError(f"SOURCES of tools/list_accelerators.py lacks {', '.join(sorted(missing))}")
    fields = FIELD.findall((root / "src/snapshot/fields.cc").read_text(encoding="utf-8"))
    read = {maker: read_by(root, folder) for maker, folder in SOURCES.items()}
    made = []
    for member, key in fields:
        cells = ["yes" if member in read[maker] or key in OF_THE_BUS else "" for maker in SOURCES]
        if any(cells):
            made.append([f"`{key}`", *cells, *("yes" if key in told.split() else "" for told in OTHERS.values())])
    for name, marks in (("processes", ["yes"] * 4), ("asleep", ["yes", "yes", "", ""])):
        made.append([name, *marks, *("yes" if name in told.split() else "" for told in OTHERS.values())])
    return made


def table(root: Path) -> str:
    heads = ["reading", *SOURCES, *OTHERS]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    lines += ["| " + " | ".join(cell or "–" for cell in row) + " |" for row in rows(root)]
    return "\n".join([MARK, "", *lines, "", END, ""])


def kinds(root: Path) -> str:
    """The rows of snapshot/device_kind_rows.h of which only presence is known."""
    code = (root / "src/snapshot/device_kind_rows.h").read_text(encoding="utf-8")
    found = re.findall(r'presence\(DeviceKind::\w+,\s*"[\w-]+",\s*"([^"]+)",\s*"(\w+)",\s*"(\w*)",', code)
    if len(found) != len(re.findall(r"\bpresence\(DeviceKind::", code)) or not found:
        raise ValueError(f"src/snapshot/device_kind_rows.h: {len(found)} kinds are read, and it has others")
    lines = ["| maker | `--kind` | variable |", "|---|---|---|"]
    lines += [f"| {maker} | `{word}` | {f'`{variable}`' if variable else '–'} |" for maker, word, variable in found]
    return "\n".join([KINDS, "", *lines, "", END, ""])


def page(root: Path, text: str) -> str:
    """The page with the tables of today in their places."""
    for mark, made in ((MARK, table(root)), (KINDS, kinds(root))):
        place = re.compile(rf"^{re.escape(mark)}\n.*?^{END}\n", re.M | re.S)
        if not place.search(text):
            raise SystemExit(f"doc/ACCELERATORS.md: it has no place for the table: {mark}")
        text = place.sub(lambda _, made=made: made, text, count=1)
    return text


if __name__ == "__main__":
    print(table(repository.ROOT) + kinds(repository.ROOT), end="")
