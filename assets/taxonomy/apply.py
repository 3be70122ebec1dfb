"""A plan carried out on labels: ids rewritten, the rows in question asked about, everything else left as it was.

What the plan does not name is the same afterwards, byte for byte and in its place. A row that was asked about takes
over leaf, runner-up and confidence, and where its first leaf is another one also its difficulty; its constraints and a
second leaf that was not in question stay.
"""

from collections.abc import Callable

import polars as pl

from assets.labels.table import LABEL_SCHEMA
from assets.taxonomy.plan import LEAF_COLUMNS, Plan, follow
from assets.taxonomy.tree import OTHER

Annotate = Callable[[pl.DataFrame], pl.DataFrame]
"""Takes query_id and among (the leaves allowed), gives a label for each: query_id, primary, secondary, runner_up,
confidence, difficulty, difficulty_axes, annotator."""
_ANSWERED = ("primary", "secondary", "runner_up", "confidence", "difficulty", "difficulty_axes", "annotator")


def answers_to(plan: Plan, annotate: Annotate) -> pl.DataFrame:
    """What the annotator says of the rows in question.

    Args:
        plan: what to do.
        annotate: asked once for all rows in question; not at all where there are none.

    Raises:
        ValueError: an answer is one too many, or is none of the leaves allowed.
    """
    wanted = _wanted(plan)
    if wanted.is_empty():
        return pl.DataFrame(schema={"query_id": pl.String} | {name: LABEL_SCHEMA[name] for name in _ANSWERED})
    answers = annotate(wanted)
    _check(wanted, answers)
    return answers


def without_answer(plan: Plan, answers: pl.DataFrame) -> pl.DataFrame:
    """The rows in question that have no answer: query_id and the leaves that were allowed."""
    return _wanted(plan).join(answers, on="query_id", how="anti")


def apply_plan(labels: pl.DataFrame, plan: Plan, answers: pl.DataFrame) -> pl.DataFrame:
    """The labels of the tree after, in the order of those before; a row in question without an answer has none.

    Args:
        labels: those that the plan was made for, or some of them.
        plan: what to do.
        answers: of `answers_to`.
    """
    rewritten = labels.with_columns(follow(name, plan.follows) for name in LEAF_COLUMNS)
    if len(plan.asked):
        rewritten = _answered(rewritten, plan, answers)
        silent = without_answer(plan, answers)
        rewritten, labels = (
            rows.join(silent, on="query_id", how="anti", maintain_order="left") for rows in (rewritten, labels)
        )
    return _without_repeats(rewritten, labels)


def _wanted(plan: Plan) -> pl.DataFrame:
    return plan.asked.select("query_id", among=pl.coalesce("among", "among_secondary"))


def _answered(labels: pl.DataFrame, plan: Plan, answers: pl.DataFrame) -> pl.DataFrame:
    """Labels in which the answers stand."""
    said = answers.select("query_id", *(pl.col(name).alias(f"new_{name}") for name in _ANSWERED))
    both = labels.join(plan.asked.drop("change"), on="query_id", how="left", maintain_order="left")
    both = both.join(said, on="query_id", how="left", maintain_order="left")
    first, second = pl.col("among").is_not_null(), pl.col("among_secondary").is_not_null()
    other = pl.col("among").is_not_null() & pl.col("new_primary").ne_missing(pl.col("primary"))
    fitting = pl.col("new_secondary").is_in(pl.col("among_secondary"))
    is_other = pl.element().str.split(".").list.last() == OTHER
    fallback = pl.col("among_secondary").list.eval(pl.element().filter(is_other)).list.last()
    both_asked = pl.when(fitting).then("new_secondary").otherwise(fallback)
    secondary = pl.when(second & ~first).then("new_primary").when(second).then(both_asked).otherwise("secondary")
    taken = {name: first for name in ("primary", "runner_up", "confidence")}
    taken |= {"difficulty": other, "difficulty_axes": other, "annotator": first | second}
    replaced = {name: pl.when(where).then(f"new_{name}").otherwise(name) for name, where in taken.items()}
    return both.with_columns(secondary=secondary, **replaced).select(labels.columns)


def _without_repeats(labels: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """A leaf that became the first one is not the second or the runner-up too; rows that did not change stay."""
    was = before.select(pl.col(name).alias(f"was_{name}") for name in LEAF_COLUMNS)
    both = pl.concat([labels, was], how="horizontal")
    same = [pl.col(name).eq_missing(pl.col(f"was_{name}")) for name in LEAF_COLUMNS]
    for name in ("secondary", "runner_up"):
        repeated = (pl.col(name) == pl.col("primary")) & ~pl.all_horizontal(same)
        both = both.with_columns(pl.when(~repeated.fill_null(value=False)).then(name).alias(name))
    return both.select(labels.columns)


def _check(wanted: pl.DataFrame, answers: pl.DataFrame) -> None:
    strangers = answers.join(wanted, on="query_id", how="anti")
    if len(strangers) or answers["query_id"].n_unique() < len(answers):
        raise ValueError(f"{len(wanted)} rows were asked about and {len(answers)} answered: answer each once at most")
    both = wanted.join(answers, on="query_id")
    strange = both.filter(~pl.col("primary").is_in(pl.col("among")))
    if len(strange):
        query_id, among, answer = strange.select("query_id", "among", "primary").row(0)
        raise ValueError(
            f"query {query_id} was answered with {answer!r}; allowed: {', '.join(among)}. {len(strange)} such answers"
        )
