"""Trajectories and tasks as tables, replay in the second SFT, and what a tokenizer is learned from."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.task import Call
from tests.training.builders import gold_episodes, some_tasks, some_trajectories, trajectory_file, trajectory_rows
from training.mixture import with_replay
from training.tiny import call_pieces, json_pieces
from training.trajectories import read_tasks, read_trajectories, tasks_frame, words_of


def test_trajectories_come_back_in_order_of_id_as_they_were_played(tmp_path: Path) -> None:
    found = read_trajectories(trajectory_file(tmp_path / "t.parquet", some_tasks()))
    assert [t.trajectory_id for t in found] == sorted(t.trajectory_id for t in found)
    played = {e.episode_id: e for e in gold_episodes(some_tasks())}
    assert set(played) == {t.trajectory_id for t in found}
    for t in found:
        episode = played[t.trajectory_id]
        assert (t.steps, t.answer, t.instruction) == (episode.steps, episode.answer, episode.instruction)
        assert all(isinstance(s.call, Call) for s in t.steps)


def test_missing_files_columns_and_rows_are_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="materialize trajectories first"):
        read_trajectories(tmp_path / "none.parquet")
    file = tmp_path / "t.parquet"
    trajectory_rows(some_tasks()[:2]).drop("tools", "steps").write_parquet(file)
    with pytest.raises(ValueError, match="lacks the columns tools, steps; it has trajectory_id, task_id"):
        read_trajectories(file)
    trajectory_rows(some_tasks()[:2]).clear().write_parquet(file)
    with pytest.raises(ValueError, match="holds no trajectory"):
        read_trajectories(file)


def test_tasks_come_back_whole_and_in_the_order_of_the_file(tmp_path: Path) -> None:
    frame = tasks_frame(some_tasks())
    assert frame["task_id"].to_list() == [t.task_id for t in some_tasks()]
    assert frame["twin"].null_count() < len(frame)
    frame.write_parquet(tmp_path / "tasks.parquet")
    assert read_tasks(tmp_path / "tasks.parquet") == list(some_tasks())
    with pytest.raises(FileNotFoundError, match="materialize tasks first"):
        read_tasks(tmp_path / "none.parquet")


def test_a_table_of_no_tasks_has_the_same_types() -> None:
    assert tasks_frame([]).schema == tasks_frame(some_tasks()).schema


def test_words_are_what_people_and_tools_said() -> None:
    words = words_of(some_trajectories())
    for t in some_trajectories():
        assert {t.instruction, t.answer} <= set(words)
    assert not [w for w in words if re.search(r"[{}\[\]]", w)]


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.text("abc é", max_size=5), st.integers(-99, 99), st.floats(0, 9, allow_nan=False)),
    lambda v: st.one_of(
        st.lists(v, max_size=3), st.dictionaries(st.text("xyz", min_size=1, max_size=3), v, max_size=3)
    ),
    max_leaves=6,
)


@given(VALUES)
def test_json_pieces_are_the_fixed_parts_of_the_json_text_in_order(value: Any) -> None:
    import json

    text, at = json.dumps(value, ensure_ascii=False), 0
    for piece in json_pieces(value):
        at = text.index(piece, at) + len(piece)


def test_json_pieces_known_answer() -> None:
    assert json_pieces({"sky": "rainy", "temp": 14}) == ['{"sky": "', '", "temp": ', "}"]
    assert call_pieces("look", {"city": "Paris", "day": "today"}) == [
        '<tool_call>\n{"name": "look", "arguments": {"city": "', '", "day": "', '"}}\n</tool_call>',
    ]  # fmt: skip


@pytest.mark.parametrize("arguments", [{}, {"n": 3}, {"modes": ["driving"]}, {"a": [], "b": "x"}])
def test_pieces_of_any_call_join_to_its_text(arguments: dict[str, Any]) -> None:
    from training.chat import call_text

    text, at = call_text(Call(name="look", arguments=arguments)), 0
    for piece in call_pieces("look", arguments):
        at = text.index(piece, at) + len(piece)
    assert at == len(text)


def rows(prefix: str, count: int) -> pl.DataFrame:
    return pl.DataFrame({"trajectory_id": [f"{prefix}{i:03d}" for i in range(count)], "answer": ["x"] * count})


@pytest.mark.parametrize(("replay", "expected"), [(0.0, 0), (0.5, 40), (0.25, 13), (0.8, 160)])
def test_replay_makes_up_its_share(replay: float, expected: int) -> None:
    mixed = with_replay(rows("f", 40), rows("s", 500), replay, 0)
    origins = Counter(i[0] for i in mixed["trajectory_id"])
    assert (origins["f"], origins["s"]) == (40, expected)
    assert mixed["trajectory_id"].is_sorted()
    assert mixed["trajectory_id"].n_unique() == len(mixed)


def test_replay_takes_what_there_is_and_nothing_twice() -> None:
    older = pl.concat([rows("s", 5), rows("f", 3)])
    mixed = with_replay(rows("f", 40), older.select("answer", "trajectory_id"), 0.9, 0)
    assert Counter(i[0] for i in mixed["trajectory_id"]) == {"f": 40, "s": 5}


def test_replay_is_drawn_by_hash_whatever_the_order_of_rows() -> None:
    fresh, older = rows("f", 10), rows("s", 100)
    one = with_replay(fresh, older, 0.5, 1)
    assert one.equals(with_replay(fresh, older.sample(fraction=1, shuffle=True, seed=3), 0.5, 1))
    assert not one.equals(with_replay(fresh, older, 0.5, 2))


@pytest.mark.parametrize("replay", [-0.1, 1.0, 2.0])
def test_an_impossible_share_is_refused(replay: float) -> None:
    with pytest.raises(ValueError, match=r"replay must be in \[0, 1\)"):
        with_replay(rows("f", 1), rows("s", 1), replay, 0)
