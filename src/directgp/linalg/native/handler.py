"""Handlers of XLA's foreign function interface that call a pass (xla/ffi/api/c_api.h).

The thread that is called takes task after task, and so do threads of XLA's pool as soon as they are
free. It waits only for tasks that another thread has begun, never for one that nobody has, so that
a busy pool costs time and cannot lock up. Whoever is last frees what they share.
"""

from typing import Any

from llvmlite import ir

from directgp.linalg.native.emit import INT, LONG, POINTER, VOID, Emitter, Numbers
from directgp.linalg.native.passes import Pass, Sizes
from directgp.linalg.native.xla_interface import interface

# What the threads of one call share: whole numbers, then the addresses of arguments and results.
_SHARED = {
    "taken": 0, "done": 8, "holders": 16, "tasks": 24, "M": 32, "N": 40, "D": 48, "P": 56,
    "threads": 64,
}  # fmt: skip
_ADDRESSES = 72
_HALF = 2**32
_SMALL = 8192
"""Numbers of an [M N] array below which the caller works alone."""


def handler(module: ir.Module, kind: Numbers, own: Pass) -> ir.Function:
    """What XLA calls by the name `directgp_<pass>_<dtype>`."""
    work = _work(module, kind, own)
    e = Emitter(module, kind, f"directgp_{own.name}_{kind.name}", "p", POINTER)
    (frame,) = e.arguments
    # XLA asks for the handler's version first: a call with an extension and nothing to compute.
    extension = e.field(frame, _at("CallFrame", "extension_start"))
    asked = e.builder.icmp_unsigned("!=", extension, ir.Constant(POINTER, None))
    with e.builder.if_else(asked) as (about_itself, to_work):
        with about_itself:
            _tell_version(e, extension)
        with to_work:
            _run(e, frame, own, work)
    return e.finish(ir.Constant(POINTER, None))


def _at(struct: str, field: str) -> int:
    """The byte offset of a field of one of XLA's structs."""
    return interface().offset(struct, field)


def _tell_version(e: Emitter, extension) -> None:
    kind = e.field(extension, _at("Extension_Base", "type"), INT)
    is_metadata = e.builder.icmp_unsigned("==", kind, ir.Constant(INT, interface().metadata))
    with e.builder.if_then(is_metadata):
        metadata = e.field(extension, _at("Metadata_Extension", "metadata"))
        version = _at("Metadata", "api_version")
        for number, field in zip(interface().version, ("major", "minor"), strict=True):
            offset = version + _at("Api_Version", f"{field}_version")
            e.set_field(ir.Constant(INT, number), metadata, offset)


def _run(e: Emitter, frame, own: Pass, work: ir.Function) -> None:
    names = list(own.arrays)
    groups = (("Args", "args", own.arguments), ("Rets", "rets", own.results))
    buffers = [
        e.field(e.field(frame, _at("CallFrame", field) + _at(group, field)), 8 * k)
        for group, field, members in groups
        for k in range(len(members))
    ]
    to_data = _at("Buffer", "data")
    data = {name: e.field(buffer, to_data) for name, buffer in zip(names, buffers, strict=True)}
    threads = _num_threads(e, frame)

    def length(axis: str):
        place = own.place_of(axis)
        if place is None:
            return e.long(0)
        array, where = place
        return e.field(e.field(buffers[array], _at("Buffer", "dims")), 8 * where, LONG)

    sizes = Sizes(length("M"), length("N"), length("D"), length("P"), threads)
    tasks = own.count(e, sizes)
    # A small matrix is done before a helper wakes, and on a busy machine one that has begun may not
    # go on for milliseconds.
    columns = sizes.M if own.place_of("N") is None else sizes.N
    small = e.builder.icmp_signed("<", e.times(sizes.M, columns), e.long(_SMALL))
    most = e.builder.select(small, e.long(0), e.subtract(threads, 1))
    helpers = e.least(most, e.subtract(tasks, 1))
    shared = e.call(e.outside("malloc", "n", POINTER), _ADDRESSES + 8 * len(names))
    holders = e.add(helpers, 1)
    for name, value in zip(_SHARED, (0, 0, holders, tasks, *sizes), strict=True):
        e.set_field(e.long(value), shared, _SHARED[name])
    for k, name in enumerate(names):
        e.set_field(data[name], shared, _ADDRESSES + 8 * k)
    with e.loop(0, helpers):
        _schedule(e, frame, work, shared)
    task = work.module.globals[f"task_{own.name}_{e.kind.name}"]
    _take_tasks(e, task, shared, from_front=True)
    with e.loop_while(lambda: e.builder.icmp_signed("<", _now(e, shared, "done"), tasks)):
        e.call(e.outside("sched_yield", "", INT))
    if own.after is not None:
        own.after(e, data, sizes)
    _let_go(e, shared)


def _num_threads(e: Emitter, frame):
    """Threads of XLA's pool, 1 where it does not tell."""
    place = e.variable(e.long(1))
    _ask(e, frame, "ThreadPool_NumThreads", num_threads=place.address)
    return e.builder.select(
        e.builder.icmp_signed("<", place.value, e.long(1)), e.long(1), place.value
    )


def _schedule(e: Emitter, frame, work: ir.Function, shared) -> None:
    """Ask the pool to run `work` some time; without an answer, nobody holds what is shared."""
    failed = _ask(e, frame, "ThreadPool_Schedule", task=e.plain(work), data=shared)
    with e.builder.if_then(failed):
        e.builder.atomic_rmw(
            "sub", e.field_address(shared, _SHARED["holders"]), e.long(1), "acq_rel"
        )


def _ask(e: Emitter, frame, function: str, **fields: Any):
    """Call a function of XLA's interface for this call's context; true if that failed."""
    context = e.field(frame, _at("CallFrame", "ctx"))
    error = _call_xla(e, frame, function, POINTER, ctx=context, **fields)
    failed = e.builder.icmp_unsigned("!=", error, ir.Constant(POINTER, None))
    with e.builder.if_then(failed):
        _call_xla(e, frame, "Error_Destroy", VOID, error=error)
    return failed


def _call_xla(e: Emitter, frame, function: str, result: Any, **fields: Any):
    """Fill the struct of a function's arguments and call the function."""
    struct = f"{function}_Args"
    size = interface().structs[struct].size
    given = e.room(size)
    nothing = {"struct_size": e.long(size), "extension_start": ir.Constant(POINTER, None)}
    for name, value in (nothing | fields).items():
        e.set_field(value, given, _at(struct, name))
    api = e.field(frame, _at("CallFrame", "api"))
    return e.call_address(e.field(api, _at("Api", function)), given, result=result)


def _work(module: ir.Module, kind: Numbers, own: Pass) -> ir.Function:
    """What a helping thread runs: tasks while there are any."""
    task = _task(module, kind, own)
    e = Emitter(module, kind, f"work_{own.name}_{kind.name}", "p")
    (shared,) = e.arguments
    _take_tasks(e, task, shared, from_front=False)
    _let_go(e, shared)
    return e.finish()


def _task(module: ir.Module, kind: Numbers, own: Pass) -> ir.Function:
    """(shared, number): do task `number`."""
    e = Emitter(module, kind, f"task_{own.name}_{kind.name}", "pn")
    shared, number = e.arguments
    sizes = Sizes(*(e.field(shared, _SHARED[name], LONG) for name in Sizes._fields))
    names = list(own.arrays)
    data = {name: e.field(shared, _ADDRESSES + 8 * k) for k, name in enumerate(names)}
    own.task(e, data, sizes, number)
    return e.finish()


def _take_tasks(e: Emitter, task: ir.Function, shared, *, from_front: bool) -> None:
    """The caller takes tasks from the front, helpers from the back, until all are taken.

    Neighbouring tasks write to neighbouring places, which two threads would fight over. One number
    counts both, in its lower and its upper half, so that no task is taken twice.
    """
    tasks = e.field(shared, _SHARED["tasks"], LONG)
    counter = e.field_address(shared, _SHARED["taken"])
    done = e.field_address(shared, _SHARED["done"])
    one = e.long(1 if from_front else _HALF)

    def take():
        return e.builder.atomic_rmw("add", counter, one, "acq_rel")

    def front(before):
        return e.builder.and_(before, e.long(_HALF - 1))

    def back(before):
        return e.builder.udiv(before, e.long(_HALF))

    taken = e.variable(take())

    def some_left():
        both = e.add(front(taken.value), back(taken.value))
        return e.builder.icmp_signed("<", both, tasks)

    with e.loop_while(some_left):
        last = e.subtract(tasks, 1)
        number = front(taken.value) if from_front else e.subtract(last, back(taken.value))
        e.call(task, shared, number)
        e.builder.atomic_rmw("add", done, e.long(1), "acq_rel")
        taken.value = take()


def _now(e: Emitter, shared, name: str):
    address = e.field_address(shared, _SHARED[name])
    return e.builder.load_atomic(address, "acquire", 8, typ=LONG)


def _let_go(e: Emitter, shared) -> None:
    holders = e.field_address(shared, _SHARED["holders"])
    before = e.builder.atomic_rmw("sub", holders, e.long(1), "acq_rel")
    with e.builder.if_then(e.builder.icmp_signed("==", before, e.long(1))):
        e.call(e.outside("free", "p"), shared)
