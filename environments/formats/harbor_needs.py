"""What a Harbor task needs that there is not here, found by reading it: each with a word and the place that says so."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from environments.formats.harbor import HarborTask

LARGEST: Final = 8 << 20
"""Bytes of a task's files: they travel with it."""
_LOCAL: Final = r"(?:localhost|127\.|0\.0\.0\.0|\[::1\])"
_FETCHES: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:apt-get|apt|apk|yum|dnf)\s+(?:-\S+\s+)*(?:update|install|add|upgrade)\b",
        r"\bpip3?\s+(?:-\S+\s+)*install\b(?!.*--no-index)",
        r"\b(?:uvx|npx)\s",
        r"\buv\s+(?:pip|tool|add|sync|run|venv)\b(?!.*--offline)",
        rf"\b(?:curl|wget)\b[^|;&]*\b(?:https?|ftp)://(?!{_LOCAL})",
        r"\bgit\s+(?:clone|fetch|pull)\b[^|;&]*(?:https?://|git@|ssh://)",
        r"\b(?:npm|pnpm|yarn)\s+(?:i|ci|install|add)\b(?!.*--offline)",
        r"\b(?:conda|mamba)\s+(?:install|create)\b",
        r"\b(?:cargo|go|gem)\s+install\b|\bgo\s+get\b",
    )
)
"""Commands that fetch something from elsewhere."""


class Unusable(Exception):
    """Why a task is not used."""

    def __init__(self, cause: str, evidence: str) -> None:
        super().__init__(f"{cause}: {evidence}")
        self.cause, self.evidence = cause, evidence


def check_playable(task: HarborTask) -> None:
    """Whether it can be played here, as far as reading tells.

    Raises:
        Unusable: it cannot, with the reason.
    """
    for cause, evidence in _reasons(task):
        raise Unusable(cause, evidence)


def _reasons(task: HarborTask) -> Iterator[tuple[str, str]]:
    asked, files = _table(task.settings, "environment"), task.files
    if task.settings.get("steps") or any(path.startswith("steps/") for path in files):
        yield "several_steps", "steps/: an attempt here has one instruction and one verdict"
    if composed := [p for p in files if re.fullmatch(r"(?:environment|tests)/(?:docker-)?compose\.ya?ml", p)]:
        yield "several_containers", f"{composed[0]}: there is one container, and nothing beside it"
    yield from _machine(asked)
    yield from _network(task)
    if "solution/solve.sh" not in files:
        yield "no_solution", "solution/solve.sh: nothing shows that the task can be solved"
    if "environment/Dockerfile" not in files and not asked.get("docker_image"):
        yield "no_image", "neither environment/Dockerfile nor environment.docker_image in task.toml"
    if (size := sum(map(len, files.values()))) > LARGEST:
        yield "too_large", f"its files have {size >> 20} MB, and {LARGEST >> 20} MB travel with a task"
    yield from _shown(files)


def _machine(asked: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the environment is to have beside one Linux container."""
    if str(asked.get("os") or "linux").casefold() != "linux":
        yield "other_machine", f"environment.os = {asked['os']!r}"
    for key in ("gpus", "gpu_types", "tpu"):
        if asked.get(key):
            yield "other_machine", f"environment.{key} = {asked[key]!r}"
    if servers := asked.get("mcp_servers"):
        yield "served_tools", f"environment.mcp_servers: {len(servers)}; the tools are files and a shell"
    if check := _table(asked, "healthcheck"):
        yield (
            "service",
            f"environment.healthcheck waits for {str(check.get('command'))!r}: nothing is kept running here",
        )


def _network(task: HarborTask) -> Iterator[tuple[str, str]]:
    """Hosts that are named, and commands of tests and solution that fetch something."""
    for part in ("environment", "agent", "verifier"):
        said = _table(task.settings, part)
        if said.get("network_mode") == "allowlist" or said.get("allowed_hosts"):
            yield "needs_network", f"{part}.allowed_hosts = {said.get('allowed_hosts')!r} in task.toml"
    for path, content in sorted(task.files.items()):
        if path.startswith(("tests/", "solution/")) and path.endswith((".sh", ".bash")):
            for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
                if not line.lstrip().startswith("#") and any(p.search(line) for p in _FETCHES):
                    yield "needs_network", f"{path}, line {number}: {line.strip()}"


def _shown(files: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """Tests or solution among the files of which the agent's image is made."""
    hidden = {files.get("solution/solve.sh"), files.get("tests/test.sh")} - {None, b""}
    for path, content in sorted(files.items()):
        if path.startswith("environment/") and content in hidden:
            yield "shows_solution", f"{path} is the tests or the solution: its agent would see it"


def plain_environment(table: Mapping[str, Any], part: str) -> dict[str, str]:
    """The variables that a part of `task.toml` sets.

    Raises:
        Unusable: one is to come from the machine that runs the task.
    """
    given = {str(name): str(value) for name, value in _table(table, "env").items()}
    for name, value in given.items():
        if "${" in value or not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise Unusable("outside_value", f"{part}.env: {name} = {value!r} is a value of another machine, or a key")
    return given


def _table(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = settings.get(name)
    return found if isinstance(found, Mapping) else {}
