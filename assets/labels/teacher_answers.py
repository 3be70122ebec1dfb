"""What a teacher may answer, checked strictly: against the request it read, and against the options it was shown.

A quote must stand in the request, an id among the options, a day in the form that tools take. The errors are written
for the model, which sees them once.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from typing import Any, Final, Literal, Self, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, create_model, model_validator

from assets.labels.aside import AsideGroup, aside_groups
from assets.labels.constraints import Constraints, NamedCity, NamedDay
from assets.labels.dates import WEEKDAYS
from assets.labels.roles import Role
from environments.structured import json_in, strict_schema
from environments.worlds.atlas.data_model import fold, gazetteer

NO_ASIDE: Final = "none"
_RELATIVE_DAYS: Final = ("today", "tomorrow", *WEEKDAYS)
_MOST_ERRORS: Final = 5


class MalformedAnswer(ValueError):
    """An answer that cannot be used; `raw` is the answer as it came."""

    def __init__(self, problem: str, raw: str) -> None:
        super().__init__(problem)
        self.raw = raw


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class StatedCity(_Strict):
    """A city as the user wrote it, its English name, and what the request makes of it."""

    text: str
    city: str
    role: Role


class StatedDay(_Strict):
    """A day as the user wrote it and as a tool takes it."""

    text: str
    value: str


_OTHERWISE: Final = {"cities": tuple[StatedCity, ...], "date": StatedDay | None}
"""Slots of `Constraints` that an answer states in another shape; the rest it states as they are."""
_SLOTS: Final[dict[str, Any]] = {
    slot: (_OTHERWISE.get(slot, kind), Constraints._field_defaults[slot])
    for slot, kind in get_type_hints(Constraints).items()
}
StatedConstraints = create_model(
    "StatedConstraints", __base__=_Strict, __doc__="`Constraints`, as an answer states them.", **_SLOTS
)


class Reading(_Strict):
    """A request as the teacher reads it; nothing in it depends on the taxonomy."""

    reason: str
    aside: str
    confidence: float = Field(ge=0, le=1)
    second_intent: str | None
    tools: Literal[1, 2, 3]
    depth: Literal[1, 2, 3]
    complexity: Literal[0, 1, 2, 3]
    constraints: StatedConstraints

    @model_validator(mode="after")
    def _fits_the_request(self, info: ValidationInfo) -> Self:
        said = fold((info.context or {})["request"])
        _require_among("aside", self.aside, (NO_ASIDE, *groups()))
        stated = dict(self.constraints)
        quotes = [("constraints.cities.text", city.text) for city in stated["cities"]]
        quotes += [("constraints.date.text", day.text) for day in (stated["date"],) if day is not None]
        quotes += [("second_intent", self.second_intent)] if self.second_intent is not None else []
        for field, quote in quotes:
            if not quote.strip() or fold(quote) not in said:
                raise ValueError(f"{field}: {quote!r} does not stand in the request; copy its words exactly")
        if self.second_intent is not None and fold(self.second_intent) == said:
            raise ValueError("second_intent: these are all words of the request; give those of the second, or null")
        _require_day(stated["date"])
        return self

    def grounded(self) -> Constraints:
        """The constraints with cities as the gazetteer names them; those that it does not know are unresolved."""
        known, said = gazetteer(), dict(self.constraints)
        named = [(known.get(fold(city.city)), city) for city in said["cities"]]
        cities = tuple(NamedCity(city.text, found.name, city.role) for found, city in named if found is not None)
        strange = [city.text for found, city in named if found is None]
        day = said["date"] and NamedDay(said["date"].text, said["date"].value)
        unresolved = tuple(dict.fromkeys((*said["unresolved"], *strange)))
        return Constraints(**{**said, "cities": cities, "date": day, "unresolved": unresolved})


class Choice(_Strict):
    """The option that a teacher chose at one node."""

    reason: str
    child: str
    runner_up: str
    confidence: float = Field(ge=0, le=1)

    @model_validator(mode="after")
    def _is_among_the_options(self, info: ValidationInfo) -> Self:
        options = (info.context or {})["options"]
        _require_among("child", self.child, options)
        _require_among("runner_up", self.runner_up, [option for option in options if option != self.child])
        return self


@cache
def groups() -> Mapping[str, AsideGroup]:
    """The kinds of request that tools are not for, by the name that a teacher answers with."""
    return {
        **aside_groups(),
        "other_unexecutable": AsideGroup(-1, "no tool for this", ()),
        "other_without_tools": AsideGroup(0, "answered without tools", ()),
    }


@cache
def reading_schema() -> dict[str, Any]:
    """The JSON schema of a reading."""
    schema = strict_schema(Reading)
    schema["properties"]["aside"]["enum"] = [NO_ASIDE, *groups()]
    return schema


def choice_schema(options: Sequence[str]) -> dict[str, Any]:
    """The JSON schema of a choice among `options`."""
    schema = strict_schema(Choice)
    for field in ("child", "runner_up"):
        schema["properties"][field]["enum"] = list(options)
    return schema


def reading_in(raw: str, request: str) -> Reading:
    """The reading in an answer.

    Raises:
        MalformedAnswer: it is not one of this request.
    """
    return _validated(Reading, raw, {"request": request})


def choice_in(raw: str, options: Sequence[str]) -> Choice:
    """The choice in an answer.

    Raises:
        MalformedAnswer: it is not one among these options.
    """
    return _validated(Choice, raw, {"options": options})


Shape = TypeVar("Shape", bound=BaseModel)


def _validated(shape: type[Shape], raw: str, context: Mapping[str, Any]) -> Shape:
    try:
        return shape.model_validate_json(json_in(raw), strict=True, context=dict(context))
    except ValidationError as error:
        told = (f"{'.'.join(map(str, e['loc'])) or 'the answer'}: {e['msg']}" for e in error.errors()[:_MOST_ERRORS])
        raise MalformedAnswer("\n".join(told), raw) from error


def _require_among(field: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ValueError(f"{field}: {value!r} is not one of {', '.join(allowed)}")


def _require_day(day: StatedDay | None) -> None:
    if day is None or day.value in _RELATIVE_DAYS:
        return
    try:
        date.fromisoformat(day.value)
    except ValueError:
        allowed = f"{', '.join(_RELATIVE_DAYS)} or YYYY-MM-DD"
        raise ValueError(f"constraints.date.value: {day.value!r} is no day; allowed: {allowed}") from None
