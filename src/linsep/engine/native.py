"""Primitives of loops: prefetch, compress nonzeros, index unchecked, bind arguments.

A :func:`primitive` has a meaning in Python, the decorated function, and another one in compiled code.

Handing a dozen arrays to compiled code takes longer than learning a row. :class:`Bound` holds them as machine words
(where each array lies, its shape; the bits of each number), which compiled code reads back as the tuple that it was
given, with :func:`opened`. The arrays are kept alive by the `Bound` itself.
"""

import struct
from collections.abc import Callable
from inspect import signature
from operator import index
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
from llvmlite import binding, ir
from numba import typeof, types
from numba.core import cgutils
from numba.extending import NativeValue, intrinsic, models, overload, register_model, typeof_impl, unbox
from numba.np.arrayobj import populate_array

from linsep.engine.arrays import views

Function = TypeVar("Function", bound=Callable[..., Any])
INLINED = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
CAN_PACK = binding.get_host_cpu_features().get("avx512vl", False)
"""True if the processor has an instruction that packs nonzeros; without it, a plain loop is faster than LLVM's code."""


def primitive(compiled: Any, omitted: bool = False) -> Callable[[Function], Function]:
    """Give the decorated function another meaning in compiled code: an intrinsic, or a plain function.

    If `omitted`, Python omits the calls. Flat functions (:mod:`linsep.engine.flatten`) name the meaning itself; numba
    finds the meaning where it compiles other functions.
    """

    def declare(function: Function) -> Function:
        function.compiled, function.omitted = compiled, omitted  # type: ignore[attr-defined]
        meaning = compiled
        if not isinstance(compiled, FunctionType):
            names = ", ".join(signature(function).parameters)
            meaning = eval(f"lambda {names}: compiled({names})", {"compiled": compiled})
        overload(function, strict=False, jit_options=INLINED)(lambda *args: meaning)
        return function

    return declare


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


@primitive(_prefetch, omitted=True)
def prefetch(array: Any, i: Any) -> None:
    """Ask the processor to fetch the cache line of `array.flat[i]`; changes no result."""


UNSIGNED = (1 << 64) - 1
LANES = 8
"""Entries that :func:`pack` looks at in one go; it may write as many beyond the last nonzero."""


@intrinsic
def _compress(typing_context: Any, values: Any, k: Any, j: Any, indices: Any, nonzeros: Any, n: Any) -> Any:
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


def _pack_at_once(values: Any, i: Any, j: Any, indices: Any, nonzeros: Any, n: Any) -> Any:
    return _compress(values, i * values.shape[1] + j, j, indices, nonzeros, n)


def _pack_one_by_one(values: Any, i: Any, j: Any, indices: Any, nonzeros: Any, n: Any) -> int:
    """Write every entry where the next overwrites it if it was a zero: no branch to mispredict."""
    begin = n
    for lane in range(LANES):
        indices[n], nonzeros[n] = j + lane, values[i, j + lane]
        n += 1 if values[i, j + lane] != 0 else 0
    return n - begin


@primitive(_pack_at_once if CAN_PACK else _pack_one_by_one)
def pack(values: Any, i: Any, j: Any, indices: Any, nonzeros: Any, n: Any) -> int:
    """Write the nonzeros among values[i, j : j + LANES] to nonzeros[n:], their columns to indices[n:]; count them.

    `values` and `nonzeros` have one type, float32 or float64; `indices` is int32.
    """
    begin = n
    for lane in range(LANES):
        v = values[i, j + lane]
        if v != 0:
            indices[n], nonzeros[n] = j + lane, v
            n += 1
    return n - begin


@intrinsic
def _unsigned(typing_context: Any, i: Any) -> Any:
    of = types.uint32 if i == types.int32 else types.uint64

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.cast(builder, args[0], signature.args[0], of)

    return of(i), generate


@primitive(_unsigned)
def unsigned(i: Any) -> Any:
    """Return a checked index as an unsigned integer of its own size: compiled code then skips the test for i < 0."""
    return index(i) & UNSIGNED


def _flat(array: Any) -> Any:
    return array.reshape(array.size)


@primitive(_flat)
def flat(array: Any) -> Any:
    """Return a table in C order as one line, in the same memory."""
    return memoryview(array.obj.reshape(-1))


def _line(table: Any, i: Any) -> Any:
    return table[i]


@primitive(_line)
def line(table: Any, i: Any) -> Any:
    """Return the i-th line of a table, in the same memory."""
    return memoryview(table.obj[i])


class Bound:
    """A tuple of C-ordered arrays, floats, integers, booleans and such tuples, cheap to pass to compiled code."""

    __slots__ = ("args", "type", "views", "words")
    words: Any
    """The machine words."""
    type: "BoundType"
    """The compiled type."""
    views: Any
    """The tuple with a memoryview of each array, which Python indexes several times as fast."""

    def __init__(self, *args: Any) -> None:
        _refuse_strided(args)
        self.args = args

    def __getattr__(self, name: str) -> Any:
        """Compute a slot when it is first read; every call of compiled code reads `words`, so no property may do it."""
        value: Any
        if name == "words":
            value = np.array(list(_words(self.args)), np.int64)
        elif name == "type":
            key = _key(self.args)
            if key not in TYPES:
                TYPES[key] = BoundType(typeof(self.args))
            value = TYPES[key]
        elif name == "views":
            value = views(self.args)
        else:
            raise AttributeError(f"a Bound has no attribute {name!r}")
        setattr(self, name, value)
        return value


def _key(value: Any) -> Any:
    """Return what the compiled type of a value depends on, much faster than the type itself."""
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    return (value.dtype, value.ndim, value.flags.writeable) if isinstance(value, np.ndarray) else type(value)


def _refuse_strided(values: tuple[Any, ...]) -> None:
    for value in values:
        if isinstance(value, tuple):
            _refuse_strided(value)
        elif isinstance(value, np.ndarray) and not value.flags.c_contiguous:
            raise TypeError("only C-ordered arrays can be bound")


def _words(value: Any) -> Any:
    if isinstance(value, tuple):
        for item in value:
            yield from _words(item)
    elif isinstance(value, np.ndarray):
        yield value.ctypes.data
        yield from value.shape
    else:
        yield struct.unpack("=q", struct.pack("=d", value))[0] if isinstance(value, float) else int(value)


class BoundType(types.Type):
    """The type of a :class:`Bound` in compiled code, by the type of its tuple."""

    def __init__(self, args: Any) -> None:
        self.args = args
        super().__init__(f"Bound({args})")


TYPES: dict[Any, BoundType] = {}


@register_model(BoundType)
class BoundModel(models.StructModel):
    """In compiled code a `Bound` is the tuple itself."""

    def __init__(self, manager: Any, of: BoundType) -> None:
        super().__init__(manager, of, [("args", of.args)])


@typeof_impl.register(Bound)
def _typeof_bound(bound: Bound, context: Any) -> BoundType:
    return bound.type


@unbox(BoundType)
def _unbox_bound(of: BoundType, bound: Any, c: Any) -> NativeValue:
    words = c.pyapi.object_getattr_string(bound, "words")
    table = types.Array(types.int64, 1, "C")
    native = c.unbox(table, words)
    data = c.context.make_array(table)(c.context, c.builder, native.value).data
    struct = cgutils.create_struct_proxy(of)(c.context, c.builder)
    struct.args, _ = _rebuilt(c.context, c.builder, of.args, data, 0)
    c.context.nrt.decref(c.builder, table, native.value)
    c.pyapi.decref(words)
    return NativeValue(struct._getvalue(), is_error=native.is_error)


def _rebuilt(context: Any, builder: Any, of: Any, words: Any, k: int) -> tuple[Any, int]:
    """Return the value of this type whose words begin at the k-th, and the number of the word after its last."""

    def word(k: int) -> Any:
        return builder.load(builder.gep(words, [ir.Constant(ir.IntType(64), k)]))

    if isinstance(of, types.BaseTuple):
        items = []
        for item in of.types:
            value, k = _rebuilt(context, builder, item, words, k)
            items.append(value)
        return context.make_tuple(builder, of, items), k
    if isinstance(of, types.Array):
        array = context.make_array(of)(context, builder)
        shape = [word(k + 1 + d) for d in range(of.ndim)]
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(of.dtype)))
        strides = [size]
        for length in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        where = builder.inttoptr(word(k), array.data.type)
        populate_array(array, data=where, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue(), k + 1 + of.ndim
    if isinstance(of, types.Float):
        return builder.bitcast(word(k), ir.DoubleType()), k + 1
    if isinstance(of, types.Boolean):
        return builder.icmp_signed("!=", word(k), ir.Constant(ir.IntType(64), 0)), k + 1
    return word(k), k + 1


@intrinsic
def _opened(typing_context: Any, bound: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        of = signature.args[0]
        value = cgutils.create_struct_proxy(of)(context, builder, value=args[0]).args
        context.nrt.incref(builder, of.args, value)
        return value

    return bound.args(bound), generate


@primitive(_opened)
def opened(bound: Bound) -> tuple[Any, ...]:
    """Return what was bound; in Python, with memoryviews for arrays."""
    return bound.views
