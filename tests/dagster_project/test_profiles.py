"""Profiles resolve, print and refuse what they do not know."""

from pathlib import Path

import pytest

from dagster_project import profiles
from dagster_project.profiles import ProfileError


@pytest.mark.parametrize("name", ["micro", "nano", "small", "gpu"])
def test_every_profile_resolves(name: str) -> None:
    profile = profiles.load(name)
    assert profile.name == name
    assert profile.description


def test_a_typo_in_the_profile_names_those_that_exist() -> None:
    with pytest.raises(
        ProfileError, match=r"LOOPWRIGHT_PROFILE='nanno' is not a profile; allowed: micro, nano, small, gpu"
    ):
        profiles.load("nanno")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            'descriptin = "x"',
            "unknown key 'descriptin'; allowed: apply_tree_changes, description, judge, nightly, sandboxes, teacher",
        ),
        ("", "description: Field required"),
        ('description = "x"\n[trainer]\nlauncher = "mpi"', r"launcher: Input should be .* \(got 'mpi'\)"),
        ('description = "x"\n[trainer]\nproceses = 2', r"trainer.proceses: Extra inputs are not permitted \(got 2\)"),
        ('description = "x"\n[queries.raw_querys]\n', r"\[queries.raw_querys\] is not a stage; allowed under queries"),
        ('description = "x"\nname = "y"', "name is not set in the file"),
    ],
)
def test_a_typo_in_a_key_names_what_is_allowed(text: str, says: str) -> None:
    with pytest.raises(ProfileError, match=says):
        profiles.parse(text, name="test")


def test_sizes_of_a_profile_are_the_run_config_of_a_job() -> None:
    profile = profiles.parse('description = "x"\n[queries.raw_queries]\nlines = 7', name="test")
    assert profile.run_config().to_config_dict()["ops"] == {"queries__raw_queries": {"config": {"lines": 7}}}


def test_state_lies_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPWRIGHT_HOME", "/somewhere/else")
    assert str(profiles.home()) == "/somewhere/else"


def test_tau2_lies_where_the_environment_says_or_else_the_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.toml"
    own.write_text('description = "x"\n[worlds]\ntau2_folder = "/data/tau2"\n')
    monkeypatch.setenv("LOOPWRIGHT_PROFILE", str(own))
    monkeypatch.delenv("LOOPWRIGHT_TAU2", raising=False)
    assert profiles.tau2_folder() == Path("/data/tau2")
    monkeypatch.setenv("LOOPWRIGHT_TAU2", "/elsewhere")
    assert profiles.tau2_folder() == Path("/elsewhere")
    monkeypatch.setenv("LOOPWRIGHT_PROFILE", "micro")
    monkeypatch.delenv("LOOPWRIGHT_TAU2")
    assert profiles.tau2_folder() is None
