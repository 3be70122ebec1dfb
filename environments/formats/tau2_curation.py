"""What somebody who read a tau2 task adds to it, as data: a file beside the world, one table per task.

A task that doing nothing would pass gets what must have been looked at (`looks`), the reason of the refusal and a twin
that stands beside it: the same request where the world, or one word of the request, makes it right to act. What no twin
can be made for is set aside with the reason.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from environments.task import Call, Fact
from environments.worlds.documents import Document


def _call(value: Any) -> Any:
    """A call written as `["tool", {argument = ...}]`."""
    return {"name": value[0], "arguments": value[1]} if isinstance(value, list) and len(value) == 2 else value


def _fact(value: Any) -> Any:
    """A fact written as `["number", "4", "bags"]`."""
    return dict(zip(("kind", "value", "unit"), value, strict=False)) if isinstance(value, list) else value


Calls = tuple[Annotated[Call, BeforeValidator(_call)], ...]
Facts = tuple[Annotated[Fact, BeforeValidator(_fact)], ...]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Edit(_Table):
    """A document that the twin starts with, as a difference from the domain's."""

    kind: str
    key: str
    set: dict[str, Any]
    """New values; where a value is a table, it is merged into the old one."""


class Twin(_Table):
    """The solvable task beside a refusal."""

    calls: Calls
    """What is right to do there, after `looks`."""
    edits: tuple[Edit, ...] = ()
    ask: str | None = None
    """What the user asks for, where it is not the same."""


class Curation(_Table):
    """What is added to one task."""

    aside: str | None = None
    """Why the task is not used; nothing else is said then."""
    reason: str | None = None
    """Typed reason of the refusal that is right."""
    looks: Calls = ()
    """What must have been looked at before the answer counts."""
    before: Calls = ()
    """What the gold solution has to look up before tau2's gold actions, so that its answer rests on something."""
    after: Calls = ()
    """The same after them: a sum that the answer states, a balance that is left."""
    facts: Facts | None = None
    """What the answer must state, in place of tau2's strings."""
    twin: Twin | None = None


def read_curation(path: Path) -> dict[str, Curation]:
    """The curation of a domain by tau2's task id.

    Raises:
        ValueError: the file is not valid; the message names file, task and field.
    """
    found: dict[str, Curation] = {}
    for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
        try:
            found[name] = Curation.model_validate(table)
        except ValidationError as error:
            causes = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            raise ValueError(f"{path}: task {name}: {causes}") from error
    return found


def merged(document: Document, changed: Mapping[str, Any]) -> Document:
    """A document with `changed` in it; tables are merged, anything else is replaced."""
    return document | {
        name: merged(document[name], value)
        if isinstance(value, Mapping) and isinstance(document.get(name), dict)
        else value
        for name, value in changed.items()
    }
