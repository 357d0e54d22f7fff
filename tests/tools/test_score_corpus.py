"""tools/score_corpus.py tells what fell."""

import collections
import hashlib
import json

import score_corpus

ADDRESS = "https://example.org/thread/1"
SPLIT = hashlib.sha256(ADDRESS.encode()).hexdigest()
HALF = score_corpus.HALVES[int(SPLIT[:2], 16) % 2]
OTHER = next(half for half in score_corpus.HALVES if half != HALF)


def case(**changes) -> dict:
    plain = {"address": ADDRESS, "split": SPLIT, "framework": "f", "family": "nccl", "expect": "a", "also": [], "log": "x"}
    return {**plain, **changes}


def tree(root, kept=None, **halves):
    folder = root / score_corpus.CORPUS
    folder.mkdir(parents=True)
    for half in score_corpus.HALVES:
        lines = [json.dumps(one) for one in halves.get(half, [])]
        (folder / f"{half}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    if kept:
        (root / score_corpus.KEPT).write_text(json.dumps(kept), encoding="utf-8")
    return root


def counts(**sealed) -> score_corpus.Counts:
    good = collections.Counter(right=100)
    return {
        "open": collections.defaultdict(collections.Counter, nccl=good),
        "sealed": collections.defaultdict(collections.Counter, nccl=collections.Counter({"right": 100, **sealed})),
    }


def test_nothing_is_found_where_all_is_right(tmp_path):
    assert score_corpus.findings(tree(tmp_path), counts()) == []


def test_what_fell_is_named(tmp_path):
    before = {half: {"right": 100, "vague": 0, "wrong": 0, "silent": 0} for half in score_corpus.HALVES}
    found = score_corpus.findings(tree(tmp_path, before), counts(right=99, wrong=1))
    assert any("99 right, 100 before" in one for one in found)
    assert any("1 wrong, 0 before" in one for one in found)


def test_goals_are_held(tmp_path):
    found = score_corpus.findings(tree(tmp_path), counts(right=70, wrong=10, silent=20))
    assert any("80% are wanted" in one for one in found)
    assert any("10.0% wrong" in one for one in found)
    assert any("more than 10 points behind" in one for one in found)


def test_a_false_alarm_is_a_failure(tmp_path):
    alarm = counts()
    alarm["sealed"][score_corpus.HEALTHY] = collections.Counter(right=9, wrong=1)
    assert any("1 false alarms" in one for one in score_corpus.findings(tree(tmp_path), alarm))


def test_a_case_stands_once_and_in_its_half(tmp_path):
    assert score_corpus.corpus_findings(tree(tmp_path / "a", **{HALF: [case()]})) == []
    assert "wrong half" in score_corpus.corpus_findings(tree(tmp_path / "b", **{OTHER: [case()]}))[0]
    assert "twice" in score_corpus.corpus_findings(tree(tmp_path / "c", **{HALF: [case(), case()]}))[0]
    moved = case(split="00" * 32 if HALF == "open" else "01" * 32)
    assert "not split by its address" in score_corpus.corpus_findings(tree(tmp_path / "d", **{HALF: [moved]}))[0]
    assert "other members" in score_corpus.corpus_findings(tree(tmp_path / "e", **{HALF: [{"log": "x"}]}))[0]


def test_counts_are_kept_where_nothing_fell_alone(tmp_path):
    root = tree(tmp_path)
    score_corpus.keep(root, counts())
    assert score_corpus.kept(root)["sealed"]["right"] == 100
    score_corpus.keep(root, counts(right=99))
    assert score_corpus.kept(root)["sealed"]["right"] == 100


def test_words_for_one_cause_count_as_one():
    assert score_corpus.is_cause("xla_out_of_memory", ["cuda_out_of_memory"])
    assert not score_corpus.is_cause("host_out_of_memory", ["cuda_out_of_memory"])
