"""Labelled replies of a simulated user, sound and unsound, in both languages."""

from typing import Any

import pytest

from environments.episode import Attempt, Exchange
from environments.task import Goal, UserGoal
from environments.users.faithful import LONGEST, mistake
from environments.users.telling import holds, pieces
from tests.environments.faults.builders import shop_task

ENGLISH = UserGoal(
    facts={
        "name": "I am Ann Lee.",
        "order number": "It is W-2291.",
        "e-mail": "ann@example.org",
        "delivery date": "It came on 2026-06-03.",
        "wish": "I would rather have a replacement of the broken lamp.",
    },
    synonyms={"order number": ("order id", "order"), "wish": ("refund or", "prefer"), "e-mail": ("email",)},
)
CHINESE = UserGoal(
    facts={"姓名": "我叫张三。", "订单号": "订单号是 2291。", "目的地": "我要去上海。", "日期": "六月三号出发。"},
    synonyms={"姓名": ("名字", "怎么称呼"), "日期": ("哪天", "什么时候"), "目的地": ("去哪",)},
    closing="谢谢，就这些。",
)
REQUEST, BITTE = "I want my money back for a lamp that came broken.", "我想改签我的车票。"


def attempt(
    goal: UserGoal, request: str, *before: tuple[str, str], landed: bool = False, writes: bool = True
) -> Attempt:
    update = {"user": goal, "instruction": request, "wordings": ()}
    task = shop_task().model_copy(update=update if writes else {**update, "goal": Goal()})
    return Attempt(task, 0, 0, exchanges=[Exchange(0, *turn) for turn in before], landed=landed)


def wrong(said: str, reply: str, *before: tuple[str, str], ended: bool = False, **how: Any) -> str | None:
    chinese = any("㐀" <= c <= "鿿" for c in said + reply)
    which = attempt(CHINESE, BITTE, *before, **how) if chinese else attempt(ENGLISH, REQUEST, *before, **how)
    return mistake(which, said, reply, ended=ended)


SOUND = [
    ("What is your name?", "I am Ann Lee."),
    ("What is your name?", "My name is Ann Lee."),
    ("May I have your name and order ID?", "Sure, I'm Ann Lee and the order is W-2291."),
    ("What is the order number?", "W2291, I think."),
    ("Is the order number W-2290?", "No, it is W-2291, not W-2290."),
    ("When was the delivery date?", "It came on June 3."),
    ("When was the delivery date?", "On 3 June 2026."),
    ("Which colour was it?", "I don't know, sorry."),
    ("Which bank do you use?", "I am afraid I do not know that."),
    ("What is your e-mail?", "It's ann@example.org"),
    ("Do you want a refund or a replacement?", "I'd rather have a replacement of the broken lamp, please."),
    ("Shall I go ahead?", "Yes, please go ahead."),
    ("One moment, let me check.", "Okay, thank you."),
    ("Could you tell me more about it?", "The lamp came broken, and my order is W-2291."),
    ("How may I call you?", "Ann Lee."),
    ("Good morning! Who is speaking?", "Hello. My name is Ann Lee."),
    ("The policy says 30 days. Is that all right?", "Yes, 30 days is fine."),
    ("What is the order number?", "I will look for it. Thank you for your patience!"),
    ("What is the order number?", "I don't have it with me. Is there anything else I can provide?"),
    ("请问您的姓名？", "我叫张三。"),
    ("请问怎么称呼您？", "我是张三，您好。"),
    ("请提供订单号。", "2291"),
    ("您要去哪？", "我要去上海。"),
    ("您哪天出发？", "6月3日。"),
    ("您的身份证号是多少？", "这个我不清楚。"),
    ("请稍等，我查一下。", "好的，谢谢。"),
    ("要我现在改签吗？", "好的，请办理。"),
]
UNSOUND = [
    ("What is your name?", "I am Bob Miller.", "not in its goal"),
    ("What is your name?", "Bob Miller is my name.", "not in its goal"),
    ("What is the order number?", "It is W-9999.", "not in its goal"),
    ("What is the order number?", "It is 7745120.", "not in its goal"),
    ("What did it cost?", "It cost 49 euros.", "not in its goal"),
    ("What is your e-mail?", "bob@example.org", "not in its goal"),
    ("When was the delivery date?", "It came last Monday.", "not in its goal"),
    ("When was the delivery date?", "It came on July 3.", "not in its goal"),
    ("Where do you live?", "I live in Berlin.", "not in its goal"),
    ("What is your name?", "I am Ann Lee, and my order is W-2291.", "unasked: 'order number'"),
    ("What is your name?", "Ann Lee, ann@example.org", "unasked: 'e-mail'"),
    ("One moment, let me check.", "I would rather have a replacement.", "unasked: 'wish'"),
    ("What is your name?", "Ann Lee. It came on June 3.", "unasked: 'delivery date'"),
    ("What is your name?", "", "said nothing"),
    ("What is your name?", "  \n", "said nothing"),
    ("What is your name?", "Ann Lee. " * 300, "without an end"),
    ("What is your name?", "I am thinking. " * 5, "without an end"),
    ("What is your name?", "How can I help you today?", "left its role"),
    ("What is the order number?", "I have refunded your order.", "left its role"),
    ("What is the order number?", '<tool_call>{"name": "refund", "arguments": {}}</tool_call>', "left its role"),
    ("What is the order number?", '{"name": "refund", "arguments": {"id": "W-2291"}}', "left its role"),
    ("What is the order number?", "As an AI language model I have no order.", "left its role"),
    ("What is the order number?", "Agent: what is your name?", "left its role"),
    ("What is the order number?", "Let me check that for you.", "left its role"),
    ("What is the order number?", "Your refund has been processed.", "left its role"),
    ("What is the order number?", "Could you please provide your order number?", "left its role"),
    ("请问您的姓名？", "我叫李四。", "not in its goal"),
    ("请问怎么称呼您？", "我是王五。", "not in its goal"),
    ("请提供订单号。", "订单号是 8888。", "not in its goal"),
    ("您要去哪？", "我从北京出发。", "not in its goal"),
    ("您哪天出发？", "下周走。", "not in its goal"),
    ("请问您的姓名？", "我叫张三，订单号是 2291。", "unasked: '订单号'"),
    ("请问您的姓名？", "我叫张三，我要去上海。", "unasked: '目的地'"),
    ("请提供订单号。", "有什么可以帮您？", "left its role"),
    ("请提供订单号。", "已为您改签。", "left its role"),
    ("请提供订单号。", "我是客服助手，作为AI我没有订单。", "left its role"),
    ("请提供订单号。", "您的订单正在处理。", "left its role"),
]


@pytest.mark.parametrize(("said", "reply"), SOUND)
def test_a_sound_reply_is_let_through(said: str, reply: str) -> None:
    assert wrong(said, reply) is None


@pytest.mark.parametrize(("said", "reply", "cause"), UNSOUND)
def test_an_unsound_reply_is_named_for_what_it_is(said: str, reply: str, cause: str) -> None:
    assert cause in (wrong(said, reply) or "nothing")


def test_what_was_asked_for_or_told_before_may_be_told_again() -> None:
    talk = (("What is your name and order id?", "I am Ann Lee and it is W-2291."),)
    assert wrong("Which colour was it?", "I told you: order W-2291, Ann Lee.", *talk) is None
    asked = (("Your order id?", "I do not remember right now."),)
    assert wrong("Take your time.", "Found it: W-2291.", *asked) is None


EARLY = "stopped before"
ENDS = [
    ("Shall I refund it now?", "Yes, please go ahead.", {}, EARLY),
    ("I will refund it now.", "Thank you, that is all.", {}, EARLY),
    ("What is your name?", "Thank you, that is all.", {}, EARLY),
    ("What is your name?", "Thank you, that is all.", {"landed": True, "writes": False}, EARLY),
    ("Done, the lamp is refunded.", "Thank you, that is all.", {}, None),
    ("I cannot do that.", "Thank you, that is all.", {}, None),
    ("It is refunded. Shall I send a receipt?", "Thank you, that is all.", {"landed": True}, None),
    ("Is there anything else?", "Thank you, that is all.", {}, None),
    ("Is there anything else?", "", {}, None),
    ("要我现在改签吗？", "好的，请办理。", {}, EARLY),
    ("已经改签了。", "谢谢，就这些。", {}, None),
]


@pytest.mark.parametrize(("said", "reply", "how", "cause"), ENDS)
def test_a_user_ends_when_the_agent_is_through_and_not_before(
    said: str, reply: str, how: dict[str, Any], cause: str | None
) -> None:
    found = wrong(said, reply, ended=True, **how)
    assert found is None if cause is None else cause in (found or "nothing")


def test_an_impatient_user_may_end_early_when_its_goal_says_so() -> None:
    goal = ENGLISH.model_copy(update={"persona": "impatient"})
    talk = ("What is your name?", "I am Ann Lee.")
    again = attempt(goal, REQUEST, talk)
    assert mistake(again, "What was your name?", "I have no time. Goodbye.", ended=True) is None
    assert EARLY in (mistake(attempt(goal, REQUEST), "What is your name?", "I have no time.", ended=True) or "")


def test_the_goals_own_words_are_never_out_of_role() -> None:
    goal = UserGoal(facts={"note": "Agent: your order is late, they wrote."}, consent="Yes, as an assistant would.")
    said = attempt(goal, "I got a note.")
    assert mistake(said, "What does the note say?", "Agent: your order is late, they wrote.", ended=False) is None


def test_the_longest_reply_is_bounded() -> None:
    words = " ".join(f"and so on {chr(97 + i % 26)}" for i in range(400))[:LONGEST]
    assert wrong("Hm?", words) is None
    assert "without an end" in (wrong("Hm?", words + "x") or "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Order W-2291 for 1,200 euros", {"w2291", "1200"}),
        ("Write to Ann.Lee@x-y.org today", {"ann.lee@x-y.org"}),
        ("On Monday or June 3rd at 3pm", {"monday", "june", "3"}),
        ("I think so. Yes. OK, thanks. May I?", set()),
        ("我是张三，周一从北京走", {"张三", "monday", "北京"}),
        ("我是想问一下", set()),
    ],
)
def test_pieces_of_fact(text: str, found: set[str]) -> None:
    assert set(pieces(text)) == found


@pytest.mark.parametrize(
    ("source", "piece", "held"),
    [
        ("2026-06-03", "june", True), ("2026-06-03", "3", True), ("2026-06-03", "july", False), ("two bags", "2", True),
        ("六月三号", "6", True), ("W 2291", "w2291", True), ("3 June", "6", True), ("Ann Lee", "lee", True),
        ("x", "9", False),
    ],
)  # fmt: skip
def test_a_piece_is_found_in_other_spellings(source: str, piece: str, held: bool) -> None:
    assert holds(source, piece) is held
