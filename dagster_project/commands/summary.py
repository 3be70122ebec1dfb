"""What a demo ends with: where the rows went, held-out scores, seconds per stage, and what to try next."""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from assets import keys
from assets.benchmarks.funnel import layers, rows_of
from assets.benchmarks.words import SUITES, estimate, gain_in_words, policy_name
from dagster_project import profiles
from dagster_project.commands.progress import duration
from resources.lake import Lake

MADE_AFTER_TASKS = (
    ("trajectories/seed_trajectories", "seed trajectories", "verified"),
    ("frontier/seed_probes", "tasks probed, seed policy", ""),
    ("trajectories/adaptive_trajectories", "adaptive trajectories", "verified"),
    ("frontier/boundary_probes", "tasks probed, boundary policy", ""),
    ("policy/training_queue", "tasks in the RL queue", ""),
)


def summary(lake: Lake, seconds: Mapping[str, float], made: set[str]) -> str:
    """Everything that the tables show so far, as text.

    Args:
        lake: where the tables are.
        seconds: of each stage's last making, by table name.
        made: tables made by this command; the others held from before.
    """
    parts = [funnel_text(lake), *scores_text(lake), seconds_text(seconds, made), *next_steps(lake)]
    return "\n\n".join(part for part in parts if part)


def columns(rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Rows as aligned text; the first `left` columns are words, the others figures."""
    listed = [list(row) for row in rows]
    widths = [max(len(row[i]) for row in listed) for i in range(len(listed[0]))] if listed else []
    lines = (
        "  ".join(c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True)))
        for row in listed
    )
    return "\n".join(f"  {line}".rstrip() for line in lines)


def funnel_text(lake: Lake) -> str:
    """In, kept and the main reasons of the rest, layer by layer."""
    rows, rest = [("", "in", "kept", "share")], ["the rest"]
    for layer in layers(lake):
        kept = f"{100 * layer.kept / max(1, layer.went_in):.1f}%"
        rows.append((layer.name, f"{layer.went_in:,}", f"{layer.kept:,}", kept))
        rest.append(", ".join(f"{reason} {count:,}" for reason, count in list(layer.dropped.items())[:3] if count))
    for table, name, remark in MADE_AFTER_TASKS:
        if lake.exists(table):
            rows.append((name, "", f"{rows_of(lake, table):,}", ""))
            rest.append(remark)
    lines = columns(rows).splitlines()
    widest = max(map(len, lines))
    return "\n".join(
        ["WHERE THE ROWS WENT", *(f"{a:<{widest}}   {b}".rstrip() for a, b in zip(lines, rest, strict=True))]
    )


def scores_text(lake: Lake) -> list[str]:
    """Held-out scores of every policy and baseline, one block per suite; nothing before they were measured."""
    if not lake.exists("benchmarks/results"):
        return []
    scores, gains = lake.read("benchmarks/results"), lake.read("benchmarks/gains")
    return [_suite(str(suite), scores, gains) for suite in scores["suite"].unique(maintain_order=True)]


def _suite(suite: str, scores: pl.DataFrame, gains: pl.DataFrame) -> str:
    own = list(scores.filter(pl.col("suite") == suite).iter_rows(named=True))
    k = own[0]["k"]
    rows = [("", "pass@1", f"pass^{k}", "greedy", "temperature")]
    for row in own:
        greedy = "" if row["greedy"] is None else f"{row['greedy']:.3f}"
        heat = "" if row["temperature"] is None else f"{row['temperature']:g}"
        rows.append((policy_name(row["policy"]), estimate(row, "pass_1"), estimate(row, "pass_hat_k"), greedy, heat))
    said = [f"  {gain_in_words(row, k)}" for row in gains.filter(pl.col("suite") == suite).iter_rows(named=True)]
    title = f"HELD-OUT SCORES, suite {suite}: {own[0]['items']} {SUITES.get(suite, 'tasks')}; 95% intervals"
    return "\n".join([title, columns(rows), *said])


def seconds_text(seconds: Mapping[str, float], made: set[str]) -> str:
    """How long each stage took, and the sum of what was made now."""
    rows = [
        (table, duration(seconds[table]), "" if table in made else "held from before")
        for table in map(keys.table_of, keys.PIPELINE)
        if table in seconds
    ]
    total = sum(seconds.get(table, 0.0) for table in made)
    return "\n".join(["TIME", columns([*rows, ("all stages made now", duration(total), "")])])


def next_steps(lake: Lake) -> list[str]:
    """Where the page lies, and what one can do from here."""
    page = lake.path("benchmarks/report").with_name("report.html")
    steps = ["NEXT"]
    if page.exists():
        steps.append(f"  open the report           {page}")
    steps += [
        "  open Dagster on this      loopwright ui   (or make ui), then http://127.0.0.1:3000",
        "  put your own log in       loopwright demo --logs PATH --column NAME",
        "  change one stage          its settings in the Launchpad of its page; what depends on it turns stale",
        f"  start over                delete {profiles.home()}",
    ]
    return ["\n".join(steps)]
