"""What may be spent on an endpoint: the worst case is reserved before a call is sent, the real cost settled after it.

A reservation is one SQL statement that changes nothing where it would pass a limit, so neither calls side by side nor
two processes can spend more than was allowed; a process that is killed leaves its open calls at their worst case.
Money is counted in whole billionths of a dollar, so that no sum drifts.
"""

import math
import sqlite3
from pathlib import Path
from typing import Final, NamedTuple

from environments.ending import EndsTheRun

_NANO: Final = 1_000_000_000
_NO_LIMIT: Final = 2**62


class BudgetSpent(EndsTheRun):
    """The worst case of the next call would pass a limit: nothing was sent."""


class Prices(NamedTuple):
    """Dollars per million tokens."""

    usd_per_million_in: float = 0.0
    usd_per_million_out: float = 0.0

    def nano_usd(self, tokens: "Tokens") -> int:
        """What these tokens cost, in billionths of a dollar, rounded up."""
        micro_usd = tokens.prompt * self.usd_per_million_in + tokens.completion * self.usd_per_million_out
        return math.ceil(round(micro_usd * 1000, 3))


class Limits(NamedTuple):
    """The most that may be spent; None is no limit."""

    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None


class Tokens(NamedTuple):
    """Tokens of one call."""

    prompt: int
    completion: int


class Spent(NamedTuple):
    """What was spent, the reservations of calls under way included."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0


class Budget:
    """A purse with limits, in memory or in a file that other processes share."""

    def __init__(
        self,
        limits: Limits | None = None,
        prices: Prices | None = None,
        *,
        path: Path | None = None,
        purse: str = "one",
    ) -> None:
        """Open a purse; one that is there keeps what was spent from it.

        Args:
            limits: the most that may be spent from this purse; None: there are none.
            prices: of the model; None: nothing costs anything.
            path: an SQLite file, made if absent; None keeps the purse in memory.
            purse: its name in the file.
        """
        self.limits, self.prices, self.purse = limits or Limits(), prices or Prices(), purse
        self._db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=60, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")  # survives a kill; a power cut may forget the last calls
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS purse (name TEXT PRIMARY KEY, calls INTEGER NOT NULL DEFAULT 0, "
            "tokens INTEGER NOT NULL DEFAULT 0, nano_usd INTEGER NOT NULL DEFAULT 0)"
        )
        self._db.execute("INSERT OR IGNORE INTO purse (name) VALUES (?)", (purse,))

    def reserve(self, worst: Tokens) -> bool:
        """Set one call aside at its worst case; False where that would pass a limit."""
        tokens, money = sum(worst), self.prices.nano_usd(worst)
        limits = self.limits
        most_money = _NO_LIMIT if limits.usd is None else round(limits.usd * _NANO)
        changed = self._db.execute(
            "UPDATE purse SET calls = calls + 1, tokens = tokens + ?, nano_usd = nano_usd + ? "
            "WHERE name = ? AND calls + 1 <= ? AND tokens + ? <= ? AND nano_usd + ? <= ?",
            (tokens, money, self.purse, _most(limits.calls), tokens, _most(limits.tokens), money, most_money),
        )
        return changed.rowcount == 1

    def settle(self, worst: Tokens, used: Tokens) -> None:
        """Put back what a call that was reserved at `worst` did not use; the call itself stays counted."""
        unused = sum(worst) - sum(used), self.prices.nano_usd(worst) - self.prices.nano_usd(used)
        self._db.execute(
            "UPDATE purse SET tokens = tokens - ?, nano_usd = nano_usd - ? WHERE name = ?", (*unused, self.purse)
        )

    @property
    def spent(self) -> Spent:
        """What has gone from this purse so far."""
        row = self._db.execute("SELECT calls, tokens, nano_usd FROM purse WHERE name = ?", (self.purse,)).fetchone()
        return Spent(row[0], row[1], row[2] / _NANO)

    def told(self) -> str:
        """Spent and allowed, for an error or a log line."""
        spent, limits = self.spent, self.limits
        pairs = zip(Spent._fields, spent, limits, strict=True)
        return ", ".join(f"{name} {value:g} of {_shown(limit)}" for name, value, limit in pairs)


def _most(limit: int | None) -> int:
    return _NO_LIMIT if limit is None else limit


def _shown(limit: float | None) -> str:
    return "any" if limit is None else f"{limit:g}"
