"""What every test shares: the micro profile, a state folder of its own, and which skips are allowed."""

import os
import tempfile
from collections.abc import Iterator

import pytest

os.environ["LOOPWRIGHT_PROFILE"] = "micro"
os.environ["LOOPWRIGHT_HOME"] = tempfile.mkdtemp(prefix="loopwright-tests-")
os.environ.pop("LOOPWRIGHT_REGISTRY_URL", None)

from dagster_project import profiles

profiles.bind_active_profile()
REQUIRED = {marker for marker in os.environ.get("LOOPWRIGHT_REQUIRE", "").split(",") if marker}
SKIPPED = pytest.StashKey[dict[str, int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-snapshots", action="store_true", help="write the snapshots anew instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[SKIPPED] = {}
    known = {line.split(":")[0] for line in config.getini("markers")}
    if unknown := REQUIRED - known:
        allowed = ", ".join(sorted(known))
        raise pytest.UsageError(f"LOOPWRIGHT_REQUIRE names {', '.join(sorted(unknown))}; allowed: {allowed}")


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
        else:
            skipped = item.config.stash[SKIPPED]
            skipped[reason] = skipped.get(reason, 0) + 1
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name what was not tested here, and what it would need."""
    for reason, times in sorted(config.stash[SKIPPED].items()):
        terminalreporter.write_line(f"not run here: {times} x {reason.removeprefix('Skipped: ')}")
