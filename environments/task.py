"""A task: an instruction, the world it is set in, the goal that its verifier checks, and a budget.

The verifier's side (`Goal`) is written before the instruction (pipeline stage 6); the gold calls and answer exist so
that admission can prove the task solvable, and only scripted policies may look at them.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import date, time
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from environments.fault import Fault

Split = Literal["train", "dev", "hidden", "honeypot"]
"""`honeypot`: exploitable on purpose, for promotion only, never sampled for training."""
FactKind = Literal["number", "code", "name", "word", "date", "time"]
Persona = Literal["plain", "impatient", "forgetful"]


class Fact(BaseModel):
    """Something an answer claims, by type and unit, so that it is compared as a value and not as a substring."""

    model_config = ConfigDict(frozen=True)

    kind: FactKind
    value: Annotated[str, Field(pattern=r"\S")]
    """Never blank: every answer would state it. A date is `2026-06-12`, a clock time `17:30`."""
    unit: str | None = None
    """For numbers: `euros`, `degrees`, `km`, `minutes`, `rating`; None when the answer gives none."""

    @model_validator(mode="after")
    def _is_of_its_kind(self) -> Self:
        """A date or time that is none could never be stated."""
        shape = {"date": r"\d{4}-\d\d-\d\d", "time": r"\d\d:\d\d"}.get(self.kind, ".*")
        read = {"date": date.fromisoformat, "time": time.fromisoformat}.get(self.kind, str)
        if not re.fullmatch(shape, self.value, re.S):
            raise ValueError(f"a {self.kind} is written {'2026-06-12' if self.kind == 'date' else '17:30'}")
        read(self.value)
        return self


class Call(BaseModel):
    """One tool call."""

    model_config = ConfigDict(frozen=True)

    name: str
    arguments: dict[str, Any]


class Booking(BaseModel):
    """A booking that must exist at the end, and nothing beside it."""

    model_config = ConfigDict(frozen=True)

    kind: str
    number: str
    origin: str
    destination: str
    date: str


class Change(BaseModel):
    """A row that must differ at the end of an episode from what it was at its start."""

    model_config = ConfigDict(frozen=True)

    table: str
    key: str | None = None
    """Primary key; None for a new row whose key the world makes up."""
    columns: dict[str, Any] | None
    """Values that the row must hold at the end (others may be anything); None where it must be gone."""
    states: dict[str, tuple[Fact, ...]] = {}
    """Facts that a text of the row must state, by column; whatever else the text claims needs evidence."""


class Order(BaseModel):
    """A side effect that must come before another: the approval before the refund."""

    model_config = ConfigDict(frozen=True)

    first: str
    """Name of the tool that writes first."""
    then: str
    key: str | None = None
    """Both entries of the ledger must carry this key, where it is given."""


class Case(BaseModel):
    """One hidden test of what the agent left: something is done with its files, and this must come of it.

    Only what is done goes to where the files are; what must come of it stays with the verifier.
    """

    model_config = ConfigDict(frozen=True)

    target: str
    """`module:function` is called, `program.py` is run, `file:path` is read."""
    arguments: tuple[Any, ...] = ()
    """Of the function."""
    stdin: str = ""
    """Of the program."""
    expected: Any = None
    """What the function returns or the file holds, as JSON; what the program prints."""
    raises: str | None = None
    """The exception that the call must end with instead."""


class Script(BaseModel):
    """A program of somebody else that grades what an agent left, and writes down one number.

    It lies where no agent works, until the agent has ended.
    """

    model_config = ConfigDict(frozen=True)

    files: tuple[dict[str, Any], ...]
    """Rows of path and `text` or `base64`; `test.sh` is run."""
    seconds: float
    """How long it may take."""
    environment: dict[str, str] = {}
    """What it finds in its environment."""
    image: str = ""
    """Where it runs, if not in the image that the agent worked in, nor in one that its own files make."""
    carried: tuple[str, ...] | None = None
    """What is carried over to where it runs, by whole path; None: all that the agent may change."""
    collect: tuple[str, ...] = ()
    """Commands that put it together once the agent has ended, where the agent worked."""

    @property
    def apart(self) -> bool:
        """Whether it runs in another image than the agent's."""
        return bool(self.image) or any(row.get("path") == "Dockerfile" for row in self.files)


class Written(BaseModel):
    """A side effect that the ledger may hold."""

    model_config = ConfigDict(frozen=True)

    tool: str
    key: str


class Goal(BaseModel):
    """What must hold at the end of an episode."""

    model_config = ConfigDict(frozen=True)

    required: tuple[Fact, ...] = ()
    """Facts the answer must state."""
    forbidden: tuple[Fact, ...] = ()
    """Facts the answer must not state: the alternatives, so that hedging earns nothing."""
    bookings: tuple[Booking, ...] = ()
    """Everything that must have been written; an empty tuple forbids any write."""
    changes: tuple[Change, ...] | None = None
    """Every row that must have changed and how, and no other may; None where `bookings` says it."""
    may_change: tuple[str, ...] = ()
    """Tables whose rows may change beside `changes`: a check that is allowed, and never asked for by itself."""
    writes: tuple[Written, ...] | None = None
    """Every side effect that there may be, those that were undone too; None where only the rows count."""
    may_write: tuple[str, ...] = ()
    """Tools whose side effects do no harm, however often."""
    order: tuple[Order, ...] = ()
    seen: tuple[str, ...] = ()
    """Digests of what the tools must have shown before an answer counts: a comparison with one side is a guess."""
    reason: str | None = None
    """Where the right end is a refusal or a question back: its typed reason."""
    evidence_error: str | None = None
    """The error code that the agent must have met before it may refuse (the investigation that justifies it)."""
    evidence_about: str | None = None
    """A value that the error must carry: whom or what it was met about."""
    cases: tuple[Case, ...] = ()
    """Hidden tests, for worlds whose state is files; all of them must pass."""
    script: Script | None = None
    """Somebody else's tests, for tasks of others."""

    @property
    def graded_by_files(self) -> bool:
        """Whether only what lies in files counts, and not what is said."""
        return bool(self.cases) or self.script is not None


_LATER_IN_GOAL = {"cases", "changes", "evidence_about", "may_change", "may_write", "order", "script", "writes"}
"""Fields that say something only where they are set: ids from before they existed stay."""


class Saying(BaseModel):
    """Something that the gold solution says to the user."""

    model_config = ConfigDict(frozen=True)

    after: int
    """How many calls come before it."""
    text: str


class UserGoal(BaseModel):
    """What the user of a task with several turns wants, knows and tells only when asked."""

    model_config = ConfigDict(frozen=True)

    persona: Persona = "plain"
    """`plain`, `impatient` (ends early), `forgetful` (needs asking twice)."""
    facts: dict[str, str] = {}
    """Told when asked for: name of the fact -> how the user says it."""
    synonyms: dict[str, tuple[str, ...]] = {}
    """Other words by which a fact may be asked for, in any language: name of the fact -> words or phrases."""
    consent: str = "Yes, please go ahead."
    """Said when the agent asks whether it should do something."""
    closing: str = "Thank you, that is all."
    max_replies: int = 8
    """The user goes when asked once more after so many replies."""
    patience: int = 3
    """The same for an impatient user."""
    script: str = ""
    """What the task's author tells whoever plays the user, in full, as JSON by section; a language model reads it."""


class Task(BaseModel):
    """Instruction + initial state + world + verifier + budget."""

    model_config = ConfigDict(frozen=True)

    world: str
    family: str
    depth: int
    """0 refuse or ask back, 1 one call, 2 chained or checked, 3 comparison, 4 a write."""
    instruction: str
    tools: tuple[str, ...]
    """Names of the tools on offer, in the order in which they are shown."""
    goal: Goal
    gold_calls: tuple[Call, ...] = ()
    gold_says: tuple[Saying, ...] = ()
    """What it says to the user on the way, in order; where empty, it asks for every fact of the user first."""
    gold_answer: str
    max_calls: int
    split: Split = "train"
    leaf: str | None = None
    query_id: str | None = None
    """The query it was compiled from; variants keep their original's."""
    group: str = ""
    """Original and variants share a group, and a group is never split (pipeline law 7)."""
    twin: str | None = None
    """For refusal tasks: `task_id` of the solvable twin with which it is scored."""
    wordings: tuple[str, ...] = ()
    """Other ways to say `instruction`, for attempts that must not all read the same."""
    fault_seed: int | None = None
    initial: dict[str, tuple[dict[str, Any], ...]] = {}
    """Rows by table that the world starts with, in place of or beside its own."""
    faults: tuple[Fault, ...] = ()
    """What goes wrong, where; the same for every attempt."""
    user: UserGoal | None = None
    """Whom the agent talks with; None where the instruction is all that is said."""
    rubric: str | None = None
    """Name of the rubric that grades what no state shows; None where nothing is left to grade."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy, which has an id of its own."""
        made = super().model_copy(update=update, deep=deep)
        made.__dict__.pop("task_id", None)
        return made

    @cached_property
    def task_id(self) -> str:
        """Content hash: same instruction, tools, goal, budget, start, faults and user give the same id."""
        goal = self.goal.model_dump(mode="json", exclude=_LATER_IN_GOAL)
        later = self.goal.model_dump(mode="json", include=_LATER_IN_GOAL, exclude_defaults=True)
        shown = self.model_dump(mode="json", include={"world", "instruction", "tools", "max_calls", "fault_seed"})
        more = self.model_dump(mode="json", include={"initial", "faults", "user", "rubric"}, exclude_defaults=True)
        told = {n: shown[n] for n in ("world", "instruction", "tools")} | {"goal": {**goal, **later}}
        told |= {n: shown[n] for n in ("max_calls", "fault_seed")} | more
        text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def wording(self, attempt: int) -> str:
        """The instruction that attempt number `attempt` reads."""
        said = (self.instruction, *self.wordings)
        return said[attempt % len(said)]
