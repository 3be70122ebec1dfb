"""The trainer on real child processes: stand-in modules, real Pipes, real signals."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from resources.trainer import Trainer, TrainerError

REPORTS = """
    import sys, tomllib
    from dagster_pipes import open_dagster_pipes
    run = tomllib.load(open(sys.argv[1], "rb"))
    print("step", run["steps"])
    with open_dagster_pipes() as pipes:
        pipes.log.info("half way")
        pipes.report_custom_message({"steps": run["steps"], "loss": 0.5})
"""
SLEEPS = """
    import os, sys, time, pathlib, subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    partial = pathlib.Path(sys.argv[1]).with_suffix(".partial")
    partial.write_text(f"{os.getpid()} {child.pid}")
    partial.rename(partial.with_suffix(".pid"))
    time.sleep(600)
"""

Train = Callable[..., Mapping[str, Any]]


@pytest.fixture
def train(tmp_path: Path) -> Train:
    """Materializes an asset whose body trains with a stand-in module of this source."""

    def started(source: str, **settings: Any) -> Mapping[str, Any]:
        (tmp_path / "stand_in.py").write_text(textwrap.dedent(source))
        (tmp_path / "run.toml").write_text("steps = 3\n")
        reported: dict[str, Any] = {}

        @dg.asset
        def policy(context: dg.AssetExecutionContext, trainer: Trainer) -> dg.MaterializeResult:
            reported.update(trainer.run(context, "stand_in", tmp_path / "run.toml").numbers)
            return dg.MaterializeResult()

        trainer = Trainer(environment={"PYTHONPATH": str(tmp_path)}, **{"needs": [], **settings})
        with dg.DagsterInstance.ephemeral() as instance:
            dg.materialize([policy], resources={"trainer": trainer}, instance=instance)
        return reported

    return started


def test_numbers_come_back_and_prints_are_kept(train: Train, tmp_path: Path) -> None:
    assert train(REPORTS) == {"steps": 3, "loss": 0.5}
    assert "step 3\n" in (tmp_path / "run.log").read_text()


def test_the_same_module_runs_without_dagster(tmp_path: Path) -> None:
    (tmp_path / "stand_in.py").write_text(textwrap.dedent(REPORTS))
    (tmp_path / "run.toml").write_text("steps = 3\n")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "stand_in", "run.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "step 3\n"


def test_a_bad_end_shows_the_last_lines(train: Train) -> None:
    with pytest.raises(TrainerError, match=r"(?s)stand_in exited 3; its log is .*run\.log.*loss is nan"):
        train("print('loss is nan'); raise SystemExit(3)")


def test_a_killed_process_is_told_from_a_failed_one(train: Train) -> None:
    with pytest.raises(TrainerError, match=r"was ended by SIGKILL \(out of memory\?\)"):
        train("import os; os.kill(os.getpid(), 9)")


def test_a_missing_extra_is_named_before_anything_starts(train: Train) -> None:
    with pytest.raises(TrainerError, match=r'needs no_such_module: pip install "loopwright\[train\]"'):
        train(REPORTS, needs=["no_such_module"])


def test_a_missing_run_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.toml is not there: training\.sft reads its settings"):
        Trainer().run(dg.build_asset_context(), "training.sft", tmp_path / "absent.toml")


def test_torchrun_starts_the_same_module_on_every_device() -> None:
    command = Trainer(launcher="torchrun", processes=4).command("training.sft", Path("run.toml"))
    assert command[1:] == [
        "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4", "-m", "training.sft", "run.toml",
    ]  # fmt: skip


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_training_ends_with_the_run_however_that_ends(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "stand_in.py").write_text(textwrap.dedent(SLEEPS))
    (tmp_path / "run.toml").write_text("")
    (tmp_path / "step.py").write_text(
        textwrap.dedent(f"""
        import signal, pathlib
        import dagster as dg
        from resources.trainer import Trainer
        signal.signal(signal.SIGINT, signal.default_int_handler)
        @dg.asset
        def policy(context: dg.AssetExecutionContext, trainer: Trainer) -> None:
            trainer.run(context, "stand_in", pathlib.Path({str(tmp_path)!r}) / "run.toml")
        trainer = Trainer(needs=[], environment={{"PYTHONPATH": {str(tmp_path)!r}}})
        dg.materialize([policy], resources={{"trainer": trainer}}, instance=dg.DagsterInstance.ephemeral())
        """)
    )
    step = subprocess.Popen(
        [sys.executable, tmp_path / "step.py"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    wait_until((tmp_path / "run.pid").exists)
    trainer, its_child = map(int, (tmp_path / "run.pid").read_text().split())
    step.send_signal(how)
    step.wait(30)
    wait_until(lambda: not alive(trainer))
    if how is not signal.SIGKILL:  # nobody is left to stop the grandchildren of a process killed outright
        wait_until(lambda: not alive(its_child))
    elif alive(its_child):
        os.kill(its_child, signal.SIGKILL)


def wait_until(holds: Callable[[], bool], *, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether the process runs; one that ended and was not yet collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
