"""What the stand-in server says: an echo, a user, or a teacher that goes by words shared with an option."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Messages = Sequence[Mapping[str, str]]
ASIDE = {"cook": "cooking", "joke": "language", "alarm": "clock", "lights": "home"}
UNREADABLE = "gibberish"
"""A request with this word is never answered with JSON."""


def answer_to(rule: str, messages: Messages, *, broken: bool, wrong: bool) -> str:
    """The text of the answer."""
    if rule == "attack":
        said = _attack(messages[-1]["content"])
    elif rule == "echo":
        said = json.dumps({"echo": messages[-1]["content"]}, ensure_ascii=False)
    elif rule.startswith("user"):
        said = _played(messages[0]["content"], rule.partition(":")[2])
    elif rule == "judge":
        said = _judged(messages, wrong=wrong)
    else:
        said = _taught(messages, wrong=wrong)
    return said[: len(said) // 2] if broken else said


def _played(prompt: str, misbehaves: str) -> str:
    """A user: tells what is named in the agent's last turn, thanks and ends at the word "settled"; or misbehaves."""
    facts = dict(re.findall(r'^- (\w[\w ]*): (".*")$', prompt, re.MULTILINE))
    said = re.findall(r'^Agent: (".*")$', prompt, re.MULTILINE)[-1]
    told = [json.loads(saying) for name, saying in facts.items() if name in said]
    odd = {
        "invents": "My order is Z-7731.", "blurts": " ".join(map(json.loads, facts.values())), "helps":
        "How can I help you today?", "calls": '<tool_call>{"name": "refund", "arguments": {}}</tool_call>',
        "silent": "", "endless": "and so on " * 400, "leaves": "Thank you, that is all.\n[END]",
    }  # fmt: skip
    if misbehaves == "learns":
        misbehaves = "" if "was not sound" in prompt else "blurts"
    if misbehaves:
        return odd[misbehaves]
    return "Thank you, that is all.\n[END]" if "settled" in said else " ".join(told) or "I do not know that."


def _attack(prompt: str) -> str:
    """Says nothing readable at first, then gives the word of which the verdict complained."""
    complaint = re.findall(r"missing_fact: (.+)$", prompt, re.MULTILINE)
    if "-> reward" not in prompt:
        return json.dumps({"attacks": [{"idea": "ask", "calls": [], "answer": "?"}]})
    return json.dumps({"attacks": [{"idea": "tell", "calls": [], "answer": " ".join(complaint)}]}, ensure_ascii=False)


def request_in(messages: Messages) -> str:
    """The request that a teacher is asked about."""
    found = re.search(r'^The request: (".*")$', messages[1]["content"], re.MULTILINE)
    assert found is not None, messages
    return str(json.loads(found[1]))


def options_in(messages: Messages) -> dict[str, str]:
    """The options of a choice by id, with all that is said of each; none in a reading."""
    options: dict[str, str] = {}
    listed = messages[0]["content"].partition("The intents:\n")[2].partition("\n\nAnswer with")[0]
    for line in listed.splitlines():
        found = re.match(r"- ([\w.]+): (.*)", line)
        name, text = (found[1], found[2]) if found else (list(options)[-1], line)
        if not text.lstrip().startswith("but not"):
            options[name] = f"{options.get(name, '')} {text}"
    return options


def _taught(messages: Messages, *, wrong: bool) -> str:
    if len(messages) == 1:
        return _grown(messages[0]["content"], wrong=wrong)
    request = request_in(messages)
    if UNREADABLE in request:
        return "I would rather not say."
    options = options_in(messages)
    apart = re.search(r'^Not to be judged .*: (".*")$', messages[1]["content"], re.MULTILINE)
    judged = request.replace(json.loads(apart[1]), "") if apart else request
    answer = _choice(judged, options, wrong=wrong) if options else _reading(request)
    return json.dumps(answer, ensure_ascii=False)


def _grown(prompt: str, *, wrong: bool) -> str:
    """Names a cluster by its first telling word, and puts all leaves under one category."""
    if UNREADABLE in prompt:
        return "I would rather not say."
    leaves = re.findall(r"^- (\w+): ", prompt, re.MULTILINE) if "top categories" in prompt else []
    words = re.search(r"^Telling words: (\w+)", prompt, re.MULTILINE)
    name = "everyday" if words is None else f"taught {words[1]}"
    made = {"id": "" if wrong else name, "name_en": name.title(), "name_zh": f"教{name}", "definition": f"On {name}."}
    return json.dumps({"categories": [made | {"leaves": leaves}]} if leaves else made, ensure_ascii=False)


def _choice(request: str, options: Mapping[str, str], *, wrong: bool) -> dict[str, Any]:
    ranked = sorted(options, key=lambda name: (-len(_words(request) & _words(options[name])), name))
    child = "no_such_intent" if wrong else ranked[0]
    return {"reason": "shared words", "child": child, "runner_up": ranked[1], "confidence": 0.9}


def _reading(request: str) -> dict[str, Any]:
    first, _, second = request.partition(" and the ")
    aside = next((group for word, group in ASIDE.items() if word in request), "none")
    day = {"text": "tomorrow", "value": "tomorrow"} if "tomorrow" in request else None
    return {
        "reason": f"asks about {first}", "aside": aside, "confidence": 0.8,
        "second_intent": f"the {second}" if second else None,
        "tools": 1, "depth": 1, "complexity": 0, "constraints": {"cities": _cities(request), "date": day},
    }  # fmt: skip


def _cities(request: str) -> list[dict[str, str]]:
    """Every word with a capital, but the first unless it stands before Chinese."""
    role = {"from": "origin", "to": "destination"}
    found = re.findall(r"(?:(\w+) |^)([A-Z][a-z]+)(?= [^a-z]| |$)", request)
    return [{"text": name, "city": name, "role": role.get(lead, "location")} for lead, name in found]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}|[一-鿿]", text.casefold())) - {"the", "and", "for", "there", "from"}


def _judged(messages: Messages, *, wrong: bool) -> str:
    """Grades an attempt by its answer alone: the best grade, or the second worst where it says "wrong"."""
    attempt = json.loads(messages[1]["content"].partition("\n")[2])
    if UNREADABLE in attempt["answer"]:
        return "I would rather not say."
    grades = re.findall(r'"([^"]+)"', messages[0]["content"].rpartition("grade: one of ")[2])
    grade = grades[-2] if "wrong" in attempt["answer"] else grades[-1]
    return json.dumps({"reason": f"the answer is {attempt['answer']!r}", "grade": "superb" if wrong else grade})
