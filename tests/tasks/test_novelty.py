"""A task among the others: given away, on both sides, or trained on before."""

from assets.tasks.novelty import given_away, leakage, solution
from environments.gate.finding import Finding
from environments.task import Task
from environments.worlds.atlas.tasks import fresh_tasks
from tests.environments.builders import task_of


def checks(tasks: list[Task]) -> dict[str, dict[str, Finding]]:
    return {i: {f.check: f for f in found} for i, found in leakage(tasks).items()}


def test_fresh_tasks_of_three_splits_leak_nothing() -> None:
    tasks = [t for split in ("train", "dev", "hidden") for t in fresh_tasks(120, split, 2)]  # type: ignore[arg-type]
    texts = {t.instruction for t in tasks if t.split == "train"}
    failed = [i for i, found in leakage(tasks).items() if any(f.failed for f in found)]
    by_id = {t.task_id: t for t in tasks}
    assert all(by_id[i].goal.reason is not None and by_id[i].instruction in texts for i in failed)


def test_an_instruction_that_says_the_answer_is_caught_and_a_premise_is_not() -> None:
    flight = task_of("flight")
    number = flight.goal.required[0].value
    assert given_away(flight) is None
    assert given_away(flight.model_copy(update={"instruction": f"Is it {number} that is cheapest?"})) == number
    weather = task_of("weather")
    told = f"They say {weather.gold_answer} Is that so?"
    assert given_away(weather.model_copy(update={"instruction": told})) is not None
    assert given_away(weather.model_copy(update={"wordings": (told,)})) is not None
    premise = task_of("premise", "Will it be sunny in Paris on June 12?")
    assert given_away(premise) is None
    assert given_away(task_of("unknown_place", "Weather in Qxanadu?", c="Qxanadu")) is None


def test_a_group_on_both_sides_is_caught_on_the_side_that_is_held_out() -> None:
    one = task_of("weather").model_copy(update={"group": "g"})
    other = task_of("route").model_copy(update={"group": "g", "split": "dev"})
    found = checks([one, other])
    assert found[other.task_id]["one_side"].failed
    assert not any(f.failed for f in found[one.task_id].values())


def test_the_same_solution_in_other_words_and_nearly_the_same_words_are_copies() -> None:
    trained = task_of("no_origin", "Which is the cheapest flight to Lyon on June 12?")
    near = task_of("no_origin", "which is the cheapest flights to Lyon on June 12").model_copy(
        update={"split": "hidden"}
    )
    far = task_of("no_origin", "Flights to Lyon on June 12, find me one").model_copy(update={"split": "hidden"})
    other = task_of("no_origin", "Which is the cheapest flight to Lyon on June 13?").model_copy(
        update={"split": "hidden"}
    )
    found = checks([trained, near, far, other])
    assert [found[t.task_id]["not_in_training"].failed for t in (near, far, other)] == [True, False, False]


def test_a_solution_is_the_calls_and_the_end_whatever_the_words() -> None:
    assert solution(task_of("weather", "a")) == solution(task_of("weather", "b"))
    assert solution(task_of("weather")) != solution(task_of("weather", d="on June 13"))
    assert solution(task_of("flight")) != solution(task_of("book_flight"))
    found = checks([task_of("weather", "a"), task_of("weather", "b")])
    assert {f["novelty"].evidence for f in found.values()} == {"1 others with this solution"}
