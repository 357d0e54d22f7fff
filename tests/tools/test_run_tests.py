"""What the quick check believes of a program that was built before."""

import os

import run_tests


def test_a_program_older_than_its_sources_is_not_believed(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    (tmp_path / "src").mkdir()
    program, source = tmp_path / "berth", tmp_path / "src" / "verb.cc"
    assert "./dev build" in run_tests.reason_to_distrust(program)
    program.touch()
    source.touch()
    os.utime(source, (1, 1))
    assert run_tests.reason_to_distrust(program) == ""
    os.utime(source, (program.stat().st_mtime + 5,) * 2)
    assert "src/verb.cc" in run_tests.reason_to_distrust(program)
