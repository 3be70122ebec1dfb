"""A world over the documents and the policy of one domain of a tau2 folder: what retail and airline share."""

import hashlib
import inspect
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from environments.worlds import arithmetic, documents, tau2_tools
from environments.worlds.documents import Documents, DocumentState, DocumentWorld
from environments.worlds.tau2_folder import domain_folder, read_documents, read_policy


class Tau2World(DocumentWorld):
    """One session; a subclass says which domain, and brings its tools."""

    data_model: ClassVar[ModuleType]
    """Has KINDS."""
    tools_class: ClassVar[type[Any]]
    """Made from a `DocumentState`."""

    def __init__(self, folder: Path) -> None:
        """Open a session over the domain's documents.

        Args:
            folder: a tau2 folder (`environments.worlds.tau2_folder.domain_folder`).

        Raises:
            FileNotFoundError: it holds no such domain.
            ValueError: a file of it cannot be read.
        """
        self._folder = domain_folder(folder, self.name)
        self.policy = read_policy(self._folder)
        state = DocumentState(_documents(self._folder, self.data_model))
        super().__init__(state, self.tools_class(state))

    @property
    def version(self) -> str:
        """Hash of code, documents and policy."""
        return f"{self.name}-{_version(self._folder, self.data_model, self.tools_class.__module__)}"


@cache
def _documents(folder: Path, data_model: ModuleType) -> Documents:
    return Documents(read_documents(folder, data_model.KINDS))


@cache
def _version(folder: Path, data_model: ModuleType, tools_module: str) -> str:
    modules = (arithmetic, documents, tau2_tools, data_model, sys.modules[tools_module])
    source = "".join(map(inspect.getsource, modules))
    read = (source, read_policy(folder), _documents(folder, data_model).digest)
    return hashlib.blake2b(repr(read).encode(), digest_size=8).hexdigest()
