"""Which tasks a night tries: scores, intervals, budgets, and whose probes may say what."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution

from environments.episode import ResultKey
from environments.worlds.atlas.tasks import fresh_tasks
from training.curriculum import Posterior, Region
from training.reprobe import numbered
from training.reprobing import (
    LEDGER_SCHEMA,
    Counts,
    belief,
    counts_of,
    decided_regions,
    interval,
    kin_rows,
    night_plan,
    own_rows,
    score,
)

TASKS = fresh_tasks(40, "train", 3)
IDS = sorted(t.task_id for t in TASKS)
KEY = ResultKey(world="w", tools="t", verifier="v", sampler="s", template="c", policy="A")


def rows(key: ResultKey, counts: Mapping[str, tuple[int, int]], last: int = 1) -> pl.DataFrame:
    """Ledger rows of a key: task id -> (won, scored)."""
    parts = (key.world, key.tools, key.verifier, key.judge, key.rubric, key.policy)
    listed = [(key.digest, i, n, won, n, last, *parts) for i, (won, n) in counts.items()]
    return pl.DataFrame(listed, schema=LEDGER_SCHEMA, orient="row")


def plan(own: pl.DataFrame, kin: pl.DataFrame | None = None, **settings: float) -> pl.DataFrame:
    chosen = {"attempts": 40, "k": 4, "watch": 0.0, "kin_weight": 2.0, **settings}
    return night_plan(TASKS, own, rows(KEY, {}) if kin is None else kin, **chosen)  # type: ignore[arg-type]


def one(won: float, tried: float, others_won: float = 0, others_tried: float = 0) -> Posterior:
    """The belief about the first of two tasks of a family."""
    both = belief(Counts(np.array([won, others_won]), np.array([tried, others_tried])), ["f", "f"])
    return Posterior(both.alpha_Q[:1], both.beta_Q[:1])


def test_one_nought_out_of_eight_is_no_verdict_and_three_are() -> None:
    assert decided_regions(one(0, 8)) == [Region.LEARNABLE]
    assert decided_regions(one(0, 24)) == [Region.NOISE]
    assert decided_regions(one(8, 8)) == [Region.LEARNABLE]
    assert decided_regions(one(24, 24)) == [Region.TRIVIAL]
    assert decided_regions(one(30, 60)) == [Region.LEARNABLE]


def test_a_hopeless_family_needs_less_of_its_own() -> None:
    assert decided_regions(one(0, 8, 0, 60)) == [Region.NOISE]
    assert decided_regions(one(0, 8, 30, 60)) == [Region.LEARNABLE]


def test_a_tasks_own_attempts_are_not_in_its_prior_too() -> None:
    alone = one(0, 8)
    assert (alone.alpha_Q[0], alone.beta_Q[0]) == (1, 9)


def test_the_interval_is_the_middle_of_the_posterior() -> None:
    low, high = interval(one(3, 8))
    assert low[0] == pytest.approx(beta_distribution.ppf(0.1, 4, 6))
    assert high[0] == pytest.approx(beta_distribution.ppf(0.9, 4, 6))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 16))
def test_a_score_is_the_expected_loss_of_variance_times_learnability_and_never_nothing(
    won: int, lost: int, k: int
) -> None:
    known = Posterior(np.array([1.0 + won]), np.array([1.0 + lost]))
    a, b = 1.0 + won, 1.0 + lost
    after = 0.0
    for wins in range(k + 1):
        chance = beta_binomial(wins, k, a, b)
        after += chance * beta_distribution.var(a + wins, b + k - wins)
    information = beta_distribution.var(a, b) - after
    [found] = score(known, k)
    assert found == pytest.approx(information * known.mean_Q[0] * known.variance_Q[0], rel=1e-6)
    assert found > 0


def beta_binomial(wins: int, k: int, a: float, b: float) -> float:
    from scipy.stats import betabinom

    return float(betabinom.pmf(wins, k, a, b))


def test_the_budget_goes_where_attempts_teach_most() -> None:
    mastered, open_ones = IDS[:20], IDS[20:]
    own = rows(KEY, {**dict.fromkeys(mastered, (40, 40)), **dict.fromkeys(open_ones, (20, 40))})
    assert set(plan(own)["task_id"]) <= set(open_ones)
    longer = rows(KEY, {**dict.fromkeys(IDS[:30], (200, 400)), **dict.fromkeys(IDS[30:], (4, 8))})
    assert set(plan(longer)["task_id"]) == set(IDS[30:]), "what is well known tells less"


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.sampled_from(IDS), st.tuples(st.integers(0, 8), st.just(8))), st.integers(1, 300),
       st.floats(0, 1))  # fmt: skip
def test_a_plan_keeps_to_its_budget_and_goes_on_from_what_is_recorded(
    known: dict[str, tuple[int, int]], attempts: int, watch: float
) -> None:
    found = plan(rows(KEY, known), attempts=attempts, watch=watch)
    assert len(found) == min(len(IDS), max(1, attempts // 4))
    assert found["task_id"].n_unique() == len(found)
    begun = dict(found.select("task_id", "first").iter_rows())
    assert begun == {i: (8 if i in known else 0) for i in begun}
    assert found.equals(plan(rows(KEY, known).sample(fraction=1, shuffle=True, seed=1), attempts=attempts, watch=watch))
    watched = found.filter(pl.col("why") == "watch")
    assert set(watched["task_id"]) <= set(known)


def test_the_watch_takes_families_in_turn_and_other_tasks_another_night() -> None:
    family = {t.task_id: t.family for t in TASKS}
    known = dict.fromkeys(IDS, (4, 8))
    tonight = plan(rows(KEY, known), watch=1.0)
    counts = Counter(family[i] for i in tonight["task_id"])
    assert max(counts.values()) - min(counts[f] for f in set(family.values())) <= 1
    later = plan(rows(KEY, dict.fromkeys(IDS, (6, 12))), watch=1.0)
    assert set(later["task_id"]) != set(tonight["task_id"])


def test_in_enough_nights_every_task_is_tried_whatever_it_was() -> None:
    known = {i: ((0, 30) if n % 2 else (30, 30)) for n, i in enumerate(IDS)}
    seen: set[str] = set()
    last = dict.fromkeys(IDS, 0)
    for night in range(1, 31):
        own = rows(KEY, known).with_columns(last=pl.col("task_id").replace_strict(last))
        found = plan(own, watch=0.5)
        last |= dict.fromkeys(found["task_id"], night)
        seen |= set(found["task_id"])
        known = {i: (w + (4 if w and i in set(found["task_id"]) else 0), n + (4 if i in set(found["task_id"]) else 0))
                 for i, (w, n) in known.items()}  # fmt: skip
    assert seen == set(IDS), "no task leaves for good"


def test_another_policys_probes_steer_the_budget_and_are_never_read_as_this_ones() -> None:
    parent = KEY.model_copy(update={"policy": "B"})
    hopeful = IDS[:10]
    ledger = pl.concat([rows(parent, {i: ((400, 800) if i in hopeful else (0, 800)) for i in IDS}), rows(KEY, {})])
    own, kin = own_rows(ledger, KEY), kin_rows(ledger, KEY)
    assert own.is_empty()
    assert counts_of(own, TASKS).tried_Q.sum() == 0
    assert set(plan(own, kin)["task_id"]) == set(hopeful)
    families = [t.family for t in TASKS]
    told = belief(counts_of(own, TASKS), families, counts_of(kin, TASKS), 2.0)
    assert (told.alpha_Q + told.beta_Q).max() <= 2 + 2, "eight hundred attempts of another are worth two"
    blind = belief(counts_of(own, TASKS), families, counts_of(kin, TASKS), 0.0)
    assert blind.mean_Q == pytest.approx(np.full(len(TASKS), 0.5))


@pytest.mark.parametrize("part", ["world", "tools", "verifier", "judge", "rubric"])
def test_probes_in_another_world_or_by_another_verifier_say_nothing(part: str) -> None:
    other = KEY.model_copy(update={"policy": "B", part: "another"})
    assert kin_rows(rows(other, {IDS[0]: (1, 8)}), KEY).is_empty()


def test_the_newest_other_policy_speaks_and_this_one_at_another_temperature_does_not() -> None:
    old, new = (KEY.model_copy(update={"policy": p}) for p in "BC")
    warm = KEY.model_copy(update={"sampler": "t=2"})
    ledger = pl.concat(
        [rows(old, {IDS[0]: (1, 8)}, 1), rows(new, {IDS[1]: (1, 8)}, 2), rows(warm, {IDS[2]: (1, 8)}, 3)]
    )
    assert kin_rows(ledger, KEY)["task_id"].to_list() == [IDS[1]]
    assert own_rows(ledger, KEY).is_empty()


def test_attempts_of_two_keys_are_not_counted_together() -> None:
    other = KEY.model_copy(update={"policy": "B"})
    with pytest.raises(ValueError, match="2 result keys cannot be read as one policy's"):
        counts_of(pl.concat([rows(KEY, {IDS[0]: (1, 8)}), rows(other, {IDS[0]: (1, 8)})]), TASKS)


def test_two_nights_of_k_are_the_attempts_of_one_of_twice_k() -> None:
    tasks = {t.task_id: t for t in TASKS}
    first, second = (pl.DataFrame({"task_id": IDS[:3], "first": [start] * 3}) for start in (0, 4))
    apart = {(a.task.task_id, a.number, a.seed) for p in (first, second) for a in numbered(tasks, p, 4, 1)}
    assert apart == {(a.task.task_id, a.number, a.seed) for a in numbered(tasks, first, 8, 1)}
