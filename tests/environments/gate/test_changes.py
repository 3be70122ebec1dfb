"""Changed tasks and answers: what is renamed follows, what is spoiled is spoiled."""

import re

from environments.gate.changes import changed
from environments.gate.corruption import corrupted_answers, swaps
from environments.gate.finding import Status
from environments.gate.ground import Ground
from environments.gate.mutation import disguised
from environments.gate.renaming import renamed, renamed_rows
from environments.gate.source import literals, source_of
from environments.policies.scripted import Gold
from environments.task import Change, Fact, Goal
from environments.verifiers.outcome import OutcomeVerifier
from environments.worlds.atlas.renaming import slots_of
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import call, flights, task_of

GROUND = Ground.of(AtlasWorld, OutcomeVerifier())


def test_a_task_about_other_cities_has_its_own_answer_and_its_gold_solves_it() -> None:
    tasks = [t for t in fresh_tasks(80, "train", 31) if t.goal.reason is None]
    moved = [(t, other) for t in tasks if (other := renamed(t, GROUND)) is not None]
    assert len(moved) > 0.9 * len(tasks)
    others = [other for _, other in moved]
    assert {e.verdict.reward for e in GROUND.play(others, Gold())} == {1.0}  # type: ignore[union-attr]
    for task, other in moved:
        named = [v for k, v in (slots_of(task) or {}).items() if k in "abc"]
        assert not [v for v in named if re.search(rf"(?<!\w){re.escape(v)}(?!\w)", other.instruction)]
        assert (task.family, task.split) == (other.family, other.split)
    assert sum(t.goal.required != o.goal.required for t, o in moved) > 0.9 * len(moved)


def test_rows_that_a_task_brings_are_renamed_with_its_words_goal_and_gold() -> None:
    row = {
        "code": "QX10", "kind": "flight", "number": "AB12", "origin": "Velmora", "destination": "Lyon",
        "date": "2026-06-12", "price": 10,
    }  # fmt: skip
    goal = Goal(
        required=(Fact(kind="name", value="Velmora"),), changes=(Change(table="booking", key="QX10", columns=row),)
    )
    task = task_of("flight").model_copy(
        update={
            "instruction": "My ticket from Velmora, please.", "initial": {"booking": (row,)}, "goal": goal,
            "gold_answer": "Velmora.", "gold_calls": (call("weather_forecast_days", location="Velmora", date="today"),),
        }
    )  # fmt: skip
    other = renamed_rows(task, GROUND)
    assert other is not None
    assert "Velmora" not in other.model_dump_json()
    [name] = re.findall(r"from (\w+),", other.instruction)
    assert other.initial["booking"][0]["origin"] == other.goal.required[0].value == name
    assert other.gold_calls[0].arguments["location"] == other.gold_answer.rstrip(".") == name
    assert other.initial["booking"][0]["destination"] == "Lyon", "what the user does not name stays"


def test_each_corruption_spoils_one_thing() -> None:
    spoiled = dict(corrupted_answers(task_of("weather")))
    assert set(spoiled) == {"missing_fact", "wrong_number", "other_unit", "swapped_entity", "extra_claim", "taken_back"}
    assert "fahrenheit" in spoiled["other_unit"]
    assert task_of("weather").gold_answer not in spoiled.values()


def test_calls_that_need_each_other_are_not_taken_for_independent() -> None:
    found = {f.check: f.status for f in changed(task_of("book_flight"), GROUND)}
    assert "reordered" not in found
    assert {f.check: f.status for f in changed(task_of("warmer"), GROUND)}["reordered"] is Status.PASSED
    assert list(swaps((flights(), call("b"), call("c"))))[1][1:] == (call("c"), call("b"))


def test_the_attacker_reads_the_source_of_the_verifier_and_what_it_uses() -> None:
    source = source_of(OutcomeVerifier())
    assert "def unsupported" in source
    assert "def state_failure" in source
    assert {"I cannot do that with these tools.", "sunny"} <= set(literals(source))


def test_a_disguise_reads_alike_and_is_another_text() -> None:
    import random

    made = {disguised("26 degrees", random.Random(i)) for i in range(30)}
    assert len(made) == 5
    assert "26 degrees" not in made
