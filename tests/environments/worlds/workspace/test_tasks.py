"""Coding tasks from seeds: what they ask, what they hide, and that their gold code does what the words say."""

import ast
import itertools
import json
import random
import statistics
from collections.abc import Callable
from typing import Any

import pytest

from environments.task import Task
from environments.worlds.workspace.data_model import columns_of, content_of, differences, final_files, initial_files
from environments.worlds.workspace.mutants import mutants
from environments.worlds.workspace.plan import result_of
from environments.worlds.workspace.records import compose, records
from environments.worlds.workspace.tasks import FAMILIES, make_tasks

SEEDS = range(6)
Rows = list[dict[str, Any]]


def sums(rows: Rows, key: str, field: str) -> dict[str, int]:
    """Sums by key, without those that are 0."""
    totals = {r[key]: sum(o[field] for o in rows if o[key] == r[key]) for r in rows}
    return {k: v for k, v in totals.items() if v}


def longest(rows: Rows, key: str) -> int:
    """Length of the longest run of equal neighbours."""
    return max((len(list(run)) for _, run in itertools.groupby(rows, key=lambda r: r[key])), default=0)


BY_HAND: dict[str, Callable[[Rows], Any]] = {
    "Of the records that are paid, return the median of quantity, the lower": lambda rows: statistics.median_low(
        r["quantity"] for r in rows if r["paid"]
    ),
    "Of the records that are not paid, return the median of amount, the upper": lambda rows: statistics.median_high(
        r["amount"] for r in rows if not r["paid"]
    ),
    "Of the records that are not paid, return a dict from each region to its sum of quantity": lambda rows: sums(
        [r for r in rows if not r["paid"]], "region", "quantity"
    ),
    "Of the records that are paid, return a dict from each day to its sum of amount,": lambda rows: sums(
        [r for r in rows if r["paid"]], "day", "amount"
    ),
    "Of the records that are paid, return the length of the longest run of neighbours in the input with the same day": (
        lambda rows: longest([r for r in rows if r["paid"]], "day")
    ),
    "Of the records that are not paid, return the length of the longest run of neighbours in the input with the same"
    " region": lambda rows: longest([r for r in rows if not r["paid"]], "region"),
}
"""Words of a query, and what they mean, written without looking at the generator's code."""


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_seed_gives_the_same_task_again_and_others_give_others(family: str) -> None:
    first, second = make_tasks(family, SEEDS), make_tasks(family, SEEDS)
    assert [t.task_id for t in first] == [t.task_id for t in second]
    assert len({t.task_id for t in first}) == len(SEEDS)
    assert len({str(initial_files(t)) + t.instruction for t in first}) == len(SEEDS)
    assert Task.model_validate_json(first[0].model_dump_json()) == first[0]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_nothing_that_an_agent_is_given_holds_the_gold_or_what_is_expected(family: str) -> None:
    for task in make_tasks(family, SEEDS):
        shown = task.instruction + "".join(content.decode() for content in initial_files(task).values())
        for call in task.gold_calls:
            text = str(call.arguments.get("text", "none"))
            assert text not in shown or text in {c.decode() for c in initial_files(task).values()}
        large = [json.dumps(c.expected) for c in task.goal.cases if len(json.dumps(c.expected)) > 40]
        assert not [value for value in large if value in shown]


def test_an_unknown_family_is_told_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no family 'magic'.*findings, query"):
        make_tasks("magic", [0])


def test_conditions_and_shapes_do_what_their_words_say() -> None:
    checked = set()
    for seed in range(6000):
        query = compose(random.Random(seed))
        for words, wanted in BY_HAND.items():
            if query.words.startswith(words):
                some = records(random.Random(seed), 25)
                assert result_of(query.source, query.function, some) == wanted(some), query.words
                checked.add(words)
    assert len(checked) >= 4, checked


def test_every_mutant_differs_in_one_place_and_keeps_the_documentation() -> None:
    source = 'def f(records):\n    """At least 3."""\n    return [r for r in records if r["a"] >= 3 and not r["b"]]\n'
    found = mutants(source)
    assert len(found) == len(set(found)) == 5
    assert all('"""At least 3."""' in text and ast.parse(text) for text in found)
    rows = [{"a": a, "b": b} for a in (2, 3, 4) for b in (True, False)]
    assert all(result_of(text, "f", rows) != result_of(source, "f", rows) for text in found)


def test_the_broken_program_fails_an_example_that_is_shown() -> None:
    for task in make_tasks("repair", range(5)):
        files = {path: content.decode() for path, content in initial_files(task).items()}
        [module] = [path for path in files if "/" not in path]
        shown = next(text for path, text in files.items() if path.startswith("tests/test_"))
        failed = 0
        for node in ast.walk(ast.parse(shown)):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "assertEqual":
                asked, wanted = node.args
                assert isinstance(asked, ast.Call)
                got = result_of(files[module], ast.unparse(asked.func), ast.literal_eval(asked.args[0]))
                failed += got != ast.literal_eval(wanted)
        assert failed


def test_files_survive_the_way_through_rows_and_changes() -> None:
    before = {"a.txt": b"text\n", "b.bin": b"\xff\x00", "gone": b""}
    after = {"a.txt": b"other\n", "b.bin": b"\xff\x00", "new/c": "图".encode()}
    for content in (*before.values(), *after.values()):
        assert content_of(json.loads(json.dumps(columns_of(content)))) == content
    task = make_tasks("query", [0])[0].model_copy(
        update={"initial": {"file": tuple({"path": p, **columns_of(c)} for p, c in before.items())}}
    )
    assert initial_files(task) == before
    changes = differences(before, after)
    assert [c.key for c in changes] == ["a.txt", "gone", "new/c"]
    assert final_files(task, changes) == after


def test_rows_of_another_table_or_without_content_are_refused() -> None:
    task = make_tasks("query", [0])[0]
    with pytest.raises(ValueError, match="rows of `file` only"):
        initial_files(task.model_copy(update={"initial": {"orders": ()}}))
    with pytest.raises(ValueError, match="needs `text` or `base64`"):
        initial_files(task.model_copy(update={"initial": {"file": ({"path": "x"},)}}))


def test_hidden_tests_count_in_the_identity_of_a_task() -> None:
    task = make_tasks("query", [0])[0]
    fewer = task.model_copy(update={"goal": task.goal.model_copy(update={"cases": task.goal.cases[1:]})})
    assert fewer.task_id != task.task_id
