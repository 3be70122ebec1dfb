"""Starts a training module in a process of its own, and stops it when the run is cancelled.

`python -m training.sft run.toml` (or the same under torchrun) gets Dagster Pipes: rank 0 logs progress and reports its
final numbers; started by hand, the same module runs without Dagster. What the process prints goes to a log beside the
run file, to the compute log, and, when it fails, into the error.
"""

import importlib.util
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final, Literal, NamedTuple

import dagster as dg
from pydantic import ConfigDict, PositiveFloat, PositiveInt

from training.processes import end_with_parent

LOG: Final = logging.getLogger(__name__)
LAST_LINES: Final = 25
POLL_S: Final = 0.25


class TrainerError(RuntimeError):
    """A training process could not be started, or ended badly."""


class Finished(NamedTuple):
    """What a training process reported."""

    numbers: Mapping[str, Any]
    """Final numbers, by name (`pipes.report_custom_message({...})` in the module)."""
    log: Path
    """Everything it printed."""


class Trainer(dg.ConfigurableResource):
    """Runs training modules as child processes."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    launcher: Literal["python", "torchrun"] = "python"
    """`python` starts one process; `torchrun` starts `processes` of them."""
    processes: PositiveInt = 1
    """Processes of one run under torchrun."""
    threads: PositiveInt = 1
    """CPU threads of each process; the workers of a probe or an evaluation share them."""
    rollout_workers: PositiveInt = 2
    """Processes that share the episodes of a probe or an evaluation."""
    needs: list[str] = ["torch", "transformers", "trl"]
    """Modules that must be installed before anything is started."""
    environment: dict[str, str] = {}
    """Further environment of the child."""
    stop_s: PositiveFloat = 20.0
    """Seconds a cancelled process has to write its last checkpoint before it is killed."""

    def run(self, context: dg.AssetExecutionContext, module: str, run_file: Path) -> Finished:
        """Start `module` on `run_file`, wait for it, and return what it reported.

        Args:
            context: of the asset that is being made.
            module: for example `training.sft`.
            run_file: its TOML.

        Raises:
            FileNotFoundError: there is no such run file.
            TrainerError: training is not installed, or the process ended badly; the message has its last lines.
        """
        if not run_file.exists():
            raise FileNotFoundError(f"{run_file} is not there: {module} reads its settings from it")
        self._require_installed(module)
        log = run_file.with_suffix(".log")
        with dg.open_pipes_session(
            context=context,
            context_injector=dg.PipesTempFileContextInjector(),
            message_reader=dg.PipesTempFileMessageReader(),
        ) as session:
            code = self._wait(self.command(module, run_file), session.get_bootstrap_env_vars(), log)
        if code != 0:
            raise TrainerError(f"{module} {_ending(code)}; its log is {log} and ends with\n{_tail(log)}")
        return Finished(_numbers(session.get_custom_messages()), log)

    def command(self, module: str, run_file: Path) -> list[str]:
        """What is started, as one would type it by hand."""
        if self.launcher == "python":
            return [sys.executable, "-m", module, str(run_file)]
        torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={self.processes}"]
        return [sys.executable, *torchrun, "-m", module, str(run_file)]

    def _require_installed(self, module: str) -> None:
        absent = [name for name in self.needs if importlib.util.find_spec(name) is None]
        if absent:
            raise TrainerError(f'{module} needs {", ".join(absent)}: pip install "loopwright[train]"')

    def _wait(self, command: list[str], pipes: Mapping[str, str], log: Path) -> int:
        """Run the process to its end, handing on what it prints; it never outlives this call."""
        own = {"OMP_NUM_THREADS": str(self.threads), "PYTHONUNBUFFERED": "1"}
        environment = {**os.environ, **own, **self.environment, **pipes}
        LOG.info("starting %s, log %s", " ".join(command), log)
        with log.open("wb") as written, log.open("rb") as seen:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # so that its own children are stopped with it
                preexec_fn=_prepare_child,
            )
            try:
                while process.poll() is None:
                    _hand_on(seen)
                    _pause(process)
            finally:
                self._stop(process)
                _hand_on(seen)
            return process.returncode

    def _stop(self, process: "subprocess.Popen[bytes]") -> None:
        """Ask politely, then insist; covers every process of the group."""
        if process.poll() is None:
            LOG.info("stopping process %d", process.pid)
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(self.stop_s)
            except subprocess.TimeoutExpired:
                LOG.warning("process %d did not stop within %g s: killed", process.pid, self.stop_s)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        process.wait()


def _prepare_child() -> None:
    """Between fork and exec: default signals, and an end when the step process is killed outright."""
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell that ignores them hands that on
        signal.signal(number, signal.SIG_DFL)
    end_with_parent()


def _pause(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(POLL_S)
    except subprocess.TimeoutExpired:
        return


def _hand_on(seen: IO[bytes]) -> None:
    """Copy what was printed since the last call to our own output, which Dagster keeps as the compute log."""
    text = seen.read().decode("utf-8", errors="replace")
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-LAST_LINES:]) or "(nothing was printed)"


def _ending(code: int) -> str:
    if code > 0:
        return f"exited {code}"
    cause = " (out of memory?)" if code == -signal.SIGKILL else ""
    return f"was ended by {signal.Signals(-code).name}{cause}"


def _numbers(messages: Sequence[Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for message in messages:
        if not isinstance(message, dict):
            raise TrainerError(f"a training module reported {message!r:.80}: report a mapping of names to numbers")
        merged |= message
    return merged
