"""The report page: whole, self-contained, the same for the same state, and honest about what is not there."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from assets.benchmarks.charts import Estimate, bars, curve, intervals, stacks
from assets.benchmarks.episode_samples import KINDS, samples
from assets.benchmarks.funnel import layers
from assets.benchmarks.html import Sources, table, tag
from assets.benchmarks.report import SECTIONS, build_page
from assets.benchmarks.words import gain_in_words, verdict_on
from resources.lake import Lake
from tests.benchmarks.builders import finished_lake, made


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return finished_lake(tmp_path_factory.mktemp("lake"))


@pytest.fixture(scope="module")
def page(lake: Lake) -> str:
    return build_page(Sources(lake, made())).html


class Balance(HTMLParser):
    """Counts open elements and collects what a browser would fetch."""

    VOID = {"meta", "br", "img", "link", "input"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        if name not in self.VOID:
            self.open.append(name)
        given = dict(attributes)
        self.anchors |= {given["id"] or ""} if "id" in given else set()
        self.links += [given["href"] or ""] if name == "a" else []
        self.fetched += [name] if name in {"script", "link", "iframe"} else []
        self.fetched += [v or "" for k, v in attributes if k == "src" and not (v or "").startswith("data:")]

    def handle_endtag(self, name: str) -> None:
        """Close the one opened last."""
        assert self.open.pop() == name


def test_the_page_is_whole_and_fetches_nothing(page: str) -> None:
    found = Balance()
    found.feed(page)
    assert found.open == []
    assert found.fetched == []
    assert "url(" not in page
    assert "@import" not in page
    assert {link.removeprefix("#") for link in found.links} == {section.anchor for section in SECTIONS} <= found.anchors


def test_every_section_is_written_when_every_table_is_there(lake: Lake) -> None:
    sections = build_page(Sources(lake, made())).sections
    assert sections["written"].all()
    assert set(sections["missing"]) == {""}


def test_the_same_state_gives_the_same_page(lake: Lake, page: str) -> None:
    assert build_page(Sources(lake, made())).html == page
    assert lake.root not in page, "a path would make the page depend on where it was made"


def test_scores_on_the_page_are_those_of_the_table(lake: Lake, page: str) -> None:
    for row in lake.read("benchmarks/results").iter_rows(named=True):
        assert f"{row['pass_1']:.3f} [{row['pass_1_low']:.3f}, {row['pass_1_high']:.3f}]" in page


def test_text_of_users_is_escaped(page: str) -> None:
    assert "Weather in &lt;Paris&gt; &amp; 58?" in page
    assert "<Paris>" not in page


def test_an_empty_lake_gives_a_page_that_says_what_to_materialize(tmp_path: Path) -> None:
    found = build_page(Sources(Lake(root=str(tmp_path)), {}))
    assert found.sections["written"].to_list() == [not section.needs for section in SECTIONS]
    assert "loopwright materialize &#x27;+benchmarks/results&#x27;" in found.html
    assert not list(tmp_path.iterdir()), "writing the page makes no table"


def test_samples_are_real_attempts_one_of_each_kind(lake: Lake) -> None:
    found = samples(lake)
    assert [sample.title for sample in found] == list(KINDS)
    solved, vetoed, refused = found
    assert solved.episode["reward"] == 1.0
    assert solved.task.goal.reason is None
    assert vetoed.episode["vetoed"]
    assert refused.task.goal.reason is not None
    assert json.loads(solved.episode["steps"])


def test_the_claim_without_evidence_is_marked(lake: Lake, page: str) -> None:
    [span] = [sample.episode["evidence"] for sample in samples(lake) if sample.episode["vetoed"]]
    assert f"<mark>{span}</mark>" in page


def test_episodes_of_another_version_are_not_shown(lake: Lake, tmp_path: Path) -> None:
    other = finished_lake(tmp_path, hidden=6, training=6)
    for name in ("sft/seed_policy", "sft/boundary_policy", "policy/rl_policy"):
        other.write(name, other.read(name).with_columns(version=pl.lit("newer")))
    assert samples(other) == []


def test_every_layer_of_the_funnel_is_conserved(lake: Lake) -> None:
    found = layers(lake)
    assert [layer.name for layer in found] == [
        "read", "distinct", "lexical", "labelled, needs tools", "semantic", "geometric", "compiled", "admitted",
    ]  # fmt: skip
    assert [layer.lost for layer in found] == [0] * len(found)
    assert found[0].dropped == {"not UTF-8": 1, "torn line": 1}


def test_a_lost_row_is_said_on_the_page(tmp_path: Path) -> None:
    broken = finished_lake(tmp_path, hidden=6, training=30)
    broken.write("pool/lexical_survivors", broken.read("pool/lexical_survivors").head(45))
    assert [layer.lost for layer in layers(broken)][2] == 5
    page = build_page(Sources(broken, {})).html
    assert "Of lexical, labelled, needs tools, some rows are neither kept nor dropped" in page


@pytest.mark.parametrize(("low", "high", "says"), [(0.01, 0.2, "better"), (-0.2, -0.01, "worse"), (-0.1, 0.1, "no ")])
def test_an_interval_is_put_into_words(low: float, high: float, says: str) -> None:
    assert verdict_on(low, high).startswith(says)


def test_a_gain_names_its_policies_and_the_depth_that_got_worse() -> None:
    row = {"before": "boundary", "after": "rl", "depths_worse": "3"}
    row |= {f"{name}{end}": value for name in ("pass_1", "pass_hat_k") for end, value in (("", 0.1), ("_low", -0.05), ("_high", 0.2))}  # type: ignore[dict-item]  # fmt: skip # noqa: E501
    said = gain_in_words(row, 4)
    assert said.startswith("RL policy over boundary policy: pass^4 +0.100 [−0.050, +0.200], no difference shown")
    assert said.endswith("Worse at depth 3.")


def numbers_in(drawing: str, name: str) -> list[float]:
    return [float(n) for n in re.findall(rf' {name}="(-?[\d.]+)"', drawing)]


def test_dots_stand_where_their_values_are() -> None:
    drawn = intervals({"a": [Estimate(0.25, 0.0, 0.5)], "b": [Estimate(0.75, 0.5, 1.0)]}, ["pass@1"])
    first, second = numbers_in(drawn, "cx")
    left, right = min(numbers_in(drawn, "x1")), max(numbers_in(drawn, "x2"))
    assert first == pytest.approx(left + 0.25 * (right - left), abs=0.2)
    assert second == pytest.approx(left + 0.75 * (right - left), abs=0.2)


def test_stacked_bars_are_as_long_as_their_counts() -> None:
    drawn = stacks({"x": {"one": 30, "two": 10}, "y": {"one": 20}}, ["one", "two"])
    one, two, other = numbers_in(drawn, "width")
    assert one == pytest.approx(3 * two, abs=0.2)
    assert other == pytest.approx(2 * two, abs=0.2)


def test_an_empty_count_has_no_bar_and_the_most_has_the_longest() -> None:
    counts = {"none": 0, "few": 10, "many": 1000}
    none, few, many = numbers_in(bars(counts, {label: str(n) for label, n in counts.items()}), "width")
    assert 0 == none < few < many


def test_a_curve_needs_two_points() -> None:
    assert "polyline" in curve([(1, 3.0), (2, 1.0)], x="step", y="loss")
    assert "Only 1 point" in curve([(1, 3.0)], x="step", y="loss")
    assert "polyline" in curve([(1, 0.0), (2, 0.0)], x="step", y="reward"), "a flat line is a line"


def test_cells_are_escaped_unless_they_are_elements() -> None:
    assert "&lt;b" not in table(("a",), [(tag("b", "x"),)])
    assert "1 &lt; 2" in table(("a",), [("1 < 2",)])
