"""What lease() and pick() are asked, and what they say where there is nothing."""

import json
import os
import re

import pytest


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("'10G'", ["n='10G'", 'memory="10G"']),
        ("2.0", ["n=2.0"]),
        ("0", ["n=0", "one or more"]),
        ("wait='soon'", ["wait='soon'", '"1h30m"']),
        ("wait='1h30'", ["wait='1h30'"]),
        ("wait=-1", ["wait=-1", "True"]),
        ("wait=float('nan')", ["wait=nan"]),
        ("wait=None", ["wait=None"]),
        ("memory='abc'", ['memory="abc"', "write 10G"]),
        ("need='zz'", ['need="zz"', "write bf16"]),
        ("prefer='zz'", ['prefer="zz"', "write best-fit"]),
        ("min_compute='x'", ['min_compute="x"', "write 8.0"]),
        ("idle_for='x'", ['idle_for="x"', "write 90s"]),
        ("except_=','", ['except_=","', "write devices"]),
        ("only='99'", ["n=1 only=99", "`berth status`"]),
        ("sim='nope'", ['"nope" for sim=', "one of", "lab-4"]),
    ],
)
def test_what_makes_no_sense_is_told_in_pythons_words_with_a_remedy(desk, asked, words):
    said, text, remedy, code = desk.told(f"""
        try: berth.lease({asked})
        except berth.Error as error: print(json.dumps([error.args[0], str(error), error.remedy, error.code]))
    """)
    assert remedy and text.startswith(f"{said}; {remedy}") and code == ("never" if "99" in asked else "invalid")
    assert all(word in text for word in words), text
    assert "--" not in said


@pytest.mark.parametrize(
    ("asked", "flags"),
    [
        ("min_compute='9.0'", ["--min-compute", "9.0"]),
        ("need='fp8'", ["--need", "fp8"]),
        ("only='*no such card*'", ["--only", "*no such card*"]),
        ("prefer='most-free', except_='*A*'", ["--prefer", "most-free", "--except", "*A*"]),
        ("idle_for='10m'", ["--idle-for", "10m"]),
        ("memory='50%', n=2", ["--memory", "50%", "-n", "2"]),
    ],
)
def test_what_is_asked_of_a_device_is_what_the_program_is_asked(desk_of, asked, flags):
    """On four different cards."""
    desk = desk_of("lab-4")
    told = desk.told(f"""
        try: print(json.dumps([sorted(d.id for d in berth.pick({asked})), []]))
        except berth.NoneFree as error:
            print(json.dumps([[], [[one["id"], one["rule"]] for one in error.placement.refused]]))
    """)
    wanted = json.loads(desk.run("pick", "--json", *flags).stdout)
    if wanted["satisfied"]:
        assert told == [sorted(one["id"] for one in wanted["chosen"]), []]
    else:
        assert told == [[], [[one["id"], one["rule"]] for one in wanted["refused"]]]


def test_the_policy_of_the_machine_holds_for_a_lease(desk):
    policy = desk.directory / "etc/berth/berth.toml"
    policy.parent.mkdir(parents=True)
    for text, calls, words in (
        ("nonsense = 1", ["1"], ["berth.toml:2", "nonsense"]),
        ("devices_at_most = 1", ["2"], ["the policy allows this user 1 at once, 2 are wanted"]),
    ):
        policy.write_text(f"[everybody]\n{text}\n", encoding="utf-8")
        for call in calls:
            said = desk.told(f"""
                try: berth.lease({call})
                except berth.Error as error: print(json.dumps(str(error) + str(getattr(error, "placement", ""))))
            """)
            assert all(word in said for word in words), said
        assert desk.leases() == []
    desk.holding("berth.lease()")
    assert "1 of the 1 devices that the policy allows" in desk.told("""
        try: berth.lease()
        except berth.NoneFree as error: print(json.dumps(str(error) + str(error.placement)))
    """)


def test_the_time_it_waited_is_told(desk):
    desk.holding("berth.lease(only=5)")
    text, remedy = desk.told("""
        try: berth.lease(only=5, wait="300ms")
        except berth.NoneFree as error: print(json.dumps([error.args[0], error.remedy]))
    """)
    assert text == "no devices became free for n=1 only=5 in 0.3 s" and "wait longer" in remedy


def test_without_a_word_on_what_hides_all_devices_nothing_is_said_to_compute_on_the_cpu(desk):
    """A library of an older berth tells no variables without a lease: a program would see every device."""
    told = desk.told("""
        from berth import leases
        real = leases._variables_of
        leases._variables_of = lambda handle: real(handle) if handle else {}
        try: berth.lease(only=0, or_cpu=True)
        except berth.Error as error: print(json.dumps([error.code, str(error)]))
    """)
    assert told[0] == "unsupported" and "this libberth is older than the package" in told[1]


def test_or_cpu_goes_on_without_a_device(desk):
    told = desk.told("""
        import warnings
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            with berth.lease(only=0, or_cpu=True) as lease:
                inside = os.environ["CUDA_VISIBLE_DEVICES"], os.environ["JAX_PLATFORMS"]
        try: lease.fileno()
        except berth.Error as error: code = error.code
        print(json.dumps([lease.devices, lease.id, inside, os.environ.get("CUDA_VISIBLE_DEVICES"), code,
                          [str(one.message) for one in warned]]))
    """)
    assert told[:5] == [[], "", ["-1", "cpu"], None, "not_found"]
    assert len(told[5]) == 1 and "computes on the CPU" in told[5][0]
    assert desk.leases() == []


def test_or_cpu_hides_each_makers_devices_as_run_does(desk):
    lease = desk.told("""
        import warnings
        warnings.simplefilter("ignore")
        with berth.lease(only=0, or_cpu=True): print(json.dumps(dict(os.environ)))
    """)
    run = dict(line.split("=", 1) for line in desk.run("run", "-q", "--cpu", "--", "env").stdout.splitlines())
    hides = re.compile(r"VISIBLE_DEVICES|AFFINITY_MASK|JAX_PLATFORMS")
    assert {key: value for key, value in lease.items() if hides.search(key)} == {
        key: value for key, value in run.items() if hides.search(key)
    }


def test_the_warning_points_at_the_users_line(desk):
    script = desk.directory / "users.py"
    script.write_text(
        "import asyncio, berth\n"
        "berth.lease(only=0, or_cpu=True).release()\n"
        "with berth.lease(only=0, or_cpu=True): pass\n"
        "async def main():\n"
        "    async with berth.async_lease(only=0, or_cpu=True): pass\n"
        "    (await berth.async_lease(only=0, or_cpu=True)).release()\n"
        "asyncio.run(main())\n"
    )
    told = desk.told(
        """
        import runpy, warnings
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            runpy.run_path(sys.argv[1])
        print(json.dumps([[one.filename, one.lineno] for one in warned]))
        """,
        script,
    )
    assert told == [[str(script), line] for line in (2, 3, 5, 6)]


def test_a_ledger_that_cannot_be_made(desk):
    blocked = desk.directory / "file"
    blocked.write_text("")
    code, text, remedy = desk.told(
        """
        try: berth.lease(or_cpu=True)
        except berth.Error as error: print(json.dumps([error.code, str(error), error.remedy]))
        """,
        env={"BERTH_LEDGER": str(blocked / "ledger")},
    )
    assert str(blocked) in text, "which ledger"
    assert code not in ("none_free", "never", "bug")
    assert remedy == "name a directory in BERTH_LEDGER that you may write"


def test_a_ledger_that_cannot_be_written(desk):
    """Another user's ledger, which one may read."""
    if os.geteuid() != 0:
        pytest.skip("needs root: to become another user")
    ledger = desk.directory / "ledger"
    assert desk.run("leases").returncode == 0 and desk.holding().communicate() and ledger.is_dir()
    for folder in (ledger, *ledger.glob("**/"), *ledger.parents[:4]):
        folder.chmod(folder.stat().st_mode | 0o055)
    told = desk.told(
        """
        try: berth.lease()
        except berth.Error as error: print(json.dumps([error.code, str(error), error.remedy]))
        """,
        user=65534, group=65534, extra_groups=[],
    )  # fmt: skip
    code, text, remedy = told
    assert code == "no_permission" and str(ledger) in text
    assert remedy == "name a directory in BERTH_LEDGER that you may write"
    assert desk.leases() == []
