"""Tau2 tasks taken over as ours: the goal from a replay of the gold actions, facts by type, refusals with their twins.

A gold action that fails is never passed over: a write that fails takes the task out by name, a read that fails is
listed and left out of the gold solution. A task that nothing can check is set aside with the reason.

Source: tau2-bench, `src/tau2/evaluator`, which logs a failing gold action and goes on.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from environments.episode import Step
from environments.formats import tau2
from environments.formats.tau2 import Domain, Raw
from environments.formats.tau2_curation import Curation, merged
from environments.formats.tau2_facts import in_first_person, typed
from environments.task import Call, Change, Fact, Goal, Split, Task, UserGoal
from environments.tool import Effect
from environments.verifiers.outcome import REFUSALS, shown
from environments.world import RowChange
from environments.worlds.documents import Document, DocumentWorld

FEWEST_CALLS = 30
"""Budget of a task in calls, or twice its gold solution where that is more."""
_CUSTOMER = re.compile(r"\b[a-z]+_[a-z]+_\d{4}\b")
_TELLING = (
    ("email", re.compile(r"\S+@\S+")),
    ("user id", _CUSTOMER),
    ("zip code", re.compile(r"\b\d{5}\b")),
    ("name", re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b")),
    ("number", re.compile(r"#?W\d{7}|\b(?=[A-Z0-9]*\d)[A-Z0-9]{6}\b")),
)
"""What a user may be asked for, and how the sentence that tells it is known."""


class Aside(NamedTuple):
    """A task that is not used."""

    name: str
    """Tau2's id."""
    cause: str
    """`gold_write_failed`, `not_playable`, `short_fact`, `nothing_to_check`, `curation_failed` or `set_aside`."""
    evidence: str


class FailedAction(NamedTuple):
    """A gold action that fails when it is replayed."""

    name: str
    """Tau2's id of the task."""
    call: Call
    error: str
    writes: bool


class Imported(NamedTuple):
    """A domain's tasks, and what became of the others."""

    tasks: list[Task]
    aside: list[Aside]
    failed: list[FailedAction]
    sources: dict[str, Raw]
    """By task id, the tau2 task that it came from; twins have none."""


class _Played(NamedTuple):
    """A replay: what came back, and what was left changed."""

    steps: list[Step]
    changes: list[RowChange]


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
    for name, tasks in by_name.items():
        placed = [task.model_copy(update={"split": splits[task.group]}) for task in tasks]
        found.tasks.extend(placed)
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
        asked = [*unknown, *by_user, *(criteria.get("env_assertions") or ()), *(start.get("initialization_actions") or ())]
        if asked:
            raise _Unusable("not_playable", f"the {self.world.name} world has no {asked[0]}")
        self.failed += self._failures(self._play(tau2.calls_of(self.raw), tau2.initial_of(self.raw)))
        if self.curation.aside:
            raise _Unusable("set_aside", self.curation.aside)
        if writes := [f for f in self.failed if f.writes]:
            raise _Unusable("gold_write_failed", f"{writes[0].call.name} {_key_of(writes[0].call)}: {writes[0].error}")

    def _failures(self, played: _Played) -> list[FailedAction]:
        return [
            FailedAction(self.name, step.call, json.dumps(step.observation), self._writes(step.call))
            for step in played.steps
            if _is_error(step)
        ]

    def _writes(self, call: Call) -> bool:
        return self.world.tools()[call.name].effect is Effect.WRITE

    def _play(self, calls: Sequence[Call], initial: Mapping[str, tuple[Document, ...]]) -> _Played:
        """Make the calls in the world as the task starts."""
        start = self._blank().model_copy(update={"initial": dict(initial)})
        self.world.reset()
        self.world.begin(start)
        steps = [Step(call, self.world.call(call.name, call.arguments)) for call in calls]
        return _Played(steps, list(self.world.changes()))

    def _blank(self) -> Task:
        """What every task of the domain has."""
        return Task(
            world=self.world.name,
            family="question",
            depth=0,
            instruction=self._instruction(tau2.scenario_of(self.raw)),
            tools=tuple(self.world.tools()),
            goal=Goal(changes=()),
            gold_answer="",
            max_calls=FEWEST_CALLS,
            query_id=tau2.query_id_of(self.world.name, self.name),
            user=self._user(tau2.scenario_of(self.raw)) if self.conversation else None,
        )

    def _instruction(self, scenario: Mapping[str, str]) -> str:
        """What the user says first; where nobody will speak for it later, all that there is to say."""
        names = ("reason_for_call",) if self.conversation else _SECTIONS
        return "\n".join(in_first_person(scenario[n]) for n in names if len(scenario.get(n, "")) > 1)

    def _user(self, scenario: Mapping[str, str]) -> UserGoal:
        told = {name: text for name, text in scenario.items() if name != "domain"}
        text = " ".join(scenario.get(name, "") for name in ("known_info", "reason_for_call"))
        sentences = [in_first_person(s) for s in re.split(r"(?<=[.!?])\s+|\n+", text) if s.strip()]
        facts = {name: next((s for s in sentences if shape.search(s)), "") for name, shape in _TELLING}
        return UserGoal(
            persona=self.raw["user_scenario"].get("persona") or "plain",
            facts={name: said for name, said in facts.items() if said},
            max_replies=FEWEST_CALLS,
            script=json.dumps(told, ensure_ascii=False),
        )

    def _task(self) -> Task:
        """The task with the goal that its gold solution reaches."""
        added, gold = self.curation, tau2.calls_of(self.raw)
        calls = [*(c for c in added.looks if c not in gold), *gold, *added.works]
        played = self._play(calls, tau2.initial_of(self.raw))
        self._looks_hold(added.looks, played)
        facts = self._facts()
        if not played.changes and not facts and added.reason is None:
            raise _Unusable("nothing_to_check", "the gold actions change nothing and nothing must be said")
        return self._blank().model_copy(
            update={
                **_solution(played, facts, added.reason, self._writes),
                "goal": self._goal(played, facts),
                "initial": tau2.initial_of(self.raw),
                "group": self._group(played),
            }
        )

    def _goal(self, played: _Played, facts: Sequence[Fact]) -> Goal:
        """What must hold at the end, be said, and have been looked at; a refusal also hands over where tau2 does."""
        added = self.curation
        needed = [s for s in played.steps if s.call in added.looks]
        if added.reason:
            needed += [s for s in played.steps if s.call not in added.looks and self._writes(s.call)]
        seen = {digest: None for step in needed for digest in shown(step.observation)}
        changes = tuple(_change(change, self.world.key_fields) for change in played.changes)
        return Goal(required=tuple(facts), changes=changes, seen=tuple(seen), reason=added.reason)

    def _facts(self) -> list[Fact]:
        if self.curation.facts is not None:
            return list(self.curation.facts)
        found = {text: typed(text) for text in tau2.communicated(self.raw)}
        if short := [text for text, fact in found.items() if fact is None]:
            raise _Unusable("short_fact", f"{short[0]!r} is in any answer by accident")
        return [fact for fact in found.values() if fact is not None]

    def _looks_hold(self, looks: Sequence[Call], played: _Played) -> None:
        """Whether the curation fits the domain: every look finds something."""
        if missed := [s for s in played.steps if s.call in looks and _is_error(s)]:
            raise _Unusable("curation_failed", f"{missed[0].call.name} {_key_of(missed[0].call)}: {missed[0].observation}")

    def _group(self, played: _Played) -> str:
        """The customer: tasks of one are variants of each other more often than not."""
        shown_ids = [str(s.observation.get("user_id", "")) for s in played.steps if isinstance(s.observation, dict)]
        named = [*filter(None, shown_ids), *_CUSTOMER.findall(json.dumps(tau2.scenario_of(self.raw)))]
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
        changes = tuple(_change(change, self.world.key_fields) for change in played.changes)
        return task.model_copy(
            update={
                **_solution(played, [], None, self._writes),
                "instruction": self._instruction(scenario),
                "user": self._user(scenario) if self.conversation else None,
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
        changes = self._play(tau2.calls_of(self.raw), initial).changes
        goal = {**beyond["goal"], "changes": tuple(_change(c, self.world.key_fields) for c in changes)}
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


_SECTIONS = ("reason_for_call", "known_info", "unknown_info", "task_instructions")


def _solution(played: _Played, facts: Sequence[Fact], reason: str | None, writes: object) -> dict[str, object]:
    """The gold solution and what follows from it: what fails is no part of it."""
    calls = tuple(step.call for step in played.steps if not _is_error(step))
    written = sorted({c.name for c in calls if callable(writes) and writes(c)}) if played.changes else []
    said = "; ".join(fact.value for fact in facts)
    answer = f"here is what you asked for: {said}." if said else "it is done."
    return {
        "family": "refusal" if reason else "+".join(written) or "question",
        "depth": 0 if reason else 4 if written else min(len(calls), 2),
        "gold_calls": calls,
        "gold_answer": REFUSALS[reason] if reason else answer,
        "max_calls": max(FEWEST_CALLS, 2 * len(calls)),
    }


def _change(change: RowChange, key_fields: Mapping[str, str]) -> Change:
    """A document as it must be at the end; one whose key the world makes up is known by the rest."""
    if change.before is not None or change.after is None:
        return Change(table=change.table, key=change.key, columns=change.after)
    rest = {name: value for name, value in change.after.items() if name != key_fields[change.table]}
    return Change(table=change.table, columns=rest)


def _is_error(step: Step) -> bool:
    return isinstance(step.observation, dict) and "error" in step.observation


def _key_of(call: Call) -> str:
    """What a call is about: its first argument."""
    return str(next(iter(call.arguments.values()), ""))
