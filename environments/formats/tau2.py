"""Tau2 domains: a folder of tasks, policy and database read as tau2-bench writes it, and written the same way.

What tau2 has a field for goes there: the user's scenario, the gold actions, what must be communicated, the documents
that a task starts with, the splits. What it has none for (facts by type and unit, order, what must have been looked at,
the reason of a refusal, faults) stands under `annotations.loopwright`, which tau2 ignores.

Source: tau2-bench, `data/tau2/domains/DOMAIN` and `src/tau2/data_model/tasks.py`.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from environments.task import Call, Task, UserGoal
from environments.worlds.documents import Document
from environments.worlds.tau2_folder import domain_folder, read_json, read_policy

Raw = dict[str, Any]
"""A task as tau2 writes it; keys that nobody here knows are left alone."""
OURS: Final = "loopwright"
_TEST: Final = "test"
_IN_TAU2: Final = {"world", "instruction", "gold_calls", "initial", "split", "goal", "query_id", "user"}
"""Fields of a task that tau2's own fields carry, in whole or in part."""
_GOAL_BEYOND: Final = {"required", "forbidden", "order", "seen", "reason", "evidence_error"}


class Domain(NamedTuple):
    """A domain as it lies in its folder, its database apart."""

    name: str
    policy: str
    tasks: list[Raw]
    splits: dict[str, list[str]]


def read_domain(folder: Path, name: str) -> Domain:
    """Read the tasks, splits and policy of a domain.

    Args:
        folder: a tau2 folder (`environments.worlds.tau2_folder.domain_folder`).
        name: of the domain.

    Raises:
        FileNotFoundError: the folder holds no such domain.
        ValueError: a file is no JSON, or a task lacks what every task has; the message names file and task.
    """
    found = domain_folder(folder, name)
    tasks, splits = read_json(found / "tasks.json"), found / "split_tasks.json"
    if not isinstance(tasks, list):
        raise ValueError(f"{found / 'tasks.json'} holds a {type(tasks).__name__}; tau2 writes a list of tasks")
    for number, raw in enumerate(tasks):
        _check(raw, f"{found / 'tasks.json'}, task {number}")
    return Domain(name, read_policy(found), tasks, read_json(splits) if splits.is_file() else {})


def _check(raw: Any, where: str) -> None:
    """Whether a task has an id, a user and criteria."""
    parts = ("id", "user_scenario", "evaluation_criteria")
    if not isinstance(raw, dict) or (missing := [p for p in parts if not raw.get(p)]):
        lacking = ", ".join(missing) if isinstance(raw, dict) else "everything"
        raise ValueError(f"{where} lacks {lacking}; a tau2 task has {', '.join(parts)}")


def tau2_id(task: Task) -> str:
    """The id under which tau2 knows a task; its own id where it did not come from there."""
    said, _, name = (task.query_id or "").partition(f"{task.world}:")
    return name if name and said == "tau2:" else task.task_id


def query_id_of(world: str, name: str) -> str:
    """Where a task came from, as its `query_id` says it."""
    return f"tau2:{world}:{name}"


def actions_of(raw: Mapping[str, Any]) -> list[Raw]:
    """The gold actions of a task."""
    return list(raw["evaluation_criteria"].get("actions") or [])


def calls_of(raw: Mapping[str, Any]) -> list[Call]:
    """The gold actions of a task as calls."""
    return [Call(name=a["name"], arguments=a["arguments"]) for a in actions_of(raw)]


def communicated(raw: Mapping[str, Any]) -> list[str]:
    """The strings that tau2 looks for in what the agent says."""
    return [str(text) for text in raw["evaluation_criteria"].get("communicate_info") or []]


def scenario_of(raw: Mapping[str, Any]) -> dict[str, str]:
    """What whoever plays the user is told, by section; a scenario in one piece is its `reason_for_call`."""
    told = raw["user_scenario"]["instructions"]
    if isinstance(told, str):
        return {"reason_for_call": told}
    return {name: text for name, text in told.items() if text is not None}


def initial_of(raw: Mapping[str, Any]) -> dict[str, tuple[Document, ...]]:
    """The documents that a task starts with in place of the domain's, by kind."""
    data = ((raw.get("initial_state") or {}).get("initialization_data") or {}).get("agent_data") or {}
    return {kind: tuple(found.values()) for kind, found in data.items()}


def raw_of(task: Task, key_fields: Mapping[str, str], source: Mapping[str, Any] | None = None) -> Raw:
    """A task as tau2 writes it.

    Args:
        task: of a world of documents.
        key_fields: by kind, the field of a document that holds its key.
        source: the tau2 task that it came from: what we do not keep of it is taken over.
    """
    before = dict(source or {})
    criteria = {"nl_assertions": None, **before.get("evaluation_criteria", {})}
    same = source is not None and calls_of(source) == list(task.gold_calls)
    actions = actions_of(source or {}) if same else [_action(task, n, c) for n, c in enumerate(task.gold_calls)]
    criteria |= {
        "actions": actions,
        "communicate_info": communicated(source) if source else [f.value for f in task.goal.required],
        "reward_basis": criteria.get("reward_basis", ["DB", "COMMUNICATE"]),
    }
    return {
        "description": {"purpose": task.family, "relevant_policies": None, "notes": None},
        **before,
        "id": tau2_id(task),
        "user_scenario": before.get("user_scenario") or {"persona": None, "instructions": _instructions(task)},
        "initial_state": _initial_state(task, key_fields),
        "evaluation_criteria": criteria,
        "annotations": {**(before.get("annotations") or {}), OURS: _beyond(task)},
    }


def _action(task: Task, number: int, call: Call) -> Raw:
    said = {"action_id": f"{tau2_id(task)}_{number}", "requestor": "assistant", "name": call.name}
    return {**said, "arguments": call.arguments, "info": None, "compare_args": None}


def _instructions(task: Task) -> dict[str, str | None]:
    """The user's scenario of a task that was not written for tau2."""
    if task.user is not None and task.user.script:
        told: dict[str, str | None] = json.loads(task.user.script)
        return {"domain": task.world, **told}
    facts = task.user.facts if task.user else {}
    known = "\n".join(facts.values()) or None
    sections = {"reason_for_call": task.instruction, "known_info": known, "unknown_info": None}
    return {"domain": task.world, **sections, "task_instructions": ""}


def _initial_state(task: Task, key_fields: Mapping[str, str]) -> Raw | None:
    if not task.initial:
        return None
    data = {kind: {d[key_fields[kind]]: d for d in found} for kind, found in task.initial.items()}
    return {"initialization_data": {"agent_data": data, "user_data": None}}


def _beyond(task: Task) -> Raw:
    """What tau2 has no field for."""
    user = task.user.model_dump(mode="json", exclude={"script"}) if task.user else None
    goal = task.goal.model_dump(mode="json", include=_GOAL_BEYOND)
    rest = task.model_dump(mode="json", exclude=_IN_TAU2)
    return {**rest, "goal": goal, "user": user, "query_id": task.query_id, "said": task.instruction}


def ours_in(raw: Mapping[str, Any]) -> Raw | None:
    """What `raw_of` wrote beside tau2's own fields; None in a task that tau2's authors wrote."""
    found: Raw | None = (raw.get("annotations") or {}).get(OURS)
    return found


def user_in(raw: Mapping[str, Any], beyond: Mapping[str, Any]) -> UserGoal | None:
    """The user of a task that `raw_of` wrote."""
    if beyond["user"] is None:
        return None
    told = {k: v for k, v in scenario_of(raw).items() if k != "domain"}
    script = json.dumps(told, ensure_ascii=False) if beyond.get("scripted", True) else ""
    return UserGoal.model_validate({**beyond["user"], "script": script})


def write_domain(
    folder: Path,
    tasks: Sequence[Task],
    *,
    policy: str,
    documents: Mapping[str, Mapping[str, Document]],
    key_fields: Mapping[str, str],
    sources: Mapping[str, Raw] | None = None,
) -> None:
    """Write a domain folder: tasks.json, split_tasks.json, policy.md, db.json.

    Args:
        folder: of the domain; made if absent.
        tasks: what to write, in this order.
        policy: the document that says what is allowed.
        documents: the database, by kind and key.
        key_fields: by kind, the field of a document that holds its key.
        sources: by task id, the tau2 task that a task came from.
    """
    folder.mkdir(parents=True, exist_ok=True)
    raws = [raw_of(task, key_fields, (sources or {}).get(task.task_id)) for task in tasks]
    splits: dict[str, list[str]] = {"train": [], _TEST: [], "base": [tau2_id(task) for task in tasks]}
    for task in tasks:
        splits["train" if task.split == "train" else _TEST].append(tau2_id(task))
    for name, content in (("tasks", raws), ("split_tasks", splits), ("db", documents)):
        text = json.dumps(content, indent=2, ensure_ascii=False)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (folder / "policy.md").write_text(policy, encoding="utf-8")
