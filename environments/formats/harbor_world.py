"""Tasks set in a world of tools, as Harbor task folders: the world is served beside the agent's container.

The agent meets the tools over MCP, in a service that holds the initial state and no goal, and leaves its answer in a
file. When it has finished, what the world recorded (calls, changes, ledger) is fetched with the owner's token, which
stands in `task.toml` and in the world's own service, and in nothing that the agent can read. The tests grade that
record, in an environment of their own, with the verifier that grades the task in training.
"""

import json
import secrets
import shlex
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

import yaml

from environments.formats.harbor import HarborTask, grading_script, settings_for
from environments.task import Goal, Task
from environments.world import World

ANSWER: Final = "/app/answer.txt"
ARTIFACTS: Final = "/logs/artifacts"
SESSIONS: Final = "sessions.json"
PORT: Final = 8000
_SECONDS_PER_CALL: Final = 30.0


def harbor_task_of(
    task: Task,
    world: World,
    *,
    image: str,
    organisation: str = "loopwright",
    metadata: Mapping[str, Any] | None = None,
    token: str | None = None,
) -> HarborTask:
    """A task as a Harbor task folder.

    Args:
        task: without a user: a Harbor agent has nobody to talk with.
        world: a session of its world.
        image: with this package and Python in it; for the world, the agent's container and the tests.
        organisation: the first half of the task's name.
        metadata: more about it, such as pool, pass rate or seed.
        token: the owner's; a random one by default.

    Raises:
        ValueError: the task has a user.
    """
    if task.user is not None:
        raise ValueError(f"task {task.task_id} has a user to talk with, which a Harbor agent does not")
    token = token or secrets.token_urlsafe(24)
    told = {"world": task.world, "family": task.family, "depth": task.depth, "split": task.split, "leaf": task.leaf}
    settings = settings_for(
        f"{organisation}/{task.world}-{task.family}-{task.task_id}".replace("_", "-"),
        description=f"{task.family} in the world {task.world}",
        metadata={k: v for k, v in {**told, "task_id": task.task_id, **(metadata or {})}.items() if v is not None},
        agent_s=_SECONDS_PER_CALL * (task.max_calls + 1),
        verifier_s=120.0,
        collect=(_collecting(token),),
        environment={
            "mcp_servers": [{"name": task.world, "transport": "streamable-http", "url": f"http://world:{PORT}/mcp"}]
        },
    )
    settings["verifier"]["environment"] = {"docker_image": image}
    return HarborTask(settings, _instruction(task, world), _files(task, world, image, token))


def _instruction(task: Task, world: World) -> str:
    policy = f"\n\nWhat is allowed:\n\n{world.policy.strip()}\n" if world.policy else "\n"
    return (
        f"{task.instruction}\n\n"
        f"The tools are those of the MCP server `{task.world}`; at most {task.max_calls} calls count. "
        f"Write what you answer the user, and nothing else, into `{ANSWER}`.{policy}"
    )


def _files(task: Task, world: World, image: str, token: str) -> dict[str, bytes]:
    shown = task.model_copy(update={"goal": Goal(), "gold_calls": (), "gold_answer": "", "twin": None})
    described = {
        "units": dict(world.units), "policy": world.policy, "today": world.today, "version": world.version,
        "refusal_codes": list(world.refusal_codes),
    }  # fmt: skip
    gold = {"calls": [c.model_dump() for c in task.gold_calls], "answer": task.gold_answer}
    return {
        "environment/docker-compose.yaml": yaml.safe_dump(_compose(task.world, image), sort_keys=False).encode(),
        "environment/world/task.json": shown.model_dump_json(indent=1).encode(),
        "environment/world/token": token.encode(),
        "tests/test.sh": grading_script(f"python -m environments.formats.harbor_grade /tests {ARTIFACTS}"),
        "tests/task.json": task.model_dump_json(indent=1).encode(),
        "tests/world.json": json.dumps(described, indent=1, ensure_ascii=False).encode(),
        "solution/solve.sh": b"#!/bin/bash\npython /solution/solve.py\n",
        "solution/solve.py": files("environments.formats").joinpath("harbor_solve.txt").read_bytes(),
        "solution/gold.json": json.dumps(gold, indent=1, ensure_ascii=False).encode(),
    }


def _compose(world: str, image: str) -> dict[str, Any]:
    """Two services: the agent's, which Harbor wants named `main`, and the world's, with what the agent must not see."""
    serving = ["serve", world, "--host", "0.0.0.0", "--port", str(PORT), "--task", "/world/task.json"]
    return {
        "services": {
            "main": {"image": image, "working_dir": "/app", "command": ["sleep", "infinity"], "depends_on": ["world"]},
            "world": {
                "image": image,
                "entrypoint": ["loopwright"],
                "command": [*serving, "--owner-token", "/world/token"],
                "volumes": ["./world:/world:ro"],
            },
        }
    }


def _collecting(token: str) -> str:
    """A command that fetches what the world recorded, and the answer."""
    fetch = (
        "import json, urllib.request as u; "
        f"get = lambda path: json.load(u.urlopen(u.Request('http://world:{PORT}/owner' + path, "
        f"headers={{'Authorization': 'Bearer {token}'}}))); "
        "known = get('/sessions'); "
        "found = [get('/sessions/' + name) for name in known['ended'] + known['open']]; "
        f"json.dump(found, open('{ARTIFACTS}/{SESSIONS}', 'w'))"
    )
    return f"python -c {shlex.quote(fetch)}; cp {ANSWER} {ARTIFACTS}/ || true"
