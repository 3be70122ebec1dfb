"""The report's sections about the data: the funnel, the coverage certificate, the tasks and their admission."""

from assets.benchmarks.charts import bars, stacks
from assets.benchmarks.funnel import Layer, layers
from assets.benchmarks.html import Section, Sources, count, details, figure, note, prose, share, table, tag

COMPILED, ADMITTED = "tasks/compiled_tasks", "tasks/admitted_tasks"
ORIGINS = ("query", "long_tail", "variant", "refusal")
POOL, REASONS_SHOWN = "pool/candidate_pool", 12


def _funnel(sources: Sources) -> str:
    found = layers(sources.lake)
    lost = [layer.name for layer in found if layer.lost]
    conserved = "Every row is accounted for: in = kept + dropped, with a reason and the row that stands for it."
    broken = f"Of {', '.join(lost)}, some rows are neither kept nor dropped: the checks of the stage say which."
    rows = (
        (layer.name, count(layer.went_in), count(layer.kept), share(layer.kept / max(1, layer.went_in)), _why(layer))
        for layer in found
    )
    return (
        prose("From lines of a log to tasks that can be tried.", broken if lost else conserved)
        + figure(_bars(found), "What each layer kept.")
        + table(("layer", "in", "kept", "share", "where the rest went"), rows, words=(0, 4))
    )


def _bars(found: list[Layer]) -> str:
    ends = {"lines": "", "queries": " queries", "tasks": " tasks"}
    counts = {layer.name: float(layer.kept) for layer in found}
    return bars(counts, {layer.name: f"{layer.kept:,}{ends.get(layer.unit, '')}" for layer in found})


def _why(layer: Layer) -> str:
    shown = [f"{reason} {number:,}" for reason, number in list(layer.dropped.items())[:REASONS_SHOWN] if number]
    return ", ".join(shown) or "nothing dropped"


def _coverage(sources: Sources) -> str:
    names = {
        "radius": "radius: the farthest a left-out query lies from the one that stands for it",
        "random_radius": "the same for a random choice of as many queries",
        "left_out_q50": "distance of a left-out query, median",
        "left_out_q90": "distance, 90th percentile",
        "left_out_q99": "distance, 99th percentile",
        "tail_kept_share": "share kept of the rarest tenth of the intents",
        "tail_radius": "radius in those intents",
    }
    rows = [(said, f"{value:.3f}") for name, said in names.items() if (value := sources.number(POOL, name)) is not None]
    radius, chance = sources.number(POOL, "radius"), sources.number(POOL, "random_radius")
    told = "The candidate pool stands for everything that was asked: its certificate says how well."
    if radius is not None and chance:
        told += f" Its radius is {100 * (1 - radius / chance):.0f}% smaller than that of a random choice of its size."
    if not rows:
        return prose(told) + note("The event log has no certificate of this pool: materialize pool/candidate_pool.")
    return prose(told) + table(("distance between unit vectors (0 to 2)", ""), rows) + _leaves(sources)


def _leaves(sources: Sources) -> str:
    pool = sources.lake.read(POOL).group_by("primary").len().sort("len", "primary", descending=[True, False])
    return details(
        f"The {len(pool)} intents of the pool",
        table(("intent", "queries"), [(a, f"{n:,}") for a, n in pool.iter_rows()]),
    )


def _tasks(sources: Sources) -> str:
    tasks = sources.lake.read(ADMITTED)
    origins = [o for o in ORIGINS if o in set(tasks["origin"].drop_nulls())]
    rows = {
        str(family).replace("_", " "): dict(own["origin"].value_counts().iter_rows())
        for (family,), own in sorted(tasks.group_by("family"), key=lambda found: (-len(found[1]), str(found[0][0])))
    }
    splits = ", ".join(
        f"{n:,} {s}" for s, n in tasks["split"].value_counts().sort("split", descending=True).iter_rows()
    )
    told = prose(
        f"{len(tasks):,} tasks were admitted: {splits}.",
        "A task is made of the user's own words where the world can check every one of them. Thin families take "
        "further queries from the semantic pool (the long tail); variants say the same with other cities and days; "
        "refusals stand beside a solvable twin.",
    )
    drawn = figure(stacks(rows, origins), "Admitted tasks by family, and where they come from.")
    return told + drawn + _admission(sources) + _not_compiled(sources)


def _admission(sources: Sources) -> str:
    yielded, rate = (sources.number(ADMITTED, n) for n in ("admission_yield", "exploit_rate"))
    bound = sources.number(ADMITTED, "exploit_rate_upper_95")
    rows = [
        ("compiled", count(sources.number(ADMITTED, "compiled"))),
        ("to quarantine", count(sources.number(ADMITTED, "quarantined"))),
        ("admitted", share(yielded)),
        ("cheating attempts that scored", share(rate)),
        ("exploit rate, 95% upper bound", "–" if bound is None else f"{100 * bound:.3f}%"),
        ("right answers of the labelled set turned down", share(sources.number(ADMITTED, "false_rejection_rate"))),
        ("broken tasks of the labelled set caught", share(sources.number(ADMITTED, "broken_caught"))),
    ]
    told = prose(
        "At the gate the gold solution must score 1 three times, doing nothing and the cheating policies 0, and the "
        "world must come back to its first state; a sample of each family is also attacked by a search that reads the "
        "verifier's source, and changed in ways whose verdict is known."
    )
    return tag("h3", "Admission") + told + table(("", ""), rows)


def _not_compiled(sources: Sources) -> str:
    if not sources.lake.exists("tasks/not_compiled"):
        return ""
    dropped = sources.lake.read("tasks/not_compiled").join(
        sources.lake.read("queries/distinct_queries").select("query_id", text="text"), on="query_id", how="left"
    )
    rows = [
        (rule, f"{len(own):,}", " · ".join(t for t in own.sort("query_id")["text"].head(2) if t))
        for (rule,), own in sorted(dropped.group_by("rule"), key=lambda found: (-len(found[1]), str(found[0][0])))
    ]
    listed = table(("rule", "", "for example"), rows, words=(0, 2))
    return details("Queries that became no task, by the rule that stood against them", listed)


FUNNEL = Section("funnel", "Where the rows went", ("queries/raw_queries", "queries/distinct_queries"), _funnel)
COVERAGE = Section("coverage", "Coverage certificate", (POOL,), _coverage)
TASKS = Section("tasks", "Tasks and admission", (ADMITTED,), _tasks)
