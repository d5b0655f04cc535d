"""Arguments that stay the same from call to call, bound together as one.

Handing a dozen arrays to compiled code takes longer than learning a row. :class:`Bound` holds them as machine words
(where each array lies, its shape; the bits of each number), which compiled code reads back as the tuple that it was
given, with :func:`opened`. The arrays are kept alive by the `Bound` itself.
"""

import struct
from typing import Any

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox
from numba.np.arrayobj import populate_array

from linsep.core.verbs import compiles


class Bound:
    """A tuple of C-ordered arrays, floats, integers, booleans and such tuples, cheap to pass to compiled code."""

    __slots__ = ("args", "type", "words")

    def __init__(self, *args: Any) -> None:
        self.args = args
        self.words = np.array(list(_words(args)), np.int64)
        key = _key(args)
        if key not in TYPES:
            TYPES[key] = BoundType(typeof(args))
        self.type = TYPES[key]


def _key(value: Any) -> Any:
    """Return what the compiled type of a value depends on, much faster than the type itself."""
    if isinstance(value, tuple):
        return tuple(map(_key, value))
    return (value.dtype, value.ndim, value.flags.writeable) if isinstance(value, np.ndarray) else type(value)


def _words(value: Any) -> Any:
    if isinstance(value, tuple):
        for item in value:
            yield from _words(item)
    elif isinstance(value, np.ndarray):
        if not value.flags.c_contiguous:
            raise TypeError("only C-ordered arrays can be bound")
        yield value.ctypes.data
        yield from value.shape
    else:
        yield struct.unpack("=q", struct.pack("=d", value))[0] if isinstance(value, float) else int(value)


def opened(bound: Bound) -> tuple[Any, ...]:
    """Return what was bound."""
    return bound.args


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


@compiles(opened)
def _opened_compiled(bound: Any) -> Any:
    return lambda bound: _opened(bound)
