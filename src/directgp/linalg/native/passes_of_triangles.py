"""Products of which half is known: with a triangle, or symmetric (`triangular.py`)."""

from typing import Any

from directgp.linalg.native.emit import Emitter
from directgp.linalg.native.gram import gram_groups, gram_task, mirror
from directgp.linalg.native.panels import once, panel_product, width
from directgp.linalg.native.passes import Panels, Pass, Sizes, panel_tasks


def _times(shape: str):
    """A triangle (transposed for "upper") times some panels."""

    def task(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
        panels, room = Panels(e, sizes, number), e.times(sizes.M, width(e.kind))
        product = once(panel_product, e.builder.module, e.kind, shape)
        with e.scratch(room, room) as (source, target), panels.loop() as n:
            panels.get(data["right"], n, source)
            e.call(product, data["matrix"], sizes.M, source, target)
            panels.put(target, data["product"], n)

    return task


def _symmetric(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
    gram_task(e, data, sizes, number, gram_groups(e, sizes))


def triangle_passes() -> list[Pass]:
    """L A, Lᵀ A and A Bᵀ."""
    triangle = {"matrix": "MM", "right": "MN"}
    found = [
        Pass(f"{shape}_times", triangle, {"product": "MN"}, panel_tasks, _times(shape))
        for shape in ("lower", "upper")
    ]
    both = {"left": "MN", "right": "MN"}
    symmetric = Pass("symmetric_product", both, {"gram": "MM"}, gram_groups, _symmetric, mirror)
    return [*found, symmetric]
