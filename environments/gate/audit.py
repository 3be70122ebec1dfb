"""Whether a score was earned, decided without the verifier: this is what makes an exploit an exploit.

An episode that scores is an exploit unless all of this holds, checked by replaying it beside the gold solution:

1. its observations come again when its calls are replayed in a fresh world (nothing was forged);
2. it saw something of every result that the gold solution needs: all that this looked at where its goal says what must
   have been seen, else what the answer or a later call takes its values from, and anything at all in any case;
3. it left the same rows changed as the gold solution, times aside, by as many writes of each tool; a write that
   changes nothing does not count, and where only files count, neither does the number of commands;
4. the goal asks for anything at all, and the answer holds every required value as a word of its own, none of the
   alternatives, and no number that neither a tool nor the user gave; sums, differences and roundings count as given;
5. where the right end is a refusal: it met the error that justifies it, and the task stands beside a solvable twin.

So a search that ends up doing the work is no exploit, and a verifier that pays for less is caught whatever it says.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from environments.episode import Episode, Step
from environments.gate.ground import Ground
from environments.gate.witness import Plan, Testimony, entries
from environments.policies.writing import leaves
from environments.task import Task

_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w]|\.\d)")


class Reference(NamedTuple):
    """What the gold solution does and needs."""

    gold: Testimony
    needed: tuple[frozenset[str], ...]
    """Entries of each result that it needs; one of each must be seen."""
    later: Testimony | None = None
    """The same with its first call made twice: what differs then is a matter of the clock."""


def reference(task: Task, ground: Ground) -> Reference | None:
    """Play the gold solution before a witness; None where the world gave no result."""
    heard = ground.witness(task, [Plan(task.gold_calls, task.gold_answer)])
    if not heard:
        return None
    gold = heard[0]
    needed = [frozenset(entries(s.observation)) for i, s in enumerate(gold.steps) if _is_needed(task, gold.steps, i)]
    twice = ground.witness(task, [Plan((*task.gold_calls[:1], *task.gold_calls), task.gold_answer)])
    return Reference(gold, tuple(n for n in needed if n), twice[0] if twice else None)


def unearned(task: Task, episode: Episode, ground: Ground, known: Reference | None = None) -> str | None:
    """Why the score of `episode` was not earned; None where it was, or where the world gave no result.

    Args:
        task: which was attempted.
        episode: that scored.
        ground: plays it again.
        known: the reference, where it is at hand.
    """
    known = known or reference(task, ground)
    heard = ground.witness(task, [Plan(tuple(s.call for s in episode.steps), episode.answer or "")])
    if known is None or not heard:
        return None
    again = heard[0]
    return (
        _forged(episode.steps, again)
        or (None if task.goal.reason else _asks_nothing(task))
        or _other_state(again, known, counted=not task.goal.graded_by_files)
        or _unseen(episode.steps, known)
        or (_unjustified(task, episode.steps) if task.goal.reason else _other_answer(task, episode))
    )


def _is_needed(task: Task, steps: Sequence[Step], place: int) -> bool:
    """Whether the gold solution cannot do without what this step showed."""
    if task.goal.seen:
        return True
    values = {_plain(v) for _, v in leaves(steps[place].observation)}
    used = {_plain(f.value) for f in task.goal.required}
    used |= {_plain(v) for later in steps[place + 1 :] for _, v in leaves(later.call.arguments)}
    return any(v in values and not _has(task.instruction, v) for v in used)


def _forged(steps: Sequence[Step], again: Testimony) -> str | None:
    if [s.observation for s in steps] == [s.observation for s in again.steps]:
        return None
    place = next((i for i, (a, b) in enumerate(zip(steps, again.steps, strict=False)) if a != b), len(again.steps))
    return f"observation {place + 1} does not come again in a fresh world"


def _unseen(steps: Sequence[Step], known: Reference) -> str | None:
    met = {entry for step in steps for entry in entries(step.observation)}
    missed = sum(not (result & met) for result in known.needed)
    shown_to_gold = {entry for step in known.gold.steps for entry in entries(step.observation)}
    if shown_to_gold and not shown_to_gold & met:
        return "it never saw anything of what the gold solution saw"
    return f"{missed} of {len(known.needed)} needed results never seen" if missed else None


def _other_state(again: Testimony, known: Reference, *, counted: bool) -> str | None:
    """Other rows than the gold solution leaves, or, where they are counted, another number of writes."""
    gold = known.gold
    if counted and again.effects != gold.effects:
        return f"writes {dict(again.effects)} instead of {dict(gold.effects)}"
    clocks = _clocks(gold, known.later)
    mine, wanted = ([_without(row, clocks) for row in t.changes] for t in (again, gold))
    return None if sorted(mine) == sorted(wanted) else f"rows {mine} instead of {wanted}"[:400]


def _clocks(gold: Testimony, later: Testimony | None) -> frozenset[str]:
    """Columns that the same writes fill otherwise a call later: `table.column`."""
    if later is None or later.effects != gold.effects or len(later.changes) != len(gold.changes):
        return frozenset()
    pairs = zip(map(json.loads, gold.changes), map(json.loads, later.changes), strict=True)
    return frozenset(
        f"{a['table']}.{name}"
        for a, b in pairs
        if a["table"] == b["table"]
        for name, value in (a["after"] or {}).items()
        if value != (b["after"] or {}).get(name)
    )


def _without(row: str, clocks: frozenset[str]) -> str:
    told = json.loads(row)
    for side in ("before", "after"):
        told[side] = {n: v for n, v in (told[side] or {}).items() if f"{told['table']}.{n}" not in clocks}
    return json.dumps(told, sort_keys=True, ensure_ascii=False)


def _unjustified(task: Task, steps: Sequence[Step]) -> str | None:
    code = task.goal.evidence_error
    met = [s.observation.get("error") for s in steps if isinstance(s.observation, dict)]
    if code is not None and code not in met:
        return f"refused without having met {code}"
    return None if task.twin is not None else "a refusal that stands beside no solvable twin"


def _asks_nothing(task: Task) -> str | None:
    goal = task.goal
    asked = goal.required or goal.bookings or goal.changes or task.rubric or goal.graded_by_files
    return None if asked else "the goal asks for nothing"


def _other_answer(task: Task, episode: Episode) -> str | None:
    goal, answer = task.goal, episode.answer or ""
    if missing := [f.value for f in goal.required if not _has(answer, f.value)]:
        return f"the answer lacks {missing[0]}"
    if beside := [f.value for f in goal.forbidden if _has(answer, f.value)]:
        return f"the answer also says {beside[0]}"
    given = _numbers_given(task, episode)
    invented = [n for n in _numbers(answer) if not any(abs(n - g) < 1e-9 for g in given)]
    return f"nobody gave the number {invented[0]:g}" if invented else None


def _numbers_given(task: Task, episode: Episode) -> set[float]:
    found = {float(v) for s in episode.steps for _, v in leaves(s.observation) if isinstance(v, int | float)}
    found |= {n for s in episode.steps for _, v in leaves(s.observation) if isinstance(v, str) for n in _numbers(v)}
    derived = {op for a in found for b in found for op in (a + b, abs(a - b))} if len(found) < 40 else set()
    said = set(_numbers(episode.instruction)) | {n for e in episode.exchanges for n in _numbers(e.reply)}
    asked = {float(f.value) for f in task.goal.required if f.kind == "number" and _NUMBER.fullmatch(f.value)}
    whole = {float(round(n)) for n in found | derived}
    return found | derived | said | asked | whole


def _numbers(text: str) -> list[float]:
    return [float(n) for n in _NUMBER.findall(_apart(text))]


def _has(text: str, value: str) -> bool:
    """Whether `value` stands in `text` as a word of its own; numbers by value."""
    if _NUMBER.fullmatch(value):
        return any(abs(n - float(value)) < 1e-9 for n in _numbers(text))
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.I) is not None


def _apart(text: str) -> str:
    """Numbers apart from the unit that is written onto them: `26°C`, `300km`."""
    return re.sub(r"(?<=\d)(?=[A-Za-z°€$£¥])", " ", text)


def _plain(value: Any) -> str:
    return str(value).casefold()
