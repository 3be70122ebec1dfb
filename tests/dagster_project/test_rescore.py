"""`loopwright rescore`: what a swap of judge or rubric changes is shown before it is made, and keys never mix."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from assets.benchmarks.rescoring import journals
from assets.frontier.probing import probes_frame
from assets.tasks.judging import SCHEMA
from assets.tasks.judging import TABLE as GRADES
from assets.trajectories.synthesis import synthesise
from dagster_project.commands import app
from environments.judges.programmatic import ProgrammaticJudge
from environments.policies.scripted import NoisyTeacher
from environments.verifiers.composed import verifier_for
from environments.verifiers.rubric import KINDS, RUBRICS, Rubrics
from environments.world import WorldPool
from environments.worlds.atlas.tasks import fresh_tasks
from environments.worlds.atlas.world import AtlasWorld
from resources.lake import Lake
from resources.registry import Consumed, Registry
from training.checkpoint import MANIFEST
from training.journal import run_journalled
from training.trajectories import tasks_frame

SEED, PROBES = "trajectories/seed_trajectories", "frontier/seed_probes"
FRESH = [t for t in fresh_tasks(24, "train", 11) if t.goal.reason is None]
TASKS = [t.model_copy(update={"rubric": "retrieval"}) if i % 2 else t for i, t in enumerate(FRESH)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state with trajectories, probes and a policy, half of its tasks graded by a rubric."""
    home = tmp_path_factory.mktemp("home")
    made = Lake(root=str(home / "lake"))
    pool, verifier = WorldPool(AtlasWorld), verifier_for(TASKS)
    made.write("tasks/admitted_tasks", tasks_frame(TASKS))
    told = {"seed": 0, "batch": 64, "progress": lambda done, total: None}
    budgets = {t.task_id: 2 for t in TASKS}
    folder = made.folder(SEED) / "runs" / "one"
    kept = synthesise(TASKS, budgets, NoisyTeacher(0.1), pool, verifier, folder, **told).trajectories  # type: ignore[arg-type]
    made.write(SEED, kept)
    episodes = run_journalled(
        TASKS, NoisyTeacher(0.3), pool, verifier, made.folder(PROBES) / "runs" / "two" / "episodes", k=4, **told  # type: ignore[arg-type]
    )  # fmt: skip
    made.write(PROBES, probes_frame(episodes, TASKS, 4))
    _policy(made, home, kept["trajectory_id"].to_list())
    return home


@pytest.fixture
def lake(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    """A copy of that state, for one test."""
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path))
    return Lake(root=str(tmp_path / "lake"))


def _policy(lake: Lake, home: Path, consumed: list[str]) -> None:
    model = lake.folder("sft/seed_policy") / "runs" / "three" / "model"
    model.mkdir(parents=True)
    (model / MANIFEST).write_text(json.dumps({"version": "policy-1", "parent": None}), encoding="utf-8")
    row = {"version": "policy-1", "parent": "", "kind": "sft", "consumed": "x"}
    row["model"] = str(model.relative_to(lake.root))
    lake.write("sft/seed_policy", pl.DataFrame([row]))
    Registry(url=f"sqlite:///{home / 'registry.db'}").record_consumed([Consumed("policy-1", 0, 9, consumed, "digest")])


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["rescore", *map(str, arguments)])


def other_rubrics(tmp_path: Path) -> Path:
    """The shipped rubrics with one word changed in the one that the tasks name."""
    folder = tmp_path / "rubrics"
    folder.mkdir()
    for file in RUBRICS.glob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        (folder / file.name).write_text(text.replace("Is everything", "Is all", 1), encoding="utf-8")
    return folder


def trusted(lake: Lake, rubrics: Rubrics) -> None:
    """Write grades by which the judge is above its bar under these rubrics."""
    base = {"judge": ProgrammaticJudge().version, "name": "x", "rubrics": rubrics.version, "above_bar": True}
    lake.write(GRADES, pl.DataFrame([{**base, "part": "x", "dimension": kind} for kind in KINDS], schema=SCHEMA))


def files(lake: Lake) -> list[str]:
    return sorted(str(p.relative_to(lake.root)) for p in Path(lake.root).rglob("*.parquet"))


def test_nothing_swapped_is_nothing_to_do(lake: Lake) -> None:
    found = run("--dry-run")
    assert found.exit_code == 0, found.output
    assert "nothing to re-score" in found.output


def test_a_changed_word_of_a_rubric_forces_a_re_score_that_is_shown_first(lake: Lake, tmp_path: Path) -> None:
    before = files(lake)
    found = run("--dry-run", "--rubric", other_rubrics(tmp_path))
    assert found.exit_code == 0, found.output
    for title in ("VERDICTS", "TRAJECTORIES", "FRONTIER TASKS", "CHECKPOINTS", "Nothing was written"):
        assert title in found.output
    assert "policy-1" in found.output
    assert files(lake) == before


def test_what_a_rubric_would_change_is_followed_to_the_policy(lake: Lake) -> None:
    found = run("--dry-run", "--ask", "planning")
    assert found.exit_code == 0, found.output
    assert "dropped" in found.output, "a gold answer without a next step is no perfect plan"
    assert "rows that it consumed change" in found.output
    [line] = [line for line in found.output.splitlines() if "policy-1" in line]
    assert int(line.split()[3].replace(",", "")) > 0
    assert "->" in found.output, "tasks that stand in another region"


def test_a_judge_below_its_bar_writes_nothing(lake: Lake, tmp_path: Path) -> None:
    folder, before = other_rubrics(tmp_path), None
    lake.write(GRADES, pl.DataFrame(schema=SCHEMA))
    before = files(lake)
    found = run("--rubric", folder)
    assert found.exit_code == 2
    assert "may not gate data" in found.output
    assert files(lake) == before


def test_re_scored_episodes_lie_under_their_own_key_and_the_old_ones_stay(lake: Lake, tmp_path: Path) -> None:
    folder = other_rubrics(tmp_path)
    trusted(lake, Rubrics(folder))
    before = {one.stage: one for one in journals(lake)}
    found = run("--rubric", folder)
    assert found.exit_code == 0, found.output
    assert {one.stage: one.key for one in journals(lake)} == {stage: one.key for stage, one in before.items()}
    for stage, old in before.items():
        [file] = (Path(lake.root) / f"{stage}_rescored").glob("*.parquet")
        rows = pl.read_parquet(file)
        assert set(rows["key"]) == {file.stem} != {old.key.digest}
        assert rows.select("task_id", "attempt", "steps").equals(old.episodes.select("task_id", "attempt", "steps"))
    registry = Registry(url=f"sqlite:///{tmp_path / 'registry.db'}")
    keys = {entry.key for entry in registry.ledger()}
    assert {key.rubric for key in keys if key is not None} == {Rubrics(folder).version}
    assert run("--rubric", folder).exit_code == 0, "the same facts can be written twice"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--dry-run", "--judge", "llm"), "names no judge: set base_url and model under [judge]"),
        (("--ask", "planning"), "only goes with --dry-run"),
        (("--dry-run", "--ask", "charm"), "no rubric named 'charm'"),
        (("--dry-run", "--rubric", "/nowhere"), "holds no rubric"),
    ],
)
def test_a_mistake_is_told_in_one_line(lake: Lake, arguments: tuple[str, ...], told: str) -> None:
    found = run(*arguments)
    assert found.exit_code == 2
    assert told in found.output
    assert "Traceback" not in found.output


def test_a_state_without_episodes_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path))
    found = run("--dry-run")
    assert found.exit_code == 2
    assert "has left episodes yet" in found.output
