"""How tau2 itself would score an attempt: what doing nothing earns there, and where its parts disagree.

Not our verifier, but what its findings on a tau2 domain are held against.

Source: tau2-bench, `src/tau2/evaluator`: DB compares states after a replay in which failures are only logged,
COMMUNICATE looks for substrings, ACTION looks for each gold action among the calls.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from environments.formats.tau2 import Raw, actions_of, communicated
from environments.task import Call
from environments.verifiers.state import same
from environments.world import RowChange
from environments.worlds.documents import DocumentWorld

FREE_TEXT: Final = ("summary", "expression")
"""Arguments that two sound agents would word differently."""


class Tau2Score(NamedTuple):
    """An attempt by the parts of tau2's reward."""

    state: bool
    """DB: the state is the one that the gold actions leave."""
    said: bool
    """COMMUNICATE: every string was in what the agent said."""
    missing: tuple[str, ...]
    """ACTION: names of the gold actions that no call matches."""
    reward: float
    """The product of the parts that the task names; NL_ASSERTION as the caller takes it."""

    @property
    def paid_without_action(self) -> bool:
        """Reward 1 although a gold action is missing."""
        return self.reward == 1 and bool(self.missing)

    @property
    def unpaid_with_all_actions(self) -> bool:
        """Reward 0 although no gold action is missing."""
        return self.reward == 0 and not self.missing


def changes_of(calls: Sequence[Call], world: DocumentWorld) -> list[RowChange]:
    """What the calls leave changed in a fresh world, failing ones passed over as tau2 does; the world is left reset."""
    world.reset()
    world.state.begin()
    for call in calls:
        world.call(call.name, call.arguments)
    found = list(world.changes())
    world.reset()
    return found


def tau2_score(
    raw: Raw,
    gold: Sequence[RowChange],
    left: Sequence[RowChange],
    calls: Sequence[Call],
    said: Sequence[str],
    *,
    asserted: bool,
) -> Tau2Score:
    """Score an attempt as tau2 would.

    Args:
        raw: the tau2 task.
        gold: what its gold actions leave changed.
        left: what the attempt left changed.
        calls: the calls of the attempt, in order.
        said: the messages of the agent.
        asserted: whether a judge would find the task's assertions fulfilled; counts where the task has any.
    """
    text = [message.lower().replace(",", "") for message in said]
    missing = tuple(a["name"] for a in actions_of(raw) if not any(_matches(a, call) for call in calls))
    spoken = all(any(info.lower() in message for message in text) for info in communicated(raw))
    parts = {
        "DB": _same_changes(gold, left),
        "COMMUNICATE": spoken,
        "ACTION": not missing,
        "NL_ASSERTION": asserted or not raw["evaluation_criteria"].get("nl_assertions"),
    }
    basis = raw["evaluation_criteria"].get("reward_basis") or ("DB", "COMMUNICATE")
    return Tau2Score(parts["DB"], spoken, missing, float(all(parts[part] for part in basis)))


def free_text_arguments(raw: Raw) -> list[tuple[str, str]]:
    """Gold actions that only the very same words would match: name and argument."""
    return [
        (action["name"], name)
        for action in actions_of(raw)
        for name in action["arguments"]
        if name in FREE_TEXT and _compared(action, action["arguments"]).get(name) is not None
    ]


def _same_changes(first: Sequence[RowChange], second: Sequence[RowChange]) -> bool:
    return len(first) == len(second) and all(
        (a.table, a.key) == (b.table, b.key) and same(a.after, b.after) for a, b in zip(first, second, strict=True)
    )


def _compared(action: Raw, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that tau2 compares: those it names, else all that the call has."""
    names = action.get("compare_args")
    return {n: v for n, v in arguments.items() if names is None or n in names}


def _matches(action: Raw, call: Call) -> bool:
    if action["name"] != call.name:
        return False
    told, gold = _compared(action, call.arguments), action["arguments"]
    return all(same(value, gold.get(name)) for name, value in told.items())
