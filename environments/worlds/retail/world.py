"""One session of retail: our own tools over the documents and the policy of a tau2 folder."""

from types import ModuleType
from typing import ClassVar

from environments.worlds.retail import data_model
from environments.worlds.retail.tools import RetailTools
from environments.worlds.tau2_world import Tau2World


class RetailWorld(Tau2World):
    """The shop of a tau2 folder (users, products, orders); an `environments.world.World`."""

    name = "retail"
    units = {"price": "dollars", "amount": "dollars", "balance": "dollars", "exchange_price_difference": "dollars"}
    key_fields = data_model.KEY_FIELDS
    data_model: ClassVar[ModuleType] = data_model
    tools_class: ClassVar[type[RetailTools]] = RetailTools
