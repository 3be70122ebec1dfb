"""The whole task pool: conservation, twins, sizes, splits, and the same rows whatever the order."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence

import polars as pl
import pytest

from assets.tasks.compile import LabelledQuery
from assets.tasks.pool import Sizes, TaskPool, build_pool, fill_up, labelled_queries, long_tail, pool_frame, tasks_of
from environments.worlds.atlas.data_model import neighbours, speakable
from environments.worlds.atlas.families import FAMILIES
from tests.tasks.builders import LEAF, SAID, WEATHER, labelled, said, task_for

SIZES = Sizes(floor=0, per_family=4, copies=3, refusal_share=0.3)
POEMS = [labelled(f"Write me a poem about my {x}", "irrelevant", difficulty=0) for x in ("cat", "dog", "hat", "bag")]
BAD = [labelled(f"What is the {x} in Paris tomorrow?", WEATHER) for x in ("humidity", "pollen", "tide")]
HIDDEN = [c.name for c in speakable() if c.split == "hidden"][:6]
HIDDEN_WEATHER = [labelled(f"What is the weather in {c} tomorrow?", WEATHER) for c in HIDDEN]


def pool(
    queries: Sequence[LabelledQuery], reserve: Sequence[LabelledQuery] = (), sizes: Sizes = SIZES, share: float = 0.0
) -> TaskPool:
    return build_pool(queries, reserve, languages=("en",), held_out_share=share, sizes=sizes)


WHOLE = [*(said(f) for f in SAID), *POEMS, *BAD, *HIDDEN_WEATHER]


def test_every_query_is_a_task_or_dropped_with_a_rule() -> None:
    made = pool(WHOLE)
    originals = {t.query_id for t, o in zip(made.tasks, made.origins, strict=True) if o == "query"}
    dropped = {d.query_id for d in made.dropped}
    assert originals | dropped == {q.query_id for q in WHOLE}
    assert not originals & dropped
    assert len(originals) + len(made.dropped) == made.queries == len(WHOLE)
    assert {d.query_id for d in made.dropped} == {q.query_id for q in BAD}


def test_a_refusal_without_a_solvable_task_beside_it_is_dropped_and_said() -> None:
    made = pool(POEMS)
    assert made.tasks == []
    assert Counter(d.rule for d in made.dropped) == {"no_twin": len(POEMS)}


def test_two_queries_that_make_one_task_are_told_apart() -> None:
    same = [labelled("What is the weather in Paris tomorrow?", WEATHER, query_id=i) for i in ("q1", "q2", "q3", "q4")]
    made = pool(same, sizes=SIZES._replace(refusal_share=0.0, per_family=0))
    assert len(made.tasks) + len(made.dropped) == 4
    assert {d.rule for d in made.dropped} <= {"same_task"}
    assert all(d.detail in {t.query_id for t in made.tasks} for d in made.dropped)


def test_every_refusal_has_a_solvable_twin_of_its_split_in_the_pool() -> None:
    made = pool(WHOLE)
    by_id = {t.task_id: t for t in made.tasks}
    refused = [t for t in made.tasks if t.goal.reason is not None]
    assert {t.family for t in refused} >= {"out_of_scope", "no_origin", "missing_tool"}
    for task in refused:
        twin = by_id[task.twin or ""]
        assert twin.goal.reason is None
        assert twin.split == task.split
    assert all(t.twin is None for t in made.tasks if t.goal.reason is None)


def test_no_group_stands_on_two_sides_and_variants_are_of_training_tasks_only() -> None:
    made = pool(WHOLE, share=0.3)
    sides = defaultdict(set)
    for task in made.tasks:
        sides[task.group].add(task.split)
    assert all(len(s) == 1 for s in sides.values())
    varied = {t.split for t, o in zip(made.tasks, made.origins, strict=True) if o == "variant"}
    assert varied == {"train"}
    assert {t.split for t in made.tasks} == {"train", "hidden"}


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_query_about_a_lost_place_stands_beside_its_own_words_about_a_known_one(share: float) -> None:
    text = "What is the weather in Parlin tomorrow?"
    made = pool([labelled(text, WEATHER), said("route")], share=share)
    by_id = {t.task_id: t for t in made.tasks}
    (lost,) = (t for t in made.tasks if t.instruction == text)
    twin = by_id[lost.twin or ""]
    assert (twin.family, twin.split, twin.query_id) == ("weather", lost.split, lost.query_id)
    assert twin.instruction == text.replace("Parlin", twin.gold_calls[0].arguments["location"])
    assert lost.split == ("hidden" if share else "train")


def test_the_order_of_queries_changes_nothing() -> None:
    queries = list(WHOLE)
    random.Random(2).shuffle(queries)
    assert pool(queries) == pool(WHOLE)


def test_a_larger_log_keeps_the_tasks_of_the_smaller_one() -> None:
    few = pool([said("weather"), said("flight")], sizes=SIZES._replace(per_family=0))
    more = pool([said("weather"), said("flight"), said("route")], sizes=SIZES._replace(per_family=0))
    kept = {t.task_id for t in few.tasks if t.goal.reason is None}
    assert kept <= {t.task_id for t in more.tasks}


def test_variants_fill_each_family_up_to_its_size_evenly() -> None:
    originals = [task_for("weather"), task_for("weather", Paris="Lyon"), task_for("flight")]
    filled = Counter(v.task.family for v in fill_up(originals, per_family=8, copies=40))
    assert filled == {"weather": 6, "flight": 7}
    by_group = Counter(v.task.group for v in fill_up(originals, per_family=8, copies=40))
    assert by_group[originals[0].task.group] == by_group[originals[1].task.group] == 3
    assert max(Counter(v.task.group for v in fill_up(originals, 100, copies=2)).values()) == 2
    assert fill_up(originals, per_family=1, copies=40) == []


def test_the_long_tail_tops_up_thin_families_with_training_tasks_only() -> None:
    reserve = [said("route", Lyon=c.name) for c in neighbours("paris")]
    reserve += [said("weather", Paris=c.name) for c in neighbours("paris")]
    reserve += HIDDEN_WEATHER
    compiled = [task_for("weather", Paris=c) for c in ("Lyon", "Rome", "Berlin")]
    found = long_tail(compiled, reserve, 4, languages=("en",), held_out_share=0.0)
    assert Counter(s.task.family for s in found) == {"route": 4, "weather": 1}
    assert {s.task.split for s in found} == {"train"}
    assert found == long_tail(compiled, reserve[::-1], 4, languages=("en",), held_out_share=0.0)
    assert long_tail(compiled, reserve, 0, languages=("en",), held_out_share=0.0) == []


def test_origins_say_where_each_task_comes_from() -> None:
    reserve = [said("train", Lyon=c.name) for c in neighbours("paris")]
    made = pool([said("weather"), *POEMS], reserve, SIZES._replace(floor=3, refusal_share=1.0))
    kinds = Counter(zip(made.origins, (t.family for t in made.tasks), strict=True))
    assert kinds["query", "weather"] == 1
    assert kinds["query", "out_of_scope"] == len(POEMS)
    assert kinds["long_tail", "train"] == 3
    assert kinds["variant", "weather"] == 3
    assert {f for o, f in kinds if o == "refusal"} <= {"missing_tool", "unknown_place"}


def test_a_pool_comes_back_from_its_table() -> None:
    made = pool(WHOLE)
    frame = pool_frame(made)
    assert tasks_of(frame.sample(fraction=1, shuffle=True, seed=1)) == made.tasks
    assert frame["origin"].to_list() == made.origins
    assert pool_frame(pool([])).schema == frame.schema


def test_queries_without_a_label_do_not_become_labelled_queries() -> None:
    queries = pl.DataFrame(
        {"query_id": ["q2", "q1"], "text": ["b", "a"], "language": ["en", "en"], "context": [None, None]}
    )
    labels = pl.DataFrame(
        {"query_id": ["q1", "q9"], "primary": [WEATHER] * 2, "secondary": [None, None], "difficulty": [1, 1],
         "constraints": ["{}", "{}"]}
    )  # fmt: skip
    assert [q.query_id for q in labelled_queries(queries, labels)] == ["q1"]


def test_the_families_of_the_pool_are_those_of_the_world() -> None:
    assert {t.family for t in pool(WHOLE).tasks} <= {*FAMILIES, "missing_tool"}
    assert set(SAID) <= set(LEAF)
