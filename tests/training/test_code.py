"""The hash of the code that a process runs: it changes with the code and with nothing else."""

from pathlib import Path

import pytest

from training import code
from training.code import code_of


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for package in ("training", "environments", "elsewhere"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "training/run.py").write_text(
        "from training.step import step\nimport elsewhere.other\n\nprint(step())\n"
    )
    (tmp_path / "training/step.py").write_text(
        '"""Steps."""\nfrom environments import world\n\ndef step():\n    return world.X\n'
    )
    (tmp_path / "environments/world.py").write_text("X = 1\n")
    (tmp_path / "elsewhere/other.py").write_text("Y = 1\n")
    monkeypatch.setattr(code, "ROOT", tmp_path)
    return tmp_path


def fresh(module: str = "training.run") -> str:
    code_of.cache_clear()
    return code_of(module)


@pytest.mark.parametrize("file", ["training/run.py", "training/step.py", "environments/world.py"])
def test_a_change_anywhere_in_what_it_imports_changes_the_hash(root: Path, file: str) -> None:
    before = fresh()
    with (root / file).open("a") as out:
        out.write("Z = 2\n")
    assert fresh() != before


def test_comments_docstrings_layout_and_other_packages_do_not_count(root: Path) -> None:
    before = fresh()
    (root / "training/step.py").write_text(
        '"""Other words."""\n\nfrom environments import world  # why\n\n\n'
        'def step():\n    """It steps."""\n    return world.X\n'
    )
    (root / "elsewhere/other.py").write_text("Y = 2\n")
    assert fresh() == before


def test_modules_that_import_each_other_and_one_that_is_not_there(root: Path) -> None:
    (root / "environments/world.py").write_text("from training import step\nX = 1\n")
    assert fresh() == fresh()
    with pytest.raises(FileNotFoundError):
        fresh("training.absent")


def test_the_trainers_of_this_project_have_hashes_of_their_own() -> None:
    code_of.cache_clear()
    assert len({code_of(m) for m in ("training.sft", "training.grpo", "training.rollouts")}) == 3
