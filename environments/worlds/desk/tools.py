"""The tools of desk over its three systems, for one session."""

from environments.state import SqliteState
from environments.worlds.desk.books import Books
from environments.worlds.desk.crm import CrmTools
from environments.worlds.desk.erp import ErpTools
from environments.worlds.desk.mail import MailTools


class DeskTools(MailTools, ErpTools, CrmTools):
    """Every tool, over one session's books."""

    def __init__(self, state: SqliteState) -> None:
        self.books = Books(state)
