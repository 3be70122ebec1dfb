"""The report's sample episodes: one solved, one vetoed with the claim that nothing supports, one refusal.

They are real attempts of the latest policy at the hidden suite, read from the journal of its evaluation.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from assets.benchmarks.html import Section, Sources, note, prose, tag, text
from assets.benchmarks.words import policy_name
from environments.episode import Exchange, before_answer, exchanges_in
from environments.task import Task
from resources.checkpoints import EPISODES
from resources.lake import Lake
from training.journal import FINGERPRINT, read_segments
from training.trajectories import read_tasks

RESULTS, SUITE = "benchmarks/results", "benchmarks/suite_hidden"
CHECKPOINTS = {"rl": "policy/rl_policy", "boundary": "sft/boundary_policy", "seed": "sft/seed_policy"}
"""Latest first: what the latest policy no longer does is shown of an earlier one."""
OBSERVED = 360


KINDS = ("Solved", "Vetoed: a claim without evidence", "Rightly refused")


class Sample(NamedTuple):
    """One attempt worth showing."""

    title: str
    policy: str
    task: Task
    episode: dict[str, Any]


def played_episodes(lake: Lake, policy: str) -> pl.DataFrame:
    """The attempts of a policy's current version at the hidden suite; empty where they are gone."""
    version = lake.read(CHECKPOINTS[policy])["version"][0]
    found = [read_segments(folder) for folder in _journals(lake, policy) if _played_by(folder, version)]
    return found[0] if found else read_segments(Path(lake.root, "nowhere"))


def _journals(lake: Lake, policy: str) -> list[Path]:
    runs = Path(lake.folder(RESULTS), "runs")
    return [path / EPISODES for path in sorted(runs.glob(f"*/hidden-{policy}-t*-k*")) if "-t0-" not in path.name]


def _played_by(folder: Path, version: str) -> bool:
    mark = folder / FINGERPRINT
    return mark.exists() and json.loads(mark.read_text(encoding="utf-8"))["key"]["policy"] == version


def samples(lake: Lake) -> list[Sample]:
    """One attempt of each kind, of the latest policy that has one."""
    tasks = {task.task_id: task for task in read_tasks(lake.path(SUITE))}
    played = {policy: played_episodes(lake, policy) for policy, table in CHECKPOINTS.items() if lake.exists(table)}
    known = {policy: own.filter(pl.col("task_id").is_in(list(tasks))) for policy, own in played.items()}
    refusals = [i for i, task in tasks.items() if task.goal.reason is not None]
    refused = pl.col("task_id").is_in(refusals)
    wanted = zip(KINDS, (pl.col("success") & ~refused, pl.col("vetoed"), pl.col("success") & refused), strict=True)
    depths = {i: task.depth for i, task in tasks.items()}
    chosen = ((title, _first(known, mask, depths)) for title, mask in wanted)
    return [Sample(title, p, tasks[e["task_id"]], e) for title, found in chosen if found for p, e in [found]]


def _first(played: dict[str, pl.DataFrame], mask: pl.Expr, depths: dict[str, int]) -> tuple[str, dict[str, Any]] | None:
    """The attempt at the deepest task with the fewest calls, ties by id: the same results show the same sample."""
    for policy, episodes in played.items():
        fit = episodes.filter(mask.fill_null(value=False))
        if len(fit):
            rows = fit.iter_rows(named=True)
            return policy, min(
                rows, key=lambda e: (-depths[e["task_id"]], len(json.loads(e["steps"])), e["episode_id"])
            )
    return None


def _samples(sources: Sources) -> str:
    found = samples(sources.lake)
    if not found:
        return note("The episodes of the evaluation are gone: materialize benchmarks/results again to see some.")
    told = prose("Attempts at hidden tasks, turn by turn. A claim that nothing supports is marked.")
    absent = ", ".join(kind.lower() for kind in KINDS if kind not in {sample.title for sample in found})
    apart = note(f"No policy has an attempt of this kind yet: {absent}.") if absent else ""
    return told + "".join(_shown(sample) for sample in found) + apart


def _shown(sample: Sample) -> str:
    said, family = policy_name(sample.policy), sample.task.family.replace("_", " ")
    title = tag("h3", text(sample.title), tag("span", text(f"{said} · {family}"), kind="tagline"))
    turns = [_turn("user", text(sample.episode["instruction"]))]
    steps = json.loads(sample.episode["steps"])
    talk = before_answer(exchanges_in(sample.episode["exchanges"]), sample.episode["answer"])
    for done, (name, arguments, observed) in enumerate(steps):
        turns += _exchanged(talk, done)
        turns.append(_turn("calls", tag("code", text(f"{name}({_arguments(arguments)})"))))
        turns.append(_turn("world", tag("code", text(_cut(json.dumps(observed, ensure_ascii=False))))))
    turns += _exchanged(talk, len(steps))
    turns.append(_turn("answers", _marked(sample.episode)))
    return title + tag("div", *turns, kind="turns") + note(_verdict(sample))


def _exchanged(talk: Sequence[Exchange], done: int) -> list[str]:
    """The exchanges after `done` calls."""
    said = ((("asks", e.said), ("user", e.reply)) for e in talk if e.after == done)
    return [_turn(who, text(words)) for pair in said for who, words in pair]


def _turn(who: str, said: str) -> str:
    return tag("div", tag("b", text(who)), tag("span", said), kind="turn")


def _arguments(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())


def _cut(said: str) -> str:
    return said if len(said) <= OBSERVED else said[: OBSERVED - 1] + "…"


def _marked(episode: dict[str, Any]) -> str:
    """The answer, with the span that nothing supports marked where there is one."""
    answer, span = episode["answer"] or "", episode["evidence"] or ""
    if not (episode["vetoed"] and span and span in answer):
        return text(answer)
    before, _, after = answer.partition(span)
    return text(before) + tag("mark", text(span)) + text(after)


def _verdict(sample: Sample) -> str:
    episode, goal = sample.episode, sample.task.goal
    if episode["vetoed"]:
        return f"No tool of this episode returned “{episode['evidence']}”: the reward is 0, whatever else was right."
    if goal.reason is not None:
        met = f" after it had met the error {goal.evidence_error}" if goal.evidence_error else ""
        return f"Reason wanted: {goal.reason}{met}. It counts only together with a solvable twin."
    facts: Sequence[str] = [f"{fact.value} {fact.unit or ''}".strip() for fact in goal.required]
    booked = (
        f"; booked: {', '.join(b.number for b in goal.bookings)}" if goal.bookings else "; nothing was to be written"
    )
    return f"Facts wanted: {', '.join(facts) or 'none'}{booked}."


SAMPLES = Section("episodes", "Sample episodes", (RESULTS, SUITE), _samples)
