"""Loops over bytes, compiled or in Python: their kernels, and operations that are single LLVM instructions.

An operation is a primitive on numpy's numbers of fixed size, which wrap around as compiled ones do. A kernel reads a
short text in Python: to compile takes longer.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, register_jitable

from linsep.engine.arrays import Array
from linsep.engine.native import primitive
from linsep.engine.tiers import Tiered, tiered

Function = Callable[..., Any]
LEAN = {"_nrt": False, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Do not count references to arrays that are passed on: for many arrays, the counting takes longer than the work."""
BLOCK, STEP = np.uint64(64), np.uint64(16)
"""Bytes that `scan_block` reads at once, and bytes that `copy_step` copies at once."""
WORK_A_BYTE = 8
"""Products that take as long in Python as to read a byte there."""


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
def _four_bytes(typing_context: Any, text: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], ir.IntType(32)), align=1)

    return types.uint32(text, types.uint64), generate


@primitive(_four_bytes)
def four_bytes(text: Any, k: Any) -> Any:
    """Return text[k : k + 4] as a number of 32 bits."""
    return np.uint32(int.from_bytes(text[k : k + np.uint64(4)], "little"))


@intrinsic
def _eight_bytes(typing_context: Any, text: Any, k: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_pointer(context, builder, signature.args[0], args[0], args[1], ir.IntType(64)), align=1)

    return types.uint64(text, types.uint64), generate


@primitive(_eight_bytes)
def eight_bytes(text: Any, k: Any) -> Any:
    """Return text[k : k + 8] as one word, the first byte lowest."""
    return np.uint64(int.from_bytes(text[k : k + np.uint64(8)], "little"))


@intrinsic
def _copy_step(typing_context: Any, text: Any, k: Any, copy: Any, w: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 16)
        source = _pointer(context, builder, signature.args[0], args[0], args[1], vector)
        target = _pointer(context, builder, signature.args[2], args[2], args[3], vector)
        builder.store(builder.load(source, align=1), target, align=1)
        return context.get_dummy_value()

    return types.void(text, types.uint64, copy, types.uint64), generate


@primitive(_copy_step)
def copy_step(text: Any, k: Any, copy: Any, w: Any) -> None:
    """Copy STEP bytes from text[k] on to copy[w] on."""
    copy[w : w + STEP] = text[k : k + STEP]


@intrinsic
def _scan_block(typing_context: Any, text: Any, k: Any, small: Any, w: Any, bit: Any) -> Any:
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


@primitive(_scan_block)
def scan_block(text: Any, k: Any, small: Any, w: Any, bit: Any) -> tuple[Any, Any]:
    """Write BLOCK bytes from text[k] on to small[w] on, with this bit set in capitals.

    Returns two words with a bit for each byte: which are ASCII characters of words, which are not ASCII.
    """
    v = np.frombuffer(text[k : k + BLOCK], np.uint8)
    capital = v - np.uint8(ord("A")) < 26
    letter = (v | np.uint8(0x20)) - np.uint8(ord("a")) < 26
    within = letter | (v - np.uint8(ord("0")) < 10) | (v == ord("_"))
    small[w : w + BLOCK] = np.where(capital, v | bit, v)
    masks = (np.packbits(mask, bitorder="little").tobytes() for mask in (within, v >= 0x80))
    first, second = (np.uint64(int.from_bytes(mask, "little")) for mask in masks)
    return first, second


@intrinsic
def _leading_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@primitive(_leading_zeros)
def leading_zeros(word: Any) -> Any:
    """Return the zero bits before the first one of a word that is not 0."""
    return np.uint64(64 - int(word).bit_length())


@intrinsic
def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@primitive(_trailing_zeros)
def trailing_zeros(word: Any) -> Any:
    """Return the zero bits after the last one of a word that is not 0."""
    bits = int(word)
    return np.uint64((bits & -bits).bit_length() - 1)


@intrinsic
def _wide_product(typing_context: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word, wide = ir.IntType(64), ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)
        return context.make_tuple(builder, signature.return_type, [high, builder.trunc(product, word)])

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), generate


@primitive(_wide_product)
def wide_product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the high and the low word of the product of two words."""
    product = int(a) * int(b)
    return np.uint64(product >> 64), np.uint64(product & (1 << 64) - 1)


@intrinsic
def _float_of_bits(typing_context: Any, bits: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.uint64), generate


@primitive(_float_of_bits)
def float_of_bits(bits: Any) -> Any:
    """Return the float64 that these bits are."""
    return bits.view(np.float64)


@intrinsic
def _bits_of_float(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.uint64(types.float64), generate


@primitive(_bits_of_float)
def bits_of_float(value: Any) -> Any:
    """Return the bits of a float64."""
    return np.float64(value).view(np.uint64)


def _whole(text: Array, *others: Any) -> int:
    return len(text)


def _with_view(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Replace the text by a view, from which Python takes bytes faster than from an array."""
    return memoryview(args[0]), *args[1:]


def text_kernel(
    bytes_of: Callable[..., int] = _whole, *, a_byte: int = WORK_A_BYTE, **options: Any
) -> Callable[[Function], Tiered]:  # fmt: skip
    """Read short texts, the first argument, in Python; compile the function for longer ones.

    `bytes_of` returns how many bytes a call may read, given its arguments; `a_byte` is the work of each. The function
    `python` reads a text in the loops' place.
    """
    how = {"flat": False, "given": _with_view, "folders": (Path(__file__).parent,)} | options
    return tiered(lambda *args: a_byte * bytes_of(*args), **how)
