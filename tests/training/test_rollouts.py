"""Rollout runs in a process of their own, journalled, and how they report."""

import logging
from pathlib import Path

import polars as pl
import pytest

from environments.episode import Scored
from tests.training.builders import SIGNATURES, gold_episodes, some_tasks, tiny_model, tiny_tokenizer
from training.checkpoint import publish
from training.journal import read_segments
from training.reporting import Reporter, reporter
from training.rollouts import main, play, play_all, play_share
from training.runs import RolloutPlan, RolloutRun
from training.tiny import save_tokenizer
from training.trajectories import tasks_frame


@pytest.fixture
def run(tmp_path: Path) -> RolloutRun:
    def write(folder: Path) -> None:
        tiny_model().save_pretrained(folder)
        save_tokenizer(tiny_tokenizer(), folder)

    policy = publish(tmp_path / "policy", write, {"version": "v1"})
    tasks_frame(some_tasks()[:5]).write_parquet(tmp_path / "tasks.parquet")
    return RolloutRun(
        output=tmp_path / "out", tasks=tmp_path / "tasks.parquet", policy=policy, version="v1", k=2, batch=4
    )


def test_a_plan_plays_its_runs_and_journals_each_in_a_folder_of_its_own(run: RolloutRun, tmp_path: Path) -> None:
    runs = [run, run.model_copy(update={"output": tmp_path / "greedy", "temperature": 0.0, "k": 1})]
    files = [r.write(r.output / "run.toml") for r in runs]
    play_all(RolloutPlan(output=tmp_path, runs=files), Reporter())
    episodes = [read_segments(r.output / "episodes") for r in runs]
    assert [len(e) for e in episodes] == [10, 5]
    assert episodes[0]["key"].unique().to_list() != episodes[1]["key"].unique().to_list()
    assert all((e["token_ids"].list.len() > e["prompt_length"]).all() for e in episodes)


def test_a_finished_run_is_read_back(run: RolloutRun) -> None:
    folder = run.output / "episodes"
    assert play(run, Reporter()) == 3
    written = {p: p.stat().st_mtime_ns for p in folder.iterdir()}
    assert play(run, Reporter()) == 3
    assert {p: p.stat().st_mtime_ns for p in folder.iterdir()} == written


def test_the_same_run_elsewhere_gives_the_same_rows(run: RolloutRun, tmp_path: Path) -> None:
    again = run.model_copy(update={"output": tmp_path / "again"})
    play(run, Reporter())
    play(again, Reporter())
    assert read_segments(run.output / "episodes").equals(read_segments(again.output / "episodes"))


def test_two_processes_share_the_segments_evenly_and_give_the_rows_of_one(run: RolloutRun, tmp_path: Path) -> None:
    shared = [run.model_copy(update={"output": tmp_path / name, "seed": seed}) for seed, name in enumerate("ab")]
    play_share([r.write(r.output / "run.toml") for r in shared], 1, 0, 2)
    assert [len(list((r.output / "episodes").glob("part-*"))) for r in shared] == [2, 1]
    files = [r.output / "run.toml" for r in shared]
    play_all(RolloutPlan(output=tmp_path, runs=files, workers=2), Reporter())
    play(run, Reporter())
    assert read_segments(shared[0].output / "episodes").equals(read_segments(run.output / "episodes"))
    assert [len(read_segments(r.output / "episodes")) for r in shared] == [10, 10]


def test_the_failure_of_one_process_fails_the_plan(run: RolloutRun, tmp_path: Path) -> None:
    plan = RolloutPlan(output=tmp_path, runs=[run.write(run.output / "run.toml"), tmp_path / "absent.toml"], workers=2)
    with pytest.raises(FileNotFoundError, match="no run file"):
        play_all(plan, Reporter())


def test_another_version_of_the_policy_does_not_mix_with_the_first(run: RolloutRun) -> None:
    play(run, Reporter())
    with pytest.raises(ValueError, match="holds another run"):
        play(run.model_copy(update={"version": "v2"}), Reporter())


def test_the_command_line_takes_a_plan(
    run: RolloutRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plan = RolloutPlan(output=tmp_path, runs=[run.write(tmp_path / "run.toml")]).write(tmp_path / "plan.toml")
    monkeypatch.setattr("sys.argv", ["training.rollouts", str(plan)])
    with caplog.at_level(logging.INFO):
        main()
    assert len(read_segments(run.output / "episodes")) == 10
    assert "finished: {'runs': 1}" in caplog.text


def test_progress_is_told_at_the_end_and_at_most_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), reporter() as report:
        for done in range(1, 1001):
            report.progress("episodes", done, 1000, "reward 0.5")
    assert len(caplog.records) == 1
    assert caplog.text.strip().endswith("0 s left; reward 0.5")
    assert "episodes: 1000/1000" in caplog.text


def test_gold_episodes_are_what_the_tables_are_built_from() -> None:
    assert {e.verdict.reward for e in gold_episodes(some_tasks()) if isinstance(e.verdict, Scored)} == {1.0}
    assert set(SIGNATURES) >= {c.name for t in some_tasks() for c in t.gold_calls}
    assert pl.Series([t.split for t in some_tasks()]).unique().to_list() == ["train"]
