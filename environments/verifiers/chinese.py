"""Quantities, measure words and names in Chinese."""

import re
from collections.abc import Sequence

from environments.verifiers.claim import BLANK, Claim, Rule
from environments.verifiers.english import grouped, plain
from environments.verifiers.quantities import GROUPED, HAN_DIGITS, HAN_NUMBER, han_value

_MONEY = {
    "元": "yuan", "块钱": "yuan", "块": "yuan", "元钱": "yuan", "人民币": "yuan", "美元": "dollars", "美金": "dollars",
    "欧元": "euros", "欧": "euros", "英镑": "pounds", "日元": "yuan",
}  # fmt: skip
_UNITS = {
    **_MONEY, "公里": "km", "千米": "km", "米": "metres", "英里": "miles", "海里": "nautical miles", "厘米": "cm",
    "英尺": "feet",
    "公斤": "kg", "千克": "kg", "斤": "jin", "吨": "tonnes", "升": "litres", "公升": "litres", "毫升": "ml",
    "平方米": "square metres", "平米": "square metres", "大卡": "kcal", "千卡": "kcal",
    "克": "grams", "磅": "lb", "度电": "kwh", "千瓦时": "kwh", "华氏度": "fahrenheit",
    "摄氏度": "degrees",
    "度": "degrees", "℃": "degrees", "个工作日": "business days", "工作日": "business days", "分钟": "minutes",
    "秒钟": "seconds",
    "秒": "seconds", "个小时": "hours", "小时": "hours", "个钟头": "hours", "天": "days", "个星期": "weeks",
    "周": "weeks",
    "星期": "weeks", "个礼拜": "weeks", "个月": "months", "年": "years", "%": "percent", "％": "percent",
    "折": "discount",
    "分": "rating", "星级": "rating", "星": "rating",
}  # fmt: skip
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))
_MEASURES = "个位名人张趟班家条件次间晚站辆款种份本只项笔封层级岁口场部台套页箱楼号盒瓶双把座列架"
_HEDGE_BEHIND = r"(?:多|几|来)?"
_QUARTER = r"(?P<quarter>[一三])刻钟"


def _quantity(match: re.Match[str]) -> Sequence[Claim] | None:
    unit = _UNITS[match["unit"]]
    if match["unit"] == "分" and not re.search(r"(?:评分|得分|打分|评价)[^,。,;]{0,8}$", match.string[: match.start()]):
        return None if "." not in match["number"] and "点" not in match["number"] else _made(match, "rating")
    if match["unit"] in ("年", "天", "周", "块") and match["number"] == "一" and match["unit"] != "周":
        return None
    return _made(match, unit)


def _made(match: re.Match[str], unit: str) -> Sequence[Claim]:
    value = han_value(match["number"])
    if match["half"]:
        value += 0.5
    tail = match["tail"]
    if tail:
        value += han_value(tail) * (0.1 if len(tail) == 1 else 0.01)
    if unit == "discount" and value > 10:
        value /= 10
    negative = -1 if match["below"] and unit in ("degrees", "fahrenheit") else 1
    start = match.start("below") if match["below"] else match.start("number")
    scaled = "k" if match["number"][-1] in "千万百" else ""
    return [Claim("number", plain(negative * value), unit, start, match.end(), scaled)]


def _sign(match: re.Match[str]) -> Sequence[Claim]:
    unit = {"$": "dollars", "€": "euros", "£": "pounds"}.get(match["sign"], "yuan")
    return [Claim("number", plain(han_value(match["number"])), unit, *match.span("number"))]


def _hours(match: re.Match[str]) -> Sequence[Claim]:
    """`一个半小时`, `2小时30分`, `一小时一刻钟`."""
    minutes = 60 * (han_value(match["hours"]) + (0.5 if match["half"] or match["after"] else 0))
    if match["minutes"]:
        minutes += han_value(match["minutes"])
    if match["quarter"]:
        minutes += 15 * han_value(match["quarter"])
    return [Claim("number", plain(minutes), "minutes", *match.span())]


def _half_hour(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("number", "30", "minutes", *match.span())]


def _quarter_hour(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("number", plain(15 * han_value(match["quarter"])), "minutes", *match.span())]


def _percent(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("number", plain(han_value(match["number"])), "percent", *match.span())]


def _tenths(match: re.Match[str]) -> Sequence[Claim]:
    """`两成五` is 25 percent."""
    value = 10 * han_value(match["number"]) + (HAN_DIGITS.get(match["rest"] or "", 0))
    return [Claim("number", plain(value), "percent", *match.span())]


def _height(match: re.Match[str]) -> Sequence[Claim]:
    """`一米四` is 1.4 metres."""
    return [Claim("number", plain(han_value(match["whole"]) + 0.1 * han_value(match["rest"])), "metres", *match.span())]


def _rating(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("number", plain(han_value(match["number"])), "rating", *match.span("number"))]


def _counted(match: re.Match[str]) -> Sequence[Claim] | None:
    said, noun = match["number"], match["noun"]
    if said in ("一", "千", "万", "百", "十") or said.endswith("点"):
        return None
    return [Claim("number", plain(han_value(said)), None if said[0].isdigit() else "count", *match.span("said"), noun)]


def _bare(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("number", plain(han_value(match[0])), None, *match.span())]


def _ordinal(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("ordinal", plain(han_value(match["number"])), None, *match.span())]


_NUM = rf"(?<![\d.零一二两三四五六七八九十百千万]){HAN_NUMBER}"
RULES: tuple[Rule, ...] = (
    (re.compile(rf"{GROUPED}\s?(?P<unit>{_UNIT})"), lambda m: grouped(m, _UNITS[m["unit"]])),
    (
        re.compile(
            rf"(?P<hours>{_NUM})个?(?P<half>半)?(?:小时|钟头)(?P<after>半)?(?:零|又|,)?(?:(?P<minutes>{HAN_NUMBER})分钟?"
            rf"|{_QUARTER})?"
        ),
        _hours,
    ),
    (re.compile(r"半个?(?:小时|钟头)"), _half_hour),
    (re.compile(_QUARTER), _quarter_hour),
    (re.compile(rf"百分之(?P<number>{HAN_NUMBER})"), _percent),
    (re.compile(r"(?P<number>[一二两三四五六七八九])成(?P<rest>[一二三四五六七八九])?(?!交|都|立|功|为)"), _tenths),
    (re.compile(r"(?P<whole>[一二两])米(?P<rest>[一二三四五六七八九])(?!十|百)"), _height),
    (
        re.compile(
            rf"(?:评分|得分|打分)(?:[是为达有]|高达|达到|只有|都是)*(?P<number>{HAN_NUMBER})(?:分|星)?(?![元米公个])"
        ),
        _rating,
    ),
    (re.compile(rf"(?P<sign>[¥¥$€£])\s?(?P<number>{HAN_NUMBER})(?![A-Za-z])"), _sign),
    (
        re.compile(
            rf"(?P<below>零下|-|负)?(?P<number>{_NUM}){_HEDGE_BEHIND}\s?(?P<unit>{_UNIT})(?P<half>半)?(?P<tail>(?<=块)[\d一二三四五六七八九]{{1,2}}(?![\d.个元晚天张位人间份]))?"
        ),
        _quantity,
    ),
)
_SIGNS = "零一二两三四五六七八九十百千万"
NUMBERS: tuple[Rule, ...] = (
    (re.compile(rf"第(?P<number>{HAN_NUMBER})"), _ordinal),
    (re.compile(rf"(?<![百千万])[一二两三四五六七八九][十百千万][{_SIGNS}]*(?![{_MEASURES}])"), _bare),
    (re.compile(rf"(?P<said>(?P<number>{_NUM}){_HEDGE_BEHIND}\s?(?P<noun>[{_MEASURES}]))"), _counted),
)

_HEADS = (
    "大酒店|酒店|饭店|宾馆|旅馆|客栈|餐厅|餐馆|饭馆|烤鸭店|火锅店|面馆|博物馆|美术馆"
    "|纪念馆|图书馆|展览馆|体育馆|公园|植物园|动物园|机场"
    "|火车站|高铁站|东站|西站|南站|北站|站|大学|医院|大厦|广场|商场|书店|咖啡馆|茶馆"
    "|教堂|寺|庙|故居|景区|遗址|长城|仓库|公司|银行|路|大街|街"
)
_STOP = (
    "的在到从去是有和与或为您你我他她它们了着过也都就还请住坐离给往至由订选荐看见找叫"
    "吃附近推这那该某每各把被比让但而对向经又再可要想会能不没只约共"
)
_MODIFIERS = re.compile(
    r"^(?:[一二两三四五六七八九十几\d]*[家间座个条所栋]|高档|豪华|经济型|连锁|快捷|[三四五]星级?"
    r"|当地|周边|其他|其它|合适|便宜|最近|地铁|火车|高铁"
    r"|汽车|公交|飞机|烤鸭|火锅|川菜|素|大|小|老|本|同|另外|另一|下一|上一|起点|终点|前往"
    r"|换乘|换|中转|出发|到达|中|西|东|南|北)*$"
)
_TITLED = re.compile(r"(?P<name>[\u4e00-\u9fff]{1,3})(?:先生|女士|小姐|经理|主管|医生|老师)")


def _name(match: re.Match[str]) -> Sequence[Claim] | None:
    """A name by the kind of place it ends in: what stands before, back to a word that cannot be part of one."""
    text, end = match.string, match.end()
    start = match.start()
    while (
        start > 0
        and match.start() - start < 8
        and "\u4e00" <= text[start - 1] <= "\u9fff"
        and text[start - 1] not in _STOP
    ):
        start -= 1
    before = text[start : match.start()]
    if not before or _MODIFIERS.match(before) or (len(match[0]) == 1 and len(before) < 2):
        return None
    return [Claim("name", text[start:end].strip(BLANK), None, start, end)]


def _titled(match: re.Match[str]) -> Sequence[Claim] | None:
    name = re.split(f"[{_STOP}]", match["name"])[-1]
    if not name:
        return None
    return [Claim("name", name, None, match.end("name") - len(name), match.end("name"))]


def _quoted(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("name", match["name"], None, *match.span("name"))]


SKIES = {
    "sunny": ("晴",), "cloudy": ("多云", "阴天", "阴"), "rainy": ("有雨", "下雨", "小雨", "中雨", "大雨", "阵雨"),
    "snowy": ("下雪", "小雪", "大雪", "有雪"), "windy": ("大风",), "foggy": ("有雾", "大雾"),
}  # fmt: skip
"""The closed vocabulary of weather in Chinese."""
_SKY_OF = {said: sky for sky, sayings in SKIES.items() for said in sayings}


def _sky(match: re.Match[str]) -> Sequence[Claim]:
    return [Claim("word", _SKY_OF[match[0]], None, *match.span())]


NAMES: tuple[Rule, ...] = (
    (re.compile(r"[《「『“](?P<name>[^》」』”\n]{2,16})[》」』”]"), _quoted),
    (_TITLED, _titled),
    (re.compile(_HEADS), _name),
    (re.compile("|".join(sorted(_SKY_OF, key=len, reverse=True)).replace("阴|", r"阴(?=[,。,;转]|$)|")), _sky),
)
