"""What the tools of retail and airline share: the tools that are the same in every tau2 domain, and how they write.

Tools that are the same are functions, so that each domain shows them at its own place among its tools.
"""

from typing import ClassVar

from environments.tool import Effect, ToolRefusal, tool
from environments.worlds.arithmetic import calculated
from environments.worlds.documents import Document, DocumentState, hand_over


class Tau2Tools:
    """The tools of one session, over its own state; a subclass brings them."""

    owned: ClassVar[tuple[str, str]]
    """The kind of document that belongs to a user and is what most tools change, and the field with its key."""

    def __init__(self, state: DocumentState) -> None:
        self._state = state

    def _with_user(self, key: str) -> tuple[Document, Document]:
        """A document that belongs to somebody, and whose it is."""
        document = self._state.need(self.owned[0], key)
        return document, self._state.need("users", document["user_id"])

    def _written(self, name: str, document: Document, user: Document | None = None) -> Document:
        """Write a document, and its user where a balance changed; as it can be read from now on."""
        kind, field = self.owned
        written = self._state.write(name, kind, document[field], document)
        if user is not None:
            self._state.write(name, "users", user["user_id"], user)
        return written


@tool(Effect.READ)
def calculate(self: Tau2Tools, expression: str) -> dict[str, float]:
    """Work out a sum of numbers with + - * / and brackets."""
    return {"result": calculated(expression)}


@tool(Effect.WRITE)
def transfer_to_human_agents(self: Tau2Tools, summary: str) -> dict[str, str]:
    """Hand the user over to a human; only where no tool can do what is asked for."""
    return hand_over(self._state, "transfer_to_human_agents", summary)


def payment_method_of(user: Document, key: str, *, argument: str) -> Document:
    """A payment method from the user's profile.

    Args:
        user: whose.
        key: its id.
        argument: the tool's name for it.

    Raises:
        ToolRefusal: the profile has none of this id.
    """
    method: Document | None = user["payment_methods"].get(key)
    if method is None:
        raise ToolRefusal("unknown_payment_method", **{argument: key})
    return method
