"""From graded episodes to scores: items, intervals, gains, temperatures, suites and their tables."""

import json
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from assets.benchmarks.evaluation import choose_temperatures, judge, wanted_dev, wanted_hidden
from assets.benchmarks.scoring import Items, Score, best_temperature, gain, items_of, score
from assets.benchmarks.suites import development_suite, hidden_suite, log_suite
from assets.benchmarks.tables import GAIN_SCHEMA, SCORE_SCHEMA, gains, score_row
from environments.episode import Episode, Invalid, NoResult, Scored, Verdict
from environments.metrics import Interval
from environments.policies.scripted import AlwaysRefuse, Gold, NoisyTeacher, NoOp, Scripted
from environments.policy import Action, Answer
from environments.task import Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool
from environments.worlds.atlas.data_model import cities, fold
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from tests.environments.builders import played, task_of
from training.journal import episodes_frame

SUITE = fresh_tasks(60, "hidden", 21, attempts=4)
WEATHER, FLIGHT, ROUTE = (task_of(f) for f in ("weather", "flight", "route"))
REFUSAL = task_of("no_origin").model_copy(update={"twin": FLIGHT.task_id})
LOST = NoResult("server")


def episodes(task: Task, *outcomes: int | Verdict) -> list[Episode]:
    graded = [
        Scored(float(o), float(o), vetoed=False, cause="ok") if isinstance(o, int) else o for o in outcomes
    ]  # fmt: skip
    return [Episode(task.task_id, i, i, "k", "?", (), "x", "answered", v) for i, v in enumerate(graded)]


def items(tasks: Sequence[Task], *parts: list[Episode], k: int = 2) -> Items:
    return items_of(episodes_frame([e for part in parts for e in part]), tasks, k)


def play(policy: Scripted, k: int = 4) -> pl.DataFrame:
    return episodes_frame(played(SUITE, policy, k=k))


def made(*rows: Sequence[int], depth: int = 1) -> Items:
    success = np.array(rows, dtype=bool)
    names = [f"i{n}" for n in range(len(rows))]
    return Items(names, np.full(len(rows), depth), ["weather"] * len(rows), success, 0)


def test_a_refusal_and_its_twin_are_one_item_solved_only_together() -> None:
    found = items([REFUSAL, FLIGHT, WEATHER], episodes(REFUSAL, 1, 1), episodes(FLIGHT, 1, 0), episodes(WEATHER, 0, 1))
    solved = dict(zip(found.ids, found.success_IN.tolist(), strict=True))
    assert solved == {REFUSAL.task_id: [True, False], WEATHER.task_id: [False, True]}
    assert dict(zip(found.ids, found.depths.tolist(), strict=True))[REFUSAL.task_id] == 0
    assert found.left_out == 0


def test_a_twin_of_two_refusals_stands_behind_both() -> None:
    other = task_of("no_origin", "another wording").model_copy(update={"twin": FLIGHT.task_id})
    found = items([REFUSAL, other, FLIGHT], episodes(REFUSAL, 1), episodes(other, 0), episodes(FLIGHT, 1), k=1)
    assert dict(zip(found.ids, found.success_IN[:, 0].tolist(), strict=True)) == {
        REFUSAL.task_id: True,
        other.task_id: False,
    }


def test_items_without_a_full_set_of_results_are_left_out_and_counted_and_are_no_zeros() -> None:
    found = items(
        [REFUSAL, FLIGHT, WEATHER, ROUTE],
        episodes(REFUSAL, 1, 1), episodes(FLIGHT, 1, LOST),
        episodes(WEATHER, 1, 1),
        episodes(ROUTE, Invalid("verifier"), 1),
    )  # fmt: skip
    assert (found.ids, found.left_out) == ([WEATHER.task_id], 2)
    assert score(found).pass_1.value == 1.0


def test_tasks_that_were_not_played_are_left_out() -> None:
    assert items([WEATHER, ROUTE], episodes(WEATHER, 1, 0)).left_out == 1


def test_attempts_are_paired_by_number_whatever_the_order_of_rows() -> None:
    parts = [*episodes(REFUSAL, 1, 0), *episodes(FLIGHT, 1, 0)]
    turned = items([REFUSAL, FLIGHT], parts[::-1])
    assert turned.success_IN.tolist() == [[True, False]]


def test_neither_refusing_everything_nor_refusing_nothing_earns_anything_at_refusals() -> None:
    class NeverRefuses(Gold):
        """Solves what can be solved and answers where it should refuse."""

        version = "never-refuses"

        def next(self, attempt: object) -> Action:
            """Gold, or a plain answer."""
            action = super().next(attempt)  # type: ignore[arg-type]
            refuses = isinstance(action, Answer) and attempt.task.goal.reason is not None  # type: ignore[attr-defined]
            return Answer("yes.") if refuses else action

    def at_refusals(policy: Scripted) -> float:
        found = items_of(play(policy), SUITE, 4)
        return float(found.success_IN[found.depths == 0].mean())

    assert sum(t.twin is not None for t in SUITE) >= 5
    assert at_refusals(Gold()) == 1.0
    assert at_refusals(AlwaysRefuse()) == at_refusals(NeverRefuses()) == at_refusals(NoOp()) == 0.0


def test_gold_scores_1_and_doing_nothing_or_refusing_scores_0() -> None:
    whole = {p.version: score(items_of(play(p), SUITE, 4)) for p in (Gold(), NoOp(), AlwaysRefuse())}
    assert whole[Gold.version].pass_1 == whole[Gold.version].pass_hat_k == Interval(1.0, 1.0, 1.0)
    for name in ("no-op-1", "always-refuse-1"):
        assert whole[name].pass_1 == whole[name].pass_hat_k == Interval(0.0, 0.0, 0.0)


def test_scores_known_answers() -> None:
    found = score(made([1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]))
    assert found.pass_1.value == pytest.approx(7 / 16)
    assert found.pass_hat_k.value == pytest.approx(1 / 4)
    assert found.pass_1.low <= found.pass_1.value <= found.pass_1.high
    assert (found.by_depth, found.by_family) == ({1: 7 / 16}, {"weather": 7 / 16})


def test_depths_and_families_are_scored_apart() -> None:
    mixed = Items(["a", "b", "c"], np.array([0, 2, 2]), ["x", "y", "z"], np.array([[1], [1], [0]], dtype=bool), 0)
    assert score(mixed).by_depth == {0: 1.0, 2: 0.5}
    assert score(mixed).by_family == {"x": 1.0, "y": 1.0, "z": 0.0}


def test_a_suite_without_any_result_has_no_score() -> None:
    with pytest.raises(ValueError, match="without items"):
        score(items([WEATHER], episodes(WEATHER, LOST, LOST)))


def test_a_gain_known_answer() -> None:
    before, after = made([0, 0], [1, 0], [1, 1]), made([1, 1], [1, 0], [1, 1])
    found = gain(before, after)
    assert found.pass_1.value == pytest.approx(1 / 3)
    assert found.pass_hat_k.value == pytest.approx(1 / 3)
    assert found.by_depth[1] == found.pass_1
    assert found.detectable == pytest.approx((1.959964 + 0.841621) * np.std([1, 0, 0], ddof=1) / np.sqrt(3))


def test_a_gain_counts_only_items_that_both_were_scored_on() -> None:
    before = made([0, 0], [1, 1])._replace(ids=["a", "b"])
    after = made([0, 0], [1, 1], [1, 1])._replace(ids=["c", "a", "d"])
    assert gain(before, after).pass_1.value == 1.0
    with pytest.raises(ValueError, match="without items"):
        gain(before, after._replace(ids=["x", "y", "z"]))


def test_a_gain_over_itself_is_nothing_and_turned_round_changes_its_sign() -> None:
    one, other = (items_of(play(NoisyTeacher(n)), SUITE, 4) for n in (0.5, 0.1))
    assert gain(one, one).pass_hat_k == Interval(0.0, 0.0, 0.0)
    there, back = gain(one, other), gain(other, one)
    assert there.pass_1.value == pytest.approx(-back.pass_1.value)
    assert there.pass_hat_k.excludes_zero
    assert there.pass_hat_k.value > there.detectable


def temperature_score(pass_1: float, hat: float) -> Score:
    return Score(Interval(pass_1, 0, 1), Interval(hat, 0, 1), {}, {})


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ({0.3: (0.5, 0.2), 0.6: (0.4, 0.3), 1.0: (0.9, 0.1)}, 0.6),
        ({0.3: (0.5, 0.3), 0.6: (0.6, 0.3), 1.0: (0.4, 0.3)}, 0.6),
        ({1.0: (0.5, 0.3), 0.6: (0.5, 0.3), 0.3: (0.4, 0.3)}, 0.6),
        ({1.0: (0.0, 0.0)}, 1.0),
    ],
)
def test_the_best_temperature_is_by_reliability_then_rate_then_the_lowest(
    scores: dict[float, tuple[float, float]], best: float
) -> None:
    assert best_temperature({t: temperature_score(*s) for t, s in scores.items()}) == best


def test_each_policy_is_judged_at_its_own_best_temperature() -> None:
    noise = {("good", 0.3): 0.1, ("good", 1.0): 0.6, ("bad", 0.3): 0.7, ("bad", 1.0): 0.3}

    def given(suite: str, policy: str, temperature: float, k: int) -> pl.DataFrame:
        return play(NoisyTeacher(noise[policy, temperature or 0.3]), k)

    chosen = choose_temperatures(given, SUITE, ["bad", "good"], [0.3, 1.0], 4)
    assert chosen == {"bad": 1.0, "good": 0.3}
    verifier, pool = OutcomeVerifier(), WorldPool(AtlasWorld)
    found = judge(given, {"hidden": SUITE}, chosen, [NoOp(), AlwaysRefuse()], pool, verifier, 4, 1)
    scores = pl.DataFrame(found.scores, schema=SCORE_SCHEMA)
    assert scores["policy"].to_list() == ["bad", "good", "no-op-1", "always-refuse-1"]
    assert scores.filter(pl.col("temperature").is_null())["pass_1"].to_list() == [0.0, 0.0]
    rows = {r["policy"]: r for r in scores.iter_rows(named=True)}
    assert rows["good"]["pass_hat_k"] > rows["bad"]["pass_hat_k"]
    assert rows["good"]["greedy"] is not None
    [pair] = pl.DataFrame(found.gains, schema=GAIN_SCHEMA).iter_rows(named=True)
    assert (pair["before"], pair["after"], pair["suite"]) == ("bad", "good", "hidden")
    assert pair["pass_1"] == pytest.approx(rows["good"]["pass_1"] - rows["bad"]["pass_1"])


def test_what_must_be_played_is_listed_once() -> None:
    assert wanted_dev(["a", "b"], [0.3, 1.0], 4) == [
        ("dev", "a", 0.3, 4), ("dev", "a", 1.0, 4), ("dev", "b", 0.3, 4), ("dev", "b", 1.0, 4),
    ]  # fmt: skip
    assert wanted_hidden(["hidden"], {"a": 0.3}, 4, 1) == [("hidden", "a", 0.3, 4), ("hidden", "a", 0.0, 1)]


def test_a_depth_is_worse_only_where_its_whole_interval_lies_below_zero() -> None:
    def at(depth: int, *rows: Sequence[int]) -> Items:
        return made(*rows, depth=depth)

    def both(first: Items, second: Items) -> Items:
        names = [f"{n}" for n in range(len(first.ids) + len(second.ids))]
        return Items(names, np.concatenate([first.depths, second.depths]), first.families + second.families,
                     np.concatenate([first.success_IN, second.success_IN]), 0)  # fmt: skip

    before = both(at(1, *[[1, 1]] * 12), at(2, *[[1, 0]] * 6, *[[0, 0]] * 6))
    after = both(at(1, *[[0, 0]] * 11, [1, 1]), at(2, *[[0, 0]] * 6, *[[1, 0]] * 6))
    [row] = gains("hidden", {"before": before, "after": after})
    assert row["depths_worse"] == "1"
    assert set(json.loads(row["depths"])) == {"1", "2"}


def test_every_policy_is_compared_with_each_one_before_it() -> None:
    three = {name: made([1, 0], [0, 0]) for name in ("seed", "boundary", "rl")}
    pairs = [(r["before"], r["after"]) for r in gains("hidden", three)]
    assert pairs == [("seed", "boundary"), ("seed", "rl"), ("boundary", "rl")]


def test_a_score_row_fits_its_table() -> None:
    row = score_row("log", "seed", None, made([1, 0]), score(made([1, 0])), None)
    frame = pl.DataFrame([row], schema=SCORE_SCHEMA)
    assert frame["greedy"].to_list() == [None]
    assert frame.select("items", "left_out", "k", "pass_1").row(0) == (1, 0, 2, 0.5)


@pytest.mark.parametrize(("suite", "split"), [(development_suite, "dev"), (hidden_suite, "hidden")])
def test_suites_are_fresh_tasks_of_their_own_cities_in_one_wording_per_attempt(suite: object, split: str) -> None:
    tasks = suite(40, 4, 0)  # type: ignore[operator]
    assert tasks == suite(40, 4, 0) != suite(40, 4, 1)  # type: ignore[operator]
    assert {t.split for t in tasks} == {split}
    for task in tasks:
        places = [v for c in task.gold_calls for k, v in c.arguments.items() if k in ("origin", "location", "center")]
        assert {cities()[fold(p)].split for p in places if fold(p) in cities()} <= {split}
    several = [t for t in tasks if len({t.wording(i) for i in range(4)}) == 4]
    assert len(several) > 0.6 * len(tasks)


def test_the_logs_own_suite_is_hidden_tasks_with_their_twins() -> None:
    admitted = [*fresh_tasks(60, "hidden", 3), *fresh_tasks(60, "train", 3)]
    chosen = log_suite(admitted, 20)
    assert 20 <= len(chosen) <= 21
    assert {t.split for t in chosen} == {"hidden"}
    ids = {t.task_id for t in chosen}
    assert all(t.twin in ids for t in chosen if t.twin)
    assert log_suite(admitted[::-1], 20) == chosen
    assert log_suite(admitted, 0) == log_suite(fresh_tasks(10, "train", 3), 20) == []
