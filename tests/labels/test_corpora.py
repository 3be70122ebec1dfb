"""The annotator on requests that others collected: which are for travel tools and which are not."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from assets.labels.agreement import precision_recall
from assets.labels.annotator import Annotator
from assets.labels.constraints import extract
from assets.labels.rules import IRRELEVANT
from assets.labels.table import intents_of
from assets.taxonomy.tree import load_taxonomy
from resources.embedder import Embedder

pytestmark = pytest.mark.corpora

TRAVEL = {
    "weather",
    "directions",
    "distance",
    "traffic",
    "book_flight",
    "book_hotel",
    "travel_suggestion",
    "travel_alert",
}
TRAVEL |= {
    "flight_status",
    "international_visa",
    "carry_on",
    "vaccines",
    "restaurant_suggestion",
    "restaurant_reviews",
    "how_busy",
}
EITHER = {
    "timezone",
    "plug_type",
    "exchange_rate",
    "car_rental",
    "restaurant_reservation",
    "cancel_reservation",
    "time",
    "date",
}
EITHER |= {"confirm_reservation", "lost_luggage", "travel_notification", "current_location", "share_location", "uber"}
EITHER |= {"accept_reservations", "gas", "gas_type"}
"""Intents that one may count to travel or not: left out of the comparison."""


@pytest.fixture(scope="module")
def corpora() -> Path:
    place = os.environ.get("LOOPWRIGHT_CORPORA", "")
    if not place:
        pytest.skip("public corpora: set LOOPWRIGHT_CORPORA to the folder that holds queries/clinc150 and others")
    return Path(place)


@pytest.fixture(scope="module")
def annotator() -> Annotator:
    embedder = Embedder()
    return Annotator(intents_of(load_taxonomy().table()), embedder.embed, embedder=embedder.version)


def test_irrelevance_against_the_domains_of_clinc150(corpora: Path, annotator: Annotator) -> None:
    parts = json.loads((corpora / "queries/clinc150/data_full.json").read_text(encoding="utf-8"))
    rows = [(text, intent) for part in ("test", "oos_test") for text, intent in parts[part] if intent not in EITHER]
    labels = annotator.annotate([text for text, _ in rows])
    given = [label.primary == IRRELEVANT for label in labels]
    precision, recall = precision_recall(given, [intent not in TRAVEL for _, intent in rows])
    kept = [not aside for aside, (_, intent) in zip(given, rows, strict=True) if intent in TRAVEL]
    assert precision >= 0.97  # measured .983
    assert recall >= 0.90  # measured .920
    assert sum(kept) / len(kept) >= 0.80  # measured .838


@pytest.mark.parametrize(("intent", "least"), [("GetWeather", 0.88), ("BookRestaurant", 0.75), ("AddToPlaylist", 0.9)])
def test_snips_intents_fall_where_they_belong(corpora: Path, annotator: Annotator, intent: str, least: float) -> None:
    [rows] = json.loads((corpora / f"queries/snips/{intent}.json").read_text(encoding="utf-8")).values()
    texts = ["".join(part["text"] for part in row["data"]).strip() for row in rows][:500]
    right = "dynamic_information.realtime_weather" if intent == "GetWeather" else IRRELEVANT
    assert sum(label.primary == right for label in annotator.annotate(texts)) / len(texts) >= least


def test_chinese_dialogues_name_beijing_and_hardly_any_other_city(corpora: Path) -> None:
    with zipfile.ZipFile(corpora / "queries/crosswoz/val.json.zip") as archive:
        dialogues = json.loads(archive.read(archive.namelist()[0]))
    turns = [m["content"] for d in dialogues.values() for m in d["messages"] if m["role"] == "usr"]
    named = [{city.city for city in extract(text).cities} for text in turns]
    beijing = [cities for text, cities in zip(turns, named, strict=True) if "北京" in text]
    assert sum("Beijing" in cities for cities in beijing) / len(beijing) > 0.95
    assert sum(bool(cities - {"Beijing"}) for cities in named) / len(turns) < 0.03
