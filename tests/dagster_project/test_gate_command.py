"""`loopwright gate` on a file of tasks: what passes, what does not and why, and a second run is the same."""

from pathlib import Path

import polars as pl
from typer.testing import CliRunner

from dagster_project.commands import app
from tests.environments.builders import task_of

RUN = CliRunner()


def test_a_file_of_tasks_goes_through_the_gate(tmp_path: Path) -> None:
    sound, broken = task_of("weather"), task_of("flight").model_copy(update={"gold_answer": "wrong."})
    file, out = tmp_path / "tasks.jsonl", tmp_path / "out"
    file.write_text("\n".join(t.model_dump_json() for t in (sound, broken, sound)))
    for _ in range(2):
        done = RUN.invoke(app, ["gate", str(file), "--out", str(out), "--workers", "1", "--sample", "0"])
        assert done.exit_code == 0, done.output
        assert "1 of 2 tasks admitted, 1 to quarantine" in done.output
        assert f"{broken.task_id}  gold: reward 0" in done.output
    assert pl.read_parquet(out / "admitted.parquet")["task_id"].to_list() == [sound.task_id]
    assert pl.read_parquet(out / "quarantine.parquet")["check"].to_list() == ["gold"]
    assert set(pl.read_parquet(out / "report.parquet")["task_id"]) == {sound.task_id, broken.task_id}


def test_what_is_no_task_is_named_by_its_line(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text(task_of("weather").model_dump_json() + "\n{}\n")
    done = RUN.invoke(app, ["gate", str(file), "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "line 2 is no task" in done.output
