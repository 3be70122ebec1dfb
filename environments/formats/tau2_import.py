"""Tau2 tasks taken over as ours: the goal from a replay of the gold actions, facts by type, refusals with their twins.

A gold action that fails is never passed over: a write that fails takes the task out by name, a read that fails is
listed and left out of the gold solution. A task that nothing can check is set aside with the reason.

Source: tau2-bench, `src/tau2/evaluator`, which logs a failing gold action and goes on.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from environments.formats import tau2
from environments.formats.aside import Aside
from environments.formats.tau2 import Domain, Raw
from environments.formats.tau2_curation import Curation, merged
from environments.formats.tau2_facts import typed
from environments.formats.tau2_gold import (
    FEWEST_CALLS,
    FailedAction,
    Played,
    about,
    failures,
    goal_changes,
    is_error,
    play,
    solution,
    writes,
)
from environments.formats.tau2_user import CUSTOMER, instruction_of, user_of
from environments.task import Call, Fact, Goal, Split, Task
from environments.verifiers.outcome import shown
from environments.worlds.documents import Document, DocumentWorld


class Imported(NamedTuple):
    """A domain's tasks, and what became of the others."""

    tasks: list[Task]
    aside: list[Aside]
    failed: list[FailedAction]
    sources: dict[str, Raw]
    """By task id, the tau2 task that it came from; twins have none."""


class _Unusable(Exception):
    """Why a task is not used."""

    def __init__(self, cause: str, evidence: str) -> None:
        super().__init__(cause)
        self.cause, self.evidence = cause, evidence


def imported(
    domain: Domain, world: DocumentWorld, curations: Mapping[str, Curation], *, conversation: bool = True
) -> Imported:
    """Take over the tasks of a domain.

    Args:
        domain: as read from its folder.
        world: a session of the domain's world; left reset.
        curations: what is added to tasks, by tau2's id.
        conversation: whether a user speaks; otherwise the instruction says all that the user would.
    """
    found = Imported([], [], [], {})
    by_name: dict[str, list[Task]] = {}
    for raw in domain.tasks:
        one = _Import(world, raw, curations.get(str(raw["id"]), Curation()), conversation)
        try:
            by_name[one.name] = one.tasks()
        except _Unusable as unusable:
            found.aside.append(Aside(one.name, unusable.cause, unusable.evidence))
        found.failed.extend(one.failed)
    splits = _splits(domain, by_name)
    for task in (task for tasks in by_name.values() for task in tasks):
        found.tasks.append(task.model_copy(update={"split": splits[task.group]}))
    raws = {str(raw["id"]): raw for raw in domain.tasks}
    found.sources.update({t.task_id: raws[tau2.tau2_id(t)] for t in found.tasks if tau2.tau2_id(t) in raws})
    world.reset()
    return found


def _splits(domain: Domain, by_name: Mapping[str, Sequence[Task]]) -> dict[str, Split]:
    """The split of each group: hidden where tau2 tests on any of its tasks, for a group is never split."""
    tested = set(domain.splits.get("test", ()))
    hidden = {task.group for name, tasks in by_name.items() if name in tested for task in tasks}
    groups = {task.group for tasks in by_name.values() for task in tasks}
    return {group: "hidden" if group in hidden else "train" for group in groups}


class _Import:
    """One task on its way from tau2's form to ours."""

    def __init__(self, world: DocumentWorld, raw: Raw, curation: Curation, conversation: bool) -> None:
        self.world, self.raw, self.curation, self.conversation = world, raw, curation, conversation
        self.name = str(raw["id"])
        self.failed: list[FailedAction] = []

    def tasks(self) -> list[Task]:
        """The task, and the twin of a refusal before it.

        Raises:
            _Unusable: it cannot be used.
        """
        self._playable()
        if beyond := tau2.ours_in(self.raw):
            return [self._ours(beyond)]
        task = self._task()
        if self.curation.reason is None:
            return [task]
        twin = self._twin(task)
        return [twin, task.model_copy(update={"twin": twin.task_id})]

    def _playable(self) -> None:
        """Whether every gold action is a call of one of our tools; all that fail when replayed are listed."""
        criteria, start = self.raw["evaluation_criteria"], self.raw.get("initial_state") or {}
        unknown = [c.name for c in tau2.calls_of(self.raw) if c.name not in self.world.tools()]
        by_user = [a["name"] for a in tau2.actions_of(self.raw) if a.get("requestor", "assistant") != "assistant"]
        asked = [
            *unknown,
            *by_user,
            *(criteria.get("env_assertions") or ()),
            *(start.get("initialization_actions") or ()),
        ]
        if asked:
            raise _Unusable("not_playable", f"the {self.world.name} world has no {asked[0]}")
        played = self._play(tau2.calls_of(self.raw), tau2.initial_of(self.raw))
        self.failed += failures(self.name, self.world, played)
        if self.curation.aside:
            raise _Unusable("set_aside", self.curation.aside)
        if lost := [f for f in self.failed if f.writes]:
            raise _Unusable("gold_write_failed", f"{about(lost[0].call)}: {lost[0].error}")

    def _play(self, calls: Sequence[Call], initial: Mapping[str, tuple[Document, ...]]) -> Played:
        """Make the calls in the world as the task starts."""
        return play(self.world, self._blank().model_copy(update={"initial": dict(initial)}), calls)

    def _blank(self) -> Task:
        """What every task of the domain has."""
        return Task(
            world=self.world.name,
            family="question",
            depth=0,
            tools=tuple(self.world.tools()),
            goal=Goal(changes=()),
            gold_answer="",
            max_calls=FEWEST_CALLS,
            query_id=tau2.query_id_of(self.world.name, self.name),
            **self._said(tau2.scenario_of(self.raw)),
        )

    def _said(self, scenario: Mapping[str, str]) -> dict[str, Any]:
        """The instruction, and the user where one speaks."""
        persona = self.raw["user_scenario"].get("persona")
        user = user_of(scenario, persona=persona, max_replies=FEWEST_CALLS) if self.conversation else None
        return {"instruction": instruction_of(scenario, conversation=self.conversation), "user": user}

    def _task(self) -> Task:
        """The task with the goal that its gold solution reaches."""
        added, gold = self.curation, tau2.calls_of(self.raw)
        calls = [*(c for c in added.looks if c not in gold), *added.before, *gold, *added.after]
        played = self._play(calls, tau2.initial_of(self.raw))
        self._looks_hold(added.looks, played)
        facts = self._facts()
        if not played.changes and not facts and added.reason is None:
            raise _Unusable("nothing_to_check", "the gold actions change nothing and nothing must be said")
        return self._blank().model_copy(
            update={
                **solution(self.world, played, facts, added.reason),
                "goal": self._goal(played, facts),
                "initial": tau2.initial_of(self.raw),
                "group": self._group(played),
            }
        )

    def _goal(self, played: Played, facts: Sequence[Fact]) -> Goal:
        """What must hold at the end, be said, and have been looked at; a refusal also hands over where tau2 does."""
        added = self.curation
        needed = [s for s in played.steps if s.call in added.looks]
        if added.reason:
            needed += [s for s in played.steps if s.call not in added.looks and writes(self.world, s.call)]
        seen = {digest: None for step in needed for digest in shown(step.observation)}
        changes = goal_changes(played, self.world.key_fields)
        return Goal(required=tuple(facts), changes=changes, seen=tuple(seen), reason=added.reason)

    def _facts(self) -> list[Fact]:
        if self.curation.facts is not None:
            return list(self.curation.facts)
        found = {text: typed(text) for text in tau2.communicated(self.raw)}
        if short := [text for text, fact in found.items() if fact is None]:
            raise _Unusable("short_fact", f"{short[0]!r} is in any answer by accident")
        return [fact for fact in found.values() if fact is not None]

    def _looks_hold(self, looks: Sequence[Call], played: Played) -> None:
        """Whether the curation fits the domain: every look finds something."""
        if missed := [s for s in played.steps if s.call in looks and is_error(s)]:
            raise _Unusable("curation_failed", f"{about(missed[0].call)}: {missed[0].observation}")

    def _group(self, played: Played) -> str:
        """The customer: tasks of one are variants of each other more often than not."""
        shown_ids = [str(s.observation.get("user_id", "")) for s in played.steps if isinstance(s.observation, dict)]
        named = [*filter(None, shown_ids), *CUSTOMER.findall(json.dumps(tau2.scenario_of(self.raw)))]
        known = [name for name in named if self.world.state.get("users", name)]
        return f"tau2:{self.world.name}:{known[0] if known else self.name}"

    def _twin(self, task: Task) -> Task:
        """The solvable twin of a refusal.

        Raises:
            _Unusable: the curation has none, or what it does fails or changes nothing.
        """
        twin = self.curation.twin
        if twin is None:
            raise _Unusable("curation_failed", f"a refusal ({self.curation.reason}) without a twin")
        scenario = tau2.scenario_of(self.raw) | ({"reason_for_call": twin.ask} if twin.ask else {})
        initial = self._edited()
        played = self._play([*self.curation.looks, *twin.calls], initial)
        self._looks_hold([*self.curation.looks, *twin.calls], played)
        if not played.changes:
            raise _Unusable("curation_failed", "the twin's solution changes nothing")
        changes = goal_changes(played, self.world.key_fields)
        return task.model_copy(
            update={
                **solution(self.world, played, [], None),
                **self._said(scenario),
                "goal": Goal(changes=changes),
                "initial": initial,
                "query_id": f"{task.query_id}:twin",
            }
        )

    def _edited(self) -> dict[str, tuple[Document, ...]]:
        """The documents that the twin starts with."""
        twin = self.curation.twin
        self.world.reset()
        found: dict[str, list[Document]] = {}
        for edit in twin.edits if twin else ():
            before = self.world.state.get(edit.kind, edit.key)
            if before is None:
                raise _Unusable("curation_failed", f"{edit.kind} has no {edit.key}")
            found.setdefault(edit.kind, []).append(merged(before, edit.set))
        return {kind: tuple(documents) for kind, documents in found.items()}

    def _ours(self, beyond: Raw) -> Task:
        """A task that we wrote into a tau2 folder, as it was; the changes of its goal are replayed."""
        initial = tau2.initial_of(self.raw)
        played = self._play(tau2.calls_of(self.raw), initial)
        goal = {**beyond["goal"], "changes": goal_changes(played, self.world.key_fields)}
        fields = {k: v for k, v in beyond.items() if k not in ("said", "goal", "user")}
        return Task.model_validate(
            {
                **fields,
                "world": self.world.name,
                "instruction": beyond["said"],
                "gold_calls": tau2.calls_of(self.raw),
                "goal": goal,
                "initial": initial,
                "user": tau2.user_in(self.raw, beyond),
            }
        )
