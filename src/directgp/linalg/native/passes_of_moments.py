"""The forward and the backward pass of every form of the moments (`moments/`)."""

from typing import Any

from llvmlite import ir

from directgp.linalg.native.emit import Emitter
from directgp.linalg.native.gram import gram_groups, gram_task, mirror
from directgp.linalg.native.panels import once, panel_product, panel_sums, width
from directgp.linalg.native.passes import Panels, Pass, Sizes, panel_tasks


def _forward_task(form: str, keep: bool):
    """A = L⁻¹K (unless projected), X = (matrix) A, μ = meanᵀA and Σ (A or K)∘X of some panels."""

    def task(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
        module, kind = e.builder.module, e.kind
        panels, room = Panels(e, sizes, number), e.times(sizes.M, width(kind))
        last = once(panel_product, module, kind, "full" if keep else "lower")
        add = once(panel_sums, module, kind)
        with e.scratch(room, room, room, 2 * width(kind)) as (K, A, X, sums), panels.loop() as n:
            panels.get(data["cross"], n, K)
            if form == "projected":
                A = K
            else:
                lower = once(panel_product, module, kind, "lower")
                e.call(lower, data["inverse"], sizes.M, K, A)
                panels.put(A, data["features"], n)
            e.call(last, data["matrix"], sizes.M, A, X)
            e.call(add, data["mean"], A, A if form == "whitened" else K, X, sizes.M, sums)
            if keep:
                panels.put(X, data["product"], n)
            with e.loop(0, panels.count(n)) as k:
                e.put(e.get_one(sums, k), data["means"], e.add(n, k))
                e.put(e.get_one(sums, e.add(k, width(kind))), data["changes"], e.add(n, k))

    return task


def _backward_count(e: Emitter, sizes: Sizes):
    return e.add(gram_groups(e, sizes), panel_tasks(e, sizes))


def _backward_task(form: str):
    """G = (A∘v̄)Aᵀ and A μ̄ of some rows, or the cotangent of K of some panels.

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
                gram_task(e, data, sizes, group, groups)

    return task


def _cross_task(e: Emitter, data: dict[str, Any], sizes: Sizes, number, form: str) -> None:
    """2 X∘v̄ + w μ̄ᵀ; the whitened form takes L⁻ᵀ of it."""
    kind = e.kind
    panels, room = Panels(e, sizes, number), e.times(sizes.M, width(kind))
    two = e.everywhere(ir.Constant(kind.scalar, 2.0))
    rooms = room, room, width(kind), width(kind)
    with e.scratch(*rooms) as (X, Y, means, changes), panels.loop() as n:
        panels.get(data["product"], n, X)
        panels.get(data["mean_bar"], n, means, 1)
        panels.get(data["change_bar"], n, changes, 1)
        places = range(0, width(kind), kind.lanes)
        mean = [e.get(means, at) for at in places]
        change = [e.product(two, e.get(changes, at)) for at in places]
        with e.loop(0, sizes.M) as row:
            weight = e.everywhere(e.get_one(data["weights"], row))
            for k, at in enumerate(places):
                here = e.add(e.times(row, width(kind)), at)
                value = e.plus_product(e.product(weight, mean[k]), e.get(X, here), change[k])
                e.put(value, X, here)
        if form == "whitened":
            upper = once(panel_product, e.builder.module, kind, "upper")
            e.call(upper, data["inverse"], sizes.M, X, Y)
            X = Y
        panels.put(X, data["cross_bar"], n)


def moment_passes() -> list[Pass]:
    """A forward and a backward pass for every form, and one for prediction."""
    inverse, features = {"inverse": "MM"}, {"features": "MN"}
    # The first axis of length 1 is that of the latent functions: there is one.
    given = {"matrix": "1MM", "mean": "1M", "cross": "MN"}
    moments = {"means": "1N", "changes": "1N"}
    kept = {"right": "MN", "product": "1MN", "weights": "1M", "mean_bar": "1N", "change_bar": "1N"}
    made = {"gram": "1MM", "sums": "1M", "cross_bar": "MN"}
    quadratic = _forward_task("projected", keep=False)
    found = [Pass("quadratic", given, moments, panel_tasks, quadratic)]
    for form in ("projected", "whitened", "lifted"):
        projected, whitened = form == "projected", form == "whitened"
        found.append(
            Pass(
                f"forward_{form}",
                given if projected else inverse | given,
                ({} if projected else features) | {"product": "1MN"} | moments,
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
                mirror,
            )
        )
    return found
