"""The admission gate on a tau2 domain: what doing nothing earns there, what is wrong with the gold, and what is left.

Every tau2 task ends as one finding: taken over, strengthened (a refusal with what must have been looked at and a twin;
an answer with facts by type), quarantined with the failed check, or set aside with the reason.

Source: pipeline stage 6; tau2-bench's own issues on tasks that inaction solves.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from assets.tasks.admission import Rejection, admit
from environments.episode import Scored
from environments.formats.tau2 import Raw, actions_of, calls_of, communicated, read_domain, tau2_id
from environments.formats.tau2_import import Imported
from environments.formats.tau2_score import Tau2Score, changes_of, free_text_arguments, tau2_score
from environments.gate.run import Setting, Thoroughness
from environments.policies.looking import LooksThenRefuses
from environments.policies.script import Scripted
from environments.policies.scripted import AlwaysRefuse, NoOp
from environments.rollout import rollouts
from environments.task import Task
from environments.tool import Effect
from environments.verifier import Verifier
from environments.world import World, WorldPool
from environments.worlds.catalogue import world_maker
from environments.worlds.documents import DocumentWorld
from environments.worlds.tau2_tasks import tau2_tasks

Outcome = Literal["taken_over", "strengthened", "quarantined", "set_aside"]
HANDOVER = "transfer_to_human_agents"


class Finding(NamedTuple):
    """What became of one tau2 task."""

    name: str
    outcome: Outcome
    check: str
    """What failed, or how it was strengthened; empty where it was taken over as it is."""
    evidence: str


class AsScored(NamedTuple):
    """Tau2's own reward for three policies on each task of a domain; without a judge, silence fulfils no assertion."""

    no_op: dict[str, Tau2Score]
    """By tau2's id."""
    gold: dict[str, Tau2Score]
    """All gold actions, and all that must be said."""
    silent: dict[str, Tau2Score]
    """All gold actions, and not a word."""
    same_state: list[str]
    """Tasks whose gold actions leave the state as it was."""

    def passed_by_nothing(self) -> list[str]:
        """Tasks that doing nothing passes."""
        return [name for name, score in self.no_op.items() if score.reward == 1]


class Examined(NamedTuple):
    """What the gate that every task must pass let through, and how often cheating paid there."""

    admitted: list[Task]
    rejected: list[Rejection]
    exploits: int
    trials: int
    bound: float
    """95% upper bound of the exploit rate."""


class Tau2Gate(NamedTuple):
    """The gate's findings on one domain."""

    before: AsScored
    actions: int
    """Gold actions replayed."""
    free_text: list[tuple[str, str, str]]
    """Task, action and argument that only the very same words would match."""
    imported: Imported
    examined: Examined
    findings: list[Finding]
    earned: dict[str, float]
    """Mean reward on the admitted tasks of policies that must earn nothing, refusals scored with their twins."""

    def outcomes(self) -> Counter[str]:
        """How many tau2 tasks ended how."""
        return Counter(finding.outcome for finding in self.findings)


PLAIN = Thoroughness(sample=0)
"""Every check but the search for exploits and the metamorphic ones."""


def gate_tau2(folder: Path, name: str, verifier: Verifier, *, how: Thoroughness = PLAIN, workers: int = 1) -> Tau2Gate:
    """Run the gate over the tasks of a tau2 domain, each told in one piece.

    Args:
        folder: a tau2 folder.
        name: `retail` or `airline`.
        verifier: grades the tasks once they are ours.
        how: which of them are examined deeply.
        workers: processes side by side.

    Raises:
        FileNotFoundError: the folder does not hold the domain.
        ValueError: no such domain, or a file of it cannot be read.
    """
    taken = tau2_tasks(name, folder, conversation=False)
    make_world = world_maker(name, folder=folder)
    world = make_world()
    assert isinstance(world, DocumentWorld)
    raws = {str(raw["id"]): raw for raw in read_domain(folder, name).tasks}
    examined = _examined(taken.tasks, folder, verifier, how, workers)
    return Tau2Gate(
        before=as_tau2_scores(raws, world),
        actions=sum(len(actions_of(raw)) for raw in raws.values()),
        free_text=[(n, *found) for n, raw in raws.items() for found in free_text_arguments(raw)],
        imported=taken,
        examined=examined,
        findings=_findings(raws, taken, examined),
        earned=earned(examined.admitted, make_world, verifier),
    )


def _examined(tasks: Sequence[Task], folder: Path, verifier: Verifier, how: Thoroughness, workers: int) -> Examined:
    found = admit(tasks, Setting(verifier, make_world=partial(world_maker, folder=folder)), how, workers=workers)
    paid = found.exploits
    return Examined(found.admitted, found.rejected, paid.times, paid.trials, paid.upper)


def as_tau2_scores(raws: Mapping[str, Raw], world: DocumentWorld) -> AsScored:
    """What tau2 pays for doing nothing, for the gold actions with all that must be said, and for those in silence."""
    found = AsScored({}, {}, {}, [])
    for name, raw in raws.items():
        calls, text = calls_of(raw), " ".join(communicated(raw))
        gold = changes_of(calls, world)
        found.no_op[name] = tau2_score(raw, gold, [], [], [""], asserted=False)
        found.gold[name] = tau2_score(raw, gold, gold, calls, [text], asserted=True)
        found.silent[name] = tau2_score(raw, gold, gold, calls, [""], asserted=False)
        if not gold:
            found.same_state.append(name)
    return found


def _findings(raws: Mapping[str, Raw], taken: Imported, examined: Examined) -> list[Finding]:
    """One finding for each tau2 task."""
    aside = {a.name: a for a in taken.aside}
    rejected = {r.task_id: r for r in examined.rejected}
    tasks = {tau2_id(task): task for task in taken.tasks}
    found = []
    for name in raws:
        if name in aside:
            outcome: Outcome = "set_aside" if aside[name].cause == "set_aside" else "quarantined"
            found.append(Finding(name, outcome, aside[name].cause, aside[name].evidence))
        elif failed := rejected.get(tasks[name].task_id):
            found.append(Finding(name, "quarantined", failed.check, failed.evidence))
        else:
            found.append(_admitted(name, raws[name], tasks[name]))
    return found


def _admitted(name: str, raw: Raw, task: Task) -> Finding:
    """How an admitted task differs from what tau2 checks."""
    if task.goal.reason:
        looks = len(task.goal.seen)
        return Finding(name, "strengthened", "refusal", f"{looks} things looked at, {task.goal.reason}, a twin")
    if task.goal.seen:
        return Finding(name, "strengthened", "investigation", f"{len(task.goal.seen)} things looked at")
    if communicated(raw):
        return Finding(name, "strengthened", "facts", ", ".join(f"{f.kind} {f.value}" for f in task.goal.required))
    return Finding(name, "taken_over", "", "")


def earned(tasks: Sequence[Task], make_world: Callable[[], World], verifier: Verifier) -> dict[str, float]:
    """Mean reward of doing nothing, refusing at once and refusing after a look; refusals scored with their twins."""
    tools = make_world().tools()
    harmless = {name for name, tool in tools.items() if tool.effect is Effect.READ} | {HANDOVER}
    policies: list[Scripted] = [NoOp(), AlwaysRefuse(), LooksThenRefuses(harmless)]
    return {policy.version: paired_mean(tasks, policy, make_world, verifier) for policy in policies}


def paired_mean(tasks: Sequence[Task], policy: Scripted, make_world: Callable[[], World], verifier: Verifier) -> float:
    """Mean reward of a policy; a refusal and its twin both count as the lesser of the two."""
    played = [e for batch in rollouts(tasks, policy, WorldPool(make_world), verifier, k=1, seed=0) for e in batch]
    reward = {e.task_id: e.verdict.reward for e in played if isinstance(e.verdict, Scored)}
    pairs = {task.task_id: task.twin for task in tasks if task.twin}
    partner = pairs | {twin: task_id for task_id, twin in pairs.items()}
    lesser = [min(r, reward.get(partner.get(task_id) or task_id, 0.0)) for task_id, r in reward.items()]
    return sum(lesser) / max(1, len(lesser))
