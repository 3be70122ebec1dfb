"""Task families about places: along a way, between people, on ranking lists, open at an hour, within a budget.

Each gives a plan only where the answer is clear: one best place with a gap behind it, hours that do not turn on the
minute, names that no other candidate shares.
"""

from typing import Any

from environments.verifiers.claims import VERDICT_WORDS
from environments.worlds.atlas.full.plans import FullSession, Plan, clear_then, open_then, unlike
from environments.worlds.atlas.plans import name, number, word

RATING_GAP, KM_GAP, PRICE_GAP = 0.1, 0.3, 2
MOST = 50
"""How many results a search shows at most; a full page may hide the answer."""


def best_rated(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The row with the highest rating, if it is alone there."""
    ranked = sorted((r for r in rows if "rating" in r), key=lambda r: -float(r["rating"]))
    if not ranked or (len(ranked) > 1 and ranked[0]["rating"] - ranked[1]["rating"] < RATING_GAP - 1e-9):
        return None
    return ranked[0]


def along_route(s: FullSession) -> Plan | None:
    """The best rated place of a kind along the way between two places."""
    found = s.call(
        "map_search_along_route", query=s.slots["k"], origin=s.slots["a"], destination=s.slots["b"], limit=MOST
    )
    best = best_rated(found)
    if s.failed or best is None or not s.readable(best) or not 3 <= len(found) < MOST:
        return None
    facts = (name(best["name"]), number(best["rating"], "rating"))
    return s.plan(f"{best['name']}, rated {best['rating']}.", *facts, forbidden=unlike(best, found))


def meeting(s: FullSession) -> Plan | None:
    """The place of a kind for which the longest way of several people is shortest."""
    people = [s.slots[p] for p in ("u", "v", "w") if p in s.slots]
    found = s.call(
        "map_search_central_places", query=s.slots["k"], origins=people, sort_by="min_max_distance", limit=MOST
    )
    if s.failed or len(found) < 3:
        return None
    longest = [max(d["km"] for d in row["distances"]) for row in found]
    if longest[1] - longest[0] < KM_GAP or not s.readable(found[0]):
        return None
    best = found[0]
    facts = (name(best["name"]), number(longest[0], "km"))
    return s.plan(f"{best['name']}, {longest[0]} km.", *facts, forbidden=unlike(best, found))


def ranking(s: FullSession) -> Plan | None:
    """Who leads a ranking list of a city."""
    found = s.call("map_search_ranking_list", query=s.slots["k"], region=s.slots["c"])
    asked = next((one for one in found if one["list"].startswith(s.slots["l"])), None)
    if s.failed or asked is None or len(asked["items"]) < 2:
        return None
    best, rest = asked["items"][0], asked["items"][1:]
    if "rating" not in best or (s.slots["l"] == "Most reviewed" and best["reviews"] == rest[0]["reviews"]):
        return None
    facts = (name(best["name"]), number(best["rating"], "rating"))
    return s.plan(f"{best['name']}, rated {best['rating']}.", *facts, forbidden=unlike(best, rest))


def open_best(s: FullSession) -> Plan | None:
    """The best rated place of a kind that is open on a day at an hour; some better or other one is closed."""
    found = s.call("map_search_places", query=s.slots["k"], region=s.slots["c"], sort_by="rating:d", limit=MOST)
    if s.failed or len(found) >= MOST or not all(clear_then(s, row) for row in found):
        return None
    then = [row for row in found if open_then(s, row)]
    best = best_rated(then)
    if best is None or len(then) == len(found):
        return None
    facts = (name(best["name"]), number(best["rating"], "rating"))
    return s.plan(f"{best['name']}, rated {best['rating']}.", *facts, forbidden=unlike(best, found))


def is_open(s: FullSession) -> Plan | None:
    """Whether a place is open on a day at an hour, and what it costs."""
    title, _, region = s.slots["u"].partition(", ")
    found = s.call("map_search_places", query=title, region=region or s.slots["c"])
    row = next((r for r in found if r["name"] == title), None)
    if s.failed or row is None or not clear_then(s, row) or not row.get("price"):
        return None
    said, unsaid = VERDICT_WORDS if open_then(s, row) else VERDICT_WORDS[::-1]
    text, fact = s.price(row["price"])
    return s.plan(f"{said}, {text}.", word(said), fact, forbidden=(word(unsaid),))


def within_budget(s: FullSession) -> Plan | None:
    """The best rated place of a kind that costs no more than the budget."""
    found = s.call(
        "map_search_places", query=s.slots["k"], region=s.slots["c"], sort_by="rating:d", price_max=int(s.slots["p"]),
        limit=MOST,
    )  # fmt: skip
    best = best_rated(found)
    if s.failed or best is None or not s.readable(best) or not 2 <= len(found) < MOST:
        return None
    text, price = s.price(best["price"])
    facts = (name(best["name"]), price)
    return s.plan(f"{best['name']}, {text}.", *facts, forbidden=unlike(best, found))


def cheap_near(s: FullSession) -> Plan | None:
    """The cheapest place of a kind near a place that is rated well enough."""
    found = s.call(
        "map_search_places", query=s.slots["k"], center=s.slots["u"], radius=1000 * int(s.slots["r"]),
        sort_by="price:a", min_rating=float(s.slots["g"]), limit=MOST,
    )  # fmt: skip
    priced = [row for row in found if "price" in row]
    if s.failed or len(priced) < 3 or priced[1]["price"] - priced[0]["price"] < PRICE_GAP:
        return None
    if not s.readable(priced[0]):
        return None
    best = priced[0]
    text, price = s.price(best["price"])
    return s.plan(f"{best['name']}, {text}.", name(best["name"]), price, forbidden=unlike(best, priced))


def station(s: FullSession) -> Plan | None:
    """The metro station nearest to a place."""
    found = s.call("map_search_places", query=s.slots["u"], region=s.slots["c"])
    row = next((r for r in found if r["name"] == s.slots["u"]), None)
    if s.failed or row is None or "metro_station" not in row or row["metro_station"] in row["name"]:
        return None
    if not s.readable({"name": row["metro_station"]}):
        return None
    return s.plan(f"{row['metro_station']}.", name(row["metro_station"]))
