"""What the programmatic judge objects to, rule by rule; each returns the objection, or None.

Rules see the attempt and, where the task states them, the facts that its goal asks for. They know nothing of how an
attempt was made.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from environments.judges.excuses import is_excused, topics
from environments.judges.manners import (
    appeals_to_the_grader,
    empty,
    flattery,
    keyword_stuffing,
    no_next_step,
    other_language,
    raw_output,
    wall_of_text,
)
from environments.judges.reading import (
    Seen,
    clauses,
    codes_in,
    dates_in,
    is_write,
    lexicon,
    names_in,
    numbers_in,
    records,
    says,
    times_in,
)
from environments.task import Fact
from environments.verifiers.claims import states
from environments.verifiers.outcome import shown

Rule = Callable[[Seen], str | None]
_LOOP: Final = 3
"""The same failing call this often is a loop."""


def nothing_found_out(seen: Seen) -> str | None:
    """No call returned anything, and nothing excuses it."""
    return None if seen.fine or is_excused(seen) else "nothing was looked up"


def refuses_what_is_possible(seen: Seen) -> str | None:
    """A refusal although tools on offer serve the request."""
    refused = says("refusal", seen.answer) and not is_excused(seen)
    return "refuses what the tools can do" if refused else None


def topic_left_out(seen: Seen) -> str | None:
    """The request names something that a tool on offer is for, and no such call returned anything."""
    for topic in () if is_excused(seen) else topics(seen):
        if not any(re.search(lexicon()["topics"][topic]["tool"], step.call.name) for step in seen.fine):
            return f"{topic} was not looked into"
    return None


def condition_left_out(seen: Seen) -> str | None:
    """A day, an id or a name of the request that no call was given."""
    if is_excused(seen):
        return None
    given, text = dates_in(seen.asked_for), seen.asked_for.casefold()
    if given and (left := dates_in(seen.said) - given):
        return f"looked up for {', '.join(sorted(given))}, not for {min(left)}"
    looked = f"{text}\n{seen.shown_text.casefold()}\n{seen.answer.casefold()}"
    wanted = [name for name in names_in(seen.said) if len(name) > 2]
    missing = [name for name in wanted if name.casefold() not in looked]
    return f"{missing[0]} was not looked into" if missing else _other_name(seen, wanted, text)


def _other_name(seen: Seen, wanted: list[str], text: str) -> str | None:
    """One name asked for, one looked up, and they are two."""
    ids = codes_in(seen.said)
    if ids and not ids & codes_in(text) and codes_in(text):
        return f"looked up {min(codes_in(text))} instead of {min(ids)}"
    lost = [
        name for name in wanted if name.casefold() not in text and name.casefold() not in seen.shown_text.casefold()
    ]
    return f"{lost[0]} was named and no call was given it" if lost else None


def other_mode(seen: Seen) -> str | None:
    """Routes by another means of transport than the one named."""
    used = {mode for step in seen.fine for mode in step.call.arguments.get("modes", ())}
    named = [mode for mode, said in lexicon()["modes"].items() if re.search(said, seen.said, re.IGNORECASE)]
    missing = [mode for mode in named if used and mode not in used]
    return f"routes by {', '.join(sorted(used))}, asked by {missing[0]}" if missing else None


def unseen_results(seen: Seen) -> str | None:
    """Something that the goal turns on was never shown."""
    met = {digest for step in seen.attempt.steps for digest in shown(step.observation)}
    missing = [digest for digest in seen.attempt.task.goal.seen if digest not in met]
    return f"{len(missing)} of {len(seen.attempt.task.goal.seen)} results never seen" if missing else None


def error_ignored(seen: Seen) -> str | None:
    """A tool's last word was an error, and the answer passes over it."""
    last = {step.call.name: step for step in seen.attempt.steps}
    failed = sorted(name for name, step in last.items() if step not in seen.fine)
    return f"{failed[0]} failed and the answer does not say so" if failed and not says("admits", seen.answer) else None


def same_failing_call(seen: Seen) -> str | None:
    """The same call sent again and again although it failed."""
    failing = (step.call for step in seen.attempt.steps if step not in seen.fine)
    counts = Counter(json.dumps([c.name, c.arguments], sort_keys=True, default=str) for c in failing)
    return next((f"the same failing call {n} times" for n in counts.values() if n >= _LOOP), None)


def claims_a_write(seen: Seen) -> str | None:
    """Says that something was done which no call did."""
    told = [part for part in re.split(r"(?<=[.!?。!?\n])", seen.answer) if not says("offers", part)]
    claim = next((found for part in told if (found := says("wrote", part))), None)
    return f"says {claim!r}, and no call did it" if claim and not any(map(is_write, seen.fine)) else None


def not_the_cheapest(seen: Seen) -> str | None:
    """Took another offer than the cheapest although the cheapest was asked for and could be had."""
    if not says("cheapest", seen.said):
        return None
    taken = {str(v) for step in seen.attempt.steps if is_write(step) for v in step.call.arguments.values()}
    for step in seen.fine:
        for rows in records(step.observation):
            priced = [row for row in rows if isinstance(row.get("price"), int | float)]
            best = min(priced, key=lambda row: row["price"], default=None)
            chosen = [row for row in priced if taken & {str(v) for v in row.values()}]
            if best is not None and chosen and best not in chosen:
                return "took an offer that is not the cheapest"
    return None


def number_made_up(seen: Seen) -> str | None:
    """A number that nothing backs."""
    return next((f"{n.value:g} has no source" for n in numbers_in(seen.answer) if not seen.backs(n)), None)


def day_or_time_made_up(seen: Seen) -> str | None:
    """A day or a time that no tool returned and no call was given."""
    text = f"{seen.asked_for}\n{seen.shown_text}"
    days = dates_in(seen.answer) - dates_in(text) if seen.fine else set()
    times = times_in(seen.answer) - times_in(text)
    return next((f"{one} has no source" for one in sorted(days | times)), None)


def name_or_code_made_up(seen: Seen) -> str | None:
    """A name or a code that neither the tools nor the user said."""
    known = f"{seen.shown_text}\n{seen.asked_for}\n{seen.said}".casefold()
    names = [] if other_language(seen) else [name.casefold() for name in names_in(seen.answer)]
    strange = [name for name in names if any(word not in known for word in name.split())]
    made_up = [*sorted(code for code in codes_in(seen.answer) if code not in known), *strange]
    return f"{made_up[0]} has no source" if made_up else None


def mixed_up(seen: Seen) -> str | None:
    """A value of one row told of another."""
    for rows in (rows for step in seen.fine for rows in records(step.observation)):
        for clause in clauses(seen.answer):
            named = [row for row in rows if any(isinstance(v, str) and v and v in clause for v in row.values())]
            if len(named) == 1 and (found := _strange_value(clause, named[0], rows, seen)):
                return found
    return None


def _strange_value(clause: str, row: Mapping[str, object], rows: list[dict[str, object]], seen: Seen) -> str | None:
    own = {float(v) for v in row.values() if isinstance(v, int | float)}
    others = {float(v) for other in rows for v in other.values() if isinstance(v, int | float)} - own
    told = {n.value for n in numbers_in(clause)}
    return f"{min(told & others):g} belongs to another row" if told & others and not told & own else None


def facts_left_out(seen: Seen) -> str | None:
    """A fact that the goal asks for, or everything that was found, is not in the answer."""
    missing = [fact.value for fact in seen.attempt.task.goal.required if not _states(seen, fact)]
    if missing:
        return f"{missing[0]} is missing"
    if is_excused(seen) or not seen.fine:
        return None
    if not any(value for step in seen.fine for value in (step.observation,)):
        return None if says("negation", seen.answer) else "the result was empty, and the answer does not say so"
    told = seen.answer.casefold()
    words = {str(v).casefold() for v in seen.shown if isinstance(v, str) and len(v) > 1}
    numbers = {n.value for n in numbers_in(seen.answer)}
    moments = times_in(told) | dates_in(told)
    found = any(w in told for w in words) or any(n in numbers for n in seen.known_numbers) or numbers or moments
    return None if found or says("negation", told) else "nothing of what was found is told"


def _states(seen: Seen, fact: Fact) -> bool:
    """Numbers and codes as read here, in any language; names and words as the verifier has them."""
    if fact.kind == "number":
        return any(abs(n.value - float(fact.value)) < 1e-9 for n in numbers_in(seen.answer))
    return fact.value.casefold() in codes_in(seen.answer) if fact.kind == "code" else states(seen.answer, fact)


def answer_without_ground(seen: Seen) -> str | None:
    """An answer about the world although no call returned anything."""
    return None if seen.fine or is_excused(seen) else "tells of a world that was not looked at"


WORST: Final = 1.0
MINOR: Final = 0.5
RULES: Final[Mapping[str, tuple[tuple[Rule, float], ...]]] = {
    "reasoning": (
        (empty, WORST), (nothing_found_out, WORST), (refuses_what_is_possible, WORST), (topic_left_out, MINOR),
        (condition_left_out, MINOR), (other_mode, MINOR), (unseen_results, MINOR), (error_ignored, MINOR),
        (same_failing_call, MINOR), (claims_a_write, MINOR), (not_the_cheapest, MINOR),
    ),
    "fidelity": (
        (empty, WORST), (answer_without_ground, WORST), (refuses_what_is_possible, WORST), (number_made_up, WORST),
        (day_or_time_made_up, WORST), (name_or_code_made_up, WORST), (claims_a_write, WORST), (mixed_up, MINOR),
        (facts_left_out, MINOR), (error_ignored, MINOR), (other_mode, MINOR), (unseen_results, MINOR),
        (condition_left_out, MINOR),
    ),
    "service": (
        (empty, WORST), (refuses_what_is_possible, WORST), (raw_output, WORST), (appeals_to_the_grader, WORST),
        (keyword_stuffing, WORST), (flattery, MINOR), (other_language, MINOR), (no_next_step, MINOR),
        (wall_of_text, MINOR),
    ),
}  # fmt: skip
"""By dimension: each rule with what an objection costs, of 1."""
