"""Tau2 domains in and out: what a task becomes, what takes it out by name, and that nothing is lost on the way back."""

import json
from pathlib import Path
from typing import Any

import pytest

from environments.episode import Scored
from environments.formats.tau2 import calls_of, raw_of, read_domain, scenario_of, tau2_id, write_domain
from environments.formats.tau2_curation import Curation, read_curation
from environments.formats.tau2_import import Imported, imported
from environments.policies.scripted import AlwaysRefuse, Gold, NoOp, Scripted
from environments.rollout import rollouts
from environments.task import Call, Fact, Order, Task
from environments.verifiers.outcome import OutcomeVerifier
from environments.world import WorldPool
from environments.worlds.airline.world import AirlineWorld
from environments.worlds.catalogue import world_maker
from environments.worlds.documents import DocumentWorld
from environments.worlds.retail.world import RetailWorld
from tests.environments.tau2_folders import small_tau2

REFUSAL = Curation.model_validate(
    {
        "reason": "not_allowed",
        "looks": [["get_order_details", {"order_id": "#W3"}]],
        "twin": {
            "edits": [{"kind": "orders", "key": "#W3", "set": {"status": "pending", "address": {"zip": "1"}}}],
            "calls": [["cancel_pending_order", {"order_id": "#W3", "reason": "no longer needed"}]],
        },
    }
)
WORLDS: dict[str, type[Any]] = {"retail": RetailWorld, "airline": AirlineWorld}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_tau2(tmp_path / "tau2")


def taken(folder: Path, name: str, *, conversation: bool = False, **curations: Curation) -> Imported:
    world: DocumentWorld = WORLDS[name](folder)
    return imported(read_domain(folder, name), world, curations, conversation=conversation)


def scores(folder: Path, tasks: list[Task], policy: Scripted) -> list[float]:
    pool = WorldPool(world_maker(tasks[0].world, folder=folder))
    episodes = [e for b in rollouts(tasks, policy, pool, OutcomeVerifier(), k=1, seed=0) for e in b]
    return [e.verdict.reward for e in episodes if isinstance(e.verdict, Scored)]


def test_the_goal_is_what_the_gold_actions_leave_and_gold_alone_reaches_it(folder: Path) -> None:
    [task] = taken(folder, "retail").tasks
    changes = {(c.table, c.key): c.columns or {} for c in task.goal.changes or ()}
    assert changes["orders", "#W1"]["status"] == "cancelled"
    assert changes["users", "ada_byron_1001"]["payment_methods"]["gift_card_7"]["balance"] == 58.25
    assert task.goal.required == (Fact(kind="number", value="38.25", unit="dollars"),)
    assert (task.family, task.depth, task.group) == ("cancel_pending_order", 4, "tau2:retail:ada_byron_1001")
    assert [scores(folder, [task], policy) for policy in (Gold(), NoOp(), AlwaysRefuse())] == [[1], [0], [0]]


def test_a_gold_write_that_fails_takes_the_task_out_by_name(folder: Path) -> None:
    found = taken(folder, "retail")
    [aside] = [a for a in found.aside if a.name == "r3"]
    assert aside.cause == "gold_write_failed"
    assert aside.evidence.startswith("cancel_pending_order #W2: ")
    assert "wrong_status" in aside.evidence
    assert [(f.name, f.writes) for f in found.failed] == [("r1", False), ("r3", True)]


def test_a_gold_read_that_fails_is_listed_and_left_out_of_the_solution(folder: Path) -> None:
    [task] = taken(folder, "retail").tasks
    assert [c.arguments["order_id"] for c in task.gold_calls] == ["#W1", "#W1"]


def test_a_number_of_one_digit_is_a_fact_only_when_somebody_types_it(folder: Path) -> None:
    [short] = [a for a in taken(folder, "airline").aside if a.name == "a3"]
    assert (short.cause, short.evidence) == ("short_fact", "'2' is in any answer by accident")
    bags = Curation(facts=(Fact(kind="number", value="2", unit="bags"),))
    assert taken(folder, "airline", a3=bags).tasks[-1].goal.required == bags.facts


def test_a_task_that_doing_nothing_would_pass_needs_a_look_a_reason_and_a_twin(folder: Path) -> None:
    first = taken(folder, "retail").aside[0]
    assert (first.name, first.cause) == ("r2", "nothing_to_check")
    twin, refusal = taken(folder, "retail", r2=REFUSAL).tasks[1:]
    assert (refusal.twin, refusal.goal.reason, refusal.family) == (twin.task_id, "not_allowed", "refusal")
    assert (twin.group, twin.instruction, twin.split) == (refusal.group, refusal.instruction, refusal.split)
    assert twin.initial["orders"][0]["address"]["city"] == "Boston", "a table is merged"
    both = [twin, refusal]
    assert scores(folder, both, Gold()) == [1, 1]
    assert scores(folder, both, AlwaysRefuse()) == scores(folder, both, NoOp()) == [0, 0]
    bare = Curation(reason="not_allowed", looks=REFUSAL.looks)
    assert [a.cause for a in taken(folder, "retail", r2=bare).aside] == ["curation_failed", "gold_write_failed"]


def test_a_refusal_without_the_look_or_with_a_write_beside_it_earns_nothing(folder: Path) -> None:
    _, refusal = taken(folder, "retail", r2=REFUSAL).tasks[1:]
    say = refusal.gold_answer
    cancel = Call(name="cancel_pending_order", arguments={"order_id": "#W1", "reason": "no longer needed"})

    class Says(Scripted):
        """Makes some calls and says the refusal."""

        def __init__(self, *calls: Call) -> None:
            self.gold = Gold()
            self.task = refusal.model_copy(update={"gold_calls": calls, "gold_answer": say})

        def next(self, attempt: Any) -> Any:
            """The next of the calls."""
            done = len(attempt.steps)
            return self.task.gold_calls[done] if done < len(self.task.gold_calls) else self.gold.next(attempt)

    look = refusal.gold_calls[0]
    assert scores(folder, [refusal], Says(look)) == [1]
    assert scores(folder, [refusal], Says(look, cancel)) == [0]


@pytest.mark.parametrize(
    ("curation", "says"),
    [
        ({"looks": [["get_order_details", {"order_id": "#W9"}]]}, "get_order_details #W9"),
        ({"twin": {"calls": [["get_order_details", {"order_id": "#W3"}]]}}, "changes nothing"),
        (
            {"twin": {"calls": [["cancel_pending_order", {"order_id": "#W3", "reason": "no longer needed"}]]}},
            "wrong_st",
        ),
        ({"twin": {"edits": [{"kind": "orders", "key": "#W9", "set": {}}], "calls": []}}, "orders has no #W9"),
    ],
)
def test_a_curation_that_does_not_fit_the_domain_is_told(folder: Path, curation: dict[str, Any], says: str) -> None:
    broken = Curation.model_validate({**REFUSAL.model_dump(), **curation})
    [aside] = [a for a in taken(folder, "retail", r2=broken).aside if a.name == "r2"]
    assert aside.cause == "curation_failed"
    assert says in aside.evidence


def test_tasks_that_need_what_the_world_has_not_are_set_aside(folder: Path) -> None:
    file = folder / "airline/tasks.json"
    raws = json.loads(file.read_text())
    raws[0]["evaluation_criteria"]["actions"][0]["requestor"] = "user"
    raws[1]["evaluation_criteria"]["actions"][0]["name"] = "fly"
    raws[2]["evaluation_criteria"]["env_assertions"] = [{"func_name": "assert_seat", "arguments": {}}]
    file.write_text(json.dumps(raws))
    aside = taken(folder, "airline").aside
    assert [(a.name, a.cause) for a in aside] == [(n, "not_playable") for n in ("a1", "a2", "a3")]


def test_a_new_document_is_known_by_all_but_its_key(folder: Path) -> None:
    task = taken(folder, "airline").tasks[1]
    new = [c for c in task.goal.changes or () if c.key is None]
    assert [c.table for c in new] == ["reservations"]
    assert "reservation_id" not in (new[0].columns or {})
    assert scores(folder, [task], Gold()) == [1]


def test_a_user_who_speaks_knows_what_tau2_tells_its_player(folder: Path) -> None:
    task = taken(folder, "airline", conversation=True).tasks[0]
    assert task.instruction == "I want to cancel AAA111."
    assert task.user is not None
    assert task.user.facts == {
        "name": "My name is Ada Byron.",
        "user id": "My user id is ada_byron_1001.",
        "number": "The number is AAA111.",
    }
    assert json.loads(task.user.script)["task_instructions"] == "Be brief."
    alone = taken(folder, "airline").tasks[0]
    assert alone.user is None
    assert alone.instruction.splitlines()[1:] == [
        "I am Ada Byron. My user id is ada_byron_1001.", "Be brief.",
    ]  # fmt: skip


def test_a_group_is_never_split(folder: Path) -> None:
    tasks = taken(folder, "airline", a3=Curation(facts=(Fact(kind="number", value="2", unit="bags"),))).tasks
    assert len({t.group for t in tasks}) == 1
    assert {t.split for t in tasks} == {"hidden"}, "tau2 tests on the last one, whose customer is that of all"
    assert {t.split for t in taken(folder, "airline").tasks} == {"train"}


@pytest.mark.parametrize("conversation", [True, False])
@pytest.mark.parametrize("name", ["retail", "airline"])
def test_our_tasks_come_back_from_a_tau2_folder_as_they_were(
    folder: Path, tmp_path: Path, name: str, conversation: bool
) -> None:
    world: DocumentWorld = WORLDS[name](folder)
    tasks = taken(folder, name, conversation=conversation, r2=REFUSAL).tasks
    extra = {"order": (Order(first="a", then="b", key="c"),), "forbidden": (Fact(kind="number", value="7"),)}
    tasks[0] = tasks[0].model_copy(
        update={
            "goal": tasks[0].goal.model_copy(update=extra),
            "wordings": ("Another way.",),
            "fault_seed": 3,
            "rubric": "r",
        }
    )
    out = tmp_path / "out" / name
    kinds, policy = world.state.base.kinds, world.policy
    write_domain(out, tasks, policy=policy, documents=kinds, key_fields=world.key_fields)
    again: DocumentWorld = WORLDS[name](out)
    assert again.state_hash() == world.state_hash()
    assert again.policy == policy
    back = imported(read_domain(out, name), again, {}, conversation=conversation)
    assert back.aside == []
    assert back.tasks == tasks
    assert [t.task_id for t in back.tasks] == [t.task_id for t in tasks]


def test_what_tau2_reads_of_a_task_is_kept_as_its_authors_wrote_it(folder: Path) -> None:
    found, domain = taken(folder, "retail", r2=REFUSAL), read_domain(folder, "retail")
    before = {raw["id"]: raw for raw in domain.tasks}
    for task in found.tasks:
        raw = raw_of(task, RetailWorld.key_fields, found.sources.get(task.task_id))
        assert raw["id"] == tau2_id(task)
        if task.task_id in found.sources:
            source = before[raw["id"]]
            assert scenario_of(raw) == scenario_of(source)
            assert raw["description"] == source["description"]
            assert raw["evaluation_criteria"]["communicate_info"] == source["evaluation_criteria"]["communicate_info"]
            assert set(map(str, calls_of(raw))) <= set(map(str, calls_of(source)))
        assert raw["evaluation_criteria"]["reward_basis"] == ["DB", "COMMUNICATE"]
        assert set(raw) >= {"id", "description", "user_scenario", "initial_state", "evaluation_criteria"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{", "not valid JSON"),
        ('{"a": 1}', "holds a dict"),
        ('[{"id": "x"}]', "task 0 lacks user_scenario, evaluation_criteria"),
        ("[3]", "task 0 lacks everything"),
    ],
)
def test_a_folder_that_cannot_be_read_names_file_and_task(folder: Path, content: str, says: str) -> None:
    (folder / "retail/tasks.json").write_text(content)
    with pytest.raises(ValueError, match=rf"tasks\.json.*{says}"):
        read_domain(folder, "retail")


@pytest.mark.parametrize(
    ("text", "says"), [('[3]\nlooks = [["get"]]', r"task 3: looks\.0"), ('[4]\nresaon = "x"', "task 4: resaon: Extra")]
)
def test_a_mistake_in_a_curation_names_task_and_field(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "curation.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=says):
        read_curation(file)
