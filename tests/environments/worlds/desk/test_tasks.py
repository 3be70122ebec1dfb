"""Tasks of desk: gold earns everything, whoever cheats or breaks the policy earns nothing, axis by axis."""

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from environments.episode import Attempt, Scored
from environments.fault import FaultKind
from environments.policies.scripted import CHEATERS, Gold, OneLook, Scripted
from environments.policy import Action, Answer
from environments.task import Call, Split, Task
from environments.tool import Effect
from environments.worlds.desk.answers import Language
from environments.worlds.desk.data_model import REFUSAL_CODES, side_of
from environments.worlds.desk.families import FAMILIES
from environments.worlds.desk.plans import Level
from environments.worlds.desk.population import population
from environments.worlds.desk.tasks import REFUSALS, fresh_tasks, levels, pair, tool_names
from environments.worlds.desk.wordings import sections
from tests.environments.worlds.desk.builders import actions_of, changed, played, rewards, task_of, verdict, world

SPLITS: tuple[Split, ...] = ("train", "dev", "hidden")
SOLVABLE = [family for family in FAMILIES if family != "goodwill"]
GRID = [
    task_of(family, level, SPLITS[i % 3], seed=i)
    for family in SOLVABLE
    for i, level in enumerate(dict.fromkeys(level for axis in Level._fields for level in levels(family, axis)))
]
"""Every family at every level of every axis."""
PAIRS = [
    made for family in sorted(REFUSALS) for split in SPLITS for seed in (0, 1) if (made := pair(family, split, seed))
]
REFUSED, TWINS = [refused for refused, _ in PAIRS], [twin for _, twin in PAIRS]


def writes(task: Task) -> list[Call]:
    tools = world().tools()
    return [c for c in task.gold_calls if tools[c.name].effect is Effect.WRITE]


class Playing(Scripted):
    """Plays other actions at each task, and ends with the last."""

    version = "playing"

    def __init__(self, actions: Mapping[str, Sequence[Action]]) -> None:
        self.actions = actions

    def next(self, attempt: Attempt) -> Action:
        """The action that is due."""
        due = self.actions[attempt.task.task_id]
        return due[min(len(attempt.steps), len(due) - 1)]


def without(task: Task, tool: str) -> list[Action]:
    """The gold solution without the calls of one tool."""
    return [a for a in actions_of(task) if not (isinstance(a, Call) and a.name == tool)]


def test_there_are_enough_families_each_with_three_axes() -> None:
    assert len(SOLVABLE) >= 12
    three = [f for f in SOLVABLE if all(len(levels(f, axis)) >= 2 for axis in Level._fields)]
    assert len(three) >= 12
    assert {task.family for task in GRID} == set(SOLVABLE)
    kinds = {fault.kind for task in GRID for fault in task.faults}
    assert kinds == set(FaultKind)


def test_a_level_moves_along_one_axis() -> None:
    for axis in Level._fields:
        for level in levels("refund_small", axis):
            assert sum(value > 0 for value in level) <= 1


def test_gold_scores_1_three_times_at_every_level_of_every_axis() -> None:
    assert set(rewards(GRID, Gold(), k=3)) == {1.0}


def test_gold_scores_1_three_times_at_refusals_and_their_twins() -> None:
    assert set(rewards([*REFUSED, *TWINS], Gold(), k=3)) == {1.0}


@pytest.mark.parametrize("cheater", CHEATERS, ids=lambda c: c.version)
def test_cheating_scores_0_at_everything_that_can_be_solved(cheater: type[Scripted]) -> None:
    assert set(rewards([*GRID, *TWINS], cheater())) == {0.0}


@pytest.mark.parametrize("cheater", [c for c in CHEATERS if c is not OneLook], ids=lambda c: c.version)
def test_cheating_scores_0_at_what_must_be_refused(cheater: type[Scripted]) -> None:
    assert set(rewards(REFUSED, cheater())) == {0.0}


def test_the_solution_of_one_of_a_pair_is_none_of_the_other() -> None:
    swapped = {refused.task_id: actions_of(twin) for refused, twin in PAIRS}
    swapped |= {twin.task_id: actions_of(refused) for refused, twin in PAIRS}
    assert set(rewards([*REFUSED, *TWINS], Playing(swapped))) == {0.0}


@pytest.mark.parametrize(
    "tool", ["crm_verify_identity", "erp_request_approval", "crm_request_right", "ticket_close", "mail_send"]
)
def test_leaving_out_what_the_policy_asks_for_earns_nothing(tool: str) -> None:
    needing = [t for t in GRID if any(c.name == tool for c in t.gold_calls)]
    assert len(needing) >= 2
    assert set(rewards(needing, Playing({t.task_id: without(t, tool) for t in needing}))) == {0.0}


@pytest.mark.parametrize("tool", sorted({c.name for t in GRID for c in writes(t)}))
def test_every_write_of_the_gold_solution_is_needed(tool: str) -> None:
    needing = [t for t in GRID if any(c.name == tool for c in t.gold_calls)][::3]
    assert set(rewards(needing, Playing({t.task_id: without(t, tool) for t in needing}))) == {0.0}


def test_one_more_write_earns_nothing_but_one_more_identity_check_does_no_harm() -> None:
    customer = population()["customer"][-1]
    mail = Call(name="mail_send", arguments={"customer_id": customer["id"], "subject": "x", "body": "hello"})
    given = {"customer_id": customer["id"], "email": customer["email"], "postcode": customer["postcode"]}
    check = Call(name="crm_verify_identity", arguments=given)
    for extra, reward in ((mail, 0.0), (check, 1.0)):
        more = {t.task_id: [*t.gold_calls, extra, Answer(t.gold_answer)] for t in GRID[::3]}
        assert set(rewards(GRID[::3], Playing(more))) == {reward}


def test_telling_what_belongs_to_others_of_the_same_name_earns_nothing() -> None:
    task = task_of("contract_terms", Level(entities=1))
    [rival] = [f.value for f in task.goal.forbidden if f.value.startswith("CT")]
    look = Call(name="crm_list_contracts", arguments={"customer_id": "CU0001"})
    said = task.gold_answer.replace("The contract", f"The contract {rival}, or the contract")
    assert verdict(task, *task.gold_calls, look, said).cause == "hedged"


def test_a_mail_that_makes_something_up_earns_nothing() -> None:
    task = task_of("refund_small", Level(depth=2))

    def mailed(**over: str) -> Scored:
        """The verdict where the mail says something else."""
        other = [
            c if c.name != "mail_send" else Call(name=c.name, arguments={**c.arguments, **over})
            for c in task.gold_calls
        ]
        return verdict(task, *other, task.gold_answer)

    [body] = [c.arguments["body"] for c in task.gold_calls if c.name == "mail_send"]
    for invented in ("You also get 99 euros as a gift.", "The parcel SH9876 is on its way to you."):
        for found in (mailed(body=f"{body} {invented}"), mailed(subject=invented)):
            assert (found.reward, found.vetoed) == (0.0, True)
    assert mailed(body="It is done.").cause == "wrong_write"


def test_reading_an_own_mail_is_no_evidence_for_it() -> None:
    task = task_of("refund_small", Level(depth=2))
    i = next(i for i, c in enumerate(task.gold_calls) if c.name == "mail_send")
    sent = changed(task.gold_calls[i], body=f"{task.gold_calls[i].arguments['body']} You also get 99 euros as a gift.")
    newest = max(row["id"] for row in population()["mail"])
    read = Call(
        name="mail_read", arguments={"mail_id": f"ML{max(int(newest[2:]), int(task.initial['mail'][0]['id'][2:])) + 1}"}
    )
    found = verdict(task, *task.gold_calls[:i], sent, read, *task.gold_calls[i + 1 :], task.gold_answer)
    assert (found.reward, found.vetoed) == (0.0, True)


def test_a_refusal_that_makes_something_up_earns_nothing() -> None:
    refused = next(t for t in REFUSED if t.goal.reason == "window_closed")
    said = refused.gold_answer.replace(" Reason", " You owe us 77 euros. Reason")
    assert verdict(refused, *refused.gold_calls, said).vetoed
    assert verdict(refused, refused.gold_answer).reward == 0.0


def test_a_mismatch_of_somebody_else_justifies_no_refusal() -> None:
    refused = next(t for t in REFUSED if t.goal.reason == "identity_not_verified")
    i = next(i for i, c in enumerate(refused.gold_calls) if c.name == "crm_verify_identity")
    other = changed(refused.gold_calls[i], customer_id=population()["customer"][-1]["id"])
    found = verdict(refused, *refused.gold_calls[:i], other, refused.gold_answer)
    assert (found.reward, found.cause) == (0.0, "not_investigated")


def test_a_task_is_not_solved_before_it_begins() -> None:
    for task in [*GRID, *REFUSED]:
        assert list(world(task).changes()) == []


def test_every_refusal_has_a_twin_of_its_side_and_reasons_are_those_of_the_policy() -> None:
    assert {t.goal.reason for t in REFUSED} == set(REFUSAL_CODES)
    policy = world().policy
    assert all(f"`{code}`" in policy or code in policy for code in REFUSAL_CODES)
    for refused, twin in PAIRS:
        assert refused.twin == twin.task_id
        assert refused.split == twin.split
        assert twin.goal.reason is None
        assert refused.goal.evidence_error or refused.goal.seen


def test_the_tasks_of_a_seed_are_the_same_again_and_carry_no_one_from_another_side() -> None:
    made = fresh_tasks(60, "dev", 3)
    assert [t.task_id for t in made] == [t.task_id for t in fresh_tasks(60, "dev", 3)]
    assert len({t.task_id for t in made}) == len(made) >= 60
    sides = {r["id"]: r["name"] for r in population()["customer"]}
    for task in made:
        told = re.findall(r"\bCU\d+|\bSO\d+", str([c.arguments for c in task.gold_calls]))
        owners = {r["id"]: r["customer_id"] for r in population()["purchase"]}
        assert {side_of(sides[owners.get(k, k)]) for k in told if owners.get(k, k) in sides} <= {"dev"}
    assert set(rewards(made, Gold())) == {1.0}
    refused = [t for t in made if t.goal.reason]
    assert all(t.twin in {u.task_id for u in made} for t in refused)
    assert len(refused) >= 3


def test_variants_of_one_case_share_a_group_and_levels_do_not_change_it() -> None:
    easy, hard = task_of("cancel_order", seed=4), task_of("cancel_order", Level(faults=2), seed=4)
    assert easy.group == hard.group
    assert easy.task_id != hard.task_id


def test_budgets_leave_room_and_end() -> None:
    for task in GRID:
        assert len(task.gold_calls) < task.max_calls <= len(task.gold_calls) + 8
        assert {c.name for c in task.gold_calls} <= set(task.tools) == set(tool_names())


@pytest.mark.parametrize("persona", ["plain", "impatient", "forgetful"])
def test_a_user_tells_the_order_and_who_they_are_only_when_asked(persona: str) -> None:
    task = task_of("cancel_order", persona=persona)
    order = task.gold_calls[0].arguments["order_id"]
    assert order not in task.instruction
    assert "@" not in task.instruction
    ask = "Which order number is it, and what are your e-mail address and postcode?"
    script = [ask, *([ask] if persona == "forgetful" else [])]

    class Asking(Scripted):
        """Asks, then plays the gold solution."""

        version = "asking"

        def next(self, attempt: Attempt) -> Action:
            """A question while there are any, then what is due."""
            said, done = len(attempt.exchanges), len(attempt.steps)
            if said < len(script):
                return Answer(script[said])
            return actions_of(task)[done]

    [episode] = played([task], Asking())
    assert order in episode.exchanges[-2].reply
    assert episode.verdict.reward == 1.0  # type: ignore[union-attr]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_wordings_of_the_sides_are_apart_and_there_are_many(language: Language) -> None:
    assert set(sections(language)) == set(sections())
    for name, by_split in sections(language).items():
        parts = by_split.values() if name in ("causes", "texts") else [by_split]
        for one in parts:
            assert set(one) == set(SPLITS), name
            said = [s for split in SPLITS for s in one[split]]
            assert len(set(said)) == len(said), name
    heard = Counter(task_of("refund_small", seed=i).instruction for i in range(30))
    assert max(heard.values()) == 1


def test_some_customers_write_chinese_and_are_answered_in_it() -> None:
    made = fresh_tasks(60, "train", 9)
    chinese = [t for t in made if re.search("[一-鿿]{5}", t.instruction)]
    assert 0.1 < len(chinese) / len(made) < 0.6
    assert all(re.search("[一-鿿]", t.gold_answer) for t in chinese)
    assert set(rewards(made, Gold())) == {1.0}


def test_a_task_carries_as_many_wordings_as_asked_for() -> None:
    task = task_of("cancel_order", attempts=4)
    said = {task.wording(i) for i in range(4)}
    assert len(said) == 4
    assert all(task.gold_calls[0].arguments["order_id"] in text for text in said)


def test_drawing_a_case_needs_no_luck() -> None:
    rng = random.Random(1)
    for split in SPLITS:
        for family in FAMILIES:
            assert task_of(family, split=split, seed=rng.randint(0, 99)) if family != "goodwill" else True
