"""Bad days of `loopwright demo`, with real processes: one clear error, nothing lost, the next run goes on."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest

from dagster_project.commands.alone import GOING_ON, alone_in
from dagster_project.commands.line import _failure
from dagster_project.commands.materialize import failures
from dagster_project.instance import dagster_instance
from resources.lake import Lake

pytestmark = pytest.mark.slow

DEMO = [sys.executable, "-c", "from dagster_project.commands import app; app()", "demo"]


def start(*arguments: str, home: Path, **environment: str) -> "subprocess.Popen[str]":
    """The command in a process of its own."""
    place = {**os.environ, "LOOPWRIGHT_HOME": str(home), "COLUMNS": "200", "OMP_NUM_THREADS": "1", **environment}
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*DEMO, *arguments], env=place, **out)  # type: ignore[call-overload,no-any-return]


def demo(*arguments: str, home: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The command, run to its end."""
    process = start(*arguments, home=home, **environment)
    out, errors = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("log.jsonl", b'{"q": "weather in Paris"}\n', "has no column 'text'. Its columns: 'q'. Set column (--column)"),
        ("log.csv", b"", "holds no rows: check that the log was written"),
        ("log.parquet", b"PAR1 and then nothing", "log.parquet is not a whole Parquet file"),
    ],
    ids=["wrong column", "empty log", "damaged file"],
)
def test_a_log_that_cannot_be_read_is_one_clear_error(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    log = tmp_path / name
    log.write_bytes(content)
    done = demo("--logs", str(log), "--until", "queries", home=tmp_path / "home")
    assert done.returncode == 1
    first = done.stderr.splitlines()[0]
    assert first.startswith("loopwright: queries/raw_queries failed: "), done.stderr
    assert says in first
    assert "Traceback" not in done.stderr


def test_a_log_that_the_profile_names_is_read_again_when_a_day_comes_in(tmp_path: Path) -> None:
    profile, logs = tmp_path / "own.toml", tmp_path / "logs"
    profile.write_text(f'description = "ours"\n[queries.raw_queries]\nlogs = "{logs}"\n')
    logs.mkdir()
    for number, texts in enumerate((["weather in Paris", "weather in Rome"], ["museums of Oslo"])):
        (logs / f"{number}.jsonl").write_text("".join(f'{{"text": "{text}"}}\n' for text in texts))
        done = demo("--until", "queries", home=tmp_path / "home", LOOPWRIGHT_PROFILE=str(profile))
        assert done.returncode == 0, done.stderr
        assert "[ 2/2] queries/distinct_queries" in done.stdout
        assert len(Lake(root=str(tmp_path / "home/lake")).read("queries/distinct_queries")) == 2 + number
    assert "its log changed" in done.stdout + done.stderr
    done = demo("--until", "queries", home=tmp_path / "home", LOOPWRIGHT_PROFILE=str(profile))
    assert "its log changed" not in done.stdout + done.stderr


def test_a_check_that_fails_says_what_it_found() -> None:
    @dg.asset(key=["pool", "made"])
    def made() -> None:
        """Nothing."""

    @dg.asset_check(asset=["pool", "made"], blocking=True)
    def holds() -> dg.AssetCheckResult:
        """It does not."""
        return dg.AssetCheckResult(passed=False, metadata={"pairs_left": 3, "pairs": "a and b"})

    failed = dg.materialize([made, holds], raise_on_error=False)
    said = "pool/made: check holds failed: pairs_left 3, pairs a and b"
    assert (str(_failure(failed)), failures(failed)) == (said, [said])


def test_a_typo_in_the_profile_stops_before_anything_is_made(tmp_path: Path) -> None:
    done = demo("--profile", "nanno", home=tmp_path / "home")
    assert done.returncode == 2
    assert done.stderr.startswith("loopwright: LOOPWRIGHT_PROFILE='nanno' is not a profile; allowed: micro, nano,")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "home").exists()


def test_a_missing_extra_is_named_before_the_first_stage(tmp_path: Path) -> None:
    hidden = (
        "import importlib.util as u; f = u.find_spec\nu.find_spec = lambda n, *a: None if n == 'trl' else f(n, *a)\n"
    )
    (tmp_path / "sitecustomize.py").write_text(hidden)
    done = demo(home=tmp_path / "home", PYTHONPATH=f"{tmp_path}:{Path.cwd()}")
    assert done.returncode == 2
    assert done.stderr == (
        'loopwright: sft needs trl: pip install "loopwright[train]"; without it: loopwright demo --until tasks\n'
    )


def test_a_second_demo_on_the_same_state_is_refused(tmp_path: Path) -> None:
    with alone_in(tmp_path):
        done = demo("--until", "queries", home=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"loopwright: another demo (process {os.getpid()}) is at work in {tmp_path}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    """A disk of its own with little room."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1300k", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a tmpfs (root)")
    return place


def test_a_full_disk_is_said_and_with_room_the_next_run_goes_on(small_disk: Path) -> None:
    home = small_disk / "home"
    try:
        done = demo("--until", "queries", home=home)
        assert done.returncode == 1
        assert "no room left" in done.stderr.splitlines()[0], done.stderr
        assert "Traceback" not in done.stderr
        subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
        done = demo("--until", "queries", home=home)
        assert done.returncode == 0, done.stderr
        assert "[ 2/2] queries/distinct_queries" in done.stdout
    finally:
        subprocess.run(["umount", str(small_disk)], check=True)


def started_until(process: "subprocess.Popen[str]", word: str) -> list[str]:
    """Read the command's lines until one has `word`."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if word in line:
            return lines
    raise AssertionError(f"it ended before {word!r}: {lines} {process.stderr.read() if process.stderr else ''}")


def test_killed_outright_it_leaves_nothing_running_and_the_next_run_goes_on(tmp_path: Path) -> None:
    process = start("--until", "pool/lexical_survivors", home=tmp_path)
    started_until(process, "queries/distinct_queries")
    process.kill()
    process.communicate()
    done = demo("--until", "pool/lexical_survivors", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "an earlier demo was killed" in done.stdout
    assert re.search(r"[12] of 3 stages hold from before", done.stdout)  # the second, once its checks were asked
    assert "[ 3/3] pool/lexical_survivors" in done.stdout


def test_stopped_it_says_so_and_no_run_stays_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = start("--until", "pool/lexical_survivors", home=tmp_path)
    started_until(process, "queries/distinct_queries")
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    told, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "failed" not in told
    assert errors.startswith("loopwright: stopped. What was finished stays"), errors
    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path))
    with dagster_instance() as instance:
        assert not [run for run in instance.get_runs() if run.status in GOING_ON]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of a demo up to the queries; every test leaves it whole."""
    home = tmp_path_factory.mktemp("made")
    assert demo("--until", "queries", home=home).returncode == 0
    return home


@pytest.mark.parametrize("damage", ["gone", "torn"])
@pytest.mark.parametrize("table", ["queries/quarantine", "queries/distinct_queries"])
def test_a_stage_of_which_a_file_is_gone_or_torn_is_made_again(made: Path, table: str, damage: str) -> None:
    file = made / "lake" / table / "all.parquet"
    whole = file.read_bytes()
    file.unlink() if damage == "gone" else file.write_bytes(whole[:100])
    done = demo("--until", "queries", home=made)
    assert done.returncode == 0, done.stderr
    assert f"again: {'its table is gone' if 'distinct' in table and damage == 'gone' else table}" in done.stdout
    assert file.read_bytes() == whole
    assert "2 of 2 stages hold" in demo("--until", "queries", home=made).stdout
