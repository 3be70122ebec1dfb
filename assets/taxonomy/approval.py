"""The approval of a plan: a row in the lake that names what a person agreed to, for a later step to read."""

from typing import Final, NamedTuple

import polars as pl

from assets.taxonomy.plan import Plan
from resources.lake import Lake

APPROVED: Final = "taxonomy/approved"


class Approval(NamedTuple):
    """What was agreed to."""

    plan: str
    """Hash of the plan."""
    before: str
    """Version of the tree that the labels were of."""
    after: str
    calls: int


def approve(lake: Lake, plan: Plan) -> Approval:
    """Write down that this plan may be carried out; it takes the place of an earlier approval."""
    given = Approval(plan.hash, plan.before, plan.after, plan.calls)
    lake.write(APPROVED, pl.DataFrame([given._asdict()]))
    return given


def approved(lake: Lake) -> Approval | None:
    """The last approval; None where there is none."""
    return Approval(*lake.read(APPROVED).row(0)) if lake.exists(APPROVED) else None
