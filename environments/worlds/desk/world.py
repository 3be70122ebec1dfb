"""One session of desk: three systems over one SQLite state, a clock that counts calls, and the policy that decides.

The state starts with rows of its own; a task adds its rows, and the faults that are facts of the state (people of one
name, rights that have run out, a longer way from ERP to CRM) are set before the task begins.
"""

import hashlib
import inspect
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from environments.fault import STATE_LEVEL, FaultKind
from environments.state import SqliteState, SqliteWorld, image_of, insert_rows
from environments.task import Task
from environments.worlds.desk import books, crm, data_model, erp, mail, population, state_faults, tools
from environments.worlds.desk.data_model import DELAY_CALLS, REFUSAL_CODES, SCHEMA, TODAY
from environments.worlds.desk.population import company
from environments.worlds.desk.state_faults import rows_of


@cache
def policy_text() -> str:
    """The document that says what is allowed."""
    return files("environments.worlds.desk").joinpath("policy.md").read_text(encoding="utf-8")


@cache
def _code_version() -> str:
    modules = (books, crm, data_model, erp, mail, population, state_faults, tools)
    source = "".join(inspect.getsource(m) for m in modules)
    return hashlib.blake2b(repr((source, company(), policy_text())).encode(), digest_size=8).hexdigest()


@cache
def _image() -> bytes:
    return image_of(SCHEMA, population.population())


class DeskWorld(SqliteWorld):
    """Customer operations over CRM, ERP and mail; an `environments.world.World`."""

    name = "desk"
    fault_kinds = STATE_LEVEL
    refusal_codes = REFUSAL_CODES
    units = {
        "price": "euros",
        "total": "euros",
        "amount": "euros",
        "monthly": "euros",
        "refunded": "euros",
        "limit": "euros",
    }

    def __init__(self) -> None:
        state = SqliteState(_image())
        self._session = tools.DeskTools(state)
        self.policy = policy_text()
        super().__init__(state, self._session)

    @property
    def version(self) -> str:
        """Hash of code, data and policy."""
        return f"desk-{_code_version()}"

    @property
    def today(self) -> str:
        """The day on which the desk works: windows, rights and deliveries are counted from it."""
        return TODAY.isoformat()

    @property
    def clock(self) -> int:
        """Tool calls since the reset."""
        return self._session.books.clock

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run one tool, one tick later than the call before; refusals and unknown tools come back as data.

        Raises:
            WorldFailure: the state cannot be read or written.
        """
        self._session.books.clock += 1
        return super().call(name, arguments)

    def begin(self, task: Task) -> None:
        """Set the faults that are facts of the state, then the rows of the task; changes count from here."""
        with self._failures("begin"):
            for fault in task.faults:
                if fault.kind is FaultKind.CROSS_SYSTEM_DELAY:
                    self._session.books.delay = fault.size
                for table, rows in rows_of(fault).items():
                    insert_rows(self.state.connection, table, rows)
        super().begin(task)

    def reset(self) -> None:
        """Roll the state back to its start, and the clock."""
        super().reset()
        self._session.books.clock, self._session.books.delay = 0, DELAY_CALLS
