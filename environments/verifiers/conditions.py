"""States that an answer gives to what it talks about: `the order is still pending` where the tool said delivered."""

import re

from environments.verifiers.claim import Claim
from environments.verifiers.evidence import Evidence
from environments.verifiers.rows import named_before
from environments.verifiers.wording import sentence_of

_STATES = {
    "pending": "pending|unprocessed|待处理|待支付|待付款|待审批|待发货", "processed": "processed|已处理",
    "delivered": "delivered|已签收|已送达|已收货|已妥投", "cancelled": "cancell?ed|已取消|已撤销",
    "shipped": "shipped|dispatched|已发货|已出库",
    "returned": "returned|已退货", "refunded": "refunded|已退款", "approved": "approved|已批准|已通过|审批通过",
    "rejected": "rejected|declined|已拒绝|被拒", "expired": "expired|已过期|已失效",
    "in transit": "in transit|on its way|运输中|配送中|派送中",
    "delayed": "delayed|延误|晚点", "on time": "on time|准点|正点", "landed": "landed|已到达|已降落",
    "flying": "flying|in the air",
    "active": "active|生效中|有效", "closed": "closed|已关闭", "open": "open", "lost": "lost|已丢失",
    "confirmed": "confirmed|已确认",
}  # fmt: skip
_STATE_OF = {state: re.compile(rf"(?i)(?<![a-z])(?:{said})(?![a-z])") for state, said in _STATES.items()}
_SUBJECT = (
    r"(?:order|parcel|package|shipment|ticket|reservation|booking|flight|refund|contract"
    r"|it|this|status|#?[A-Z0-9][\w-]*\d[\w-]*|订单|包裹|快递|工单|航班|合同"
    r"|退款|预订|状态)"
)
_ENGLISH = re.compile(
    rf"(?i)\b{_SUBJECT}\b[^.,;\n?]{{0,24}}?\b(?:is|has been|was|status:?)\s+(?:still\s+"
    rf"|already\s+|currently\s+|now\s+|in status\s+|shown as\s+|marked as\s+)?['\"]?"
    r"(?P<state>"
    + "|".join(f"(?:{said})" for said in (re.sub(r"\|?[\u4e00-\u9fff]+", "", s) for s in _STATES.values()))
    + r")\b"
)
_CHINESE = re.compile(
    rf"{_SUBJECT}[^,。;\n?]{{0,8}}?(?P<state>"
    + "|".join(sorted(re.findall(r"[\u4e00-\u9fff]+", "|".join(_STATES.values())), key=len, reverse=True))
    + ")"
)
_CHANGES = re.compile(
    r"cancel|return|exchange|refund|approv|ship|update|modify|clos|open|book|confirm|send|reject|create"
)
_CONDITIONAL = re.compile(
    r"(?i)\b(?:if|once|when|only|unless|whether|must|should|cannot|can't|after|before"
    r"|until|any|not)\b|如果|若|只有|一旦|必须|才|不|未|没"
)


def contradicted(text: str, evidence: Evidence) -> list[tuple[Claim, str]]:
    """States in `text` against what the tools last showed, each with the state shown.

    A state is only held against fields that tell states (`status`), of the row named where one is, and not once a
    later call may have changed it.
    """
    found: list[tuple[Claim, str]] = []
    if not evidence.conditions:
        return found
    for match in (*_ENGLISH.finditer(text), *_CHINESE.finditer(text)):
        claim = Claim("word", match["state"].lower(), "state", *match.span("state"))
        shown = None if _CONDITIONAL.search(sentence_of(text, claim.start)) else _shown(claim, text, evidence)
        if shown is not None:
            found.append((claim, shown))
    return found


def _shown(claim: Claim, text: str, evidence: Evidence) -> str | None:
    """The state that was shown in place of the claimed one; None where it agrees or nothing tells."""
    rows = named_before(claim, text, evidence)
    known = [c for c in evidence.conditions if not rows or c[2] in rows or not c[2]]
    said = _states_of(claim.value)
    held = [(value, _states_of(value), at) for _, value, _, at in known]
    held = [h for h in held if h[1]]
    if not held or any(said & states for _, states, _ in held):
        return None
    if any(_CHANGES.search(name) for name in evidence.calls[held[0][2] :]):
        return None
    return f"status {held[-1][0]}"


def _states_of(text: str) -> set[str]:
    return {state for state, pattern in _STATE_OF.items() if pattern.search(text)}
