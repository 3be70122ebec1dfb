"""The veto on labelled claims and on real episodes: precision, recall, false acceptance, speed, and cases to read.

    make bench-grounding ARGS="--cases 20"

Labelled claims lie in `tests/environments/verifiers/grounding`; the real episodes are 200 of tau-bench's airline domain
by gpt-4o, found through LOOPWRIGHT_CORPORA. False acceptance: one digit of a supported claim is changed at random, and
counted is how often nothing objects. The cases are printed for a reader to judge.
"""

import argparse
import ast
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2]))

from environments.episode import Step
from environments.policies.scripted import Gold
from environments.rollout import rollouts
from environments.task import Call
from environments.verifiers.claims import shared
from environments.verifiers.grounding import Finding, type_of
from environments.verifiers.outcome import OutcomeVerifier
from environments.verifiers.veto import Said, Setting, findings
from environments.world import WorldPool, today_of
from environments.worlds.atlas.tasks import wordings
from environments.worlds.atlas.world import AtlasWorld
from tests.bench.table import Row, publish, row
from tests.environments.verifiers.labelled import PARTS, labelled, rates

COMMAND = "make bench-grounding"
FIRST = {
    "held back, en": (108, 0.912, 0.929), "held back, zh": (102, 0.925, 0.961), "last, en": (22, 0.786, 1.0),
    "last, zh": (20, 1.0, 1.0),
}  # fmt: skip
"""Claims, precision and recall of a part when first scored; what it showed was mended afterwards."""
UNITS = {"price": "dollars", "prices": "dollars", "amount": "dollars"}


class Dialogue(NamedTuple):
    """One real episode."""

    number: int
    reward: float
    said: list[Said]
    steps: list[Step]
    setting: Setting


def dialogues(path: Path) -> Iterator[Dialogue]:
    """The episodes of a file of tau-bench trajectories."""
    for number, episode in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        messages = episode["traj"]
        messages = messages if isinstance(messages, list) else ast.literal_eval(messages)
        said, steps = _read(messages[1:])
        policy = str(messages[0]["content"])
        yield Dialogue(number, episode["reward"], said, steps, Setting(UNITS, policy, today_of(policy)))


def _read(messages: list[dict[str, Any]]) -> tuple[list[Said], list[Step]]:
    said: list[Said] = []
    steps: list[Step] = []
    heard: list[str] = []
    calls: dict[str, dict[str, str]] = {}
    for message in messages:
        calls |= {c["id"]: c["function"] for c in message.get("tool_calls") or []}
        if message["role"] == "user":
            heard.append(message["content"])
        elif message["role"] == "tool":
            given = calls.get(message["tool_call_id"], {}).get("arguments", "{}")
            steps.append(Step(Call(name=message["name"], arguments=json.loads(given)), message["content"]))
        elif message.get("content"):
            said.append(Said(message["content"], len(steps), tuple(heard)))
    return said, steps


def labelled_rows() -> list[Row]:
    """Precision, recall and F1 by part and language."""
    rows = []
    for part in PARTS:
        cases = labelled(part)
        for language in sorted({c.language for c in cases}):
            found = rates([c for c in cases if c.language == language])
            print(part, language, found, flush=True)
            rows += [
                row(f"{part.replace('_', ' ')} claims, {language}, {found['claims']:g}: {name}", found[name], "share",
                    command=COMMAND)
                for name in ("precision", "recall", "f1", "right span")
            ]  # fmt: skip
    for part, (count, precision, recall) in FIRST.items():
        f1 = 2 * precision * recall / (precision + recall)
        told = f"{part} {count}: precision, recall when first scored: {precision}, {recall}; f1"
        rows.append(row(told, f1, "share, recorded", command=COMMAND))
    return rows


def real_rows(episodes: list[Dialogue], cases: int) -> list[Row]:
    """What is vetoed in real episodes, with cases for a reader."""
    started = time.process_time()
    found = [(d, list(findings(d.said, d.steps, d.setting))) for d in episodes]
    took = time.process_time() - started
    kinds = Counter(f.type for _, made in found for _, f in made)
    count = sum(len(shared(s.text)) for d in episodes for s in d.said)
    vetoed = sum(bool(made) for _, made in found)
    solved = [bool(made) for d, made in found if d.reward == 1]
    _show([(d, said, f) for d, made in found for said, f in made], cases)
    told = ", ".join(f"{kind} {n}" for kind, n in kinds.most_common())
    what = f"{len(episodes)} real episodes"
    return [
        row(f"{what}: vetoed", vetoed / len(episodes), "share of episodes", command=COMMAND),
        row(f"{what}: vetoed of those with reward 1", sum(solved) / len(solved), "share", command=COMMAND),
        row(f"{what}: claims without evidence ({told})", sum(kinds.values()), f"of {count} claims", command=COMMAND),
        row(f"{what}: checked", len(episodes) / took, "episodes per cpu-s, shared machine", command=COMMAND),
    ]


def _show(found: list[tuple[Dialogue, Said, Finding]], cases: int) -> None:
    """Print cases, one of each kind of span in an episode."""
    seen = set()
    for d, said, f in found:
        if len(seen) < cases and (d.number, f.span) not in seen:
            seen.add((d.number, f.span))
            around = said.text[max(0, f.start - 120) : f.end + 60].replace("\n", " ")
            print(f"{len(seen)}. episode {d.number}, {f.type} [{f.span}], nearest: {f.nearest or '-'}")
            print(f"   ... {around} ...")


def changed_rows(episodes: list[Dialogue], seed: int = 5, each: int = 3) -> list[Row]:
    """How often one changed digit of a supported claim passes, by kind."""
    rng = random.Random(seed)
    tried: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for d in episodes:
        fine = {s.text for s in d.said} - {s.text for s, _ in findings(d.said, d.steps, d.setting)}
        for k, turn in enumerate(d.said):
            held = [c for c in shared(turn.text) if any(map(str.isdigit, turn.text[c.start : c.end]))]
            for claim in rng.sample(held, min(each, len(held))) if turn.text in fine else ():
                text = _changed(turn.text, claim.start, claim.end, rng)
                made = [s for s, _ in findings([*d.said[:k], turn._replace(text=text)], d.steps, d.setting)]
                tried[type_of(claim)] += 1
                passed[type_of(claim)] += not any(s.text == text for s in made)
    return [
        row(f"one digit changed, {kind}, {n} tried: passes", passed[kind] / n, "share", command=COMMAND)
        for kind, n in tried.most_common() if n >= 10
    ]  # fmt: skip


def _changed(text: str, start: int, end: int, rng: random.Random) -> str:
    at = rng.choice([i for i in range(start, end) if text[i].isdigit()])
    lowest = "1" if at == start else "0"
    return (
        text[:at]
        + rng.choice([d for d in "0123456789" if d not in (text[at], "0" if lowest == "1" else "")])
        + text[at + 1 :]
    )


def speed_row(count: int) -> Row:
    """Graded episodes of the gold policy, each task once."""
    from environments.worlds.atlas.families import FAMILIES
    from environments.worlds.atlas.tasks import draw_slots, phrasing, solvable

    rng, tasks = random.Random(3), []
    families = [f for f in FAMILIES if f in wordings()]
    while len(tasks) < count:
        family = rng.choice(families)
        slots = draw_slots(family, "train", rng)
        if task := solvable(family, slots, phrasing(family, "train", slots, rng), rng):
            tasks.append(task)
    started = time.process_time()
    done = sum(map(len, rollouts(tasks, Gold(), WorldPool(AtlasWorld), OutcomeVerifier(), k=1, seed=0)))
    return row(
        "atlas, gold answers: played and graded", done / (time.process_time() - started),
        "episodes per cpu-s, shared machine", command=COMMAND,
    )  # fmt: skip


def main() -> None:
    """Measure and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--quick", action="store_true", default=bool(os.environ.get("QUICK")))
    args = parser.parse_args()
    rows = [*labelled_rows(), speed_row(60 if args.quick else 600)]
    if corpora := os.environ.get("LOOPWRIGHT_CORPORA"):
        episodes = list(dialogues(Path(corpora) / "audit" / "tau_bench_gpt-4o_airline_trajectories.json"))
        episodes = episodes[:20] if args.quick else episodes
        rows += real_rows(episodes, args.cases) + changed_rows(episodes[:: 1 if args.quick else 4])
    publish("grounding-quick" if args.quick else "grounding", rows)


if __name__ == "__main__":
    main()
