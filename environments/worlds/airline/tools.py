"""The tools of the airline: search flights, book, change and cancel reservations, send certificates.

Seats, prices, balances and the number of passengers are checked here. Whether a reservation may be changed or cancelled
at all is not: the policy leaves that to the agent, and a verifier sees it by the state that is left.
"""

from datetime import date as Day
from datetime import timedelta
from functools import cache
from typing import Any, Literal

from environments.tool import Effect, ToolRefusal, tool
from environments.worlds import tau2_tools
from environments.worlds.airline import data_model as line
from environments.worlds.airline.data_model import Cabin, Passenger, Payment, Segment
from environments.worlds.documents import Document
from environments.worlds.tau2_tools import Tau2Tools


class AirlineTools(Tau2Tools):
    """The tools of one session, over its own state."""

    owned = ("reservations", "reservation_id")

    @tool(Effect.READ)
    def get_user_details(self, user_id: str) -> Document:
        """A user's profile: membership, payment methods, saved passengers, reservations."""
        return self._state.need("users", user_id)

    @tool(Effect.READ)
    def get_reservation_details(self, reservation_id: str) -> Document:
        """A reservation's flights, passengers, cabin, bags, insurance and payments."""
        return self._state.need("reservations", reservation_id)

    @tool(Effect.READ)
    def list_all_airports(self) -> list[dict[str, str]]:
        """Every airport with its city."""
        return [
            {"code": code, "city": _city(code)} for code in sorted(self._state.base.index("flights", line.origin_of))
        ]

    @tool(Effect.READ)
    def search_direct_flight(self, origin: str, destination: str, date: str) -> list[Document]:
        """Flights that can be booked between two airports on a date (YYYY-MM-DD), with seats and prices by cabin."""
        return self._offers(line.route_of, (origin, destination), date)

    @tool(Effect.READ)
    def search_onestop_flight(self, origin: str, destination: str, date: str) -> list[list[Document]]:
        """Pairs of flights that can be booked between two airports over a third, the first on a date (YYYY-MM-DD)."""
        found = []
        for first in self._offers(line.origin_of, origin, date):
            overnight = "+1" in first["scheduled_arrival_time_est"]
            day = _next_day(date) if overnight else date
            for second in self._offers(line.route_of, (first["destination"], destination), day):
                if line.connects(first, second):
                    found.append([{**first, "date": date}, {**second, "date": day}])
        return found

    @tool(Effect.READ)
    def get_flight_status(self, flight_number: str, date: str) -> dict[str, str]:
        """Whether a flight on a date is available, on time, delayed, flying, landed or cancelled."""
        day = self._state.need("flights", flight_number)["dates"].get(date)
        if day is None:
            raise ToolRefusal("not_found", kind="flight", key=f"{flight_number} on {date}")
        return {"status": day["status"]}

    @tool(Effect.WRITE)
    def book_reservation(
        self,
        user_id: str,
        origin: str,
        destination: str,
        flight_type: Literal["one_way", "round_trip"],
        cabin: Cabin,
        flights: list[Segment],
        passengers: list[Passenger],
        payment_methods: list[Payment],
        total_baggages: int,
        nonfree_baggages: int,
        insurance: Literal["yes", "no"],
    ) -> Document:
        """Book flights for passengers in one cabin; the user must have confirmed every detail."""
        user, people = self._state.need("users", user_id), len(passengers)
        if not flights or not passengers:
            raise ToolRefusal("nothing_to_book")
        taken = [self._seat(segment, cabin, people) for segment in flights]
        extras = line.BAG_PRICE * nonfree_baggages + (line.INSURANCE_PRICE * people if insurance == "yes" else 0)
        price = people * sum(flight["price"] for flight in taken) + extras
        for payment in payment_methods:
            line.need_amount(line.need_payment_method(user, payment["payment_id"]), payment["amount"])
        if abs(sum(p["amount"] for p in payment_methods) - price) > 1e-9:
            raise ToolRefusal("payment_does_not_add_up", price=str(price))
        reservation_id = self._free_reservation()
        reservation = {
            "reservation_id": reservation_id,
            "user_id": user_id,
            "origin": origin,
            "destination": destination,
            "flight_type": flight_type,
            "cabin": cabin,
            "flights": taken,
            "passengers": [dict(p) for p in passengers],
            "payment_history": [dict(p) for p in payment_methods],
            "created_at": line.NOW,
            "total_baggages": total_baggages,
            "nonfree_baggages": nonfree_baggages,
            "insurance": insurance,
        }
        line.spend(user, payment_methods)
        user["reservations"].append(reservation_id)
        return self._written("book_reservation", reservation, user)

    @tool(Effect.WRITE)
    def cancel_reservation(self, reservation_id: str) -> Document:
        """Cancel a whole reservation; what was paid goes back to how it was paid within 5 to 7 business days."""
        reservation = self._state.need("reservations", reservation_id)
        if reservation.get("status") == "cancelled":
            raise ToolRefusal("already_cancelled", reservation_id=reservation_id)
        paid = reservation["payment_history"]
        reservation["payment_history"] = paid + [{**p, "amount": -p["amount"]} for p in paid]
        reservation["status"] = "cancelled"
        return self._written("cancel_reservation", reservation)

    @tool(Effect.WRITE)
    def update_reservation_flights(
        self, reservation_id: str, cabin: Cabin, flights: list[Segment], payment_id: str
    ) -> Document:
        """Give a reservation these flights in this cabin; name every flight, the ones that stay as well.

        A flight that stays in its cabin keeps its price.
        """
        reservation, user = self._with_user(reservation_id)
        people = len(reservation["passengers"])
        kept = {(f["flight_number"], f["date"]): f for f in reservation["flights"] if cabin == reservation["cabin"]}
        taken = [kept.get((s["flight_number"], s["date"])) or self._seat(s, cabin, people) for s in flights]
        if not taken:
            raise ToolRefusal("nothing_to_book")
        before = sum(f["price"] for f in reservation["flights"])
        difference = people * (sum(f["price"] for f in taken) - before)
        method = line.need_change_method(user, payment_id, difference)
        reservation |= {"flights": taken, "cabin": cabin}
        return self._paid("update_reservation_flights", reservation, user, method, difference)

    @tool(Effect.WRITE)
    def update_reservation_baggages(
        self, reservation_id: str, total_baggages: int, nonfree_baggages: int, payment_id: str
    ) -> Document:
        """Set how many bags a reservation has in all and how many of them are paid for; bags are added only."""
        reservation, user = self._with_user(reservation_id)
        price = line.BAG_PRICE * max(0, nonfree_baggages - reservation["nonfree_baggages"])
        method = line.need_change_method(user, payment_id, price)
        reservation |= {"total_baggages": total_baggages, "nonfree_baggages": nonfree_baggages}
        return self._paid("update_reservation_baggages", reservation, user, method, price)

    @tool(Effect.WRITE)
    def update_reservation_passengers(self, reservation_id: str, passengers: list[Passenger]) -> Document:
        """Set who flies; as many as before."""
        reservation = self._state.need("reservations", reservation_id)
        if len(passengers) != len(reservation["passengers"]):
            raise ToolRefusal("other_number_of_passengers", passengers=str(len(reservation["passengers"])))
        reservation["passengers"] = [dict(p) for p in passengers]
        return self._written("update_reservation_passengers", reservation)

    @tool(Effect.WRITE)
    def send_certificate(self, user_id: str, amount: int) -> dict[str, Any]:
        """Give a user a travel certificate."""
        user = self._state.need("users", user_id)
        number = line.NEW_CERTIFICATES
        while f"certificate_{number}" in user["payment_methods"]:
            number += 1
        certificate = {"source": "certificate", "id": f"certificate_{number}", "amount": amount}
        user["payment_methods"][certificate["id"]] = certificate
        self._state.write("send_certificate", "users", user_id, user)
        return certificate

    calculate = tau2_tools.calculate
    transfer_to_human_agents = tau2_tools.transfer_to_human_agents

    def _offers(self, by: Any, value: Any, date: str) -> list[Document]:
        found = (line.offer(flight, date) for flight in self._state.find("flights", by, value))
        return [offer for offer in found if offer is not None]

    def _seat(self, segment: Segment, cabin: Cabin, people: int) -> dict[str, Any]:
        """A seat for each passenger on a flight, as a reservation holds it."""
        flight = self._state.need("flights", segment["flight_number"])
        return line.booked(flight, segment["date"], line.seat(flight, segment["date"], cabin, people))

    def _free_reservation(self) -> str:
        """The id of the next reservation; after the ones that the data foresee, numbered ones."""
        numbered = (f"HAT{n:03d}" for n in range(1000))
        for reservation_id in (*line.NEW_RESERVATIONS, *numbered):
            if self._state.get("reservations", reservation_id) is None:
                return reservation_id
        raise ToolRefusal("too_many_reservations")

    def _paid(self, name: str, reservation: Document, user: Document, method: Document, amount: float) -> Document:
        """Write a reservation whose change cost `amount`, or gave it back."""
        if amount:
            reservation["payment_history"].append({"payment_id": method["id"], "amount": amount})
            if method["source"] == "gift_card":
                method["amount"] = round(method["amount"] - amount, 2)
        moved = bool(amount) and method["source"] == "gift_card"
        return self._written(name, reservation, user if moved else None)


@cache
def _city(code: str) -> str:
    """The city of an airport."""
    import airportsdata

    return str(airportsdata.load("IATA")[code]["city"])


def _next_day(date: str) -> str:
    try:
        return (Day.fromisoformat(date) + timedelta(days=1)).isoformat()
    except ValueError:
        raise ToolRefusal("bad_date", date=date) from None
