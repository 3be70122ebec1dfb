"""Sandboxes as a resource: its settings are limits, and they reach the containers."""

from dataclasses import asdict

import pytest

from environments.sandbox import Limits
from resources.sandboxes import SandboxSettings


def test_without_settings_the_limits_are_the_defaults() -> None:
    assert SandboxSettings().sandboxes().limits == Limits()


def test_every_setting_reaches_the_limits_or_the_engine() -> None:
    changed = {"memory_mb": 512, "cpus": 0.5, "processes": 20, "work_mb": 128, "files": 2000, "command_s": 3.0,
               "command_cpu_s": 2, "output_kb": 8, "collected_kb": 4096}  # fmt: skip
    made = SandboxSettings(**changed, host="unix:///run/other.sock", image="python:3.11", runtime="runsc").sandboxes()
    assert {name: value for name, value in asdict(made.limits).items() if name in changed} == changed
    assert (made.host, made.image, made.runtime) == ("unix:///run/other.sock", "python:3.11", "runsc")
    assert made.version != SandboxSettings(**changed).sandboxes().version
    assert set(changed) | {"host", "image", "runtime"} == set(SandboxSettings.model_fields)


def test_limits_that_contradict_each_other_are_told_at_once() -> None:
    with pytest.raises(ValueError, match=r"collected_kb=8192 .* files=4096 are more than work_mb=8; raise work_mb"):
        SandboxSettings(work_mb=8).sandboxes()


@pytest.mark.docker
def test_worlds_and_their_verifier_run_in_the_same_kind_of_sandbox(docker_engine: str) -> None:
    make, verifier = SandboxSettings(host=docker_engine, memory_mb=300).workspace()
    assert make().version.endswith(verifier.version.split("sandbox-")[1])
    missing = SandboxSettings(host=docker_engine, image="no/such:image").workspace()[0]
    with pytest.raises(RuntimeError, match=r"find the image 'no/such:image' \(docker pull or docker import it\)"):
        missing()
