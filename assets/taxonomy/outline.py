"""A plan as people read it: every change with its rows, calls and price, and what follows from it."""

from collections.abc import Iterator
from typing import Any

from assets.taxonomy.bill import Bill, Priced, bill
from assets.taxonomy.plan import Plan
from assets.taxonomy.stale import Stale

_MOST = 12
"""Names listed one by one."""


def outline(plan: Plan, price: Bill, everything: Bill, stale: Stale, source: str = "") -> str:
    """The plan as plain lines.

    Args:
        plan: what will be done.
        price: of its calls.
        everything: what it would cost to label everything anew.
        stale: what it leaves stale.
        source: where the rates of the price are from.
    """
    lines = [f"from tree {plan.before} to {plan.after}", *_changes(plan)]
    if plan.by:
        lines.append(f"the labels in force are by another annotator: by this plan every one is by {plan.by}")
    if plan.kept:
        lines.append(
            f"the labels of tree {plan.after} are in the book and are taken up again: {len(plan.moved):,} rows get "
            f"another first leaf, {plan.fresh:,} that came since are labelled"
        )
    elif plan.fresh:
        lines.append(f"{plan.fresh:,} queries that have no label{' by it' if plan.by else ''} yet are labelled with it")
    for name, leaves in plan.partitions._asdict().items():
        lines.append(f"leaves that {name.replace('changed', 'change')}: {_listed(leaves)}")
    lines.append("stale: " + ", ".join(f"{count:,} {name}" for name, count in stale.counts().items()))
    share = f" ({price.calls / everything.calls:.1%} of labelling everything anew)" if everything.calls else ""
    lines += [f"price: {price}{share}", *([f"rates: {source}"] if source else []), f"plan {plan.hash}"]
    return "\n".join(lines)


def as_json(plan: Plan, priced: Priced, price: Bill, stale: Stale) -> dict[str, Any]:
    """The plan for another program: the same that `outline` tells."""
    rows = zip(plan.changes, plan.asked_by(), plan.moved_by(), strict=True)
    changes = [
        {
            "kind": str(change.kind), "from": list(change.before), "to": list(change.after), "node": change.is_node,
            "note": change.note, "calls": asked, "moved": moved, "price": bill(asked, priced.rates)._asdict(),
        }
        for change, asked, moved in rows
    ]  # fmt: skip
    return {
        "plan": plan.hash,
        "from": plan.before,
        "to": plan.after,
        "changes": changes,
        "leaves": {name: list(leaves) for name, leaves in plan.partitions._asdict().items()},
        "stale": {**stale.counts(), "buckets": stale.buckets, "checkpoints": stale.checkpoints},
        "rows": {"asked": len(plan.asked), "labelled": plan.fresh},
        "moved": len(plan.moved),
        "by": plan.by,
        "price": price._asdict(),
        "rates": {**priced.rates._asdict(), "source": priced.source},
    }


def _changes(plan: Plan) -> Iterator[str]:
    if not plan.changes:
        yield "  nothing changed"
    for change, asked, moved in zip(plan.changes, plan.asked_by(), plan.moved_by(), strict=True):
        note = f"  [{change.note}]" if change.note else ""
        yield f"  {change}: {asked:,} calls, {moved:,} rows moved without one{note}"


def _listed(leaves: tuple[str, ...]) -> str:
    shown = ", ".join(leaves[:_MOST]) + (f" and {len(leaves) - _MOST} more" if len(leaves) > _MOST else "")
    return f"{len(leaves)}{': ' + shown if leaves else ''}"
