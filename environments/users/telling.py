"""What a text tells, in pieces that can be looked up elsewhere: codes, numbers, addresses, days, names.

For the question whether a user said something that it cannot know; words that carry no fact are no pieces.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Final

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_DAYS: Final = (
    ("monday", "周一", "星期一", "礼拜一"),
    ("tuesday", "周二", "星期二", "礼拜二"),
    ("wednesday", "周三", "星期三", "礼拜三"),
    ("thursday", "周四", "星期四", "礼拜四"),
    ("friday", "周五", "星期五", "礼拜五"),
    ("saturday", "周六", "星期六", "礼拜六"),
    ("sunday", "周日", "星期日", "星期天", "周天", "礼拜天"),
    ("yesterday", "昨天"),
    ("tomorrow", "明天"),
    ("last week", "上周", "上个星期"),
    ("next week", "下周", "下个星期"),
    ("last month", "上个月"),
    ("next month", "下个月"),
)
_NUMBERS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_DIGITS: Final = "零一二三四五六七八九十"
_SURNAMES: Final = (
    "赵钱孙李周吴郑王冯陈蒋沈韩杨朱秦许何吕张孔曹严金魏陶姜戚谢邹章苏潘葛范彭鲁韦马苗方俞任袁柳史唐费薛雷贺倪汤罗郝安于傅齐康伍余"
    "顾孟黄穆萧尹姚邵汪毛狄戴宋庞熊纪舒屈项祝董梁杜阮蓝席季贾江童颜郭梅林钟徐邱骆高夏蔡田胡凌霍万卢莫房丁邓洪包石崔龚程裴陆翁"
    "侯段叶白刘龙曾廖谭邝"
)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_CODE = re.compile(r"(?<![a-z0-9])(?=[a-z0-9#-]*\d)(?=[a-z0-9#-]*[a-z])[a-z0-9#]+(?:-[a-z0-9]+)*(?![a-z0-9])")
_UNIT = re.compile(r"\d+(?:st|nd|rd|th|am|pm|km|kg|min|h|eur|usd|cm|gb|x)")
_RUN = re.compile(r"\d+")
_CAPITAL = re.compile(r"(?<![\w'])[A-Z][a-z]+(?:[A-Z][a-z]+)*(?![\w])")
_OPENING = re.compile(r"(?:^|[.!?:;\n\"“(…]|[。！？])\s*$")
_PLAIN: Final = {
    "i", "ok", "okay", "mr", "mrs", "ms", "miss", "dr", "yes", "no", "thanks", "thank", "please", "english", "chinese",
    "hi", "hello", "sorry", "sure", "well", "id", "may", "the", "my", "it", "that", "this", "goodbye", "bye", "great",
    "fine",
}  # fmt: skip
_CALLED = re.compile(r"(?:我叫|名字(?:是|叫|为)|姓名(?:是|为|:)|收件人(?:是|为|:)|联系人(?:是|为|:))\s*([㐀-鿿]{2,3})")
_AM = re.compile(rf"我是([{_SURNAMES}][㐀-鿿]{{1,2}})(?=[,，。.!！\s]|$)")
_LIVES = re.compile(r"(?:住在|寄到|送到|目的地(?:是|为|:)|出发地(?:是|为|:)|从|飞往|飞到|到达)\s*([㐀-鿿]{2})")


def folded(text: str) -> str:
    """Width and case folded, separators inside numbers left out."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"(?<=\d),(?=\d{3})", "", plain)


@lru_cache(maxsize=8192)
def pieces(text: str) -> frozenset[str]:
    """Every piece of fact that `text` tells."""
    plain = folded(text)
    mails = set(_MAIL.findall(plain))
    rest = _MAIL.sub(" ", plain)
    codes = {c for c in _CODE.findall(rest) if not _UNIT.fullmatch(c)}
    for code in codes:
        rest = rest.replace(code, " ")
    numbers = {str(int(run)) for run in _RUN.findall(rest)}
    return frozenset(mails | {_bare(c) for c in codes} | numbers | _days(rest) | _names(text))


def _bare(code: str) -> str:
    return code.replace("-", "").replace("#", "")


def _days(plain: str) -> set[str]:
    found = {words[0] for words in _DAYS if any(word in plain for word in words)}
    months = {m for m in _MONTHS if m != "may" and re.search(rf"(?<![a-z]){m}(?![a-z])", plain)}
    return found | months


def _names(text: str) -> set[str]:
    """Capitalised words inside a sentence or side by side at its start; Chinese ones behind what announces them."""
    plain = _MAIL.sub(" ", unicodedata.normalize("NFKC", text))
    found, last = set(), None
    for match in _CAPITAL.finditer(plain):
        word = match[0].casefold()
        opens = _OPENING.search(plain[: match.start()]) is not None
        beside = last is not None and plain[last.end() : match.start()] == " " and last[0].casefold() not in _PLAIN
        if word not in _PLAIN and word not in _MONTHS and not _is_day(word):
            found |= {word} if not opens else set()
            found |= {last[0].casefold()} if beside and last is not None else set()
        last = match
    chinese = (*_CALLED.findall(plain), *_AM.findall(plain), *_LIVES.findall(plain))
    return found | set(chinese)


def _is_day(word: str) -> bool:
    return any(word == words[0] for words in _DAYS)


def holds(source: str, piece: str) -> bool:
    """Whether `source` says `piece`, in whatever spelling: 2026-06-03 says June and 3, "two" says 2."""
    plain = folded(source)
    if piece in pieces(source):
        return True
    if piece in _MONTHS:
        return str(_MONTHS.index(piece) + 1) in _runs(plain) or piece[:3] in re.findall(r"[a-z]+", plain)
    if piece.isdecimal():
        return piece in _runs(plain) or _in_words(plain, int(piece))
    if re.search(r"\d", piece):
        return piece in re.sub(r"[-#\s]", "", plain)
    return piece in plain


def _runs(plain: str) -> set[str]:
    return {str(int(run)) for run in _RUN.findall(plain)}


def _in_words(plain: str, number: int) -> bool:
    words = set(re.findall(r"[a-z]+", plain))
    english = number < len(_NUMBERS) and _NUMBERS[number] in words
    month = 1 <= number <= len(_MONTHS) and bool(words & {_MONTHS[number - 1], _MONTHS[number - 1][:3]})
    return english or month or (number < len(_DIGITS) and _DIGITS[number] in plain)
