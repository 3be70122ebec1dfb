"""Queries of a few plain intents, in English and Chinese, and a tree over some of them."""

from itertools import product

INTENTS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "recipes": (
        "{0} {1}",
        ("how do i cook", "recipe for", "best way to bake", "how long to boil"),
        ("rice", "potato soup", "chicken pie", "carrot cake", "eggs", "pasta"),
    ),
    "alarms": (
        "{0} {1}",
        ("set an alarm for", "wake me up at", "please set my alarm at", "i need an alarm at"),
        ("six", "seven tomorrow", "half past eight", "noon", "five on monday", "nine tonight"),
    ),
    "balance": (
        "{0} {1}",
        ("what is my bank balance in", "how much money is left in", "show the balance of", "tell me my balance for"),
        ("savings", "my checking account", "my first account", "the joint account", "my bank", "the business account"),
    ),
    "songs": (
        "{0} {1}",
        ("play a song by", "put on some music from", "i want to hear tracks of", "start the album of"),
        ("mozart", "the beatles", "miles davis", "nina simone", "bach", "queen"),
    ),
}
CHINESE = ("{0}怎么做", ("米饭", "土豆汤", "鸡肉派", "蛋糕", "鸡蛋", "面条", "饺子", "红烧肉"))

BRANCH = """\
# Kept by hand: the kitchen.
id: kitchen
languages: [en]
name: {en: Kitchen}
definition: About eating.   # short on purpose
children:
  - id: recipes
    name: {en: Recipes}
    definition: How to cook something.
    # asked most on Sundays
    examples: [how do i cook rice, "recipe for eggs", bake a cake, how long do eggs boil, make soup, fry fish]
    counter_examples: [a table for two]
    synonyms: [cooking]
  - id: drinks
    name: {en: Drinks}
    definition: >-
      How to mix
      something to drink.
    examples: [mix a drink, how to make tea, coffee with milk, lemonade at home, hot chocolate, a smoothie please]
    counter_examples: [how do i cook rice]
    synonyms: [tea, 'no']
"""


def queries(*intents: str) -> list[tuple[str, str]]:
    """(query, intent) of the named intents, 24 each; of all without names."""
    found = []
    for intent in intents or INTENTS:
        form, *words = INTENTS[intent]
        found += [(form.format(*pair), intent) for pair in product(*words)]
    return found


def chinese_recipes() -> list[str]:
    """Chinese questions for recipes."""
    form, words = CHINESE
    return [form.format(word) for word in words]
