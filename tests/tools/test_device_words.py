"""The page, the library and the documents never say CUDA where they mean a device of whatever maker."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Written by programs, or about NVIDIA's hardware and software by their subject.
NOT_THESE = {
    "COMMANDS.md", "METRICS.md", "EXPLAIN.md", "HARDWARE.md", "FAKES.md", "CAPS.md", "CAPS.zh-CN.md", "BENCHMARKS.md",
    "HABITS.md", "HABITS.zh-CN.md", "wire.ts", "torch.h",
}  # fmt: skip
FILES = [
    path
    for folder, names in (("web/src", "*.ts"), ("python/berth", "*.py"), ("include/berth", "*"), ("doc", "*.md"), (".", "README*.md"))
    for path in sorted((ROOT / folder).glob(names) if folder == "." else (ROOT / folder).rglob(names))
    if path.is_file() and path.name not in NOT_THESE
]
# What is CUDA's own: names, PyTorch's word for any maker's device, its state in a process, its errors, its order.
ITS_OWN = re.compile(
    r"""CUDA_(?:VISIBLE_DEVICES|DEVICE_ORDER|(?:NOT_)?(?:STARTED|LOADED))|PYTORCH_CUDA\w+|\w*cuda_[\w{]+|_cuda\b|`CUDA_`|CUDA_INHERITED
    |torch(?:\.version)?\.cuda|\]\.cuda\.|\bcuda:|["'`]cuda["'`]|(?:py|numba\.)cuda|-cuda1|nvidia/cuda|libcud\w+|_abi\.CUDA|\}\ berth_cuda;
    |CudaStarted|_CUDA\b|\bCUDA\ =|CUDA\ (?:out\ of\ memory|error|工具包)|(?:[Ss]tarts\ no|启动)\ CUDA|CUDA\ (?:启动|一旦启动)
    |\bCUDA(?=\ (?:reads|has|had|was|starts|shows|sees|已经看得到|的。))|CUDA\ itself|(?:only|as|in)\ CUDA|CUDA's\ (?:does|order)|Real\ CUDA""",
    re.VERBOSE,
)


def lines_that_say_cuda(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if re.search("cuda", ITS_OWN.sub("", line), re.IGNORECASE):
            yield f"{path}:{number}: {line.strip()}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_cuda_is_no_word_for_a_device(path):
    assert [*lines_that_say_cuda(path)] == [], "say device or GPU; what is CUDA's alone goes into ITS_OWN"


@pytest.mark.parametrize("wrong", ["a CUDA device", "every CUDA GPU", "CUDA job", "no CUDA here", "a card for CUDA"])
def test_such_a_word_is_found(tmp_path, wrong):
    (tmp_path / "some.md").write_text(f"There is {wrong}.\n")
    assert [*lines_that_say_cuda(tmp_path / "some.md")]
