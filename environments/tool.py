"""A tool: a typed Python method marked READ or WRITE, its JSON schema taken from the signature.

What a tool refuses is data (`{"error": code, ...}`), never an exception that reaches the agent.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from environments.wellformed import is_all_text

F = TypeVar("F", bound=Callable[..., Any])


class Effect(StrEnum):
    """What calling a tool may do to the world."""

    READ = "read"
    """Leaves the state as it was."""
    WRITE = "write"
    """May change the state; every change goes to the side-effect ledger."""


class ToolRefusal(Exception):
    """What a tool answers instead of a result: a code that programs read, and details for the agent."""

    def __init__(self, code: str, **details: str) -> None:
        super().__init__(code)
        self.code = code
        self.details = details

    def observation(self) -> dict[str, Any]:
        """The refusal as the agent sees it."""
        return {"error": self.code, **self.details}


def tool(effect: Effect) -> Callable[[F], F]:
    """Mark a method as a tool; its name, parameters and docstring become the tool's."""

    def mark(function: F) -> F:
        """Set the mark."""
        function.__tool_effect__ = effect  # type: ignore[attr-defined]
        return function

    return mark


@cache
def _arguments_of(function: Callable[..., Any], name: str) -> type[BaseModel]:
    """Built once for a function, however many sessions bind it: building a model takes milliseconds."""
    parameters = [p for p in inspect.signature(function, eval_str=True).parameters.values() if p.name != "self"]
    fields: dict[str, Any] = {p.name: (p.annotation, ... if p.default is p.empty else p.default) for p in parameters}
    return create_model(name, __config__=ConfigDict(extra="forbid", strict=True, allow_inf_nan=False), **fields)


@dataclass(frozen=True)
class Tool:
    """A callable tool with its schema."""

    name: str
    effect: Effect
    function: Callable[..., Any]

    @property
    def arguments(self) -> type[BaseModel]:
        """Pydantic model of the arguments: strict types, unknown names refused."""
        return _arguments_of(getattr(self.function, "__func__", self.function), self.name)

    @property
    def description(self) -> str:
        """First line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n")[0]

    @property
    def required(self) -> list[str]:
        """Names of the arguments that have no default, in order."""
        return [name for name, field in self.arguments.model_fields.items() if field.is_required()]

    def schema(self) -> dict[str, Any]:
        """The tool in the OpenAI function-calling format."""
        parameters = self.arguments.model_json_schema()
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": parameters},
        }

    def __call__(self, arguments: Mapping[str, Any]) -> Any:
        """Run the tool; a refusal or an argument that does not fit comes back as an error observation."""
        if wrong := sorted(_name(n) for n, value in arguments.items() if not is_all_text({n: value})):
            return {"error": "bad_arguments", "arguments": ", ".join(wrong)}
        try:
            checked = self.arguments.model_validate(dict(arguments))
        except ValidationError as error:
            wrong = sorted({".".join(map(str, e["loc"][:1])) for e in error.errors()})
            return {"error": "bad_arguments", "arguments": ", ".join(wrong)}
        try:
            return self.function(**{name: getattr(checked, name) for name in self.arguments.model_fields})
        except ToolRefusal as refusal:
            return refusal.observation()


def tools_of(owner: object) -> dict[str, Tool]:
    """Every method of `owner` marked with `tool`, by name, in order of definition, those of its bases first."""
    found = {}
    for name in (name for kind in reversed(type(owner).__mro__) for name in kind.__dict__):
        method = getattr(owner, name)
        if effect := getattr(method, "__tool_effect__", None):
            found[name] = Tool(name, effect, method)
    return found


def _name(name: str) -> str:
    """A name that can be told, half characters made `?`."""
    return name.encode("utf-8", "replace").decode()


def observation_text(observation: object) -> str:
    """An observation as the agent reads it: compact JSON with a space after each separator."""
    return json.dumps(observation, ensure_ascii=False)
