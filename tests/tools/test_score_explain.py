"""The gate of the rules for what runs now lets pass what is right and can fail."""

from pathlib import Path

import score_explain

KEPT = "as they are"


def passes(*answers: tuple[str, list[str]], moved: list[list[str]] | None = None) -> bool:
    """The verdict over series of which each is (what it is, the rules found)."""
    files = [Path(f"{name}--{number}.jsonl") for number, (name, _) in enumerate(answers)]
    found = {KEPT: [rules for _, rules in answers]}
    if moved is not None:
        found["all +30 %"] = moved
    return score_explain.report(files, found, False)


def test_what_is_right_passes() -> None:
    assert passes(*[("swapping", ["swapping", "small_kernels"])] * 10, *[("healthy", [])] * 10)
    assert passes(("swapping", ["swapping"])) and passes(("healthy", []))


def test_nine_in_ten_of_the_ill_must_be_right_however_many_are_healthy() -> None:
    healthy = [("healthy", [])] * 170
    right = [("swapping", ["swapping"])]
    wrong = [("swapping", ["small_kernels", "swapping"])]
    assert passes(*right * 18, *wrong * 2, *healthy)
    assert not passes(*right * 17, *wrong * 3, *healthy)
    assert not passes(*right * 17, *[("swapping", [])] * 3, *healthy)


def test_one_false_alarm_is_one_too_many() -> None:
    right = [("swapping", ["swapping"])] * 100
    assert not passes(*right, *[("healthy", [])] * 169, ("healthy", ["memory_bound"]))


def test_with_thresholds_moved_less_is_wanted_but_not_nothing() -> None:
    ill = [("swapping", ["swapping"])] * 20
    assert passes(*ill, moved=[["swapping"]] * 17 + [[]] * 3)
    assert not passes(*ill, moved=[["swapping"]] * 16 + [[]] * 4)
