"""Tools: schema from the signature, strict arguments, refusals as data."""

from typing import Any, Literal

import pytest

from environments.tool import Effect, ToolRefusal, observation_text, tool, tools_of


class Shop:
    """Two tools and a method that is none."""

    @tool(Effect.READ)
    def find(self, query: str, limit: int = 3, sort: Literal["price", "name"] = "price") -> list[str]:
        """Things by name.

        The rest of the docstring is for people.
        """
        return [query] * limit

    @tool(Effect.WRITE)
    def buy(self, what: str) -> dict[str, Any]:
        """Buys it."""
        if what == "moon":
            raise ToolRefusal("not_for_sale", what=what)
        return {"bought": what}

    def count(self) -> int:
        """Not a tool."""
        return 2


def test_every_marked_method_is_a_tool_in_order_of_definition() -> None:
    found = tools_of(Shop())
    assert [(t.name, t.effect) for t in found.values()] == [("find", Effect.READ), ("buy", Effect.WRITE)]


def test_the_schema_comes_from_the_signature() -> None:
    schema = tools_of(Shop())["find"].schema()["function"]
    assert schema["name"] == "find"
    assert schema["description"] == "Things by name."
    assert schema["parameters"]["required"] == ["query"]
    assert schema["parameters"]["additionalProperties"] is False
    kinds = {name: (p.get("type"), p.get("enum")) for name, p in schema["parameters"]["properties"].items()}
    assert kinds == {"query": ("string", None), "limit": ("integer", None), "sort": ("string", ["price", "name"])}


def test_required_arguments_are_those_without_a_default() -> None:
    assert tools_of(Shop())["find"].required == ["query"]


def test_defaults_are_filled_in() -> None:
    assert tools_of(Shop())["find"]({"query": "tea"}) == ["tea", "tea", "tea"]


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({}, "query"),
        ({"query": 7}, "query"),
        ({"query": "tea", "limit": "3"}, "limit"),
        ({"query": "tea", "limit": 2.5}, "limit"),
        ({"query": "tea", "sort": "size"}, "sort"),
        ({"query": "tea", "colour": "green"}, "colour"),
        ({"limit": "x", "colour": 1}, "colour, limit, query"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_as_data_that_names_them(arguments: dict[str, Any], wrong: str) -> None:
    assert tools_of(Shop())["find"](arguments) == {"error": "bad_arguments", "arguments": wrong}


def test_a_refusal_is_data_with_a_code_and_details() -> None:
    assert tools_of(Shop())["buy"]({"what": "moon"}) == {"error": "not_for_sale", "what": "moon"}


def test_tools_of_several_bases_are_one_set_those_of_the_last_base_first() -> None:
    class Bank:
        """One more system."""

        @tool(Effect.WRITE)
        def pay(self, what: str) -> str:
            """Pays."""
            return what

    class Both(Bank, Shop):
        """Two systems in one session."""

    found = tools_of(Both())
    assert list(found) == [*tools_of(Shop()), "pay"]
    assert found["pay"]({"what": "tea"}) == "tea"


def test_what_a_tool_breaks_on_is_not_hidden() -> None:
    class Broken:
        """A tool with a bug."""

        @tool(Effect.READ)
        def look(self) -> str:
            """Looks."""
            raise KeyError("bug")

    with pytest.raises(KeyError, match="bug"):
        tools_of(Broken())["look"]({})


def test_observations_are_read_as_compact_json_in_any_script() -> None:
    assert observation_text([{"city": "巴黎", "temp": 4}]) == '[{"city": "巴黎", "temp": 4}]'


@pytest.mark.parametrize("odd", ["\ud83d", "tea \udc00", float("nan"), float("inf")])
def test_half_a_character_and_what_is_no_number_are_refused_as_arguments(odd: Any) -> None:
    class Scale:
        """Takes anything that JSON can carry."""

        @tool(Effect.READ)
        def weigh(self, what: str = "", grams: float = 0.0, more: list[dict[str, str]] = []) -> str:  # noqa: B006
            """Weighs."""
            raise AssertionError("never called")

    weigh = tools_of(Scale())["weigh"]
    name = "what" if isinstance(odd, str) else "grams"
    assert weigh({name: odd}) == {"error": "bad_arguments", "arguments": name}
    if isinstance(odd, str):
        assert weigh({"more": [{"a": odd}]}) == {"error": "bad_arguments", "arguments": "more"}
        observation_text(weigh({odd: "x"})).encode()
