"""`berth fit`: its arithmetic against real PyTorch on the CPU, its files against hostile ones."""

import json
import os
import struct
import subprocess
import textwrap

import pytest


def fit(machine, *words, **kwargs):
    done = machine.run("fit", "--json", *words, **kwargs)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}


def tensors(path, shapes, element="F32", size=4):
    """A sparse safetensors file with these shapes."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        count = 1
        for side in shape:
            count *= side
        header[name] = {"dtype": element, "shape": shape, "data_offsets": [offset, offset + count * size]}
        offset += count * size
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + offset)


def test_seven_billion_with_adam_says_parts_places_and_assumptions(machine):
    done = machine.run("fit", "7B", "--train", "adam", "--dtype", "bf16")
    assert done.returncode == 0, done.stderr
    for word in ["weights", "gradients", "optimiser state", "activations", "together", "GPU 7", "Korthikanti"]:
        assert word in done.stdout
    assert "SIMULATED server-8xh100" in done.stdout


def test_a_config_gives_the_exact_count(machine, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    for path in (tmp_path, tmp_path / "config.json"):
        found = fit(machine, path)
        assert found["model"]["parameters"] == 8_030_261_248
        assert found["model"]["shape"]["kv_heads"] == 8
        assert found["model"]["shape"]["like"] is None
        assert found["parts"]["weights"]["low_bytes"] == 2 * 8_030_261_248


def test_safetensors_are_summed_from_their_headers(machine, tmp_path):
    tensors(tmp_path / "a.safetensors", {"x": [1000, 1000], "y": [10]}, "BF16", 2)
    tensors(tmp_path / "b.safetensors", {"z": [500, 1000]}, "BF16", 2)
    found = fit(machine, tmp_path)
    assert found["model"]["parameters"] == 1_500_010
    assert found["parts"]["weights"]["low_bytes"] == 3_000_020
    index = {"weight_map": {"x": "a.safetensors", "y": "a.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert fit(machine, tmp_path)["model"]["parameters"] == 1_000_010
    assert fit(machine, tmp_path / "b.safetensors", "--dtype", "fp32")["parts"]["weights"]["low_bytes"] == 2_000_000


def test_a_family_that_is_not_known_is_counted_by_its_weights(machine, tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "mamba", "hidden_size": 2560}', encoding="utf-8")
    refused = machine.run("fit", tmp_path)
    assert refused.returncode == 1 and '"mamba"' in refused.stderr and "safetensors" in refused.stderr
    tensors(tmp_path / "model.safetensors", {"backbone.a": [50280, 2560], "backbone.b": [64, 2560, 5120]}, "BF16", 2)
    found = fit(machine, tmp_path)
    assert found["model"]["parameters"] == 50280 * 2560 + 64 * 2560 * 5120
    assert found["parts"]["weights"]["low_bytes"] == 2 * found["model"]["parameters"]


def test_of_a_unet_only_the_least_is_known(machine, tmp_path):
    unet = {
        "_class_name": "UNet2DConditionModel", "block_out_channels": [320, 640, 1280], "layers_per_block": 2,
        "transformer_layers_per_block": [1, 2, 10], "cross_attention_dim": 2048,
        "projection_class_embeddings_input_dim": 2816,
        "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(unet), encoding="utf-8")
    found = fit(machine, tmp_path)
    assert found["parts"]["weights"]["low_bytes"] == 2 * 2_567_463_684 and "kv_cache" not in found["parts"]
    assert found["total"]["low_bytes"] > 5_000_000_000 and found["total"]["high_bytes"] is None
    assert {card["verdict"] for card in found["cards"]} <= {"tight", "too_small"}
    text = machine.run("fit", tmp_path).stdout
    assert "≥ " in text and "KV cache" not in text and "--memory" not in text
    assert "they grow with the pictures" in " ".join(text.split())


def test_cards_without_the_assumed_type_are_not_advised(machine):
    found = fit(machine, "7B")
    assert found["computed_in"] == "bf16"
    lacking = {card["name"] for card in found["cards"] if card["lacks_dtype"]}
    assert {"Tesla M40 24GB", "Tesla P40"} <= lacking
    text = machine.run("fit", "7B").stdout
    assert "Tesla P40" not in text and "A10" in text


def test_packed_weights_are_counted_by_the_config_alone(machine, tmp_path):
    tensors(tmp_path / "model.safetensors", {"layers.0.q_proj.qweight": [512, 4096]}, "I32", 4)
    found = fit(machine, tmp_path)
    assert found["model"]["parameters"] is None and found["model"]["shape"] is None
    assert found["parts"]["weights"]["low_bytes"] == 8 << 20
    assert "how many is not known" in " ".join(machine.run("fit", tmp_path).stdout.split())
    refused = machine.run("fit", tmp_path, "--train", "lora")
    assert refused.returncode == 1 and "config.json" in refused.stderr
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    found = fit(machine, tmp_path)
    assert found["model"]["parameters"] == 8_030_261_248
    assert found["parts"]["weights"]["low_bytes"] == 8 << 20
    assert fit(machine, tmp_path, "--train", "lora")["parts"]["weights"]["low_bytes"] > 8 << 30


def test_weights_in_fp32_are_computed_with_in_fp32(machine, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    tensors(tmp_path / "model.safetensors", {"x": [1000, 1000]})
    found = fit(machine, tmp_path)
    assert found["computed_in"] == "fp32"
    assert found["parts"]["kv_cache"]["low_bytes"] == 512 << 20
    assert fit(machine, tmp_path, "--dtype", "bf16")["parts"]["kv_cache"]["low_bytes"] == 256 << 20


def test_each_kind_of_four_bits_has_a_size_of_its_own(machine, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    sizes = {}
    for kind in ["int4", "awq", "q4_k_m", "mlx4"]:
        found = fit(machine, tmp_path, "--dtype", kind)
        assert found["workload"]["dtype"] == kind and found["computed_in"] == "int4"
        sizes[kind] = found["parts"]["weights"]
    # Llama 3 8B's files: 5.73, 4.92 and 4.52 GB.
    assert sizes["awq"]["low_bytes"] == pytest.approx(5.73e9, rel=0.01)
    assert sizes["q4_k_m"]["low_bytes"] == pytest.approx(4.92e9, rel=0.01)
    assert sizes["mlx4"]["high_bytes"] == pytest.approx(4.52e9, rel=0.01)
    assert sizes["int4"]["low_bytes"] < sizes["awq"]["low_bytes"] < sizes["int4"]["high_bytes"]
    assert "as q4_k_m stores them" in machine.run("fit", tmp_path, "--dtype", "q4_k_m").stdout
    (tmp_path / "config.json").write_text(
        json.dumps(LLAMA | {"quantization": {"group_size": 64, "bits": 4}}), encoding="utf-8"
    )
    assert fit(machine, tmp_path)["parts"]["weights"] == sizes["mlx4"]


def test_an_index_without_its_files_says_what_they_take(machine, tmp_path):
    path = tmp_path / "model.safetensors.index.json"
    path.write_text('{"metadata": {"total_size": 1000000}, "weight_map": {"a": "m.safetensors"}}', encoding="utf-8")
    assert fit(machine, path)["parts"]["weights"]["low_bytes"] == 1_000_000
    assert machine.run("fit", path, "--train", "lora").returncode == 1


def test_long_contexts_and_many_gpus_stay_possible(machine):
    assert fit(machine, "8B", "--context", "128k")["total"]["high_bytes"] < 45 << 30
    shared = fit(machine, "70B", "--gpus", "64", "--shard", "tp")
    assert shared["parts"]["kv_cache"]["low_bytes"] == 80 << 20


def test_the_line_it_gives_for_here_is_one_that_works(machine):
    done = machine.run("fit", "1B")
    (line,) = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith("berth run")]
    options = line.split(" -- ")[0].split()[1:]
    started = machine.run(*options, "--", "true")
    assert started.returncode == 0, started.stderr


def test_several_gpus_take_less_each(machine):
    one = fit(machine, "70B", "--train", "adam", "--mixed", "--checkpointing")
    eight = fit(machine, "70B", "--train", "adam", "--mixed", "--checkpointing", "--gpus", "8", "--shard", "fsdp")
    assert eight["parts"]["optimizer"]["low_bytes"] * 8 == pytest.approx(one["parts"]["optimizer"]["low_bytes"], rel=1e-6)
    assert one["sharded_over"] is not None and one["sharded_over"] > 8


@pytest.mark.parametrize(
    "words",
    [
        ["-7B"],
        ["nan"],
        ["1e400"],
        ["7B", "--train", "adma"],
        ["7B", "--train", "lora:0"],
        ["7B", "--dtype", "int4", "--train", "adam"],
        ["7B", "--dtype", "awq", "--train", "adam"],
        ["7B", "--dtype", "int5"],
        ["7B", "--batch", "0"],
        ["7B", "--batch", "99999999999999999999"],
        ["7B", "--shard", "fsdp"],
        ["7B", "--layers", "3"],
        ["7B", "extra"],
        [],
    ],
)
def test_nonsense_is_refused_before_anything_is_computed(machine, words):
    done = machine.run("fit", *words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert not done.stdout


def test_hostile_files_are_refused_with_their_name(machine, tmp_path):
    (tmp_path / "deep.json").write_text("[" * 1_000_000, encoding="utf-8")
    (tmp_path / "huge.safetensors").write_bytes(b"\xff" * 8)
    (tmp_path / "long.safetensors").write_bytes(struct.pack("<Q", 90_000_000) + b"{}")
    (tmp_path / "empty.safetensors").write_bytes(b"")
    (tmp_path / "family.json").write_text('{"model_type": "mamba"}', encoding="utf-8")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/m.safetensors.index.json").write_text(
        '{"weight_map": {"a": "../../../etc/passwd"}}', encoding="utf-8"
    )
    os.mkfifo(tmp_path / "pipe.safetensors")
    for name in ["deep.json", "huge.safetensors", "long.safetensors", "empty.safetensors", "family.json", "out",
                 "pipe.safetensors", "missing.json"]:
        done = machine.run("fit", tmp_path / name, timeout=30)
        assert done.returncode == 1, (name, done.stdout)
        assert str(tmp_path) in done.stderr, done.stderr
        assert "\x1b" not in done.stderr


TORCH = """
    import json, sys, torch
    size = lambda t: t.numel() * t.element_size()

    def trained(dtype, make):
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True)
        model = torch.nn.Sequential(torch.nn.Embedding(1000, 64), torch.nn.TransformerEncoder(layer, 3),
                                    torch.nn.Linear(64, 1000)).to(dtype)
        parameters = list(model.parameters())
        made = make(parameters)
        model(torch.randint(0, 1000, (2, 8))).float().sum().backward()
        made.step()
        state = sum(size(t) for s in made.state.values() for t in s.values() if torch.is_tensor(t) and t.numel() > 1)
        return {"parameters": sum(p.numel() for p in parameters), "weights": sum(map(size, parameters)),
                "gradients": sum(size(p.grad) for p in parameters), "optimizer": state}

    made = {"adam": lambda p: torch.optim.Adam(p), "adamw": lambda p: torch.optim.AdamW(p),
            "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
            "sgd-momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)}
    print(json.dumps({f"{dtype} {name}": trained(getattr(torch, dtype), make)
                      for dtype in sys.argv[1:] for name, make in made.items()}))
"""
DTYPES = [("fp32", "float32"), ("bf16", "bfloat16")]


@pytest.fixture(scope="module")
def of_real_pytorch():
    """What each optimizer of it keeps for a small model, all in one process: it takes a second to begin."""
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True, check=False).returncode:
        pytest.skip("no torch in /usr/bin/python3")
    asked = subprocess.run(
        ["/usr/bin/python3", "-c", textwrap.dedent(TORCH), *(theirs for _, theirs in DTYPES)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    return json.loads(asked.stdout)


@pytest.mark.parametrize("dtype, theirs", DTYPES)
@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd", "sgd-momentum"])
def test_weights_gradients_and_state_are_those_of_real_pytorch(machine, of_real_pytorch, dtype, theirs, optimizer):
    real = of_real_pytorch[f"{theirs} {optimizer}"]
    found = fit(machine, str(real["parameters"]), "--train", optimizer, "--dtype", dtype)
    for part in ["weights", "gradients", "optimizer"]:
        ours = found["parts"].get(part, {"low_bytes": 0, "high_bytes": 0})
        assert ours["low_bytes"] == ours["high_bytes"] == real[part], part
