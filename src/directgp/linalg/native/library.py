"""Compile native passes on first use and register them with XLA."""

import contextlib
import ctypes
import threading
from functools import cache

import jax
from llvmlite import binding as llvm
from llvmlite import ir

from directgp.linalg.native import object_code
from directgp.linalg.native.emit import Numbers, numbers
from directgp.linalg.native.handler import handler
from directgp.linalg.native.passes_of_factors import factor_passes
from directgp.linalg.native.passes_of_kernels import kernel_passes
from directgp.linalg.native.passes_of_moments import moment_passes
from directgp.linalg.native.passes_of_triangles import triangle_passes

_ALL = (*triangle_passes(), *factor_passes(), *moment_passes(), *kernel_passes())
PASSES = {own.name: own for own in _ALL}
"""Every pass there is, by name."""

_REGISTERS = {"+avx512f": (64, 32), "+avx2": (32, 16), "": (16, 16)}
"""Bytes of a vector register, and how many there are, by what a processor is known to have."""
_lock = threading.Lock()


class Processor:
    """What LLVM knows of a processor: this one, unless told otherwise."""

    def __init__(self, name: str | None = None, features: str = ""):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        if name is None:
            name, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        known = {"", *features.split(",")}
        self._registers = next(size for has, size in _REGISTERS.items() if has in known)
        self._described = {"cpu": name, "features": features, "opt": 3, "jit": True}

    def numbers(self, dtype: str) -> Numbers:
        """Numbers of a kind in its registers."""
        return numbers(dtype, *self._registers)

    def register(self, name: str, dtype: str, prefix: str = "directgp") -> str:
        """Compile a pass and tell XLA; returns the name by which XLA knows it."""
        known_as = f"{prefix}_{name}_{dtype}"
        pointer = ctypes.c_void_p(self._address(known_as, name, dtype))
        try:
            jax.ffi.register_ffi_target(known_as, jax.ffi.pycapsule(pointer), platform="cpu")
        except Exception as problem:
            # After a reload of this module the first registration still holds, and its code too.
            if "Duplicate" not in str(problem):
                raise
        return known_as

    def _address(self, known_as: str, name: str, dtype: str) -> int:
        """Where the machine code of a pass is, kept from an earlier run or compiled now."""
        described = repr((known_as, sorted(self._described.items())))
        kept = object_code.read(described)
        if kept is not None:
            with contextlib.suppress(Exception):  # whatever is wrong with it, it can be compiled
                engine = self._engine(llvm.parse_assembly(""))
                engine.add_object_file(llvm.ObjectFileRef.from_data(kept.code))
                return self._found(engine, kept.function)
        module = ir.Module(known_as)
        function = handler(module, self.numbers(dtype), PASSES[name])
        return self._compiled(module, function.name, described)

    def _engine(self, parsed: llvm.ModuleRef) -> llvm.ExecutionEngine:
        machine = llvm.Target.from_default_triple().create_target_machine(**self._described)
        return llvm.create_mcjit_compiler(parsed, machine)  # which now owns both

    def _found(self, engine: llvm.ExecutionEngine, name: str) -> int:
        """The address of a function, for as long as the process lives."""
        engine.finalize_object()
        address = engine.get_function_address(name)
        if not address:
            raise LookupError(name)
        engine.detach()
        return address

    def _compiled(self, module: ir.Module, name: str, described: str) -> int:
        parsed = llvm.parse_assembly(str(module))
        parsed.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        # Vectors and tiles are written as they should be.
        options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
        machine = llvm.Target.from_default_triple().create_target_machine(**self._described)
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(parsed, builder)
        engine = llvm.create_mcjit_compiler(parsed, machine)  # which now owns both
        engine.set_object_cache(
            lambda _, code: object_code.write(described, object_code.Kept(name, code))
        )
        return self._found(engine, name)


@cache
def _this_processor() -> Processor:
    return Processor()


@cache
def _target(name: str, dtype: str) -> str:
    return _this_processor().register(name, dtype)


def target(name: str, dtype: str) -> str:
    """The name by which XLA knows a pass; compiled and registered the first time."""
    with _lock:
        return _target(name, dtype)
