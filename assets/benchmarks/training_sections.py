"""The report's sections about training: the frontier before and after, the curves, and where everything came from."""

import json
from collections.abc import Sequence
from typing import Any

import polars as pl

from assets.benchmarks.charts import curve, stacks
from assets.benchmarks.html import Section, Sources, details, figure, note, prose, table, tag, text
from resources.checkpoints import read_checkpoint

SEED_PROBES, BOUNDARY_PROBES = "frontier/seed_probes", "frontier/boundary_probes"
REGION_NAMES = ("trivial", "learnable", "plateau", "noise")
CHECKPOINTS = {
    "sft/seed_policy": ("Seed policy: loss", "loss", "nats per token"),
    "sft/boundary_policy": ("Boundary policy: loss", "loss", "nats per token"),
    "policy/rl_policy": ("RL policy: mean reward of a step's episodes", "reward", "reward"),
}


def _frontier(sources: Sources) -> str:
    before, after = sources.lake.read(SEED_PROBES), sources.lake.read(BOUNDARY_PROBES)
    rows = {f"seed policy ({len(before)})": _regions(before), f"boundary policy ({len(after)})": _regions(after)}
    told = prose(
        "Each probed task was tried several times. Learnable tasks are those that the policy solves sometimes: "
        "the frontier, where training has something to say. It moves with the policy, so it is measured again.",
        f"Mean reward of the probes: {_mean(before)} for the seed policy, {_mean(after)} for the boundary policy.",
    )
    drawn = figure(stacks(rows, REGION_NAMES), "Probed tasks by region, before and after the second SFT.")
    return told + drawn + _by_family(before, after) + _whole_frontier(sources)


def _regions(probes: pl.DataFrame) -> dict[str, float]:
    return dict(probes["region"].value_counts().iter_rows())


def _mean(probes: pl.DataFrame) -> str:
    mean = probes["mean"].mean()
    return f"{mean:.3f}" if isinstance(mean, float) else "–"


def _by_family(before: pl.DataFrame, after: pl.DataFrame) -> str:
    rates = [p.group_by("family").agg(rate=pl.col("mean").mean(), tasks=pl.len()) for p in (before, after)]
    joined = rates[0].join(rates[1], on="family", how="full", coalesce=True, suffix="_after").sort("family")
    rows = (
        (str(family).replace("_", " "), _score(a), n or 0, _score(b), m or 0)
        for family, a, n, b, m in joined.iter_rows()
    )
    head = ("family", "seed: mean reward", "tasks", "boundary: mean reward", "tasks")
    return details("Mean reward of the probes by family", table(head, rows))


def _score(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _whole_frontier(sources: Sources) -> str:
    if not sources.lake.exists("frontier/regions"):
        return ""
    regions = sources.lake.read("frontier/regions")
    certain = int(regions["certain"].sum())
    return note(
        f"From the probes, every one of the {len(regions):,} training tasks has a posterior: "
        f"{certain:,} are certain enough for the second SFT, the others are left to RL."
    )


def _curves(sources: Sources) -> str:
    drawn = []
    for name, (caption, value, unit) in CHECKPOINTS.items():
        checkpoint = read_checkpoint(sources.lake, name)
        points = [(float(h["step"]), float(h[value])) for h in checkpoint.history if value in h and "step" in h]
        drawn.append(figure(curve(points, x="step", y=unit), f"{caption}. Version {checkpoint.version}."))
    return tag("div", *drawn, kind="pair")


def _lineage(sources: Sources) -> str:
    rows = [(name, tag("code", text(made.version)), _settings(made.settings)) for name, made in sources.made.items()]
    parents = [_parent(sources, name) for name in CHECKPOINTS if sources.lake.exists(name)]
    return (
        prose(
            "A data version is a hash of content, without clocks and paths: the same work done again has the same "
            "version. Each checkpoint also carries a manifest of the rows that its loader really served."
        )
        + table(("stage", "data version", "settings of its run"), rows, words=(0, 1, 2))
        + table(("checkpoint", "version", "made from", "digest of consumed rows"), parents, words=(0, 1, 2, 3))
    )


def _settings(settings: Any) -> str:
    if not settings:
        return ""
    said = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in settings.items())
    return details("settings", tag("code", text(said)))


def _parent(sources: Sources, name: str) -> Sequence[str]:
    manifest = read_checkpoint(sources.lake, name).manifest
    codes = (tag("code", text(str(manifest[key])[:16] or "–")) for key in ("version", "parent", "consumed"))
    return (name, *codes)


def _again(_: Sources) -> str:
    commands = (
        "loopwright demo             # goes on from what is finished; --again makes every stage anew",
        "loopwright ui               # the same state in Dagster: graph, runs, versions, checks",
        "loopwright profile show     # every setting of the active profile",
    )
    return (
        prose(
            "The same settings on the same log give the data versions above, stage by stage, on the same kind of "
            "machine; a run that was killed goes on from what it finished."
        )
        + tag("pre", tag("code", text("\n".join(commands))))
        + prose("Settings of single stages stand in the table above; in Dagster they are the Launchpad of each stage.")
    )


FRONTIER = Section("frontier", "The frontier", (SEED_PROBES, BOUNDARY_PROBES), _frontier)
CURVES = Section("training", "Training", tuple(CHECKPOINTS), _curves)
LINEAGE = Section("lineage", "Lineage", (), _lineage)
AGAIN = Section("again", "Make it again", (), _again)
