"""What --help looks like, and that nothing is cut where nobody asked for a width."""

import pathlib
import re
import shlex
import subprocess
import unicodedata

import pytest

from conftest import BERTH, ROOT, without_escapes


def columns(line):
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in line)


def verbs(machine):
    listed = machine.run("--help").stdout
    found = re.findall(r"^  ([a-z]+)  ", listed, re.MULTILINE)
    assert len(found) >= 13, listed
    return found


BESIDE = ["completion", "version"]  # words that are no verbs of the list


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_help_is_80_columns_wide_and_names_what_each_option_takes(machine, language):
    for verb in [None, *verbs(machine), *BESIDE]:
        words = ["--help"] if verb is None else [verb, "--help"]
        done = machine.run(*words, env={"BERTH_LANG": language})
        assert done.returncode == 0, done.stderr
        # Those two stand for programs whose own help and pictures are wider.
        most = 100 if verb in ("smi", "gpustat") else 80
        wide = [line for line in done.stdout.splitlines() if columns(line) > most]
        assert not wide, f"{verb}: {wide}"
        assert not re.search(r"--\S+ (TEXT|INT|UINT|FLOAT)\b", done.stdout), f"{verb}: {done.stdout}"


def test_each_verb_that_is_written_has_its_row_in_main():
    app = ROOT / "src/app"
    written = {name for file in app.glob("*.cc") for name in
               re.findall(r"^std::unique_ptr<Verb> (make_\w+)\(\)", file.read_text(encoding="utf-8"), re.MULTILINE)}
    rows = re.findall(r"\bmake_\w+", (app / "main.cc").read_text(encoding="utf-8"))
    assert written == set(rows)
    assert len(rows) == len(set(rows)) > 40


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_help_begins_with_two_examples_and_fits_a_screen(machine, language):
    for verb in [*verbs(machine), *BESIDE]:
        shown = machine.run(verb, "--help", env={"BERTH_LANG": language}).stdout
        assert len(shown.rstrip("\n").split("\n")) <= 40, f"{verb}: {shown}"
        _, blank, first, second, below = shown.split("\n")[:5]
        assert (blank, below) == ("", ""), shown
        for example in (first, second):
            assert example.startswith("  ") and re.search(r"\bberth\b", example), f"{verb}: {example}"


def test_every_example_of_a_help_is_understood(machine):
    """Each option in it is one of its verb."""
    for verb in set(verbs(machine)) - {"smi", "gpustat"}:
        whole = machine.run(verb, "--help-all").stdout
        for example in whole.split("\n")[2:4]:
            words = re.findall(r"[^\s()\"]+", re.split(r" -- | && ", example)[0])
            named = next((word for word in words[words.index("berth") + 1 :] if word in verbs(machine)), "status")
            options = machine.run(named, "--help-all").stdout
            for word in words:
                if word.startswith("-"):
                    assert re.search(rf"[ ,]{re.escape(word.split('=')[0].rstrip(')'))}[ ,\n]", options), f"{example}: {word}"


def test_help_all_has_every_option_and_help_says_so(machine):
    short, whole = machine.run("run", "--help").stdout, machine.run("run", "--help-all").stdout
    assert "berth run --help-all shows all options." in short
    assert "--retry-on WHAT" in whole and "--retry-on" not in short
    assert set(re.findall(r"--[a-z-]+", short)) - {"--help-all"} <= set(re.findall(r"--[a-z-]+", whole))
    assert machine.run("leases", "--help").stdout == machine.run("leases", "--help-all").stdout, "it fits"
    assert machine.run("run", "--help-all", "--", "true").stdout == whole


def test_help_is_ascii_where_the_locale_is(machine):
    plain = {"LC_ALL": "C", "LANG": None, "BERTH_LANG": None}
    for words in [["--help"], *([verb, "--help"] for verb in [*verbs(machine), *BESIDE])]:
        done = machine.run(*words, env=plain)
        assert done.returncode == 0, done.stderr
        others = [line for line in done.stdout.splitlines() if not line.isascii()]
        assert not others, f"{words}: {others}"


def test_help_and_a_verb_is_that_verbs_help(machine):
    assert machine.run("help", "run").stdout == machine.run("run", "--help").stdout
    assert machine.run("help").stdout == machine.run("--help").stdout
    assert "?" not in machine.run("leases", env={"LC_ALL": "C", "BERTH_LANG": "zh"}).stdout


@pytest.mark.parametrize("words", [["completion", "--help"], ["completion", "bash", "--help"], ["help", "completion"],
                                   ["completion", "-h"]])  # fmt: skip
def test_completion_says_how_it_is_loaded(machine, words):
    done = machine.run(*words)
    assert done.returncode == 0 and done.stderr == ""
    assert "Usage: berth completion bash|zsh|fish" in done.stdout
    load = done.stdout.splitlines()[2].strip()
    assert load == "source <(berth completion bash)"
    # As it says, in that shell.
    script = f"berth() {{ {shlex.quote(BERTH)} \"$@\"; }}; {load}; COMP_WORDS=(berth sta); COMP_CWORD=1; _berth; echo ${{COMPREPLY[@]}}"
    shell = subprocess.run(["bash", "--norc", "-c", script], env=machine.env, capture_output=True, text=True, check=False)
    assert shell.stdout == "status\n", shell


def test_version_has_help_and_takes_nothing_else_for_a_verb(machine):
    for words in (["version", "--help"], ["version", "-h"], ["help", "version"]):
        done = machine.run(*words)
        assert (done.returncode, done.stderr) == (0, "") and "Usage: berth version" in done.stdout, words
    for words in (["completion"], ["completion", "bash", "zsh"]):
        done = machine.run(*words)
        assert done.returncode == 2 and "takes bash, zsh or fish" in done.stderr, words


def test_help_says_what_an_option_takes(machine):
    shown = machine.run("run", "--help").stdout
    for option in ("-n,--devices N ", "--memory SIZE ", "--only LIST ", "--wait [TIME] ", "--log FILE "):
        assert option in shown, shown
    assert "berth run [OPTIONS] -- COMMAND" in shown


def test_fields_are_whole_in_a_pipe_and_cut_only_on_a_terminal(machine):
    piped = machine.run("--fields").stdout.splitlines()
    assert not [line for line in piped if line.endswith("…")]
    assert max(columns(line) for line in piped) > 100
    _, shown = machine.on_terminal(80, "--fields")
    assert all(columns(line) <= 80 for line in without_escapes(shown).splitlines())
    asked = machine.run("--fields", env={"COLUMNS": "60"}).stdout.splitlines()
    assert all(columns(line) <= 60 for line in asked)


def test_records_are_whole_in_a_pipe_and_the_end_is_whole_everywhere(machine):
    command = ["sh", "-c", "exit 3", *(f"a-word-number-{n}" for n in range(30))]
    assert machine.run("run", "-q", "--time", "1h", "--", *command).returncode == 3
    assert "a-word-number-29" in machine.run("runs").stdout
    machine.run("run", "-q", "--time", "500ms", "--warn-signal", "USR1", "--", "sleep", "9")
    _, shown = machine.on_terminal(80, "show")
    told = " ".join(without_escapes(shown).split())
    assert "killed by SIGUSR1 (10) by berth: warning before its time limit after" in told, shown


@pytest.mark.parametrize(
    "words",
    [
        ["--sim"],
        ["--sim", "status"],
        ["status", "--sim"],
        ["status", "--sim", "-i", "7"],
        ["--sim", "ps"],
        ["smi", "--sim"],
        ["--sim", "smi", "-L"],
        ["smi", "--sim", "-L"],
        ["pick", "--sim", "-n", "2", "--dry-run"],
        ["--sim=", "status"],
        ["status", "--sim="],
        ["smi", "--sim=", "-L"],
    ],
)
def test_a_simulated_server_without_a_name_is_the_one_with_eight_cards(machine, words):
    done = machine.run(*words)
    assert done.returncode == 0, done.stderr
    assert "H100" in done.stdout or "server-8xh100" in done.stdout + done.stderr
    assert "SIMULATED" in done.stdout + done.stderr, done.stdout


@pytest.mark.parametrize(
    "words",
    [["--wait"], ["--or-cpu", "10m"], ["--sim"], ["x", "--wait", "--sim", "-n"], ["--replay"]],
)
@pytest.mark.parametrize("before", [[], ["-n", "1"], ["--wait"], ["--wait", "5m"], ["-n1", "--"]])
def test_what_belongs_to_the_command_of_a_job_reaches_it_as_it_was_written(machine, before, words):
    done = machine.run("run", "--sim", "lab-4", *before, "printf", r"%s\n", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == words


@pytest.mark.parametrize(("typed", "meant"), [
    (("statsu",), "did you mean status?"),
    (("dcotor",), "did you mean doctor?"),
    (("run", "--memroy", "1G", "--", "true"), "did you mean --memory 1G?"),
    (("run", "--gpus", "2", "--", "true"), "did you mean -n 2?"),
    (("run", "--gpus", "--", "true"), "did you mean -n?"),
    (("run", "--mem=10G", "--", "true"), "did you mean --memory 10G?"),
    (("pick", "--gpus=2"), "did you mean -n 2?"),
    (("top", "--dealy", "2"), "did you mean --delay 2?"),
    (("ps", "--jsn"), "did you mean --json?"),
    (("versoin",), "did you mean version?"),
])  # fmt: skip
def test_a_mistyped_word_is_answered_by_what_was_meant(machine, typed, meant):
    done = machine.run(*typed)
    assert done.returncode in (2, 125) and done.stdout == ""
    assert meant in done.stderr


@pytest.mark.parametrize("typed", [("xyzzy",), ("python",), ("run", "--zzzz", "--", "true"), ("ps", "--qqqq"), ("ps", "foo")])
def test_what_resembles_nothing_is_not_guessed(machine, typed):
    done = machine.run(*typed)
    assert done.returncode in (2, 125)
    assert "did you mean" not in done.stderr and typed[-1 if typed[0] != "run" else 1] in done.stderr


def test_words_that_people_know_from_elsewhere_work(machine):
    for typed, meant in (("jobs", "runs"), ("ls", "status"), ("watch", "top"), ("kill", "stop")):
        assert machine.run(typed, "--help").stdout == machine.run(meant, "--help").stdout
    assert machine.run("version").stdout == machine.run("--version").stdout != ""
    for shell in ("bash", "zsh", "fish"):
        assert machine.run("completion", shell).stdout == machine.run("--completions", shell).stdout != ""
    assert machine.run("completion", "tcsh").returncode == 2
    assert "Nobody waits." in machine.run("queue").stdout
    killed = machine.run("kill", "no-such-run")
    assert killed.stderr == machine.run("stop", "no-such-run").stderr != ""


def test_texts_are_plain(machine):
    listed = machine.run("--help").stdout
    assert "manage access tokens for `berth serve`" in listed and re.search(r"^  queue  ", listed, re.MULTILINE)
    refused = machine.run("run", "-n", "40", "--wait", "--", "true")
    assert "this machine has too few GPUs for this request" in refused.stderr
    for shown in (listed, refused.stderr):
        assert "whoever leaves" not in shown and "let somebody in" not in shown


def test_help_has_what_people_use_first_in_front(machine):
    listed = machine.run("--help").stdout
    headings = re.findall(r"^(\S.*):$", listed, re.MULTILINE)
    assert headings[:2] == ["Used most", "See"]
    assert re.findall(r"^  ([a-z]+)  ", listed.partition("\nSee:")[0], re.MULTILINE) == [
        "status", "top", "run", "explain", "doctor"]  # fmt: skip


def test_a_language_that_is_not_known_is_said_to_be_that(machine):
    refused = machine.run("status", "--lang", "de")
    assert refused.returncode == 2 and '--lang does not know "de": there are en and zh_CN' in refused.stderr
    shown = machine.run("status", env={"BERTH_LANG": "de"})
    assert shown.returncode == 0 and 'BERTH_LANG is "de", which is not known' in shown.stderr
    for known in ("en_GB.UTF-8", "zh_CN", "C"):
        assert "not known" not in machine.run("status", env={"BERTH_LANG": known}).stderr


def test_what_a_word_or_file_cannot_be_is_said_of_it(machine):
    nobody = machine.run("serve", "--listen", "127.0.0.1:0", "--join", ",")
    assert nobody.returncode == 2 and '--join "," names no server' in nobody.stderr
    folder = machine.run("record", machine.directory)
    assert folder.returncode != 0 and "--append" not in folder.stderr


def test_a_mistake_in_the_options_exits_as_the_page_of_exit_codes_says(machine):
    """125 for each verb that the page names with `berth run`, and 125 means nothing else for any other."""
    page = (pathlib.Path(__file__).parents[2] / "doc/EXIT_CODES.md").read_text(encoding="utf-8")
    as_run = ["run", *re.search(r"^## berth (exec, .*)$", page, re.MULTILINE)[1].split(", "), "wait"]
    assert {"exec", "reserve", "sweep", "claim", "extend", "release"} <= set(as_run)
    its_own = {"health": 3, "doctor": 3}
    for verb in set(verbs(machine)) - {"smi", "gpustat"}:
        code = machine.run(verb, "--no-such-option").returncode
        assert code == (125 if verb in as_run else its_own.get(verb, 2)), verb


def test_usage_names_what_stands_before_the_command_and_nothing_of_berths_own(machine):
    assert "Usage: berth exec [OPTIONS] RUN -- COMMAND ..." in machine.run("exec", "--help").stdout
    assert "Usage: berth policy [OPTIONS] [show | test USER" in machine.run("policy", "--help").stdout
    assert "--hold" not in machine.run("reserve", "--help-all").stdout


@pytest.mark.parametrize("words", [["fit", "7B"], ["topo"], ["alert", "rules"]], ids=" ".join)
def test_no_chinese_line_begins_with_a_mark(machine, words):
    for width in (40, 60, 80, 100):
        said = machine.run("--lang", "zh_CN", *words, env={"COLUMNS": str(width)}).stdout
        assert len(said.splitlines()) > 3, said
        wrong = [line for line in said.splitlines() if line.strip()[:1] in tuple("，。；：、！？）”」》")]
        assert not wrong, (width, wrong)
        assert "）: " not in said, said
