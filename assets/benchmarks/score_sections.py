"""The report's sections about what the policies can do: scores, depths and families, differences, temperatures."""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from assets.benchmarks.charts import Estimate, intervals
from assets.benchmarks.html import (
    Section,
    Sources,
    figure,
    interval,
    note,
    prose,
    rate,
    shaded,
    signed,
    table,
    tag,
    text,
)
from assets.benchmarks.words import NAMES, SUITES, gain_in_words, policy_name

RESULTS, GAINS = "benchmarks/results", "benchmarks/gains"
DEPTHS = {
    "0": "refuse or ask back",
    "1": "one call",
    "2": "chained or checked calls",
    "3": "comparison",
    "4": "booking",
}


def headline(sources: Sources) -> str:
    """The three policies at a glance, and in plain words what changed from one to the next."""
    rows = _trained(sources.lake.read(RESULTS), "hidden")
    if not rows:
        return ""
    k, last = rows[0]["k"], rows[-1]["policy"]
    cards = (
        tag(
            "div",
            tag("div", text(policy_name(row["policy"])), kind="name"),
            tag("div", text(rate(row["pass_1"])), tag("small", "pass@1"), kind="big"),
            tag("div", text(f"95% interval {interval(row['pass_1_low'], row['pass_1_high'])}"), kind="note"),
            tag("div", text(f"pass^{k} {rate(row['pass_hat_k'])} {_span(row, 'pass_hat_k')}"), kind="note"),
            kind="card last" if row["policy"] == last else "card",
        )
        for row in rows
    )
    return tag("div", *cards, kind="cards") + _sentences(sources.lake.read(GAINS), "hidden", k)


def _sentences(gains: pl.DataFrame, suite: str, k: int) -> str:
    rows = list(gains.filter(pl.col("suite") == suite).iter_rows(named=True))
    items = (tag("li", text(gain_in_words(row, k)), kind=_tone(row)) for row in reversed(rows))
    return tag("ul", *items, kind="plain")


def _tone(row: Mapping[str, Any]) -> str:
    if row["pass_hat_k_low"] > 0:
        return "better"
    return "worse" if row["pass_hat_k_high"] < 0 else "open"


def _scores(sources: Sources) -> str:
    scores = sources.lake.read(RESULTS)
    return "".join(_suite(scores, str(suite)) for suite in scores["suite"].unique(maintain_order=True))


def _suite(scores: pl.DataFrame, suite: str) -> str:
    rows = list(scores.filter(pl.col("suite") == suite).iter_rows(named=True))
    k = rows[0]["k"]
    drawn = {policy_name(row["policy"]): [_estimate(row, "pass_1"), _estimate(row, "pass_hat_k")] for row in rows}
    wording = "in the user's own words" if suite == "log" else "the wording changes from attempt to attempt"
    told = prose(
        f"{rows[0]['items']} {SUITES.get(suite, 'tasks')}, {k} attempts at each; {wording}.",
        "A task whose right end is a refusal counts together with a solvable twin: both or nothing.",
    )
    caption = f"pass@1: share solved at one attempt. pass^{k}: share solved at {k} attempts out of {k}. 95% intervals."
    left_out = max(row["left_out"] for row in rows)
    apart = note(f"{left_out} items lack a full set of scored attempts and are left out.") if left_out else ""
    drawing = figure(intervals(drawn, ["pass@1", f"pass^{k}"]), caption)
    return tag("h3", text(f"Suite {suite}")) + told + drawing + apart + _heat(rows)


def _heat(rows: list[dict[str, Any]]) -> str:
    chosen = [row for row in rows if row["temperature"] is not None]
    cells = ((policy_name(r["policy"]), f"{r['temperature']:g}", rate(r["greedy"]), _span(r, "greedy")) for r in chosen)
    head = ("", "best temperature on development tasks", "greedy pass@1", "95% interval")
    return table(head, cells)


def _by_kind(sources: Sources) -> str:
    rows = _trained(sources.lake.read(RESULTS), "hidden")
    names = [policy_name(row["policy"]) for row in rows]
    depths = [json.loads(row["by_depth"]) for row in rows]
    families = [json.loads(row["by_family"]) for row in rows]
    change = _depth_change(sources.lake.read(GAINS))
    depth_rows = (
        (f"{depth}  {DEPTHS.get(depth, '')}", *(shaded(d.get(depth)) for d in depths), change.get(depth, ""))
        for depth in sorted(set().union(*depths))
    )
    family_rows = (
        (family.replace("_", " "), *(shaded(f.get(family)) for f in families))
        for family in sorted(set().union(*families))
    )
    return (
        prose("pass@1 on the hidden suite. Depth grows with what a task asks for.")
        + table(("depth", *names, "RL over boundary, paired"), depth_rows)
        + tag("h3", "By task family")
        + table(("family", *names), family_rows)
    )


def _depth_change(gains: pl.DataFrame) -> dict[str, str]:
    rl = pl.col("suite") == "hidden", pl.col("before") == "boundary", pl.col("after") == "rl"
    found = gains.filter(*rl)["depths"]
    said = json.loads(found[0]) if len(found) else {}
    return {depth: f"{signed(v)} {interval(low, high, sign=True)}" for depth, (v, low, high) in said.items()}


def _differences(sources: Sources) -> str:
    gains = sources.lake.read(GAINS)
    parts = [
        prose(
            "Both policies of a pair tried the same tasks, so differences are taken task by task. "
            "An interval that contains 0 shows no difference; that is not the same as showing that there is none."
        )
    ]
    for suite in gains["suite"].unique(maintain_order=True):
        rows = list(gains.filter(pl.col("suite") == suite).iter_rows(named=True))
        drawn = {
            f"{NAMES.get(r['after'], r['after'])} − {r['before']}": [_estimate(r, "pass_1"), _estimate(r, "pass_hat_k")]
            for r in rows
        }
        ends = [abs(e) for both in drawn.values() for found in both for e in found]
        reach = max(0.1, *ends)
        axis = -(-reach * 10 // 1) / 10
        seen = max((r["detectable"] for r in rows if r["detectable"] > 0), default=None)
        caption = f"Suite {suite}: gain with its 95% interval."
        if seen is not None:
            caption += f" Gains in pass^k from {seen:.3f} on show reliably with this many tasks (80% power)."
        parts.append(figure(intervals(drawn, ["pass@1", "pass^k"], low=-axis, high=axis), caption))
    return "".join(parts)


def _trained(scores: pl.DataFrame, suite: str) -> list[dict[str, Any]]:
    own = scores.filter((pl.col("suite") == suite) & pl.col("policy").is_in(list(NAMES)))
    return list(own.iter_rows(named=True))


def _estimate(row: Mapping[str, Any], name: str) -> Estimate:
    return Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"])


def _span(row: Mapping[str, Any], name: str) -> str:
    return "–" if row[name] is None else interval(row[f"{name}_low"], row[f"{name}_high"])


SCORES = Section("scores", "Held-out scores", (RESULTS,), _scores)
DIFFERENCES = Section("differences", "What each step gained", (RESULTS, GAINS), _differences)
KINDS = Section("kinds", "By depth and family", (RESULTS, GAINS), _by_kind)
