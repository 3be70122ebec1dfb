"""Tasks of Harbor's in real containers: solved, not solved, cheated at, and what the gate says of them."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assets.tasks.admission import admit
from dagster_project.commands import app
from environments.episode import Invalid, NoResult
from environments.fault import UnplayableTask
from environments.formats.harbor import write_task
from environments.formats.harbor_files import harbor_files_of
from environments.formats.harbor_import import import_folders, task_of
from environments.gate.run import Setting, Thoroughness
from environments.policies.scripted import Gold, NoOp
from environments.policies.tampering import Replacer, RewardForger, Shadower
from environments.task import Task
from environments.world import WorldFailure
from environments.worlds.harbor.grounds import engine_of
from environments.worlds.harbor.world import HarborWorld
from environments.worlds.workspace.tasks import make_tasks
from environments.worlds.workspace.world import POLICY
from tests.environments.builders import Script, call
from tests.environments.worlds.harbor.builders import Ground, with_tests
from tests.environments.worlds.harbor.folders import folder_of

pytestmark = pytest.mark.docker


def test_the_solution_earns_1_three_times_and_doing_nothing_0(ground: Ground) -> None:
    found = [episode.verdict for episode in ground.play(Gold(), k=3)]
    assert [(v.reward, v.cause) for v in found if not isinstance(v, Invalid | NoResult)] == [(1.0, "ok")] * 3
    nothing = ground.scored(NoOp())
    assert (nothing.reward, nothing.cause) == (0.0, "failed_tests")


@pytest.mark.parametrize(
    ("cheat", "cause"),
    [
        (RewardForger(), "failed_tests"),
        (Shadower(), "failed_tests"),
        (Replacer("link"), "failed_tests"),
        (Replacer("exit-early"), "failed_tests"),
        (Replacer("kill-the-tests"), "tests_killed"),
        (Replacer("write-behind"), "outlived_the_tests"),
    ],
)
def test_who_goes_for_the_tests_earns_nothing(ground: Ground, cheat: Shadower | Replacer, cause: str) -> None:
    found = ground.scored(cheat)
    assert (found.reward, found.cause) == (0.0, cause), found


@pytest.mark.parametrize(
    ("script", "reward", "cause"),
    [
        ("echo 0.25 > /logs/verifier/reward.txt", 0.25, "failed_tests"),
        ("""echo '{"reward": 1, "style": 0.2}' > /logs/verifier/reward.json; exit 7""", 1.0, "ok"),
        ("cd /logs/verifier; echo 1 > reward.txt; echo '{\"reward\": 1.0}' > reward.json", 1.0, "ok"),
        ("cd /logs/verifier; echo 1 > reward.txt; echo '{\"reward\": 0}' > reward.json", 0.0, "bad_reward"),
        ("""echo '{"a": 1, "b": 1}' > /logs/verifier/reward.json""", 0.0, "bad_reward"),
        ("echo 1.5 > /logs/verifier/reward.txt", 0.0, "bad_reward"),
        ("echo -1 > /logs/verifier/reward.txt", 0.0, "bad_reward"),
        ("echo nan > /logs/verifier/reward.txt", 0.0, "bad_reward"),
        ("echo true > /logs/verifier/reward.json", 0.0, "bad_reward"),
        (": > /logs/verifier/reward.txt", 0.0, "bad_reward"),
        ("yes 1 | head -c 9999 > /logs/verifier/reward.txt", 0.0, "bad_reward"),
        ("mkdir /logs/verifier/reward.txt", 0.0, "bad_reward"),
        ("echo no reward; exit 1", 0.0, "no_reward"),
        ("echo 1 > /logs/verifier/reward.txt; sleep 60", 0.0, "tests_timed_out"),
        ("echo 1 > /logs/verifier/reward.txt; kill -9 $$", 0.0, "tests_killed"),
        ("(sleep 30; true) & echo 1 > /logs/verifier/reward.txt", 0.0, "outlived_the_tests"),
    ],
)
def test_one_number_from_0_to_1_is_a_reward_and_anything_else_a_zero_with_its_cause(
    ground: Ground, script: str, reward: float, cause: str
) -> None:
    found = ground.scored(NoOp(), with_tests(ground.task, script))
    assert (found.reward, found.cause) == (reward, cause), found


def test_the_agent_has_no_network_no_rights_and_no_more_than_was_asked_for(ground: Ground) -> None:
    world = HarborWorld(ground.grounds)
    world.begin(ground.task)
    told = world.call(
        "run", {"command": "id -u; pwd; cat /proc/net/dev | wc -l; touch /usr/bin/x /etc/x; ls -A /tests"}
    )
    assert told["output"].split()[:3] == ["65534", "/app", "3"]
    assert told["output"].count("Read-only file system") == 2
    assert world.call("list_files", {}) == ["numbers"]
    assert world.call("write_file", {"path": "/root/x", "text": "y"}) == {"written": "/root/x", "bytes": 1}
    assert world.call("write_file", {"path": "/etc/x", "text": "y"})["error"] == "outside"
    assert world.call("run", {"command": "dd if=/dev/zero of=big bs=1M count=40 2>/dev/null; rm big"})["exit"] == 0
    [made] = [c for c in engine_of().ours() if c["State"] == "running"][:1]
    bounds = engine_of().client.api.inspect_container(made["Id"])["HostConfig"]
    assert (bounds["Memory"], bounds["NanoCpus"], bounds["NetworkMode"]) == (256 << 20, 10**9, "none")
    assert (bounds["ReadonlyRootfs"], bounds["CapDrop"], bounds["PidsLimit"]) == (True, ["ALL"], 64)
    world.close()


def test_a_solution_that_needs_the_system_says_so(ground: Ground) -> None:
    found = ground.scored(Script(call("run", command="echo x > /etc/motd"), "Done."))
    assert found.reward == 0
    assert "the last command ended with 1: " in found.evidence
    assert "Read-only file system" in found.evidence


def test_the_time_of_all_commands_together_is_bounded(ground: Ground) -> None:
    row = ground.task.initial["setting"][0] | {"agent_s": 0.3}
    hurried = ground.task.model_copy(update={"initial": {**ground.task.initial, "setting": (row,)}})
    world = HarborWorld(ground.grounds)
    world.begin(hurried)
    assert world.call("run", {"command": "sleep 60"}) == {"timed_out": True, "output": ""}
    assert world.call("run", {"command": "true"})["error"] == "time_is_up"
    world.close()


def test_a_reset_brings_the_image_back(ground: Ground) -> None:
    world = HarborWorld(ground.grounds)
    before = world.state_hash()
    world.begin(ground.task)
    world.call("run", {"command": "rm numbers; mkdir -p a/b; echo x > a/b/c; ln -s /tests/t l; echo y > /root/z"})
    assert [(c.table, c.key) for c in world.changes()] == [
        ("file", "/app/a"), ("file", "/app/a/b"), ("file", "/app/a/b/c"), ("file", "/app/numbers"),
        ("file", "/root/z"), ("left_out", "\"/app/l: a link to '/tests/t'\""),
    ]  # fmt: skip
    assert world.state_hash() != before
    world.reset()
    assert world.state_hash() == before
    world.begin(ground.task)
    assert world.call("list_files", {}) == ["numbers"]
    world.close()


def test_an_engine_that_fails_gives_no_result_and_a_ruined_container_a_zero(ground: Ground) -> None:
    class Remover(Script):
        """Stands for an operator: removes the containers while the agent works."""

        def act(self, attempts: Any) -> Any:
            for container in engine_of().ours():
                engine_of().remove(container["Id"])
            return super().act(attempts)

    ground.scored(Gold())
    [episode] = ground.play(Remover(call("run", command="true"), "Done."))
    assert isinstance(episode.verdict, NoResult), episode.verdict
    assert ground.scored(Gold()).reward == 1.0


def test_what_cannot_be_built_is_told_and_what_the_engine_lacks_is_no_fault_of_the_task(
    ground: Ground, tmp_path: Path
) -> None:
    folder_of(tmp_path / "base", base="nowhere.example/none:1")
    folder_of(tmp_path / "fetching", {"environment/Dockerfile": f"FROM {ground.base}\nRUN wget http://a.example/x\n"})
    taken = import_folders([tmp_path], grounds=ground.grounds)
    assert taken.tasks == []
    assert [(a.name, a.cause) for a in taken.aside] == [("base", "no_image"), ("fetching", "no_image")]
    assert "has no image 'nowhere.example/none:1'" in taken.aside[0].evidence
    assert "cannot be built without a network" in taken.aside[1].evidence
    world = HarborWorld(ground.grounds)
    with pytest.raises(WorldFailure, match="docker pull"):
        world.begin(task_of(tmp_path / "base"))
    with pytest.raises(UnplayableTask, match="cannot be built"):
        world.begin(task_of(tmp_path / "fetching"))


@pytest.mark.parametrize("family", ["query", "report", "findings"])
def test_a_coding_task_of_ours_comes_back_as_a_foreign_one_that_can_be_solved(
    ground: Ground, tmp_path: Path, family: str
) -> None:
    [task] = make_tasks(family, [3])
    write_task(harbor_files_of(task, POLICY.read_text(), image=ground.base), tmp_path / "task")
    [back] = import_folders([tmp_path], grounds=ground.grounds).tasks
    assert ground.scored(Gold(), back).reward == 1.0
    assert ground.scored(NoOp(), back).reward == 0.0


def naive(ground: Ground) -> Task:
    """A task whose tests run the agent's code in the process that decides, and do not see whether it came to an end."""
    check = "cd /app; if python3 -c 'import count'; then r=1; else r=0; fi; [ -s hello.txt ] || r=0; "
    return with_tests(ground.task, f"{check}echo $r > /logs/verifier/reward.txt").model_copy(
        update={"instruction": "Naive: " + ground.task.instruction, "group": "others/naive"}
    )


def test_the_gate_admits_the_sound_task_and_says_how_the_other_is_cheated(ground: Ground) -> None:
    tasks = [ground.task, naive(ground)]
    setting = Setting(ground.verifier, make_world=lambda name: ground.open)
    found = admit(tasks, setting, Thoroughness(sample=0))
    assert [t.task_id for t in found.admitted] == [ground.task.task_id], found.rejected
    [rejected] = found.rejected
    assert rejected.check == "replacer-exit-early-1"


def test_the_command_names_each_task_that_it_cannot_use(ground: Ground, tmp_path: Path) -> None:
    folder_of(tmp_path / "in/good", base=ground.base)
    folder_of(tmp_path / "in/bad", {"environment/docker-compose.yaml": "services: {}\n"})
    done = CliRunner().invoke(app, ["import", "harbor", str(tmp_path / "in"), "--out", str(tmp_path / "out.jsonl")])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        f"1 tasks in {tmp_path / 'out.jsonl'}; 1 not used:",
        "  bad  several_containers: environment/docker-compose.yaml: there is one container, and nothing beside it",
    ]
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 1
