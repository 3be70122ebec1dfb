"""`loopwright export` and `loopwright import`: tasks and episodes to other tools and from them."""

from pathlib import Path

import polars as pl
import pytest
from datasketch import MinHash, MinHashLSH
from typer.testing import CliRunner, Result

from assets.pool.minhash import bands_for, signatures
from dagster_project.commands import app
from dagster_project.commands.gate import tasks_in
from environments.episode import Episode
from environments.formats.atif import read_trajectory
from environments.formats.harbor import digest_of, read_task
from environments.policies.scripted import NoisyTeacher
from environments.task import UserGoal
from resources.lake import Lake
from tests.environments.builders import played, task_of
from tests.environments.tau2_folders import small_tau2
from training.journal import write_segment
from training.trajectories import tasks_frame

TASKS = [task_of("weather"), task_of("place_route"), task_of("book_flight").model_copy(update={"split": "hidden"})]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state with admitted tasks, one of them hidden."""
    monkeypatch.setenv("LOOPWRIGHT_HOME", str(tmp_path))
    Lake(root=str(tmp_path / "lake")).write("tasks/admitted_tasks", tasks_frame(TASKS))
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_stored_episodes_become_trajectories_and_a_row_comes_back_as_it_was(home: Path) -> None:
    episodes = played(TASKS[:2], NoisyTeacher(0.5), k=6)
    assert [Episode.of(e.row()) for e in episodes] == episodes
    write_segment(home / "episodes", 0, episodes)
    done = run("export", "atif", home / "episodes", home / "atif", "--model", "teacher")
    assert done.stdout.strip() == f"12 trajectories in {home / 'atif'}"
    found = read_trajectory(home / "atif" / f"{episodes[0].episode_id}.json")
    assert (found.steps, found.answer) == (episodes[0].steps, episodes[0].answer)
    solved = sum(e.row()["success"] for e in episodes)
    assert 0 < solved < 12
    assert f"{solved} trajectories" in run("export", "atif", home / "episodes", home / "won", "--solved").stdout


def test_signatures_load_into_an_index_of_datasketch_that_finds_the_near_copy(home: Path) -> None:
    lake, texts = Lake(root=str(home / "lake")), ["weather in rome tomorrow", "museums of oslo", "gone already"]
    rows = pl.DataFrame({"query_id": ["a", "b", "c"], "context": [None, "and now", None], "normal": texts})
    lake.write("queries/distinct_queries", rows.cast({"context": pl.String}))
    lake.write("pool/lexical_survivors", rows.select("query_id").head(2))
    done = run("export", "signatures", home / "out/signatures.parquet")
    assert done.exit_code == 0, done.stderr
    bands = bands_for(0.75)
    assert f"MinHashLSH(num_perm={bands.permutations}, params={tuple(bands)})" in done.stdout.replace("\n", " ")
    index = MinHashLSH(num_perm=bands.permutations, params=tuple(bands))
    for query_id, signature in pl.read_parquet(home / "out/signatures.parquet").iter_rows():
        index.insert(query_id, MinHash(bands.permutations, hashvalues=signature, scheme="affine32"))
    near = signatures(pl.Series(["weather in rome tomorrow!", "and now\nmuseums of oslo"]), bands.permutations)
    found = [index.query(MinHash(bands.permutations, hashvalues=row, scheme="affine32")) for row in near]
    assert found == [["a"], ["b"]]


def test_tasks_become_harbor_folders_and_no_hidden_one_does(home: Path) -> None:
    done = run("export", "harbor", home / "harbor", "--organisation", "ours")
    assert "2 task folders" in done.stdout, done.stderr
    folders = sorted((home / "harbor").iterdir())
    assert {read_task(f).metadata["task_id"] for f in folders} == {t.task_id for t in TASKS[:2]}
    assert all(digest_of(f).startswith("sha256:") for f in folders)
    hidden = run("export", "harbor", home / "more", "--split", "hidden")
    assert hidden.exit_code == 2
    assert "what is hidden" in hidden.stderr


def test_a_tau2_domain_goes_in_and_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = small_tau2(home / "tau2")
    monkeypatch.setenv("LOOPWRIGHT_TAU2", str(folder))
    taken = run("import", "tau2", "retail", home / "retail.jsonl")
    assert taken.exit_code == 0, taken.stderr
    assert f"tasks of retail in {home / 'retail.jsonl'}" in taken.stdout
    gated = run("gate", home / "retail.jsonl", "--out", home / "gated", "--workers", "1", "--sample", "0")
    assert gated.exit_code == 0, gated.stderr
    tasks = len((home / "retail.jsonl").read_text().splitlines())
    assert f" of {tasks} tasks admitted" in gated.stdout
    assert not gated.stdout.startswith("0 of")
    given = run("export", "tau2", "retail", home / "again" / "retail", "--tasks", home / "retail.jsonl")
    assert given.exit_code == 0, given.stderr
    monkeypatch.setenv("LOOPWRIGHT_TAU2", str(home / "again"))
    again = run("import", "tau2", "retail", home / "back.jsonl")
    assert again.exit_code == 0, again.stderr
    shown = int(given.stdout.split()[0])
    assert 0 < len((home / "back.jsonl").read_text().splitlines()) == shown <= tasks


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("export", "atif", "no/where", "out"), "'no/where' is no file, no folder and no table"),
        (
            ("export", "atif", "tasks/admitted_tasks", "out"),
            "holds no episodes: it lacks ended, episode_id",
        ),
        (("export", "atif", "/no/where", "out"), "'/no/where' is no file, no folder and no table"),
        (("export", "atif", "out", "out"), "holds no Parquet file"),
        (("export", "atif", __file__, "out"), "cannot be read as Parquet"),
        (("export", "harbor", "out", "--tasks", "/"), "Is a directory"),
        (("export", "harbor", "out", "--tasks", "tasks/none"), "'tasks/none' is no file and no table"),
        (("export", "tau2", "atlas", "out"), "'atlas' is no world of documents"),
        (("import", "tau2", "telecom", "out"), "no tau2 domain 'telecom' has a world; there are: airline, retail"),
        (("import", "tau2", "retail", "out"), "name a tau2 folder"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(home: Path, arguments: tuple[str, ...], told: str) -> None:
    failed = run(*[home / a if a == "out" else a for a in arguments])
    assert failed.exit_code != 0
    assert told in failed.stderr
    assert "Traceback" not in failed.stderr


def test_hidden_and_honeypot_episodes_stay_in_the_house_unless_asked_for(home: Path) -> None:
    pot = task_of("weather").model_copy(update={"instruction": "Sweet?", "split": "honeypot"})
    lake = Lake(root=str(home / "lake"))
    lake.write("tasks/honeypots", tasks_frame([pot]))
    stranger = task_of("flight").model_copy(update={"instruction": "Whose?"})
    write_segment(home / "episodes", 0, played([*TASKS, pot, stranger], NoisyTeacher(0.0)))
    done = run("export", "atif", home / "episodes", home / "atif")
    assert "2 trajectories" in done.stdout
    assert "left out: 1 hidden, 1 honeypot, 1 unknown (--include-hidden" in done.stdout
    assert len(list((home / "atif").iterdir())) == 2
    tasks_frame([stranger]).write_parquet(home / "theirs.parquet")
    named = run("export", "atif", home / "episodes", home / "named", "--tasks", home / "theirs.parquet")
    assert "3 trajectories" in named.stdout
    assert "left out: 1 hidden, 1 honeypot (" in named.stdout
    assert "5 trajectories" in run("export", "atif", home / "episodes", home / "all", "--include-hidden").stdout


def test_hidden_and_honeypot_tasks_stay_in_the_house_unless_asked_for(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "left out: 1 hidden (--include-hidden" in run("export", "harbor", home / "harbor").stdout
    assert "3 task folders" in run("export", "harbor", home / "more", "--include-hidden").stdout
    talking = TASKS[1].model_copy(update={"user": UserGoal()})
    tasks_frame([TASKS[0], talking, task_of("flight")]).write_parquet(home / "talking.parquet")
    told = run("export", "harbor", home / "some", "--tasks", home / "talking.parquet", "--most", "1").stdout
    assert "1 task folders" in told
    assert "1 with a user to talk with" in told
    assert "1 more than --most allows" in told
    monkeypatch.setenv("LOOPWRIGHT_TAU2", str(small_tau2(home / "tau2")))
    run("import", "tau2", "retail", home / "retail.jsonl")
    tasks = [t.model_copy(update={"split": "train"}) for t in tasks_in(home / "retail.jsonl")]
    tasks[0] = tasks[0].model_copy(update={"split": "honeypot"})
    tasks_frame(tasks).write_parquet(home / "retail.parquet")
    done = run("export", "tau2", "retail", home / "again", "--tasks", home / "retail.parquet")
    assert f"{len(tasks) - 1} tasks of retail" in done.stdout
    assert "left out: 1 honeypot (--include-hidden" in done.stdout


def test_a_file_of_tasks_serves_as_a_source(home: Path) -> None:
    tasks_frame(TASKS[:1]).write_parquet(home / "one.parquet")
    assert pl.read_parquet(home / "one.parquet").height == 1
    assert "1 task folders" in run("export", "harbor", home / "h", "--tasks", home / "one.parquet").stdout
