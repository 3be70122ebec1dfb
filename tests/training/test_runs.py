"""Settings of a run as TOML: there and back, strict, with errors that name what is known."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.runs import GrpoRun, RolloutPlan, RolloutRun, Run, SftRun

NAMES = st.text(st.characters(min_codepoint=32, exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)


@pytest.mark.parametrize(
    "run",
    [
        SftRun(output=Path("out"), trajectories=Path("t.parquet"), threads=2, learning_rate=1e-7, steps=3),
        GrpoRun(output=Path("out"), tasks=Path("q.parquet"), init="/models/a", threads=1, beta=0.1, loss="dr_grpo"),
        RolloutRun(output=Path("out"), tasks=Path("q.parquet"), policy=Path("m"), version="v1", temperature=0.0),
        RolloutPlan(output=Path("out"), runs=[Path("a.toml"), Path("b c.toml")], threads=2),
        RolloutPlan(output=Path("out"), runs=[]),
    ],
)
def test_a_run_comes_back_from_toml_as_it_was(run: Run, tmp_path: Path) -> None:
    assert type(run).read(run.write(tmp_path / "deep" / "run.toml")) == run


@given(name=NAMES, init=NAMES)
def test_any_path_survives_toml(tmp_path_factory: pytest.TempPathFactory, name: str, init: str) -> None:
    run = SftRun(output=Path(name), trajectories=Path("x") / name, init=init, threads=1)
    assert SftRun.read(run.write(tmp_path_factory.mktemp("runs") / "run.toml")) == run


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("stepz = 3", "stepz: Extra inputs are not permitted"),
        ("steps = 'many'", "steps: Input should be a valid integer"),
        ("precision = 'fp8'", "precision: Input should be"),
        ("", "trajectories: Field required"),
    ],
)
def test_a_wrong_setting_is_named_with_those_there_are(text: str, names: str, tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    rest = "" if not text else "trajectories = 't.parquet'\n"
    file.write_text(f"output = 'o'\n{rest}{text}\n")
    with pytest.raises(ValueError, match="Known settings: output, world, seed") as raised:
        SftRun.read(file)
    assert names in str(raised.value)
    assert str(file) in str(raised.value)


def test_a_missing_run_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no run file at .*none\.toml"):
        GrpoRun.read(tmp_path / "none.toml")


def test_broken_toml_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("output = \n")
    with pytest.raises(ValueError, match=r"run\.toml"):
        SftRun.read(tmp_path / "run.toml")


@pytest.mark.parametrize(
    "settings", [{"steps": 0}, {"steps": -1}, {"batch": 0}, {"learning_rate": 0.0}, {"decay": 1.5}, {"save_every": 0}]
)
def test_settings_that_cannot_be_trained_with_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        SftRun(output=Path("o"), trajectories=Path("t"), threads=1, **settings)


@pytest.mark.parametrize("settings", [{"generations": 1}, {"groups": 0}, {"temperature": 0.0}, {"refills": -1}])
def test_a_group_needs_members_that_differ(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(settings))):
        GrpoRun(output=Path("o"), tasks=Path("t"), init="m", threads=1, **settings)
