"""Answers with a shape: the JSON schema that a server is asked to hold to, and the JSON in what it said.

The schema is kept to what strict structured output knows everywhere (all fields required, no others, no defaults, no
bounds); bounds are checked when the answer is read.
"""

from typing import Any, Final

from pydantic import BaseModel

_LEFT_OUT: Final = {"title", "default", "minimum", "maximum", "description"}


def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of `model` for `response_format`, fields in the order in which they are to be written."""
    schema: dict[str, Any] = _strict(model.model_json_schema())
    return schema


def json_in(text: str) -> str:
    """The JSON object in an answer, without the fence or the words that a model puts around it."""
    start, stop = text.find("{"), text.rfind("}")
    return text[start : stop + 1] if 0 <= start < stop else text


def _strict(node: Any, *, is_named: bool = False) -> Any:
    """`is_named`: the keys of this node are names of fields, which stay whatever they are."""
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: _strict(value, is_named=key in {"properties", "$defs"})
        for key, value in node.items()
        if is_named or key not in _LEFT_OUT
    }
    if not is_named and "properties" in kept:
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept
