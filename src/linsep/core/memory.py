"""Words about memory for compiled loops: prefetch a line, pack nonzeros together, index without wrap-around."""

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from linsep.core.verbs import compiles

CAN_PACK = binding.get_host_cpu_features().get("avx512vl", False)
"""Whether the processor packs nonzeros by itself; elsewhere LLVM's own way is slower than a plain loop."""


def prefetch(array: Any, i: Any) -> None:
    """Ask the processor to fetch the cache line of `array.flat[i]`; changes no result."""


@intrinsic
def _prefetch(typing_context: Any, array: Any, i: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        read, keep_in_level_2, data_not_code = (ir.Constant(number, c) for c in (0, 2, 1))
        builder.call(function, [address, read, keep_in_level_2, data_not_code])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@compiles(prefetch)
def _prefetch_compiled(array: Any, i: Any) -> Any:
    return lambda array, i: _prefetch(array, i)


LANES = 8
"""Entries that :func:`pack` looks at in one go; it may write as many beyond the last nonzero."""


def pack(values: Any, k: Any, j: Any, indices: Any, nonzeros: Any, n: Any) -> int:
    """Write the nonzeros among values.flat[k : k + LANES] to nonzeros[n:], their columns to indices[n:]; count them.

    `j` is the column of the first. `values` and `nonzeros` have one type, float32 or float64; `indices` is int32.
    """
    block = values.reshape(-1)[k : k + LANES]
    places = np.flatnonzero(block)
    nonzeros[n : n + len(places)], indices[n : n + len(places)] = block[places], places + j
    return len(places)


@intrinsic
def _pack(typing_context: Any, values: Any, k: Any, j: Any, indices: Any, nonzeros: Any, n: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def vector_at(array: int, offset: Any, kind: Any) -> Any:
            data = context.make_array(signature.args[array])(context, builder, args[array]).data
            return builder.bitcast(builder.gep(data, [offset]), kind.as_pointer())

        def together(vector: Any, suffix: str) -> Any:
            kind = ir.FunctionType(vector.type, [vector.type, wanted.type, vector.type])
            name = f"llvm.experimental.vector.compress.v{LANES}{suffix}"
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            return builder.call(function, [vector, wanted, ir.Constant(vector.type, ir.Undefined)])

        of, number = context.get_data_type(values.dtype), ir.IntType(32)
        floats, integers = ir.VectorType(of, LANES), ir.VectorType(number, LANES)
        bytes_each = values.dtype.bitwidth // 8
        block = builder.load(vector_at(0, args[1], floats), align=bytes_each)
        wanted = builder.fcmp_unordered("!=", block, ir.Constant(floats, [0.0] * LANES))
        undefined = ir.Constant(integers, ir.Undefined)
        first = builder.insert_element(undefined, builder.trunc(args[2], number), number(0))
        columns = builder.add(
            builder.shuffle_vector(first, undefined, ir.Constant(integers, [0] * LANES)),
            ir.Constant(integers, list(range(LANES))),
        )
        packed = together(block, f"f{values.dtype.bitwidth}")
        builder.store(packed, vector_at(4, args[5], floats), align=bytes_each)
        builder.store(together(columns, "i32"), vector_at(3, args[5], integers), align=4)
        bits = builder.bitcast(wanted, ir.IntType(LANES))
        return builder.ctpop(builder.zext(bits, ir.IntType(64)))

    return types.intp(values, types.intp, types.intp, indices, nonzeros, types.intp), generate


def _pack_one_by_one(values: Any, k: Any, j: Any, indices: Any, nonzeros: Any, n: Any) -> int:
    """Write every entry where the next overwrites it if it was a zero: no branch to mispredict."""
    flat, begin = values.reshape(values.size), n
    for lane in range(LANES):
        indices[n], nonzeros[n] = j + lane, flat[k + lane]
        n += 1 if flat[k + lane] != 0 else 0
    return n - begin


@compiles(pack)
def _pack_compiled(values: Any, k: Any, j: Any, indices: Any, nonzeros: Any, n: Any) -> Any:
    if CAN_PACK:
        return lambda values, k, j, indices, nonzeros, n: _pack(values, k, j, indices, nonzeros, n)
    return _pack_one_by_one


def unsigned(i: Any) -> Any:
    """Return a checked index as an unsigned integer of its own size: compiled code then skips the test for i < 0."""
    return i


@compiles(unsigned)
def _unsigned_compiled(i: Any) -> Any:
    if i == types.int32:
        return lambda i: np.uint32(i)
    return lambda i: np.uint64(i)
