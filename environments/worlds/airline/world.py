"""One session of airline: our own tools over the documents and the policy of a tau2 folder."""

from types import ModuleType
from typing import ClassVar

from environments.worlds.airline import data_model
from environments.worlds.airline.tools import AirlineTools
from environments.worlds.tau2_world import Tau2World


class AirlineWorld(Tau2World):
    """The airline of a tau2 folder (users, flights, reservations); an `environments.world.World`."""

    name = "airline"
    units = {
        "price": "dollars",
        "amount": "dollars",
        "basic_economy": "dollars",
        "economy": "dollars",
        "business": "dollars",
    }
    key_fields = data_model.KEY_FIELDS
    data_model: ClassVar[ModuleType] = data_model
    tools_class: ClassVar[type[AirlineTools]] = AirlineTools
