"""Faults that are facts of the state when a task begins: other people of the same name, rights that have run out."""

import random
from functools import cache

from environments.fault import Fault, FaultKind
from environments.seeds import stable_hash
from environments.worlds.desk.data_model import Row, iso
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
        ValueError: an expired right of a tool that demands none, or a homonym of a customer that does not exist.
    """
    if fault.kind is FaultKind.EXPIRED_RIGHT:
        return {"staff_right": [_expired(fault)]}
    if fault.kind is FaultKind.HOMONYM:
        return _homonyms(fault)
    return {}


def _expired(fault: Fault) -> Row:
    if fault.tool not in RIGHT_OF:
        raise ValueError(
            f"expired_right names {fault.tool!r}, which demands no right; those that do: {', '.join(RIGHT_OF)}"
        )
    held = {row["id"]: row for row in population()["staff_right"]}
    return {**held[RIGHT_OF[fault.tool]], "valid_until": iso(-fault.size)}


def _homonyms(fault: Fault) -> dict[str, list[Row]]:
    """`size` people of the name of customer number `seed`, each with orders like that customer's.

    Half of their keys lie before the customer's own, so that the first person found is not the right one.
    """
    found = [c for c in customers() if c.row["id"] == f"CU{fault.seed}"]
    if not found:
        raise ValueError(f"homonym of customer CU{fault.seed}, who does not exist: give seed the number of a customer")
    [original] = found
    rng = random.Random(stable_hash("homonym", fault.seed))
    tables = ("customer", "contract", "purchase", "purchase_line", "shipment", "payment")
    rows: dict[str, list[Row]] = {table: [] for table in tables}
    for i in range(fault.size):
        number = (101 if i % 2 == 0 else 9001) + i
        key = f"CU{number:04d}"
        double = {"id": key, **person(original.row["name"], 100 + i, rng)}
        rows["customer"].append(double)
        rows["contract"] += [{**c, "id": f"CT{number:04d}", "customer_id": key} for c in original.contracts]
        for j, order in enumerate(original.orders):
            mine = f"SO{900 - 10 * i + j:04d}" if i % 2 == 0 else f"SO{9000 + 10 * i + j}"
            place = {k: double[k] for k in ("street", "postcode", "city")}
            rows["purchase"].append({**order.row, "id": mine, "customer_id": key, **place})
            parcels = (order.shipment,) if order.shipment else ()
            for table, parts in (("purchase_line", order.lines), ("shipment", parcels), ("payment", order.payments)):
                rows[table] += [
                    {**part, "id": f"{part['id'][:2]}0{number}{j}{k}", "order_id": mine} for k, part in enumerate(parts)
                ]
    return rows
