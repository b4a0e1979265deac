"""Emits LLVM IR: loops, vectors and pointers of one floating-point type.

LLVM turns what is written here into the machine code of the processor at hand. A function is for
one thread; `handler` has several threads call it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from llvmlite import ir

Value = Any
"""Something that machine code computes; llvmlite has no types for it."""

LONG = ir.IntType(64)
INT = ir.IntType(32)
POINTER = ir.PointerType()
VOID = ir.VoidType()
_REASSOCIATED = ("reassoc",)
_FUSED = ("contract",)


class Numbers(NamedTuple):
    """A type of number, and what fits into the registers of the processor."""

    name: str
    scalar: Any
    bytes: int
    lanes: int
    """Numbers in one register."""
    registers: int

    @property
    def vector(self) -> Any:
        return ir.VectorType(self.scalar, self.lanes)


def numbers(name: str, register_bytes: int, registers: int) -> Numbers:
    """`float32` or `float64` on a processor with that many vector registers."""
    scalar, size = {"float32": (ir.FloatType(), 4), "float64": (ir.DoubleType(), 8)}[name]
    return Numbers(name, scalar, size, register_bytes // size, registers)


class Emitter:
    """Writes one function."""

    def __init__(
        self, module: ir.Module, kind: Numbers, name: str, parameters: str, result: Value = VOID
    ):
        """`parameters` has a letter for each: p a pointer, n a whole number."""
        types = [POINTER if letter == "p" else LONG for letter in parameters]
        self.function = ir.Function(module, ir.FunctionType(result, types), name)
        self.function.attributes.add("noinline")  # once is enough: a call costs nothing here
        self.kind = kind
        self._entry = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.builder: Any = ir.IRBuilder(self.function.append_basic_block("body"))

    @property
    def arguments(self) -> list:
        return list(self.function.args)

    def finish(self, value=None) -> ir.Function:
        """Return `value` (nothing) from the function."""
        self._entry.branch(self.function.basic_blocks[1])
        if value is None:
            self.builder.ret_void()
        else:
            self.builder.ret(value)
        return self.function

    def variable(self, start) -> "Variable":
        """Something that changes; LLVM keeps it in a register."""
        return Variable(self, self._entry.alloca(start.type), start)

    # Whole numbers

    def long(self, value) -> Any:
        return ir.Constant(LONG, value) if isinstance(value, int) else value

    def plain(self, address) -> Value:
        """An address that does not know what is there."""
        return self.builder.inttoptr(self.builder.ptrtoint(address, LONG), POINTER)

    def add(self, left, right) -> Value:
        return self.builder.add(self.long(left), self.long(right))

    def subtract(self, left, right) -> Value:
        return self.builder.sub(self.long(left), self.long(right))

    def times(self, left, right) -> Value:
        return self.builder.mul(self.long(left), self.long(right))

    def whole(self, number, step: int) -> Value:
        """The largest multiple of `step` up to `number`."""
        return self.times(self.builder.udiv(number, self.long(step)), step)

    def least(self, left, right) -> Value:
        left, right = self.long(left), self.long(right)
        return self.builder.select(self.builder.icmp_signed("<", left, right), left, right)

    def most(self, left, right) -> Value:
        left, right = self.long(left), self.long(right)
        return self.builder.select(self.builder.icmp_signed(">", left, right), left, right)

    @contextmanager
    def loop(self, start, stop, step=1) -> Iterator[Any]:
        """For index in range(start, stop, step)."""
        index = self.variable(self.long(start))
        test, body, end = (self.function.append_basic_block(name) for name in ("t", "b", "e"))
        self.builder.branch(test)
        self.builder.position_at_end(test)
        now = index.value
        self.builder.cbranch(self.builder.icmp_signed("<", now, self.long(stop)), body, end)
        self.builder.position_at_end(body)
        yield now
        index.value = self.add(now, step)
        self.builder.branch(test)
        self.builder.position_at_end(end)

    @contextmanager
    def loop_while(self, condition) -> Iterator[None]:
        """As long as `condition()`."""
        test, body, end = (self.function.append_basic_block(name) for name in ("t", "b", "e"))
        self.builder.branch(test)
        self.builder.position_at_end(test)
        self.builder.cbranch(condition(), body, end)
        self.builder.position_at_end(body)
        yield
        self.builder.branch(test)
        self.builder.position_at_end(end)

    def pieces(self, number, size) -> Value:
        """How many pieces of `size` hold `number`."""
        return self.builder.udiv(self.add(number, self.subtract(size, 1)), self.long(size))

    # Memory

    def at(self, pointer, index) -> Value:
        """The address of number `index` from `pointer` on."""
        return self.builder.gep(pointer, [self.long(index)], source_etype=self.kind.scalar)

    def get(self, pointer, index: Value = 0) -> Value:
        """A vector from memory."""
        address = self.at(pointer, index)
        return self.builder.load(address, typ=self.kind.vector, align=self.kind.bytes)

    def put(self, value, pointer, index: Value = 0) -> None:
        """A vector or a number to memory."""
        self.builder.store(value, self.at(pointer, index), align=self.kind.bytes)

    def get_one(self, pointer, index: Value = 0) -> Value:
        return self.builder.load(self.at(pointer, index), typ=self.kind.scalar)

    def field(self, pointer, offset: int, typ: Value = POINTER) -> Value:
        """What is `offset` bytes behind `pointer`."""
        return self.builder.load(self.field_address(pointer, offset), typ=typ)

    def increase(self, pointer, index, number) -> None:
        """Add a number to one in memory."""
        self.put(self.builder.fadd(self.get_one(pointer, index), number), pointer, index)

    def room(self, size: int) -> Value:
        """So many bytes for as long as the function runs."""
        return self.plain(self._entry.alloca(ir.ArrayType(LONG, size // 8)))

    def set_field(self, value, pointer, offset: int) -> None:
        self.builder.store(value, self.field_address(pointer, offset))

    def field_address(self, pointer, offset: int) -> Value:
        return self.builder.gep(pointer, [self.long(offset)], source_etype=ir.IntType(8))

    def outside(self, name: str, parameters: str, result: Value = VOID) -> Value:
        """A function of the C library."""
        module = self.builder.module
        types = [POINTER if letter == "p" else LONG for letter in parameters]
        known = module.globals.get(name)
        return known or ir.Function(module, ir.FunctionType(result, types), name)

    @contextmanager
    def scratch(self, *sizes) -> Iterator[list]:
        """Room for so many numbers each, aligned as the processor likes it."""
        sizes = [self.whole(self.add(size, 63), 64) for size in sizes]
        total = self.long(64)
        for size in sizes:
            total = self.add(total, self.times(size, self.kind.bytes))
        memory = self.call(self.outside("malloc", "n", POINTER), total)
        number = self.add(self.builder.ptrtoint(memory, LONG), 63)
        place = self.builder.inttoptr(self.builder.and_(number, self.long(-64)), POINTER)
        places = []
        for size in sizes:
            places.append(place)
            place = self.at(place, size)
        yield places
        self.call(self.outside("free", "p"), memory)

    # Arithmetic of vectors

    def zeros(self) -> Value:
        return ir.Constant(self.kind.vector, [0.0] * self.kind.lanes)

    def zero(self) -> Value:
        return ir.Constant(self.kind.scalar, 0.0)

    def one(self) -> Value:
        return ir.Constant(self.kind.scalar, 1.0)

    def everywhere(self, number) -> Value:
        """A vector of equal numbers."""
        one = self.builder.insert_element(
            ir.Constant(self.kind.vector, ir.Undefined), number, ir.Constant(INT, 0)
        )
        same = ir.Constant(ir.VectorType(INT, self.kind.lanes), [0] * self.kind.lanes)
        return self.builder.shuffle_vector(one, ir.Constant(self.kind.vector, ir.Undefined), same)

    def product(self, left, right) -> Value:
        return self.builder.fmul(left, right)

    def difference(self, left, right) -> Value:
        return self.builder.fsub(left, right)

    def number(self, value: float) -> Value:
        """A vector of a known number."""
        return ir.Constant(self.kind.vector, [value] * self.kind.lanes)

    def where_less(self, left, right, then, otherwise) -> Value:
        """What stands in `then` where left < right; where either is no number, `otherwise`."""
        return self.builder.select(self.builder.fcmp_ordered("<", left, right), then, otherwise)

    def root(self, vector) -> Value:
        return self.builder.call(self._vector_function("sqrt", [self.kind.vector]), [vector])

    def power_of_two(self, shifted, magic: float) -> Value:
        """2ⁿ from n + magic, whose last bits are n because magic has none behind the point."""
        kind = self.kind
        whole = ir.VectorType(ir.IntType(8 * kind.bytes), kind.lanes)
        mantissa = {4: 23, 8: 52}[kind.bytes]
        bias = {4: 127, 8: 1023}[kind.bytes]

        def same(value: int) -> Value:
            return ir.Constant(whole, [value] * kind.lanes)

        number = self.builder.bitcast(shifted, whole)
        offset = self.builder.bitcast(self.number(magic), whole)
        exponent = self.builder.add(self.builder.sub(number, offset), same(bias))
        return self.builder.bitcast(self.builder.shl(exponent, same(mantissa)), kind.vector)

    def plus_product(self, total, left, right) -> Value:
        """Total + left · right, rounded once where the processor can."""
        product = self.builder.fmul(left, right, flags=_FUSED)
        return self.builder.fadd(total, product, flags=_FUSED)

    def sum_of(self, vector) -> Value:
        """The sum of a vector's numbers."""
        kind = self.kind
        add = self._vector_function("vector.reduce.fadd", [kind.scalar, kind.vector], kind.scalar)
        return self.builder.call(add, [self.zero(), vector], fastmath=_REASSOCIATED)

    def _vector_function(self, name: str, parameters: list, result=None) -> Value:
        """A function that LLVM has for vectors."""
        kind, module = self.kind, self.builder.module
        name = f"llvm.{name}.v{kind.lanes}f{8 * kind.bytes}"
        shape = ir.FunctionType(result or kind.vector, parameters)
        return module.globals.get(name) or ir.Function(module, shape, name)

    def call(self, function, *arguments) -> Value:
        return self.builder.call(function, [self.long(argument) for argument in arguments])

    def call_address(self, address, *arguments, result: Value = VOID) -> Value:
        """Call what is at an address, with pointers."""
        shape = ir.FunctionType(result, [POINTER] * len(arguments))
        number = self.builder.ptrtoint(address, LONG)
        known = self.builder.inttoptr(number, ir.PointerType(shape))
        return self.builder.call(known, arguments)


class Variable:
    """A place for a value that changes."""

    def __init__(self, emitter: Emitter, place, start):
        self._emitter, self._place, self._type = emitter, place, start.type
        self.value = start

    @property
    def address(self) -> Value:
        """Where it is; it then stays in memory."""
        return self._emitter.plain(self._place)

    @property
    def value(self) -> Value:
        return self._emitter.builder.load(self._place, typ=self._type)

    @value.setter
    def value(self, new) -> None:
        self._emitter.builder.store(new, self._place)
