"""Faults that are facts of the state when a task begins: other people of the same name, rights that have run out."""

import random
from collections.abc import Callable
from functools import cache
from typing import Any

from environments.fault import Fault, FaultKind, UnplayableTask
from environments.seeds import stable_hash
from environments.worlds.desk.data_model import PREFIX, Purchase, Row, iso
from environments.worlds.desk.population import customers, person, population

RIGHT_OF = {
    "erp_issue_refund": "refund", "erp_cancel_order": "cancel", "erp_change_delivery": "address",
    "erp_reship_order": "reship", "crm_update_address": "address", "crm_update_email": "address",
    "crm_renew_contract": "contract",
}  # fmt: skip
"""The right that each tool demands."""


@cache
def rows_of(fault: Fault) -> dict[str, list[Row]]:
    """The rows with which a fault of the state replaces or adds to the world's own; none for faults of a response.

    Raises:
        UnplayableTask: an expired right of a tool that demands none, or a homonym of a customer that does not exist.
    """
    if fault.kind is FaultKind.EXPIRED_RIGHT:
        return {"staff_right": [_expired(fault)]}
    if fault.kind is FaultKind.HOMONYM:
        return _homonyms(fault)
    return {}


def _expired(fault: Fault) -> Row:
    if fault.tool not in RIGHT_OF:
        raise UnplayableTask(
            f"expired_right names {fault.tool!r}, which demands no right; those that do: {', '.join(RIGHT_OF)}"
        )
    held = {row["id"]: row for row in population()["staff_right"]}
    return {**held[RIGHT_OF[fault.tool]], "valid_until": iso(-fault.size)}


def _homonyms(fault: Fault) -> dict[str, list[Row]]:
    """`size` people of the name of customer number `seed`, each with orders and contracts like that customer's.

    Most of their keys lie before the customer's own, so that neither the first person found nor, of many, anybody on
    the first page is the right one.
    """
    found = [c for c in customers() if c.row["id"] == f"CU{fault.seed}"]
    if not found:
        raise UnplayableTask(
            f"homonym of customer CU{fault.seed}, who does not exist: give seed the number of a customer"
        )
    rng = random.Random(stable_hash("homonym", fault.seed))
    rows: dict[str, list[Row]] = {}

    def add(table: str, **columns: Any) -> str:
        """Add a row under the next of the low keys, which the world itself never gives."""
        kept = rows.setdefault(table, [])
        kept.append({"id": f"{PREFIX[table]}{len(kept) + 1:04d}", **columns})
        return str(kept[-1]["id"])

    for i in range(fault.size):
        double = person(found[0].row["name"], 100 + i, rng)
        key = add("customer", **double)
        if i % 3 == 2:
            key = rows["customer"][-1]["id"] = f"CU{9001 + i}"
        for contract in found[0].contracts:
            add("contract", **{**{k: v for k, v in contract.items() if k != "id"}, "customer_id": key})
        for order in found[0].orders:
            _copy(order, key, {k: double[k] for k in ("street", "postcode", "city")}, add)
    return rows


def _copy(order: Purchase, customer: str, place: Row, add: Callable[..., str]) -> None:
    """The same goods, ordered by another customer."""
    columns = {k: v for k, v in order.row.items() if k != "id"}
    key = add("purchase", **{**columns, "customer_id": customer, **place})
    parcels = (order.shipment,) if order.shipment else ()
    for table, parts in (("purchase_line", order.lines), ("shipment", parcels), ("payment", order.payments)):
        for part in parts:
            add(table, **{**{k: v for k, v in part.items() if k != "id"}, "order_id": key})
