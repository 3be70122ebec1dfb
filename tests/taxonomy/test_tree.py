"""The default tree, what a leaf's hash depends on, and what is said about a file that does not follow the schema."""

from pathlib import Path

import pytest

from assets.taxonomy.schema import TaxonomyError
from assets.taxonomy.tree import load_taxonomy

SOURCE_LEAVES = """application_interaction.notification_trigger application_interaction.system_control
discovery.area_summaries
discovery.destination_discovery.constrained_destination_discovery
discovery.destination_discovery.open_ended_destination_discovery
discovery.information_query.basic_attributes discovery.information_query.reputation_and_reviews
discovery.poi_search.constrained_poi_search discovery.poi_search.open_ended_poi_exploration
discovery.poi_search.spatial_optimized_poi_search dynamic_information.dynamic_pricing_and_availability
dynamic_information.realtime_traffic_and_transit.public_transit_fares
dynamic_information.realtime_traffic_and_transit.public_transit_realtime_status
dynamic_information.realtime_traffic_and_transit.public_transit_schedules_and_routes
dynamic_information.realtime_traffic_and_transit.road_traffic_status dynamic_information.realtime_weather
planning_and_decision.feasibility_assessment planning_and_decision.itinerary_planning.long_trip_itinerary
planning_and_decision.itinerary_planning.medium_trip_itinerary
planning_and_decision.itinerary_planning.short_trip_itinerary
planning_and_decision.itinerary_planning.simple_route_itinerary planning_and_decision.route_planning
planning_and_decision.solution_comparison.destination_comparison
planning_and_decision.solution_comparison.poi_comparison
planning_and_decision.solution_comparison.route_comparison
planning_and_decision.solution_comparison.transportation_mode_comparison rules_and_policies.travel_policies"""

BRANCH = """\
id: food
name: {en: Food, zh: 吃}
definition: About eating.
children:
  - id: recipes
    name: {en: Recipes, zh: 菜谱}
    definition: How to cook something.
    examples: [how do I cook rice, recipe for soup, bake a cake, how long do eggs boil, 怎么做蛋糕, 米饭怎么煮]
    counter_examples: [a table for two]
    synonyms: [cooking]
"""


def written(folder: Path, text: str, name: str = "food.yaml") -> Path:
    folder.joinpath(name).write_text(text, encoding="utf-8")
    return folder


def faults(folder: Path, text: str) -> str:
    with pytest.raises(TaxonomyError) as caught:
        load_taxonomy(written(folder, text))
    return str(caught.value)


def test_the_default_tree_has_5_level_1_16_level_2_and_30_leaves() -> None:
    real = load_taxonomy().real()
    assert len({leaf.levels[0] for leaf in real}) == 5
    assert len({leaf.levels for leaf in real}) == 16
    assert len(real) == 30


def test_27_leaves_are_the_source_s_and_3_are_marked_as_ours() -> None:
    real = load_taxonomy().real()
    assert {leaf.id for leaf in real if not leaf.ours} == set(SOURCE_LEAVES.split())
    assert sum(leaf.ours for leaf in real) == 3


def test_every_inner_node_has_an_other() -> None:
    ids = {leaf.id for leaf in load_taxonomy().leaves}
    inner = {dotted.rpartition(".")[0] for dotted in ids}
    assert all(f"{node}.other".strip(".") in ids for node in inner)
    assert len(ids) == 42


def test_the_table_has_one_row_per_leaf_and_no_hash_twice() -> None:
    table = load_taxonomy().table()
    assert table["leaf"].is_unique().all()
    assert table["leaf_hash"].is_unique().all()
    assert table.filter(table["leaf"] == "other")["level1"].to_list() == ["other"]


def hash_of(folder: Path, text: str, leaf: str = "food.recipes") -> str:
    return next(found.meaning for found in load_taxonomy(written(folder, text)).leaves if found.id == leaf)


@pytest.mark.parametrize(
    "edited",
    [
        BRANCH.replace("Recipes", "Cooking instructions").replace("菜谱", "做饭"),
        BRANCH.replace("how do I cook rice, recipe for soup", "recipe for soup, how do I cook rice"),
        BRANCH.replace("How to cook something.", "How  to cook\n      something."),
        BRANCH.replace("    synonyms", "    ours: true\n    synonyms"),
    ],
)
def test_a_rename_or_another_order_changes_no_hash(tmp_path: Path, edited: str) -> None:
    assert hash_of(tmp_path, edited) == hash_of(tmp_path, BRANCH)


@pytest.mark.parametrize(
    ("old", "new"),
    [("How to cook something.", "How to bake."), ("[cooking]", "[cooking, baking]"), ("bake a cake", "fry fish")],
)
def test_another_meaning_is_another_hash(tmp_path: Path, old: str, new: str) -> None:
    assert hash_of(tmp_path, BRANCH.replace(old, new)) != hash_of(tmp_path, BRANCH)


def test_a_new_leaf_changes_the_meaning_of_its_other_and_of_no_other_leaf(tmp_path: Path) -> None:
    leaf = BRANCH[BRANCH.index("  - id") :].replace("recipes", "diets").replace("[how do I cook rice", "[vegan food")
    leaf = leaf.replace(
        "recipe for soup, bake a cake, how long do eggs boil, 怎么做蛋糕, 米饭怎么煮", "a, b, c, 吃素, 减肥"
    )
    assert hash_of(tmp_path, BRANCH + leaf, "food.other") != hash_of(tmp_path, BRANCH, "food.other")
    assert hash_of(tmp_path, BRANCH + leaf) == hash_of(tmp_path, BRANCH)


def test_a_missing_field_is_named_with_file_and_line(tmp_path: Path) -> None:
    assert "food.yaml:5: definition: is missing" in faults(
        tmp_path, BRANCH.replace("    definition: How to cook something.\n", "")
    )


def test_a_misspelt_field_is_named_with_what_is_allowed(tmp_path: Path) -> None:
    said = faults(tmp_path, BRANCH.replace("synonyms", "synonims"))
    assert "food.yaml:10: synonims: is not known here; allowed: counter_examples, definition, examples" in said


def test_a_key_written_twice_is_a_fault(tmp_path: Path) -> None:
    assert "food.yaml:11: synonyms: is there twice" in faults(tmp_path, BRANCH + "    synonyms: [baking]\n")


def test_what_yaml_takes_for_a_number_or_a_boolean_is_a_fault(tmp_path: Path) -> None:
    said = faults(tmp_path, BRANCH.replace("[cooking]", "[no, 12]"))
    assert "food.yaml:10: synonyms[0]: must be a text, not 'no'; put it in quotes" in said
    assert "synonyms[1]" in said


def test_too_few_examples_are_a_fault(tmp_path: Path) -> None:
    said = faults(tmp_path, BRANCH.replace(", 怎么做蛋糕, 米饭怎么煮", ""))
    assert "food.yaml:8: examples: has 4, 0 of them Chinese; needs at least 6, 2 of them Chinese" in said


def test_two_leaves_cannot_share_an_id_or_an_example(tmp_path: Path) -> None:
    said = faults(tmp_path, BRANCH + BRANCH[BRANCH.index("  - id") :])
    assert "food.yaml:11: id: 'food.recipes' is there twice" in said
    again = BRANCH[BRANCH.index("  - id") :].replace("id: recipes", "id: dishes")
    assert "'bake a cake' is an example of food.recipes too" in faults(tmp_path, BRANCH + again)


def test_the_id_other_is_kept_for_us(tmp_path: Path) -> None:
    assert "food.yaml:5: id: 'other' must be" in faults(tmp_path, BRANCH.replace("id: recipes", "id: other"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "food.yaml:1: empty"),
        ("a: [", "food.yaml:1: not YAML"),
        ("- x", "food.yaml:1: branch: must be a mapping"),
        ("id: food\n", "children: is missing"),
    ],
)
def test_a_file_that_is_no_branch_is_named(tmp_path: Path, text: str, said: str) -> None:
    assert said in faults(tmp_path, text)


def test_a_folder_without_files_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"one \.yaml file per level-1 branch"):
        load_taxonomy(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "    synonyms",
            "    ours: [true]\n    synonyms",
            "food.yaml:10: ours: must be true or false, not a list or map",
        ),
        (
            "    synonyms",
            "    ours: {a: b}\n    synonyms",
            "food.yaml:10: ours: must be true or false, not a list or map",
        ),
        (
            "    synonyms",
            "    ? [a]\n    : b\n    synonyms",
            "food.yaml:10: children[0]: the name of a field must be a text",
        ),
        ("id: recipes", "id: [recipes]", "food.yaml:5: id: must be a text, not a list or mapping"),
        ("[cooking]", "[" * 2000, "food.yaml:10: nested deeper than 50 levels"),
        ("children:\n", "children: &all\n  - {children: *all}\n", "food.yaml:5: children[0]: stands within itself"),
        ("How to cook", "How to \a cook", "food.yaml:7: not YAML: special characters are not allowed"),
    ],
)
def test_a_value_of_another_shape_is_a_fault_with_line_and_field(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in faults(tmp_path, BRANCH.replace(old, new))


def test_a_file_that_is_not_utf_8_is_named_with_line_and_byte(tmp_path: Path) -> None:
    content = BRANCH.encode().replace("菜谱".encode(), "菜谱".encode("gb18030"))
    tmp_path.joinpath("food.yaml").write_bytes(content)
    byte = content.index("菜谱".encode("gb18030"))
    with pytest.raises(TaxonomyError, match=rf"food\.yaml:6: not UTF-8 \(byte {byte}\): save it as UTF-8"):
        load_taxonomy(tmp_path)
