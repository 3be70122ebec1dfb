"""How the reference agent finds the order or the account that a customer means, and proves who the customer is."""

from environments.verifiers.outcome import shown
from environments.worlds.desk.data_model import Row
from environments.worlds.desk.plans import Plan, Session, Unclear


def found_order(s: Session) -> Row | None:
    """The order that is meant; None where there is none, or where several people could mean it."""
    wish = s.case.wish
    told = wish.get("order") or (s.case.order.row["id"] if s.case.order and s.case.reference == 0 else None)
    if told:
        order: Row = s.look("erp_get_order", order_id=told)
        return None if s.error else order
    if account(s) == "":
        return None
    assert s.case.line is not None
    product = s.case.line["product"]
    rows = s.rows("erp_list_orders", lambda row: product in row["products"], customer_id=s.customer_id)
    if len(rows) != 1:
        raise Unclear(f"{len(rows)} orders hold the product")
    found: Row = s.look("erp_get_order", order_id=rows[0]["id"])
    return found


def account(s: Session) -> str:
    """Key of the customer; empty where the name fits several and no e-mail was told."""
    read_ticket(s)
    row = s.case.customer.row
    people = s.rows("crm_find_customers", lambda _: True, name=row["name"])
    if len(people) > 1 and "anonymous" in s.case.wish:
        s.seen += seen_people(s)
        return ""
    [customer] = [p for p in people if p["email"] == row["email"]]
    return str(customer["id"])


def seen_people(s: Session) -> list[str]:
    """Digests of the people whom the name fits."""
    page = s.world.call("crm_find_customers", {"name": s.case.customer.row["name"], "limit": 20})
    return [digest for person in page["rows"] for digest in shown(person)]


def read_ticket(s: Session) -> None:
    """Read the mail of the ticket that the case comes in by."""
    if s.case.ticket:
        for mail in s.call("ticket_get", ticket_id=s.case.ticket)["mails"]:
            s.call("mail_read", mail_id=mail["id"])


def proven(s: Session) -> Plan | None:
    """Check the identity from what the customer said; the refusal where it does not match."""
    row, wish = s.case.customer.row, s.case.wish
    email, postcode = wish.get("email", row["email"]), wish.get("postcode", row["postcode"])
    s.call("crm_verify_identity", customer_id=s.customer_id, email=email, postcode=postcode)
    if s.error == "identity_mismatch":
        return s.refuse("identity_not_verified", s.say("no_match"), met="identity_mismatch", about=s.customer_id)
    return None
