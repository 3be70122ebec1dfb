"""Personal data goes, everything that a query is about stays."""

import time

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.queries.personal import luhn
from assets.queries.scrub import mask, personal_rows, pseudonyms, scrub

PERSONAL = {
    "phone": """415-555-2671
(415) 555-2671
+1 (415) 555-2671
1-800-555-0199
4155552671
+44 20 7946 0958
07700 900123
06 12 34 56 78
0049 30 901820
+86 138 0013 8000
13800138000
138-0013-8000
１３８００１３８０００
010-62345678
(021)62345678
0755 8888 8888
400-810-8888
98765 43210
1 3 8 0 0 1 3 8 0 0 0
一三八零零一三八零零零""".splitlines(),
    "email": """john.doe@example.com
a＠b．com
john at example dot com
john [at] example [dot] co [dot] uk
o'neil+x@mail.example.org""".splitlines(),
    "card": """4111 1111 1111 1111
4111111111111111
5500-0000-0000-0004
378282246310005
6222021234567890128""".splitlines(),
    "id": ["11010519491231002X", "110105 19491231 002X", "078-05-1120"],
    "address": """221B Baker Street
1600 Pennsylvania Ave
350 5th Ave, Apt 12
北京市海淀区中关村大街27号
中山路12号3栋502室""".splitlines(),
}
EVERY_VALUE = [value for kind in sorted(PERSONAL) for value in PERSONAL[kind]]
STAYS = """flight BA 2490 on 2026-06-12
BA2490 at 10:30
under 300 euros
between 20000-30000 yuan
20000000 dollars
3 days on the road
10 minutes to Abbey road
what happened in 2019-2020
2019 2020 2021
from 2026-06-12 to 2026-06-15
12/06/2026 08:30
06.12.2026 18:30
39.9042,116.4074
3.14159265358979
1,234,567.89 euros
1718000000000
2026年6月12日
5 star road trip
$1,000,000
ISBN 9780306406157
3 nights in St Petersburg
meet me at the station on the dot
6月12日到6月15日
population of 1000000 people
what is 12345 times 67890
train G1234 and D5678
航班CA1234 6月12日10:30""".splitlines()
FRAMES = ("{}", "my contact is {} thanks", "please use {}", "请记一下：{}，谢谢", "on 2026-06-12 {}")


@pytest.mark.parametrize("kind", sorted(PERSONAL))
@pytest.mark.parametrize("frame", FRAMES)
def test_every_shape_is_masked_as_what_it_is(kind: str, frame: str) -> None:
    for value in PERSONAL[kind]:
        assert mask(frame.format(value)) == frame.format(f"<{kind}>"), value


@pytest.mark.parametrize("text", STAYS)
def test_prices_dates_times_and_numbers_of_flights_stay(text: str) -> None:
    assert mask(text) == text


def test_a_number_that_a_caller_gives_is_a_phone() -> None:
    assert mask("call 555-1234") == "call <phone>"
    assert mask("555-1234 rooms") == "555-1234 rooms"
    assert mask("电话是67586489。") == "电话是<phone>。"


def test_several_values_in_one_text_are_all_masked() -> None:
    text = "电话010-67389898,010-67383333 或 a@b.com，卡号4111 1111 1111 1111 12/26"
    assert mask(text) == "电话<phone>,<phone> 或 <email>，卡号<card> 12/26"


def test_a_wrong_check_digit_is_no_card() -> None:
    assert mask("order 4111111111111112") == "order 4111111111111112"


def test_counts_are_by_kind_and_the_input_stays_as_it_was() -> None:
    texts = pl.Series(["call 13800138000", None, "a@b.com or c@d.org", "weather in Paris"])
    found = scrub(texts)
    assert found.text.to_list() == ["call <phone>", None, "<email> or <email>", "weather in Paris"]
    assert dict(found.counts) == {"email": 2, "id": 0, "card": 0, "phone": 1, "address": 0}
    assert texts[0] == "call 13800138000"


@given(st.lists(st.sampled_from([*STAYS, *EVERY_VALUE]), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_scrubbing_twice_changes_nothing_and_leaves_nothing(parts: list[str]) -> None:
    once = scrub(pl.Series([" and ".join(parts)])).text
    assert scrub(once).text.to_list() == once.to_list()
    assert len(personal_rows(once)) == 0


def test_rows_are_scrubbed_alike_however_many_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pl.Series([f"call 138 1234 {row:04}" if row % 3 else f"row {row} of a@b.org" for row in range(50)] + [None])
    whole = scrub(texts)
    monkeypatch.setattr("assets.queries.scrub.ROWS_AT_ONCE", 7)
    parts = scrub(texts)
    assert parts.text.equals(whole.text)
    assert parts.counts == whole.counts
    assert whole.counts["email"] == 17


def test_the_quick_look_finds_every_text_that_the_reader_would_mask() -> None:
    assert len(personal_rows(pl.Series(EVERY_VALUE))) == len(EVERY_VALUE)


def test_luhn_knows_its_textbook_number() -> None:
    assert luhn("79927398713")
    assert not luhn("79927398710")


def test_a_user_has_one_name_per_salt() -> None:
    users = pl.Series(["ann", "bob", None, "ann"])
    names, others = pseudonyms(users, "salt"), pseudonyms(users, "pepper")
    assert names[0] == names[3] != names[1]
    assert names[2] is None
    assert names[0] != others[0]
    assert pseudonyms(pl.Series([None, None], dtype=pl.String), "salt").to_list() == [None, None]


@pytest.mark.slow
def test_a_hundred_thousand_rows_that_all_hold_numbers_take_seconds() -> None:
    texts = pl.Series(
        [f"cheapest flight to Paris on 2026-06-{i % 20 + 10} under {i} euros" for i in range(95_000)]
        + ["call 415-555-2671"] * 5_000
    )
    start = time.process_time()
    found = scrub(texts)
    assert found.counts["phone"] == 5_000
    assert time.process_time() - start < 20
