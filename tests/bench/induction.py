"""Trees from unlabelled queries and labels from a few examples, on CLINC150; CrossWOZ turns labelled for a reader.

    LOOPWRIGHT_CORPORA=... python tests/bench/induction.py

`--only few_shot` or `--only induction` measures one part and keeps the rows of the other. `QUICK=1` takes a third
of the intents and of the turns.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

COMMAND = "make bench-induction"
QUICK = bool(os.environ.get("QUICK"))
TAGGED = 20
"""One query in so many has an expert's tag where tags are given: 5%."""


def measured_induction(parts: dict, domains: dict[str, str]) -> Iterator[dict]:
    """ARI, NMI, purity against the gold intents and domains, with and without tags."""
    from assets.taxonomy.comparison import likeness
    from assets.taxonomy.drafts import leaves_of
    from assets.taxonomy.induction import induce
    from resources.embedder import Embedder
    from tests.bench.induction_parts.clinc import hashed
    from tests.bench.table import row

    gold = dict(parts["train"])
    texts = hashed(list(gold))
    vectors = Embedder().embed(texts)
    tags = {text: gold[text] for text in texts[::TAGGED]}
    for name, given in (("no tags", {}), ("5% tagged", tags)):
        begun = time.monotonic()
        found = induce(texts, vectors, tags=given, least=20 if not given else 2)
        seconds = time.monotonic() - begun
        open_ = [text for text in sorted(texts) if text not in given]
        cluster = dict(zip(sorted(texts), found.clusters.cluster_N.tolist(), strict=True))
        intent = likeness([cluster[text] for text in open_], [gold[text] for text in open_])
        leafed = [text for text in open_ if found.leaf[text]]
        branch = [str(found.leaf[text]).partition(".")[0] for text in leafed]
        domain = likeness(branch, [domains[gold[text]] for text in leafed])
        print(f"{name}: tried {found.clusters.tried}; {len(leaves_of(found.branches))} leaves")
        for what, one in ((f"of {len(set(gold.values()))} intents", intent), ("level 1 against domains", domain)):
            for figure in ("groups", "ari", "nmi", "purity"):
                yield row(f"{name}: {what}: {figure}", getattr(one, figure), "untagged queries", command=COMMAND)
        yield row(f"{name}: induction of {len(texts):,} queries", seconds, "s, shared machine", command=COMMAND)


def measured_few_shot(parts: dict) -> Iterator[dict]:
    """Accuracy, kappa, calibration and foreign requests caught, with ten examples of each intent; three draws."""
    from assets.labels.agreement import calibration_error, cohens_kappa, precision_recall
    from assets.labels.few_shot import fit_few_shot
    from resources.embedder import Embedder
    from tests.bench.induction_parts.clinc import few_examples, hashed, part
    from tests.bench.table import row

    (texts, gold), (foreign, _) = part(parts, "test"), part(parts, "oos_test")
    unlabelled = hashed(part(parts, "train")[0], 7)[: 1500 if QUICK else 4500]
    for name, more in (("ten examples", []), ("ten examples and unlabelled queries", unlabelled)):
        figures: dict[str, list[float]] = {}
        for seed in range(1 if QUICK else 3):
            model = fit_few_shot(few_examples(parts, 10, seed), Embedder().embed, unlabelled=more)
            answers, strange = model.answer(texts), model.answer(foreign)
            right = [label == true for label, true in zip(answers.label, gold, strict=True)]
            belonging = np.concatenate([answers.belonging, strange.belonging])
            truth = [False] * len(texts) + [True] * len(foreign)
            precision, recall = precision_recall([b < 0.3 for b in belonging], truth)
            kept = answers.belonging >= 0.3
            one = {
                "accuracy": np.mean(right), "kappa": cohens_kappa(answers.label, gold),
                "calibration error": calibration_error(answers.confidence, right),
                "out of scope precision": precision, "out of scope recall": recall,
                "in scope kept": kept.mean(), "accuracy of kept": np.array(right)[kept].mean(),
            }  # fmt: skip
            for what, value in one.items():
                figures.setdefault(what, []).append(float(value))
        for what, values in figures.items():
            reached = {"aim": ".86", "holds": float(np.mean(values)) >= 0.86} if what == "accuracy" else {}
            spread = f"mean of {len(values)} draws, {min(values):.3f} to {max(values):.3f}"
            yield row(f"{name}: {what}", float(np.mean(values)), spread, command=COMMAND, **reached)


def smaller(parts: dict, keep: int) -> dict:
    """Every `keep`-th intent, and the requests of none."""
    intents = set(sorted({intent for _, intent in parts["train"]})[::keep])
    return {
        name: [pair for pair in rows if pair[1] in intents or name.startswith("oos")] for name, rows in parts.items()
    }


def main() -> None:
    """Measure and publish."""
    from tests.bench.induction_parts.clinc import domain_of
    from tests.bench.induction_parts.crosswoz import labelled
    from tests.bench.table import Row, publish

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["", "few_shot", "induction"], default="")
    args = parser.parse_args()

    if not os.environ.get("LOOPWRIGHT_CORPORA"):
        raise SystemExit("set LOOPWRIGHT_CORPORA to the folder that holds queries/clinc150 and queries/crosswoz")
    corpora = Path(os.environ["LOOPWRIGHT_CORPORA"])
    place = corpora / "queries/clinc150"
    parts = json.loads((place / "data_full.json").read_text(encoding="utf-8"))
    domains = domain_of(json.loads((place / "domains.json").read_text(encoding="utf-8")))
    parts = smaller(parts, 3) if QUICK else parts
    rows: list[Row] = []
    steps = {"induction": lambda: measured_induction(parts, domains), "few_shot": lambda: measured_few_shot(parts)}
    for name, step in steps.items():
        for one in step() if args.only in ("", name) else ():
            print(f"{one['what']}: {one['ours']} {one['unit']}", flush=True)
            rows.append(one)
    for primary, secondary, confidence, text in labelled(corpora, 10 if QUICK else 30):
        print(f"  {confidence:.2f} {primary} {f'+ {secondary} ' if secondary else ''}| {text}")
    publish("induction-quick" if QUICK else "induction", rows, beside_others=bool(args.only))


if __name__ == "__main__":
    main()
