"""Two words about memory for compiled loops: prefetch a cache line, and index without wrap-around."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from linsep.core.verbs import compiles


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


def unsigned(i: Any) -> Any:
    """Return a checked index as an unsigned integer of its own size: compiled code then skips the test for i < 0."""
    return i


@compiles(unsigned)
def _unsigned_compiled(i: Any) -> Any:
    if i == types.int32:
        return lambda i: np.uint32(i)
    return lambda i: np.uint64(i)
