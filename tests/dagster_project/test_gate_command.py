"""`loopwright gate` on a file of tasks: what passes, what does not and why, and a second run is the same."""

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dagster_project.commands import app
from dagster_project.commands.gate import tasks_in
from tests.environments.builders import task_of

RUN = CliRunner()


def test_a_file_of_tasks_goes_through_the_gate(tmp_path: Path) -> None:
    sound, broken = task_of("weather"), task_of("flight").model_copy(update={"gold_answer": "wrong."})
    file, out = tmp_path / "tasks.jsonl", tmp_path / "out"
    file.write_text("\n".join(t.model_dump_json() for t in (sound, broken, sound)))
    for _ in range(2):
        done = RUN.invoke(app, ["gate", str(file), "--out", str(out), "--workers", "1", "--sample", "0"])
        assert done.exit_code == 1, "one line says what another says"
        assert f"{file}, line 3: the same task as number 1, which is used" in done.output
        assert "1 of 2 tasks admitted, 1 to quarantine" in done.output
        assert f"{broken.task_id}  gold: reward 0" in done.output
    assert pl.read_parquet(out / "admitted.parquet")["task_id"].to_list() == [sound.task_id]
    assert pl.read_parquet(out / "quarantine.parquet")["check"].to_list() == ["gold"]
    assert set(pl.read_parquet(out / "report.parquet")["task_id"]) == {sound.task_id, broken.task_id}


def test_bad_lines_are_named_kept_and_do_not_stop_the_good_ones(tmp_path: Path) -> None:
    file, out = tmp_path / "tasks.jsonl", tmp_path / "out"
    lost = task_of("weather").model_copy(update={"world": "atlantis"})
    file.write_text(f"{lost.model_dump_json()}\n{task_of('flight').model_dump_json()}\n{{}}\n")
    done = RUN.invoke(app, ["gate", str(file), "--out", str(out), "--workers", "1", "--sample", "0"])
    assert done.exit_code == 1
    assert "1 of 1 tasks admitted" in done.output
    assert f"{file}, line 1, world: no world named 'atlantis'; there are: airline" in done.output
    assert f"{file}, line 3, family: Field required" in done.output
    assert set(pl.read_parquet(out / "refused.parquet")["number"]) == {1, 3}


def test_a_line_may_hold_what_other_tools_take_for_its_end(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    odd = task_of("weather").model_copy(update={"instruction": "Paris\u2028tomorrow\x85?"})
    file.write_text(f"\ufeff{odd.model_dump_json()}\n\n{task_of('flight').model_dump_json()}\n", encoding="utf-8")
    assert [t.instruction for t in tasks_in(file)] == [odd.instruction, task_of("flight").instruction]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("bytes.jsonl", b"\xff\xfe", "bytes.jsonl cannot be read"),
        ("torn.parquet", b"PAR1", "torn.parquet cannot be read"),
        ("empty.jsonl", b"", "empty.jsonl holds no tasks"),
        ("half.jsonl", b'{"world": "desk", "goal": 1}', "half.jsonl, line 1, family: Field required"),
        ("folder", None, "Is a directory"),
        ("fine.jsonl", task_of("weather").model_dump_json().encode(), "File exists"),
    ],
)
def test_a_file_that_holds_no_tasks_is_one_clear_line(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    file, out = tmp_path / name, tmp_path / "taken"
    file.mkdir() if content is None else file.write_bytes(content)
    out.write_text("a file where the folder should be")
    done = RUN.invoke(app, ["gate", str(file), "--out", str(out)])
    assert done.exit_code == 2
    assert told in done.output
    assert len(done.output.splitlines()) == 1 or "line 1" in told
    assert "Traceback" not in done.output
