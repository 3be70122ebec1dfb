"""Probes and the frontier: rates of scored attempts, one policy at a time, and no task that leaves for good."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

from assets.frontier.probing import PROBE_SCHEMA, frontier_frame, probe_sample, probes_frame, rl_queue
from assets.trajectories.selection import in_warm_up
from environments.episode import Episode, Invalid, NoResult, Scored, Tokens, Verdict
from environments.policies.scripted import Gold, NoisyTeacher, NoOp
from environments.task import Task
from environments.worlds.atlas.tasks import fresh_tasks
from tests.environments.builders import played
from training.journal import episodes_frame

TASKS = fresh_tasks(60, "train", 14)
LOST = NoResult("server")


def scored(reward: float, *, vetoed: bool = False, cause: str = "") -> Scored:
    return Scored(reward, reward, vetoed=vetoed, cause=cause or ("ok" if reward == 1 else "missing_fact"))


def attempts(task: Task, *verdicts: Verdict | float, key: str = "k") -> list[Episode]:
    tokens = Tokens([1, 2, 3], [0, 1, 1], [0.0] * 3, 1)
    graded = [scored(v) if isinstance(v, int | float) else v for v in verdicts]
    return [Episode(task.task_id, i, i, key, "?", (), "x", "answered", v, tokens) for i, v in enumerate(graded)]


def probes(*episodes: list[Episode]) -> pl.DataFrame:
    return probes_frame(episodes_frame([e for part in episodes for e in part]), TASKS, 8)


def test_a_probe_known_answer() -> None:
    [row] = probes(attempts(TASKS[0], 1, 1, 0, 0, 0, 0, 0, 0)).iter_rows(named=True)
    assert (row["attempts"], row["successes"], row["mean"]) == (8, 2, 0.25)
    assert row["variance"] == pytest.approx(0.25 * 0.75 * 8 / 7)
    assert row["lps"] == pytest.approx(row["mean"] * row["variance"])
    assert (row["region"], row["no_result"], row["tokens"]) == ("learnable", 0, 16)
    assert row["causes"] == "missing_fact 6, ok 2"


def test_attempts_without_a_result_are_in_no_rate_and_are_counted() -> None:
    holed = probes(attempts(TASKS[0], 1, LOST, 0, Invalid("verifier"), 1, LOST))
    whole = probes(attempts(TASKS[0], 1, 0, 1))
    names = ["attempts", "successes", "mean", "variance", "lps", "region", "causes"]
    assert holed.select(names).equals(whole.select(names))
    assert holed["no_result"].to_list() == [3]


def test_a_task_with_fewer_than_two_scored_attempts_waits_for_the_next_probe() -> None:
    found = probes(attempts(TASKS[0], 1, LOST, LOST), attempts(TASKS[1], LOST, LOST), attempts(TASKS[2], 0, 1))
    assert found["task_id"].to_list() == [TASKS[2].task_id]
    assert probes(attempts(TASKS[1], LOST)).schema == pl.Schema(PROBE_SCHEMA)


def test_vetoes_and_causes_are_counted() -> None:
    lied = scored(0.0, vetoed=True, cause="hallucination")
    [row] = probes(attempts(TASKS[0], lied, lied, 1, 0)).iter_rows(named=True)
    assert (row["vetoed"], row["causes"]) == (2, "hallucination 2, missing_fact 1, ok 1")


def test_probes_of_two_policies_are_never_mixed() -> None:
    one, other = attempts(TASKS[0], 1, 0), attempts(TASKS[1], 1, 0, key="other")
    with pytest.raises(ValueError, match="2 result keys cannot be mixed: probe again with one policy"):
        frontier_frame(TASKS, probes(one, other))


def test_attempts_at_one_task_by_two_policies_are_never_mixed() -> None:
    with pytest.raises(ValueError, match="2 result keys cannot be mixed"):
        probes(attempts(TASKS[0], 1, 0), attempts(TASKS[0], 0, 0, key="other"))


def test_the_sample_leaves_the_warm_up_out_and_follows_from_its_seed() -> None:
    mixed = [*TASKS, *fresh_tasks(20, "hidden", 1)]
    chosen = probe_sample(mixed, 15, 0.4, 0)
    assert len(chosen) == 15
    assert all(t.split == "train" and not in_warm_up(t.group, 0.4) for t in chosen)
    assert probe_sample(mixed[::-1], 15, 0.4, 0) == chosen
    assert probe_sample(mixed, 15, 0.4, 1) != chosen
    assert probe_sample(mixed, 20, 0.4, 0)[:15] == chosen, "a larger sample holds the smaller one"


def test_what_was_trained_on_is_not_probed_nor_is_a_variant_of_it() -> None:
    grouped = [t.model_copy(update={"group": f"g{i // 2}"}) for i, t in enumerate(TASKS)]
    trained = {t.task_id for t in grouped[:20:2]}
    chosen = probe_sample(grouped, 1000, 0.0, 0, trained)
    assert {t.task_id for t in chosen} == {t.task_id for t in grouped[20:]}
    assert len(probe_sample(grouped, 1000, 0.0, 0, {t.task_id for t in grouped})) == len(grouped), "or nothing is"


def test_where_everything_is_warm_up_everything_can_be_probed() -> None:
    assert len(probe_sample(TASKS, 1000, 1.0, 0)) == len(TASKS)


def test_untested_tasks_take_the_rate_of_their_family() -> None:
    family = Counter(t.family for t in TASKS if t.twin is None).most_common(1)[0][0]
    mine = [t for t in TASKS if t.family == family]
    frame = frontier_frame(TASKS, probes(attempts(mine[0], *[1] * 6, 0, 0), attempts(mine[1], *[1] * 6, 0, 0)))
    rows = {r["task_id"]: r for r in frame.iter_rows(named=True)}
    rate = (12 + 1) / (16 + 2)
    assert rows[mine[2].task_id]["mean"] == pytest.approx(rate)
    assert not rows[mine[2].task_id]["probed"]
    assert rows[mine[0].task_id]["mean"] == pytest.approx((2 * rate + 6) / 10)
    assert rows[mine[0].task_id]["probed"]
    others = [r["mean"] for r in frame.iter_rows(named=True) if r["family"] != family]
    assert others == pytest.approx([0.5] * len(others)), "a family nobody tried is even"


def test_a_family_mastered_or_hopeless_in_every_probe_is_expected_to_be_so_where_nobody_looked() -> None:
    family = Counter(t.family for t in TASKS).most_common(1)[0][0]
    [*probed, unseen] = [t for t in TASKS if t.family == family]
    for reward, region in ((1, "trivial"), (0, "noise")):
        frame = frontier_frame(TASKS, probes(*(attempts(t, *[reward] * 24) for t in probed)))
        assert frame.filter(pl.col("task_id") == unseen.task_id)["region"].to_list() == [region]


def test_the_frontier_has_every_training_task_once_and_no_other() -> None:
    mixed = [*TASKS, *fresh_tasks(20, "hidden", 1), *fresh_tasks(20, "dev", 1)]
    frame = frontier_frame(mixed, probes(attempts(TASKS[0], 1, 0)))
    assert frame["task_id"].to_list() == sorted(t.task_id for t in TASKS)
    assert frame["lps"].to_list() == pytest.approx((frame["mean"] * frame["variance"]).to_list())


def test_a_task_never_leaves_the_queue_for_one_nought_out_of_eight() -> None:
    frame = frontier_frame(TASKS, probes(attempts(TASKS[0], *[0] * 8)))
    row = frame.filter(pl.col("task_id") == TASKS[0].task_id).row(0, named=True)
    assert row["region"] == "noise"
    queue = rl_queue(frame, TASKS)
    weights = dict(queue.select("task_id", "weight").iter_rows())
    assert weights[TASKS[0].task_id] > 0.01
    assert min(weights.values()) > 0
    assert len(queue) == len(TASKS)


def weights_of(*parts: list[Episode]) -> dict[str, float]:
    return dict(rl_queue(frontier_frame(TASKS, probes(*parts)), TASKS).select("task_id", "weight").iter_rows())


def test_inside_a_family_the_queue_weighs_by_the_variance_that_attempts_can_be_expected_to_show() -> None:
    family = Counter(t.family for t in TASKS).most_common(1)[0][0]
    even, sure, *others = [t for t in TASKS if t.family == family]
    weights = weights_of(attempts(even, *[1, 0] * 4), attempts(sure, *[1] * 8))
    assert weights[even.task_id] > 2 * weights[sure.task_id]
    assert len({round(weights[t.task_id], 9) for t in others}) == 1
    frame = frontier_frame(TASKS, probes(attempts(even, *[1, 0] * 4), attempts(sure, *[1] * 8)))
    variance = dict(frame.select("task_id", "variance").iter_rows())
    ratios = [weights[t.task_id] / variance[t.task_id] for t in (even, sure, *others)]
    assert ratios == pytest.approx([ratios[0]] * len(ratios))


def test_no_family_is_left_out_of_the_queue_however_well_it_is_mastered() -> None:
    mastered = [t for t in TASKS if t.family == "weather"]
    open_ones = [t for t in TASKS if t.family != "weather"]
    weights = weights_of(*(attempts(t, *[1] * 8) for t in mastered), *(attempts(t, *[1, 0] * 4) for t in open_ones))
    families = {t.family for t in TASKS}
    share = sum(weights[t.task_id] for t in mastered) / sum(weights.values())
    assert 0.5 / len(families) <= share < 1 / len(families), "its even half, and little more"
    assert sum(weights.values()) == pytest.approx(len(TASKS))


def test_the_queue_lists_every_training_task_in_order_with_its_task() -> None:
    queue = rl_queue(frontier_frame(TASKS, probes(attempts(TASKS[0], 1, 0))), TASKS[::-1])
    assert queue["task_id"].to_list() == sorted(t.task_id for t in TASKS)
    assert [Task.model_validate_json(t).task_id for t in queue["task"]] == queue["task_id"].to_list()


def test_hidden_tasks_cannot_be_queued() -> None:
    hidden = fresh_tasks(10, "hidden", 2)
    frame = frontier_frame([*TASKS, *hidden], probes(attempts(TASKS[0], 1, 0)))
    assert not set(rl_queue(frame, [*TASKS, *hidden])["task_id"]) & {t.task_id for t in hidden}


def test_a_better_policy_moves_tasks_from_noise_over_learnable_to_trivial() -> None:
    counts = []
    for policy in (NoOp(), NoisyTeacher(0.3), Gold()):
        frame = probes_frame(episodes_frame(played(TASKS, policy, k=8)), TASKS, 8)
        counts.append(Counter(frontier_frame(TASKS, frame)["region"]))
    assert counts[0] == {"noise": len(TASKS)}
    assert counts[2] == {"trivial": len(TASKS)}
    assert counts[1]["learnable"] > max(counts[1]["noise"], counts[1]["trivial"])


def test_the_more_certain_learnable_tasks_are_told_from_the_others() -> None:
    frame = frontier_frame(TASKS, probes(attempts(TASKS[0], *[1] * 6, 0, 0), attempts(TASKS[1], 1, *[0] * 7)))
    chosen = dict(frame.select("task_id", "certain").iter_rows())
    assert (chosen[TASKS[0].task_id], chosen[TASKS[1].task_id]) == (True, False)


def test_what_a_sparse_probe_expects_is_what_a_full_one_finds() -> None:
    teacher = NoisyTeacher(0.3)
    full = frontier_frame(TASKS, probes_frame(episodes_frame(played(TASKS, teacher, k=8)), TASKS, 8))
    some = probe_sample(TASKS, 30, 0.0, 0)
    sparse = frontier_frame(TASKS, probes_frame(episodes_frame(played(some, teacher, k=8)), some, 8))
    assert float(np.mean(sparse["mean"].to_numpy())) == pytest.approx(float(full["mean"].mean()), abs=0.12)  # type: ignore[arg-type]


def test_a_small_family_keeps_its_share_of_the_queue() -> None:
    families = pl.DataFrame({"task_id": [t.task_id for t in TASKS], "family": ["common"] * len(TASKS)})
    small = set(sorted(families["task_id"])[:2])
    frame = families.with_columns(
        family=pl.when(pl.col("task_id").is_in(list(small))).then(pl.lit("rare")).otherwise(pl.lit("common")),
        variance=pl.when(pl.col("task_id").is_in(list(small))).then(0.05).otherwise(0.2),
    )
    weights = dict(rl_queue(frame, TASKS).select("task_id", "weight").iter_rows())
    share = sum(weights[i] for i in small) / sum(weights.values())
    assert share == pytest.approx(0.5 / 2 + 0.5 * 0.05 / 0.25)
