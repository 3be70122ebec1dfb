"""Findings tasks: a question about many files, the answer left as `answer.json`; looking is the work."""

import random
from typing import Final

from environments.task import Call, Case, Task
from environments.worlds.workspace.plan import Plan, result_of, task_of, write

_TEAMS: Final = ("amber", "birch", "cedar", "delta", "ember", "fjord")
_KINDS: Final = ("travel", "tools", "rent", "food", "post")


def findings(rng: random.Random) -> Task:
    """Ask for figures over a tree of ledgers, with drafts and copies among them that do not count."""
    kind, bound, rank = rng.choice(_KINDS), rng.choice((50, 100, 200)), rng.choice(("largest", "smallest"))
    files = _tree(rng)
    source = _program(kind, bound, rank)
    answer = result_of(source, "answer", files)
    said = (
        "The folder books holds a ledger per team and month as CSV (date,kind,euros). Files whose name begins with "
        "draft do not count, nor do lines that begin with #. A line that stands in a file a second time, word for word,"
        f" is a double and counts once. Leave answer.json with three fields: `total`, the sum of euros for {kind} over "
        f"all teams; `above`, how many lines of any kind are above {bound} euros; `team`, the team with the {rank} sum "
        "over all kinds (of equals the first in alphabetical order)."
    )
    gold = (
        Call(name="list_files", arguments={"folder": "books"}),
        write("count.py", source),
        Call(name="run", arguments={"command": "python3 count.py && rm count.py"}),
    )
    cases = (Case(target="file:answer.json", expected=answer),)
    return task_of(Plan("findings", 2, said, files, gold, cases))


def _tree(rng: random.Random) -> dict[str, str]:
    files = {"books/README.txt": "Ledgers by team and month. Drafts were never booked.\n"}
    for team in rng.sample(_TEAMS, rng.randint(3, 5)):
        for month in rng.sample(range(1, 13), rng.randint(2, 4)):
            files[f"books/{team}/2026-{month:02d}.csv"] = _ledger(rng, month)
        if rng.random() < 0.6:
            files[f"books/{team}/draft-2026-{rng.randint(1, 12):02d}.csv"] = _ledger(rng, 1)
    return files


def _ledger(rng: random.Random, month: int) -> str:
    lines: list[str] = []
    for _ in range(rng.randint(3, 9)):
        day, euros = rng.randint(1, 28), rng.choice((5, 50, 51, 100, 101, 200, 350))
        line = f"2026-{month:02d}-{day:02d},{rng.choice(_KINDS)},{euros}"
        lines += [line] * (2 if rng.random() < 0.12 else 1)
        if rng.random() < 0.1:
            lines.append("#" + line)
    rng.shuffle(lines)
    return "\n".join(["date,kind,euros", *lines]) + "\n"


def _program(kind: str, bound: int, rank: str) -> str:
    """The gold program; `answer` takes files by path, so that it also runs here."""
    sign = "-" if rank == "largest" else ""
    return f'''import json
import pathlib


def answer(files):
    total, above, teams = 0, 0, {{}}
    for path, text in files.items():
        parts = path.split("/")
        if not path.endswith(".csv") or parts[-1].startswith("draft"):
            continue
        for line in dict.fromkeys(text.splitlines()[1:]):
            if line.startswith("#"):
                continue
            _, kind, euros = line.split(",")
            total += int(euros) if kind == "{kind}" else 0
            above += int(euros) > {bound}
            teams[parts[1]] = teams.get(parts[1], 0) + int(euros)
    best = min(teams, key=lambda team: ({sign}teams[team], team))
    return {{"total": total, "above": above, "team": best}}


if __name__ == "__main__":
    books = {{str(p): p.read_text() for p in pathlib.Path("books").rglob("*.csv")}}
    pathlib.Path("answer.json").write_text(json.dumps(answer(books)))
'''
