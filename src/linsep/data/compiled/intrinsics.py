"""LLVM instructions for compiled loops over bytes: load, copy or scan several bytes at once, count zero bits."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, register_jitable

from linsep.engine.digest import engine_digest
from linsep.engine.kernel_cache import DiskCache, KernelCache

Function = Callable[..., Any]
LEAN = {"_nrt": False, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Do not count references to arrays that are passed on: for many arrays, the counting takes longer than the work."""
BLOCK, STEP = np.uint64(64), np.uint64(16)
"""Bytes that `scan_block` reads at once, and bytes that `copy_step` copies at once."""


def called(function: Function) -> Function:
    """Let compiled code call this plain function, not inlined: for what is done once a row, or rarely."""
    return register_jitable(**LEAN)(function)


def written_out(function: Function) -> Function:
    """Let compiled code call this plain function, inlined by LLVM: for what is done for every feature."""
    return register_jitable(**LEAN, forceinline=True)(function)


def _pointer(context: Any, builder: Any, kind: Any, array: Any, k: Any, target: Any) -> Any:
    """Return the address of array[k], an array of bytes, as that of a number or vector."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [k]), target.as_pointer())


@intrinsic
def four_bytes(typing_context: Any, text: Any, k: Any) -> Any:
    """Return text[k : k + 4] as a number of 32 bits."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], ir.IntType(32)), align=1)

    return types.uint32(text, types.uint64), generate


@intrinsic
def copy_step(typing_context: Any, text: Any, k: Any, copy: Any, w: Any) -> Any:
    """Copy STEP bytes from text[k] on to copy[w] on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 16)
        source = _pointer(context, builder, signature.args[0], args[0], args[1], vector)
        target = _pointer(context, builder, signature.args[2], args[2], args[3], vector)
        builder.store(builder.load(source, align=1), target, align=1)
        return context.get_dummy_value()

    return types.void(text, types.uint64, copy, types.uint64), generate


@intrinsic
def scan_block(typing_context: Any, text: Any, k: Any, small: Any, w: Any, bit: Any) -> Any:
    """Write BLOCK bytes from text[k] on to small[w] on, with this bit set in capitals.

    Returns two words with a bit for each byte: which are ASCII characters of words, which are not ASCII.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, word = ir.IntType(8), ir.IntType(64)
        vector = ir.VectorType(byte, 64)

        def every(value: int) -> Any:
            return ir.Constant(vector, [value] * 64)

        def among(values: Any, first: str, count: int) -> Any:
            return builder.icmp_unsigned("<", builder.sub(values, every(ord(first))), every(count))

        source = _pointer(context, builder, signature.args[0], args[0], args[1], vector)
        target = _pointer(context, builder, signature.args[2], args[2], args[3], vector)
        v = builder.load(source, align=1)
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), args[4], ir.Constant(ir.IntType(32), 0))
        bits = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64))
        builder.store(builder.or_(v, builder.select(among(v, "A", 26), bits, every(0))), target, align=1)
        letter = among(builder.or_(v, every(0x20)), "a", 26)
        within = builder.or_(builder.or_(letter, among(v, "0", 10)), builder.icmp_unsigned("==", v, every(ord("_"))))
        beyond = builder.icmp_signed("<", v, every(0))
        masks = [builder.bitcast(mask, word) for mask in (within, beyond)]
        return context.make_tuple(builder, signature.return_type, masks)

    return types.UniTuple(types.uint64, 2)(text, types.uint64, small, types.uint64, types.uint8), generate


@intrinsic
def leading_zeros(typing_context: Any, word: Any) -> Any:
    """Return the zero bits before the first one of a word that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Return the zero bits after the last one of a word that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def eight_bytes(typing_context: Any, text: Any, k: Any) -> Any:
    """Return text[k : k + 8] as one word, the first byte lowest."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], ir.IntType(64)), align=1)

    return types.uint64(text, types.uint64), generate


class DataKernelCache(KernelCache):
    """The cache of a kernel of this folder: a change of any file in it, or in the engine, gives other machine code."""

    @cached_property
    def disk(self) -> Any:
        """The cache on disk."""
        disk = super().disk
        if isinstance(disk, DiskCache):
            key = disk._index_key
            disk._index_key = lambda sig, codegen: (*key(sig, codegen), engine_digest(Path(__file__).parent))
        return disk


def kernel(**options: Any) -> Callable[[Function], Any]:
    """Compile a function when it is first called, and cache it on disk; other threads run meanwhile."""

    def decorate(function: Function) -> Any:
        compiled = njit(nogil=True, error_model="numpy", **options)(function)
        compiled._cache = DataKernelCache(function)
        return compiled

    return decorate
