"""Labelled queries for the tests of the task pool."""

from assets.labels.constraints import extract
from assets.tasks.compile import Dropped, LabelledQuery, compile_query
from assets.tasks.variants import Slotted
from environments.worlds.atlas.families import FAMILIES

LEAF = {family: f.leaf for family, f in FAMILIES.items()}
WEATHER, FARE = LEAF["weather"], LEAF["flight"]
SAID = {
    "weather": "What is the weather in Paris tomorrow?",
    "route": "How long does it take to get from Paris to Lyon by car?",
    "flight": "What is the cheapest flight from Paris to Lyon on June 12?",
    "train": "What is the cheapest train from Paris to Lyon on Friday?",
    "place": "What is the best museum in Paris?",
    "flight_weather": "Find the cheapest flight from Paris to Lyon on June 12 and the weather there",
    "place_route": "What is the best museum in Paris and how long does it take to get there on foot?",
    "budget": "Is there a flight from Paris to Lyon on June 12 under 250 euros?",
    "warmer": "Which is warmer on June 12, Paris or Lyon?",
    "faster": "What is faster from Paris to Lyon, by car or by public transport?",
    "fly_or_train": "Is it cheaper to fly or to take the train from Paris to Lyon on June 12?",
    "warm_flight": "I want the cheapest flight from Rome to the warmer of Paris and Lyon on June 12",
    "book_flight": "Book the cheapest flight from Paris to Lyon on June 12",
    "book_train": "Book the cheapest train from Paris to Lyon on June 12",
    "premise": "I heard it will be sunny in Paris on June 12, is that right?",
    "no_origin": "What is the cheapest flight to Lyon on June 12?",
}
"""One query of each family that names only cities of the training split."""
SECOND = {"flight_weather": WEATHER, "warm_flight": FARE}


def labelled(
    text: str,
    primary: str,
    *,
    query_id: str = "",
    secondary: str | None = None,
    difficulty: int = 2,
    language: str = "en",
) -> LabelledQuery:
    """A query with the constraints that the rules read off it; its own text as id by default."""
    return LabelledQuery(query_id or text, text, language, primary, secondary, difficulty, extract(text))


def said(family: str, **changes: str) -> LabelledQuery:
    """The query of `family`, with parts of its text replaced."""
    text = SAID[family]
    for old, new in changes.items():
        text = text.replace(old, new)
    return labelled(text, LEAF[family], secondary=SECOND.get(family))


def compiled(query: LabelledQuery, held_out_share: float = 0.0) -> Slotted | Dropped:
    """What becomes of one query."""
    return compile_query(query, languages=("en",), held_out_share=held_out_share)


def task_for(family: str, **changes: str) -> Slotted:
    """The task that `said` compiles to."""
    made = compiled(said(family, **changes))
    assert isinstance(made, Slotted), made
    return made
