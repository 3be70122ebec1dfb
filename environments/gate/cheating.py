"""The cheating policies, tried on each task: none may score, except by what the task asks for."""

from collections.abc import Iterable, Sequence

from environments.episode import Episode, NoResult
from environments.gate.audit import unearned
from environments.gate.finding import Finding, Kind, Status
from environments.gate.ground import Ground, broke, reward_of, told
from environments.policies.script import Cheater
from environments.task import Task


def cheating(tasks: Sequence[Task], policies: Iterable[Cheater], ground: Ground) -> dict[str, list[Finding]]:
    """What each policy gets at each task at which it is a way to cheat."""
    found: dict[str, list[Finding]] = {t.task_id: [] for t in tasks}
    by_id = {t.task_id: t for t in tasks}
    for policy in policies:
        for episode in ground.play([t for t in tasks if policy.applies(t)], policy):
            finding = judged(by_id[episode.task_id], episode, policy.version, Kind.CHEAT, ground)
            found[episode.task_id].append(finding)
    return found


def judged(task: Task, episode: Episode, check: str, kind: Kind, ground: Ground) -> Finding:
    """Whether an episode that was to earn nothing did."""
    if isinstance(episode.verdict, NoResult):
        return Finding(kind, check, Status.NO_RESULT, episode.verdict.cause)
    if (broken := broke(episode)) is not None:
        return Finding(kind, check, Status.FAILED, broken)
    if reward_of(episode) <= 0:
        return Finding(kind, check, Status.PASSED)
    why = unearned(task, episode, ground)
    if why is None:
        return Finding(kind, check, Status.EARNED, told(episode))
    return Finding(kind, check, Status.FAILED, f"{why}: {told(episode)}")
