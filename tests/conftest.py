"""What every test shares: the micro profile, a state folder of its own, and which skips are allowed."""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator

import pytest

os.environ["LOOPWRIGHT_PROFILE"] = "micro"
os.environ["LOOPWRIGHT_HOME"] = tempfile.mkdtemp(prefix="loopwright-tests-")
os.environ.pop("LOOPWRIGHT_REGISTRY_URL", None)

from dagster_project import profiles
from tests.docker_engine import docker_engine

__all__ = ["docker_engine"]
profiles.bind_active_profile()
REQUIRED = {marker for marker in os.environ.get("LOOPWRIGHT_REQUIRE", "").split(",") if marker}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-snapshots", action="store_true", help="write the snapshots anew instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    known = {line.split(":")[0] for line in config.getini("markers")}
    if unknown := REQUIRED - known:
        allowed = ", ".join(sorted(known))
        raise pytest.UsageError(f"LOOPWRIGHT_REQUIRE names {', '.join(sorted(unknown))}; allowed: {allowed}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, the whole factory before all: no process is left alone with them at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, len(item.path.parts)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A skip of what this machine promised to have is a failure."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        markers = {marker.name for marker in item.iter_markers()}
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if promised := REQUIRED & markers:
            report.outcome = "failed"
            report.longrepr = f"LOOPWRIGHT_REQUIRE={','.join(sorted(promised))}, but skipped: {reason}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what was not tested here, and what it would need."""
    reasons = Counter(str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", []))
    for reason, times in sorted(reasons.items()):
        terminalreporter.write_line(f"not run here: {times} x {reason.removeprefix('Skipped: ')}")


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["LOOPWRIGHT_HOME"], ignore_errors=True)
