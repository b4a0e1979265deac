"""Native forward and backward passes of the forms of the moments (`moments/`)."""

from typing import Any

from llvmlite import ir

from directgp.linalg.native.emit import Emitter
from directgp.linalg.native.gram import gram_groups, gram_task, mirror_each
from directgp.linalg.native.panels import once, panel_product, panel_sums, width
from directgp.linalg.native.passes import Panels, Pass, Sizes, panel_tasks


def _forward_task(form: str, keep: bool):
    """A = L⁻¹K (unless projected), X_p = C_p A, μ_p = m_pᵀA and Σ (A or K)∘X_p of some panels."""

    def task(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
        module, kind, (M, N) = e.builder.module, e.kind, sizes[:2]
        panels, room = Panels(e, sizes, number), e.times(M, width(kind))
        last = once(panel_product, module, kind, "full" if keep else "lower")
        add = once(panel_sums, module, kind)
        with e.scratch(room, room, room, 2 * width(kind)) as (K, A, X, sums), panels.loop() as n:
            panels.get(data["cross"], n, K)
            if form == "projected":
                A = K
            else:
                lower = once(panel_product, module, kind, "lower")
                e.call(lower, data["inverse"], M, K, A, 0, 0, M)
                panels.put(A, data["features"], n)
            with e.loop(0, sizes.P) as p:
                if form == "diagonal":
                    _scale_rows(e, e.at(data["excess"], e.times(p, M)), M, A, X)
                else:
                    matrix = e.at(data["matrix"], e.times(p, e.times(M, M)))
                    e.call(last, matrix, M, A, X, 0, 0, M)
                left = K if form == "lifted" else A
                e.call(add, e.at(data["mean"], e.times(p, M)), A, left, X, M, sums)
                if keep:
                    panels.put(X, e.at(data["product"], e.times(p, e.times(M, N))), n)
                here = e.add(n, e.times(p, N))
                with e.loop(0, panels.count(n)) as k:
                    e.put(e.get_one(sums, k), data["means"], e.add(here, k))
                    change = e.get_one(sums, e.add(k, width(kind)))
                    e.put(change, data["changes"], e.add(here, k))

    return task


def _scale_rows(e: Emitter, weights, M, source, target) -> None:
    """The rows of a panel, each by its own weight."""
    with e.loop(0, M) as row:
        weight = e.everywhere(e.get_one(weights, row))
        for at in range(0, width(e.kind), e.kind.lanes):
            here = e.add(e.times(row, width(e.kind)), at)
            e.put(e.product(weight, e.get(source, here)), target, here)


def _backward_count(e: Emitter, sizes: Sizes):
    return e.add(gram_groups(e, sizes), panel_tasks(e, sizes))


def _backward_task(form: str):
    """G_p = (A∘v̄_p)Aᵀ and A μ̄_p of some rows, or the cotangent of K of some panels.

    Rows take longer than panels, so they stand at both ends, where threads begin.
    """

    def task(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
        groups = gram_groups(e, sizes)
        in_front = e.pieces(groups, 2)
        panels_end = e.add(in_front, panel_tasks(e, sizes))
        in_panels = e.builder.and_(
            e.builder.icmp_signed(">=", number, in_front),
            e.builder.icmp_signed("<", number, panels_end),
        )
        before = e.builder.icmp_signed("<", number, in_front)
        group = e.builder.select(before, number, e.subtract(number, panel_tasks(e, sizes)))
        with e.builder.if_else(in_panels) as (panels, gram):
            with panels:
                _cross_task(e, data, sizes, e.subtract(number, in_front), form)
            with gram:
                if form == "diagonal":
                    gram_task(e, data, sizes, group, groups)
                else:
                    with e.loop(0, sizes.P) as p:
                        gram_task(e, _of_latent(e, data, sizes, p), sizes, group, groups)

    return task


def _of_latent(e: Emitter, data: dict[str, Any], sizes: Sizes, p) -> dict[str, Any]:
    """What a Gram matrix is made of and where it goes, for one latent function."""
    M, N = sizes[:2]
    steps = {"change_bar": N, "mean_bar": N, "sums": M, "gram": e.times(M, M)}
    own = {name: e.at(data[name], e.times(p, step)) for name, step in steps.items()}
    return {"right": data["right"]} | own


def _cross_task(e: Emitter, data: dict[str, Any], sizes: Sizes, number, form: str) -> None:
    """Σ_p 2 X_p∘v̄_p + w_p μ̄_pᵀ; the whitened forms take L⁻ᵀ of it."""
    kind, (M, N) = e.kind, sizes[:2]
    panels, room = Panels(e, sizes, number), e.times(M, width(kind))
    two = e.everywhere(ir.Constant(kind.scalar, 2.0))
    places = range(0, width(kind), kind.lanes)
    rooms = room, room, room, width(kind), width(kind)
    with e.scratch(*rooms) as (A, X, Y, means, changes), panels.loop() as n:
        if form == "diagonal":
            panels.get(data["right"], n, A)
        with e.loop(0, room, kind.lanes) as at:
            e.put(e.zeros(), Y, at)
        with e.loop(0, sizes.P) as p:
            if form == "diagonal":
                _scale_rows(e, e.at(data["excess"], e.times(p, M)), M, A, X)
            else:
                panels.get(e.at(data["product"], e.times(p, e.times(M, N))), n, X)
            here = e.add(n, e.times(p, N))
            panels.get(data["mean_bar"], here, means, 1, n)
            panels.get(data["change_bar"], here, changes, 1, n)
            mean = [e.get(means, at) for at in places]
            change = [e.product(two, e.get(changes, at)) for at in places]
            weights = e.at(data["weights"], e.times(p, M))
            with e.loop(0, M) as row:
                weight = e.everywhere(e.get_one(weights, row))
                for k, at in enumerate(places):
                    place = e.add(e.times(row, width(kind)), at)
                    value = e.plus_product(e.get(Y, place), weight, mean[k])
                    e.put(e.plus_product(value, e.get(X, place), change[k]), Y, place)
        if form in ("whitened", "diagonal"):
            upper = once(panel_product, e.builder.module, kind, "upper")
            e.call(upper, data["inverse"], M, Y, X, 0, 0, M)
            Y = X
        panels.put(Y, data["cross_bar"], n)


def moment_passes() -> list[Pass]:
    """A forward and a backward pass for every form, and one for prediction."""
    inverse, features, excess = {"inverse": "MM"}, {"features": "MN"}, {"excess": "PM"}
    # The first axis is that of the latent functions.
    given = {"matrix": "PMM", "mean": "PM", "cross": "MN"}
    moments = {"means": "PN", "changes": "PN"}
    bars = {"weights": "PM", "mean_bar": "PN", "change_bar": "PN"}
    kept = {"right": "MN", "product": "PMN"} | bars
    made = {"gram": "PMM", "sums": "PM", "cross_bar": "MN"}
    quadratic = _forward_task("projected", keep=False)
    found = [Pass("quadratic", given, moments, panel_tasks, quadratic)]
    for form in ("projected", "whitened", "lifted"):
        projected, whitened = form == "projected", form == "whitened"
        found.append(
            Pass(
                f"forward_{form}",
                given if projected else inverse | given,
                ({} if projected else features) | {"product": "PMN"} | moments,
                panel_tasks,
                _forward_task(form, keep=True),
            )
        )
        found.append(
            Pass(
                f"backward_{form}",
                inverse | kept if whitened else kept,
                made,
                _backward_count,
                _backward_task(form),
                mirror_each,
            )
        )
    found.append(
        Pass(
            "forward_diagonal",
            inverse | excess | {"mean": "PM", "cross": "MN"},
            features | moments,
            panel_tasks,
            _forward_task("diagonal", keep=False),
        )
    )
    found.append(
        Pass(
            "backward_diagonal",
            inverse | {"right": "MN"} | excess | bars,
            {"gram": "MM", "squares": "PM", "sums": "PM", "cross_bar": "MN"},
            _backward_count,
            _backward_task("diagonal"),
        )
    )
    return found
