"""The scripted user: tells what it is asked for, in both languages, and neither more nor anything it does not know."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.episode import Attempt, Exchange
from environments.task import UserGoal
from environments.user import Reply
from environments.users.asking import asked
from environments.users.scripted import ScriptedUser
from tests.environments.builders import task_of

FACTS = {
    "name": "I am Ann Lee.",
    "order number": "It is W-2291.",
    "e-mail": "ann@example.org",
    "delivery date": "It came on June 3.",
}
SYNONYMS = {
    "name": ("full name", "姓名", "名字", "怎么称呼"),
    "order number": ("order id", "order", "订单号", "订单编号"),
    "e-mail": ("email address", "mail", "邮箱", "电子邮件"),
    "delivery date": ("when did it arrive", "收货日期", "什么时候收到"),
}
GOAL = UserGoal(facts=FACTS, synonyms=SYNONYMS)
REQUEST = "I want my money back for an order."


def attempt_with(*before: tuple[str, str], request: str = REQUEST, **goal: Any) -> Attempt:
    user = GOAL.model_copy(update=goal)
    task = task_of("weather").model_copy(update={"user": user, "instruction": request, "wordings": ()})
    return Attempt(task, 0, 0, exchanges=[Exchange(0, said, reply) for said, reply in before])


def talk(*said: str, request: str = REQUEST, **goal: Any) -> list[Reply]:
    """What the user replies to each turn of the agent in one conversation."""
    attempt, replies = attempt_with(request=request, **goal), []
    for turn in said:
        replies.append(ScriptedUser().reply(attempt, turn))
        attempt.exchanges.append(Exchange(0, turn, replies[-1].text))
    return replies


def told(reply: Reply) -> set[str]:
    return {name for name, saying in FACTS.items() if saying in reply.text}


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("What is your name?", {"name"}),
        ("Could you tell me your full name and order ID, please?", {"name", "order number"}),
        ("Please provide your e-mail.", {"e-mail"}),
        ("please provide the EMAIL address and the delivery-date", {"e-mail", "delivery date"}),
        ("I need your order_number first.", {"order number"}),
        ("To find it I will need:\n- your name\n- your email\n", {"name", "e-mail"}),
        ("Please give me the following:\n1. Full name\n2. Order number", {"name", "order number"}),
        ("I found your order. What is your name?", {"name"}),
        ("Is your name Bob Li?", {"name"}),
        ("I don't need your e-mail. What is the order number?", {"order number"}),
        ("And when did it arrive?", {"delivery date"}),
        ("请问您的姓名是什么？", {"name"}),
        ("请提供订单号和邮箱。", {"order number", "e-mail"}),
        ("麻烦您告诉我：姓名、订单编号、电子邮件", {"name", "order number", "e-mail"}),
        ("不需要您的邮箱。请告诉我订单号。", {"order number"}),
        ("您是什么时候收到的？", {"delivery date"}),
        ("怎么称呼您？", {"name"}),
        ("Ｗｈａｔ ｉｓ ｙｏｕｒ ｎａｍｅ？", {"name"}),
    ],
)
def test_what_is_asked_for_is_told_and_nothing_else(said: str, names: set[str]) -> None:
    [reply] = talk(said)
    assert told(reply) == names
    assert not reply.ended


@pytest.mark.parametrize(
    "said",
    [
        "What is your username?", "Which card did you pay with?", "What is your shoe size?", "您的身份证号是多少？",
        "Do you have the tracking code?",
    ],
)  # fmt: skip
def test_what_the_goal_does_not_hold_is_not_known_and_not_made_up(said: str) -> None:
    [reply] = talk(said)
    assert reply == Reply("I do not know that.", ended=False)


def test_a_question_about_one_known_and_one_unknown_thing_gets_both_answers() -> None:
    [reply] = talk("What is your name? Which bank do you use?")
    assert reply.text == "I am Ann Lee. I do not know that."


@pytest.mark.parametrize(
    "said",
    [
        "Your order W-2291 has been refunded: 30 euros.",
        "I cannot do that: the order was delivered too long ago.",
        "I refunded your order. Is there anything else?",
        "Your name and e-mail are on file, and the refund is on its way. Let me know if you need anything else!",
        "退款已经办好了。请问还有什么可以帮您？",
        "很抱歉，订单超过三十天，不能退款。",
    ],
)
def test_a_report_or_a_refusal_ends_the_conversation(said: str) -> None:
    assert talk(said) == [Reply("Thank you, that is all.", ended=True)]


@pytest.mark.parametrize("said", ["One moment, let me check.", "I will look that up now.", "请稍等，我查一下。"])
def test_a_promise_to_look_does_not_end_it(said: str) -> None:
    assert talk(said) == [Reply("All right.", ended=False)]


@pytest.mark.parametrize(
    "said",
    ["Shall I refund it to your card?", "I will refund 30 euros. Do you want me to proceed?", "要我现在退款吗？"],
)
def test_a_go_ahead_is_given_when_asked_for(said: str) -> None:
    assert talk(said) == [Reply("Yes, please go ahead.", ended=False)]


def test_a_go_ahead_that_names_a_known_fact_is_given_and_one_that_names_an_untold_fact_is_corrected() -> None:
    first, second, third = talk("Shall I refund order W-1?", "What is your name?", "Shall I refund order W-2291?")
    assert (told(first), told(second)) == ({"order number"}, {"name"})
    assert third.text == "Yes, please go ahead."


def test_details_asked_for_in_one_sentence_and_pointed_at_in_the_next_are_told_once() -> None:
    [reply] = talk("I'll need your name and the order ID. Could you please provide these details?")
    assert reply.text == "I am Ann Lee. It is W-2291."


def test_an_offer_is_no_courtesy() -> None:
    [transfer] = talk("Would you like me to transfer you to a person for further assistance?")
    [either] = talk("Would you like another flight, or would you prefer further assistance?")
    assert (transfer.text, either.text) == ("Yes, please go ahead.", "I do not know that.")
    [courtesy] = talk("It is cancelled. If you change your mind, please let me know.")
    assert courtesy.ended


def test_an_open_question_reveals_nothing() -> None:
    for said in ("Please tell me more about it.", "I need more details.", "How can I help you?"):
        [reply] = talk(said)
        assert not told(reply), said
        assert reply.text == f"{REQUEST} What exactly do you need to know?"


def test_a_user_of_a_chinese_task_speaks_chinese() -> None:
    how = {"request": "我要退款。"}
    assert [r.text for r in talk("您的身份证号是多少？", "稍等", "要我现在退款吗？", "已退款。", **how)] == [
        "这个我不清楚。", "好的。", "好的，请办理。", "谢谢，就这些。",
    ]  # fmt: skip
    assert talk("已退款。", closing="再见！", **how)[0].text == "再见！"


def test_a_forgetful_user_tells_nothing_the_first_time_and_all_the_second() -> None:
    first, second, third = talk("Your name?", "Your name and e-mail, please?", "Your e-mail?", persona="forgetful")
    assert first.text == "I do not remember right now."
    assert second.text == "I am Ann Lee. I do not remember right now."
    assert third.text == "ann@example.org"
    assert not any(r.ended for r in (first, second, third))


def test_an_impatient_user_goes_when_asked_for_the_same_twice() -> None:
    first, second = talk("Your name?", "What was your name again?", persona="impatient")
    assert (told(first), first.ended) == ({"name"}, False)
    assert (told(second), second.ended) == (set(), True)


def test_an_impatient_user_goes_after_a_few_questions_and_a_plain_one_after_many() -> None:
    questions = [f"What about {thing}?" for thing in ("shoes", "hats", "coats", "socks", "belts", "ties")]
    assert [r.ended for r in talk(*questions, persona="impatient", patience=2)] == [False, False, *[True] * 4]
    assert [r.ended for r in talk(*questions, max_replies=4)] == [*[False] * 4, True, True]
    assert not talk(*["Your name?"] * 3)[-1].ended, "a plain user says it as often as asked"


def test_a_report_ends_an_impatient_conversation_with_thanks() -> None:
    assert talk("Your name?", "Done: 30 euros refunded.", persona="impatient")[-1].text == "Thank you, that is all."


def test_longer_words_win_over_their_parts() -> None:
    goal = UserGoal(facts={"order": "W-1", "order date": "June 3"}, synonyms={})
    assert asked("What is the order date?", goal).facts == ("order date",)
    assert asked("What is the order, and what the order date?", goal).facts == ("order", "order date")


WORDS = ["name", "order", "e-mail", "your", "the", "is", "what", "?", ".", "please", "give me", "订单号", "吗", "found"]


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join), min_size=1, max_size=5))
def test_whatever_is_said_nothing_is_told_unasked_and_the_same_talk_gives_the_same_replies(turns: list[str]) -> None:
    replies = talk(*turns)
    assert replies == talk(*turns)
    for turn, reply in zip(turns, replies, strict=True):
        assert told(reply) <= set(asked(turn, GOAL).facts)
        rest = re.sub("|".join(map(re.escape, FACTS.values())), "", reply.text)
        assert not re.search(r"\d|@", rest), "and nothing is made up"


def test_ids_of_tasks_without_a_user_stay_and_each_part_of_a_user_changes_them() -> None:
    plain = task_of("weather")
    users = [UserGoal(), GOAL, GOAL.model_copy(update={"persona": "forgetful"}),
             GOAL.model_copy(update={"synonyms": {}}), GOAL.model_copy(update={"patience": 2})]  # fmt: skip
    ids = [plain.model_copy(update={"user": u}).task_id for u in (None, *users)]
    assert len(set(ids)) == len(ids)
    assert ids[0] == plain.task_id
