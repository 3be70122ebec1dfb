"""One session of airline: our own tools over the documents and the policy of a tau2 folder."""

import hashlib
import inspect
from functools import cache
from pathlib import Path

from environments.worlds import arithmetic, documents
from environments.worlds.airline import data_model, tools
from environments.worlds.documents import Documents, DocumentState, DocumentWorld
from environments.worlds.tau2_folder import domain_folder, read_documents, read_policy


@cache
def _documents(folder: Path) -> Documents:
    return Documents(read_documents(folder, data_model.KINDS))


@cache
def _version(folder: Path) -> str:
    source = "".join(inspect.getsource(m) for m in (arithmetic, documents, data_model, tools))
    read = (source, read_policy(folder), _documents(folder).digest)
    return hashlib.blake2b(repr(read).encode(), digest_size=8).hexdigest()


class AirlineWorld(DocumentWorld):
    """The airline of a tau2 folder; an `environments.world.World`."""

    name = "airline"
    units = {
        "price": "dollars",
        "amount": "dollars",
        "basic_economy": "dollars",
        "economy": "dollars",
        "business": "dollars",
    }
    key_fields = data_model.KEY_FIELDS

    def __init__(self, folder: Path) -> None:
        """Open a session over an airline: users, flights and reservations.

        Args:
            folder: a tau2 folder (`environments.worlds.tau2_folder.domain_folder`).

        Raises:
            FileNotFoundError: it holds no such domain.
            ValueError: a file of it cannot be read.
        """
        self._folder = domain_folder(folder, self.name)
        self.policy = read_policy(self._folder)
        state = DocumentState(_documents(self._folder))
        super().__init__(state, tools.AirlineTools(state))

    @property
    def version(self) -> str:
        """Hash of code, documents and policy."""
        return f"airline-{_version(self._folder)}"
