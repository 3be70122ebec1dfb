"""Tasks of desk: a family, a case and a level become an instruction, a start, faults, a goal and a budget.

Difficulty moves along one axis at a time: how the order is told (depth), how many people share the name (entities), and
what goes wrong (faults). Refusal tasks stand beside a solvable twin of the same family.
"""

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from environments.fault import Fault, FaultKind
from environments.seeds import stable_hash
from environments.task import Goal, Persona, Split, Task, UserGoal
from environments.worlds.desk.answers import Language
from environments.worlds.desk.cases import RULES, cases, new_place
from environments.worlds.desk.data_model import DESK_MAILBOX, Row, iso
from environments.worlds.desk.families import FAMILIES
from environments.worlds.desk.plans import HARMLESS, Case, Level, Plan, Session, Unclear
from environments.worlds.desk.triage import triage_wish
from environments.worlds.desk.wordings import instruction, request
from environments.worlds.desk.world import DeskWorld

HOMONYMS = (0, 1, 8)
"""People who share the customer's name, by level of entities."""
CHINESE = {True: 0.6, False: 0.05}
"""Share of the customers who write Chinese: of those with a Chinese name, and of the others; ours."""
SPARE_CALLS = 4
"""Calls beyond the reference solution's: there are other ways to look."""
REFUSALS = {family: rule.reason for family, rule in RULES.items() if rule.reason} | {
    "which_order": "missing_information"
}
"""Reason of the refusal by family; `which_order` is a cancellation by somebody whom the name alone does not tell."""


def levels(family: str, axis: str) -> list[Level]:
    """The levels of one axis of a family, easiest first; the other axes stay at their start."""
    count = len(FAMILIES[family].references) if axis == "depth" else 3
    return [Level()._replace(**{axis: i}) for i in range(count)]


@cache
def tool_names() -> tuple[str, ...]:
    """Every tool of the world, in the order in which they are shown."""
    return tuple(DeskWorld().tools())


def draw_case(
    family: str, split: Split, rng: random.Random, *, refused: bool = False, language: Language | None = None
) -> Case | None:
    """A random case of `family`, in the customer's language by default; None where a side of the line has none."""
    found = cases(family, split, refused)
    if not found:
        return None
    case = rng.choice(found)
    language = language or _language(case, rng)
    wish: dict[str, str] = {"cause": rng.choice(("damaged", "unwanted")), "months": rng.choice(("12", "24"))}
    wish |= new_place(case.customer, rng)
    if family in ("ticket_triage", "escalation"):
        wish |= triage_wish(family, split, language, rng)
    if refused and RULES[family].reason == "not_found":
        wish["order"] = f"SO{rng.randint(7001, 7999)}"
    if refused and RULES[family].reason == "identity_not_verified":
        other = rng.choice(
            [c for c in cases(family, split) if c.customer.row["postcode"] != case.customer.row["postcode"]]
        )
        wish["postcode"] = other.customer.row["postcode"]
    return replace(case, wish=wish, language=language)


def _language(case: Case, rng: random.Random) -> Language:
    """What the customer writes."""
    return "zh" if rng.random() < CHINESE[case.customer.row["name"][0] >= "一"] else "en"


def make_task(
    family: str, case: Case, level: Level, split: Split, rng: random.Random, *, attempts: int = 1,
    persona: Persona | None = None, said_in: Split | None = None,
) -> Task | None:  # fmt: skip
    """A task of `family` about `case`; None where the world gives it no clear answer.

    Args:
        family: one of `FAMILIES`.
        case: what it is about.
        level: how hard, axis by axis.
        split: side of the hidden line of the case.
        rng: draws the wordings.
        attempts: how many different wordings it carries, where the customer speaks in a chat.
        persona: of a user who tells e-mail, postcode and order only when asked; None where all is said at once.
        said_in: split of the wordings; that of the case by default.
    """
    case = _placed(family, case, level)
    words = said_in or split
    faults = (*FAMILIES[family].faults(level.faults), *_homonyms(case, level))
    said = [request(family, case, words, rng) for _ in range(attempts * 3)]
    told = [instruction(family, case, text, words, rng) for text in said]
    start = _start(family, case, said[0])
    user = None if persona is None or case.ticket else _user(case, persona)
    if user is not None:
        told = [_brief(family, case, words, rng) for _ in told]
    shown = list(dict.fromkeys(told))[:attempts]
    base = Task(
        world="desk", family=family, depth=FAMILIES[family].depth, instruction=shown[0], wordings=tuple(shown[1:]),
        tools=tool_names(), goal=Goal(), gold_answer="", max_calls=1, split=split,
        group=_group(family, case), initial=start, faults=faults, user=user,
    )  # fmt: skip
    try:
        plan = FAMILIES[family].solve(Session(case, base, faults))
    except Unclear:
        return None
    return _finished(base, plan)


def _finished(base: Task, plan: Plan) -> Task:
    """The task with the goal, solution and budget of a plan."""
    goal = Goal(
        required=plan.required, forbidden=plan.forbidden, changes=plan.changes, may_change=("verification",),
        order=plan.order, seen=plan.seen, reason=plan.reason, evidence_error=plan.evidence_error,
        evidence_about=plan.evidence_about, writes=plan.writes, may_write=HARMLESS,
    )  # fmt: skip
    slow = sum(f.size - 1 for f in base.faults if f.kind is FaultKind.SLOW_CALL)
    solved: dict[str, Any] = {"goal": goal, "gold_calls": plan.calls, "gold_answer": plan.answer}
    depth = 0 if plan.reason else base.depth
    return base.model_copy(update={**solved, "depth": depth, "max_calls": len(plan.calls) + slow + SPARE_CALLS})


def _group(family: str, case: Case) -> str:
    """One customer's case of one family, whatever its level: variants share it."""
    parts = (case.customer.row["id"], case.order.row["id"] if case.order else "", case.line["id"] if case.line else "")
    return f"{stable_hash('desk', family, *parts):016x}"


def _placed(family: str, case: Case, level: Level) -> Case:
    """The case told as its level says, in a ticket where it comes in by one."""
    references = FAMILIES[family].references
    told = references[min(level.depth, len(references) - 1)]
    reference = max(told, 1) if level.entities else told
    number = 2300 + stable_hash("ticket", _group(family, case)) % 600
    wish = {**case.wish, "ticket": f"TK{number}"} if family == "ticket_triage" else case.wish
    return replace(case, wish=wish, reference=reference, ticket=f"TK{number}" if reference == 2 else None)


def _homonyms(case: Case, level: Level) -> tuple[Fault, ...]:
    size, number = HOMONYMS[level.entities], int(case.customer.row["id"][2:])
    return (Fault(kind=FaultKind.HOMONYM, tool="crm_find_customers", size=size, seed=number),) if size else ()


def _start(family: str, case: Case, said: str) -> dict[str, tuple[Row, ...]]:
    """The ticket that the case comes in by, with its mail."""
    key = case.ticket or (case.wish["ticket"] if family == "ticket_triage" else None)
    if key is None:
        return {}
    triage = family == "ticket_triage"
    ticket = {
        "id": key, "customer_id": case.customer.row["id"], "order_id": None, "category": "unsorted", "queue": "front",
        "priority": "normal", "status": "open", "resolution": None, "opened_on": iso(0),
    }  # fmt: skip
    mail = {
        "id": f"ML{key[2:]}", "sender": case.customer.row["email"], "recipient": DESK_MAILBOX,
        "subject": "Please help" if triage else "Request", "body": case.wish["text"] if triage else said,
        "sent_on": iso(0), "ticket_id": key,
    }  # fmt: skip
    return {"ticket": (ticket,), "mail": (mail,)}


def _user(case: Case, persona: Persona) -> UserGoal:
    """A customer who tells who they are, and which order they mean, only when asked."""
    row, wish, english = case.customer.row, case.wish, case.language == "en"
    postcode = wish.get("postcode", row["postcode"])
    facts = {
        "name": f"My name is {row['name']}." if english else f"我叫{row['name']}。",
        "email": f"It is {row['email']}." if english else f"邮箱是 {row['email']}。",
        "postcode": f"The postcode is {postcode}." if english else f"邮编是 {postcode}。",
    }
    words: dict[str, tuple[str, ...]] = {
        "email": ("mail address", "e-mail", "邮箱", "邮件"), "postcode": ("zip", "post code", "postal code", "邮编"),
        "name": ("who are you", "姓名", "名字", "怎么称呼"),
    }  # fmt: skip
    if case.order is not None:
        number = wish.get("order") or case.order.row["id"]
        facts["order number"] = f"The order is {number}." if english else f"订单号是 {number}。"
        words["order number"] = ("order", "order id", "which one", "订单", "订单号")
    return UserGoal(persona=persona, facts=facts, synonyms=words)


def _brief(family: str, case: Case, split: Split, rng: random.Random) -> str:
    """What such a customer says first: what they want, by the name of the goods."""
    wish = {k: v for k, v in case.wish.items() if k != "order"} | {"anonymous": "yes"}
    return request(family, replace(case, reference=1, wish=wish), split, rng)


def with_twin(refused: Task, twin: Task) -> list[Task]:
    """A refusal task that names its solvable twin, then the twin."""
    return [refused.model_copy(update={"twin": twin.task_id}), twin]


def pair(family: str, split: Split, seed: object, level: Level = Level()) -> list[Task]:  # noqa: B008 a tuple
    """A refusal of `family` (or `which_order`) and its solvable twin, said alike; empty where there is none."""
    rng = random.Random(stable_hash("pair", family, split, seed))
    if family == "which_order":
        return _anonymous(split, rng)
    solving = "refund_small" if family == "goodwill" else family
    case = draw_case(family, split, rng, refused=True)
    other = draw_case(solving, split, rng, language=case.language if case else None)
    if case is None or other is None:
        return []
    if REFUSALS[family] in ("not_found", "identity_not_verified"):  # the same customer, who tells it right
        other = replace(case, wish={k: v for k, v in case.wish.items() if k not in ("order", "postcode")})
    spoken = rng.getrandbits(32)
    refused = make_task(family, case, level, split, random.Random(spoken))
    twin = make_task(solving, other, level, split, random.Random(spoken))
    return with_twin(refused, twin) if refused and twin and refused.goal.reason and not twin.goal.reason else []


def _anonymous(split: Split, rng: random.Random) -> list[Task]:
    """Somebody whose name several share, and who tells no more; the twin tells the e-mail address."""
    case = draw_case("cancel_order", split, rng)
    if case is None:
        return []
    nameless = replace(case, wish={**case.wish, "anonymous": "yes"})
    level = Level(entities=1)
    refused, twin = (make_task("cancel_order", c, level, split, rng) for c in (nameless, case))
    return with_twin(refused, twin) if refused and twin and refused.goal.reason else []


def fresh_tasks(count: int, split: Split, seed: int, *, attempts: int = 1) -> list[Task]:
    """`count` new tasks or a few more (twins are never torn apart), distinct, from a seed of their own.

    Families take turns, axes and levels are drawn; one in four is a refusal with its twin, one in five has a user.
    """
    rng = random.Random(stable_hash("desk", "fresh", split, seed))
    made: dict[str, Task] = {}
    solvable = [family for family in FAMILIES if family != "goodwill"]
    while len(made) < count:
        if rng.random() < 0.14:
            refused = rng.choice(sorted(REFUSALS))
            level = rng.choice(levels(refused, "depth")) if refused in FAMILIES else Level()
            drawn: Sequence[Task] = pair(refused, split, rng.getrandbits(32), level)
        else:
            drawn = _one(rng.choice(solvable), split, rng, attempts)
        made.update((task.task_id, task) for task in drawn)
    return list(made.values())


def _one(family: str, split: Split, rng: random.Random, attempts: int) -> list[Task]:
    case = draw_case(family, split, rng)
    level = rng.choice(levels(family, rng.choice(Level._fields)))
    personas: tuple[Persona, ...] = ("plain", "impatient", "forgetful")
    chats = family not in ("ticket_triage", "escalation") and level.entities == 0 and rng.random() < 0.2
    persona = rng.choice(personas) if chats else None
    task = case and make_task(family, case, level, split, rng, attempts=attempts, persona=persona)
    return [task] if task and task.goal.reason is None else []
