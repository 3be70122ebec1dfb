"""Workspace as a world: its tools, its reset, its verdicts."""

from collections.abc import Iterator
from typing import Any

import pytest

from environments.episode import NoResult, Scored
from environments.policies.scripted import AlwaysRefuse, Garbage, Gold, NoOp
from environments.rollout import rollouts
from environments.task import Case, Goal
from environments.verifiers.outcome import OutcomeVerifier
from environments.worlds.catalogue import world_maker
from environments.worlds.workspace.tasks import FAMILIES, make_tasks
from environments.worlds.workspace.world import WorkspaceWorld
from tests.environments.builders import Script, call
from tests.environments.worlds.workspace.builders import Ground, scored

pytestmark = pytest.mark.docker


@pytest.fixture
def world(ground: Ground) -> Iterator[WorkspaceWorld]:
    lent = ground.pool.lend()
    assert isinstance(lent, WorkspaceWorld)
    lent.begin(make_tasks("repair", [1])[0])
    yield lent
    ground.pool.give_back(lent)


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_gold_earns_1_and_doing_nothing_0(ground: Ground, family: str) -> None:
    tasks = make_tasks(family, [4, 5])
    assert [scored(e) for e in ground.play(Gold(), *tasks)] == [Scored(1.0, 1.0, False, "ok")] * 2
    for policy in (NoOp(), AlwaysRefuse(), Garbage()):
        assert [scored(e).reward for e in ground.play(policy, *tasks)] == [0.0, 0.0], policy.version


def test_the_catalogue_has_it_once_there_is_an_engine(ground: Ground) -> None:
    assert world_maker("workspace")().name == "workspace"


def test_tools_show_files_commands_and_tests(world: WorkspaceWorld) -> None:
    [module] = [n for n in world.call("list_files", {}) if n.endswith(".py")]
    assert "def " in world.call("read_file", {"path": module})["text"]
    assert world.call("write_file", {"path": "a/b.txt", "text": "grüße"}) == {"written": "a/b.txt", "bytes": 7}
    assert world.call("run", {"command": "cat a/b.txt"}) == {"exit": 0, "output": "grüße"}
    assert world.call("run_tests", {})["exit"] == 1
    assert world.call("read_file", {"path": "none"}) == {"error": "not_found", "path": "none"}
    assert world.call("write_file", {"path": "/etc/x", "text": ""})["error"] == "outside"
    assert world.call("run", {"command": "sleep 100"}) == {"timed_out": True, "output": ""}
    assert world.call("drop", {}) == {"error": "unknown_tool"}
    assert [(c.table, c.key) for c in world.changes()] == [("file", "a/b.txt")]
    assert [(e.tool, e.after) for e in world.ledger()] == [
        ("write_file", None), ("run", "0"), ("run_tests", "1"), ("run", "timed out"),
    ]  # fmt: skip


def test_a_reset_brings_the_first_state_back(ground: Ground) -> None:
    task = make_tasks("findings", [1])[0]
    world = ground.pool.lend()
    world.begin(task)
    empty = WorkspaceWorld(ground.made).state_hash()
    hashes = {world.state_hash()}
    for _ in range(2):
        world.call("run", {"command": "echo x > y; rm -r books; chmod 500 ."})
        assert world.state_hash() not in hashes
        world.reset()
        assert world.state_hash() == empty
        world.begin(task)
        hashes.add(world.state_hash())
    ground.pool.give_back(world)
    assert len(hashes) == 1


def test_the_same_calls_read_the_same_again(ground: Ground) -> None:
    task = make_tasks("repair", [2])[0]
    [first], [second] = ground.play(Gold(), task), ground.play(Gold(), task)
    strip = [str(s.observation).replace("in 0.0", "") for s in first.steps]
    assert [len(s) for s in strip] == [len(str(s.observation).replace("in 0.0", "")) for s in second.steps]


def test_files_that_are_no_part_of_any_commit_are_graded_too(ground: Ground) -> None:
    task = make_tasks("query", [3])[0]
    [gold] = [c for c in task.gold_calls if c.name == "write_file"]
    module = gold.arguments["path"]
    split = call("run", command=f"mkdir -p .git lib; mv {module} lib/kept.py; echo 'from lib.kept import *' > {module}")
    assert scored(ground.play(Script(gold, split, "Done."), task)[0]).reward == 1.0


def test_an_engine_that_fails_in_an_episode_gives_no_result(ground: Ground) -> None:
    class Remover(Script):
        """Stands for an operator: removes the container while the agent works."""

        def act(self, attempts: Any) -> Any:
            for container in ground.made.engine.ours():
                ground.made.engine.remove(container["Id"])
            return super().act(attempts)

    task = make_tasks("query", [3])[0]
    [episode] = ground.play(Remover(call("run", command="true"), "Done."), task)
    assert isinstance(episode.verdict, NoResult)
    assert "workspace" in episode.verdict.cause
    assert scored(ground.play(Gold(), task)[0]).reward == 1.0, "the next episode must not suffer"


def test_verifiers_refuse_the_tasks_of_the_other(ground: Ground) -> None:
    task = make_tasks("findings", [1])[0]
    attempt = Script("Done.")
    [episode] = [e for b in rollouts([task], attempt, ground.pool, OutcomeVerifier(), k=1, seed=0) for e in b]
    assert "hidden tests" in str(episode.verdict)
    bare = task.model_copy(update={"goal": Goal()})
    [episode] = ground.play(attempt, bare)
    assert "no hidden tests" in str(episode.verdict)


@pytest.mark.parametrize(
    ("body", "passes"),
    [
        ("return [1, 2.0, {'a': None}]", True),
        ("return (1, 2, {'a': None})", True),
        ("return [True, 2, {'a': None}]", False),
        ("return [1, 2, {'a': float('nan')}]", False),
        ("return [1, 2]", False),
        ("raise ValueError", False),
        ("return type('L', (list,), {})([1, 2, {'a': None}])", False),
        ("x = []; x.append(x); return x", False),
    ],
)
def test_results_are_compared_as_json_values(ground: Ground, body: str, passes: bool) -> None:
    task = make_tasks("query", [3])[0].model_copy(
        update={"goal": Goal(cases=(Case(target="m:f", expected=[1, 2, {"a": None}]),))}
    )
    play = Script(call("write_file", path="m.py", text=f"def f():\n    {body}\n"), "Done.")
    assert scored(ground.play(play, task)[0]).success is passes
