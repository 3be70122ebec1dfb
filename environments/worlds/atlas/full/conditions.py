"""The weather in detail: a day's low, high, chance of rain and wind around the forecast, and what it is right now."""

import math
from datetime import date, datetime
from typing import Any

from environments.seeds import unit_hash
from environments.worlds.atlas.data_model import City
from environments.worlds.atlas.full.data_model import NOW, WEEKDAYS, zone
from environments.worlds.atlas.geography import weather

_RAIN = {"sunny": (0, 8), "cloudy": (5, 35), "rainy": (60, 98), "snowy": (60, 95), "windy": (5, 45), "foggy": (5, 25)}
_HUMID = {"sunny": 42, "cloudy": 60, "rainy": 88, "snowy": 82, "windy": 52, "foggy": 95}


def _swing(city: City, day: date) -> float:
    """Half of what lies between the day's low and high, in degrees: large under a clear sky."""
    sky, _ = weather(city, day)
    return (5.5 if sky in ("sunny", "windy") else 2.5) + 2 * unit_hash("swing", city.name, day.isoformat())


def forecast(city: City, day: date) -> dict[str, Any]:
    """One day: sky, noon, low, high, chance of rain and wind; sky and noon are those of the brief form."""
    sky, noon = weather(city, day)
    swing, (low, high) = _swing(city, day), _RAIN[sky]
    draw = unit_hash("rain", city.name, day.isoformat())
    return {
        "date": day.isoformat(),
        "weekday": WEEKDAYS[day.weekday()],
        "sky": sky,
        "temp": noon,
        "low": round(noon - 1.7 * swing),
        "high": round(noon + 0.25 * swing),
        "rain_chance": low + round(draw * (high - low)),
        "wind_kmh": _wind(city, day, sky),
    }


def _wind(city: City, day: date, sky: str) -> int:
    calm, gusts = (32, 38) if sky == "windy" else (4, 22)
    return calm + round(gusts * unit_hash("wind speed", city.name, day.isoformat()))


def current(city: City, moment: datetime = NOW) -> dict[str, Any]:
    """What it is at a moment: the day's sky and wind, and the temperature of the hour between low and high."""
    local = moment.astimezone(zone(city))
    day = forecast(city, local.date())
    middle, half = (day["high"] + day["low"]) / 2, (day["high"] - day["low"]) / 2
    hour = local.hour + local.minute / 60
    temperature = round(middle + half * math.cos(2 * math.pi * (hour - 15) / 24))
    damp = _HUMID[day["sky"]] + round(10 * (unit_hash("humid", city.name, day["date"]) - 0.5))
    return {
        "location": city.name,
        "local_time": local.strftime("%Y-%m-%d %H:%M"),
        "sky": day["sky"],
        "temp": temperature,
        "humidity": min(100, damp),
        "wind_kmh": day["wind_kmh"],
    }
