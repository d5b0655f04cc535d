"""Write a pass and the verbs that it calls as one flat function.

A pass (:mod:`linsep.engine.passes`) is written once, in terms of verbs. :func:`flatten` reads the source of the pass
for given kinds, replaces each verb by its meaning for these kinds, each named tuple by one variable a field, and drops
branches whose condition is known. The result is a plain function of arrays and numbers, the same operations in the same
order. Numba thus compiles one function, without calls that take long to type. Functions marked as cold are flat
functions of their own.

The language is a part of Python: assignments, `if`, `for`, `while`, `return`, and expressions. A function that is
inlined returns once on every path, and not from inside a loop. Variables that hold a named tuple are assigned once.

The same function also runs without a compiler (:mod:`linsep.engine.tiers`). A :class:`Dialect` names the calls that are
replaced there.
"""

import ast
import builtins
import os
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit

Value = Any
"""An expression (ast.expr), a :class:`Struct` or a :class:`Static`."""


class NotFlatError(Exception):
    """A function uses more of Python than can be flattened."""


@dataclass(frozen=True)
class Dialect:
    """Target of a flat function: compiled code or plain Python.

    `calls` has the function that is called in place of another, or of an operator between two numbers; None represents
    the argument itself. If `compiled` is False, constants are Python's own numbers, functions that are compiled apart
    are inlined, and calls of functions marked as omitted are left out.
    """

    compiled: bool = True
    calls: Mapping[Any, Any] = field(default_factory=dict)


COMPILED = Dialect()


class Static:
    """A value that is known before the pass is compiled: a kind, a function, a module, a constant."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Struct:
    """A named tuple whose fields are variables of their own."""

    def __init__(self, kind: type, fields: dict[str, Value]) -> None:
        self.kind, self.fields = kind, fields


class Method:
    """A method of a named tuple, with the tuple."""

    def __init__(self, struct: Struct, function: FunctionType) -> None:
        self.struct, self.function = struct, function


class Scope:
    """The variables of one function that is being written out."""

    def __init__(self, function: FunctionType, suffix: str) -> None:
        self.node, self.assigned = source_of(function)
        self.suffix = suffix
        self.values: dict[str, Value] = {}
        code = function.__code__
        cells = function.__closure__ or ()
        self.free = {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells, strict=True)}
        self.globals = function.__globals__

    def renamed(self, name: str) -> str:
        """Return the name of a local variable in the flat function."""
        return name + self.suffix

    def static(self, name: str) -> Static:
        """Return the value of a name that is not local."""
        for names in (self.free, self.globals, vars(builtins)):
            if name in names:
                return Static(names[name])
        raise NotFlatError(f"{self.node.name}: {name} is not defined")


class SourceFile(NamedTuple):
    """The functions of a source file by their first line, decorators included, and its import statements."""

    functions: dict[int, ast.FunctionDef]
    imports: list[ast.stmt]


class FunctionSource(NamedTuple):
    """The syntax tree of a function, and how often each local variable is assigned, parameters once."""

    node: ast.FunctionDef
    assigned: dict[str, int]


@cache
def _parsed(file: str, changed: int) -> SourceFile:
    with open(file, encoding="utf-8") as source:
        tree = ast.parse(source.read())
    by_line = {min([node.lineno, *(d.lineno for d in node.decorator_list)]): node for node in _functions(tree.body)}
    return SourceFile(by_line, [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)])


def _functions(statements: list[Any]) -> Iterator[ast.FunctionDef]:
    for statement in statements:
        if isinstance(statement, ast.FunctionDef):
            yield statement
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            yield from _functions(getattr(statement, part, []))


def source_of(function: FunctionType) -> FunctionSource:
    """Return the source of a function; raise a NotFlatError if it can't be read, or has changed since."""
    code = function.__code__
    try:
        return _source_of(code, os.stat(code.co_filename).st_mtime_ns)
    except (OSError, KeyError, SyntaxError):
        raise NotFlatError(
            f"the source of {function.__qualname__} can't be read, or is newer than this process"
        ) from None


@cache
def _source_of(code: CodeType, changed: int) -> FunctionSource:
    source = _parsed(code.co_filename, changed)
    node = source.functions[code.co_firstlineno]
    if node.name != code.co_name or not _compiles_to(node, code, source.imports):
        raise KeyError(code)
    return FunctionSource(node, _assigned(node))


def _compiles_to(node: ast.FunctionDef, code: CodeType, imports: list[ast.stmt]) -> bool:
    """Return whether a function's source is that of its bytecode, which also depends on what is imported."""
    plain = copy(node)
    plain.decorator_list = []
    free = "".join(f"    {name} = None\n" for name in code.co_freevars)
    around: Any = ast.parse(f"def around():\n{free}    pass").body[0]
    around.body.append(plain)
    module = ast.Module([*imports, around], [])
    own = _inner(_inner(compile(module, code.co_filename, "exec", dont_inherit=True), "around"), node.name)
    return _content(own) == _content(code)


def _content(code: CodeType) -> tuple[Any, ...]:
    constants = [repr(value) for value in code.co_consts if not isinstance(value, CodeType)]
    return code.co_code, code.co_names, code.co_varnames, constants


def _inner(code: CodeType, name: str) -> CodeType:
    return next(value for value in code.co_consts if isinstance(value, CodeType) and value.co_name == name)


def _assigned(node: ast.FunctionDef) -> dict[str, int]:
    """Return how often each local variable is assigned, parameters once."""
    times = {argument.arg: 1 for argument in node.args.args}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            times[inner.id] = times.get(inner.id, 0) + 1
    return times


class Flat(NamedTuple):
    """The source of a flat function, the values of its global names, and the sources of functions compiled apart."""

    source: str
    names: dict[str, Any]
    apart: list[str]


def flatten(template: Callable[..., Any], name: str, dialect: Dialect = COMPILED) -> Flat:
    """Return the flat function called `name`."""
    if not isinstance(template, FunctionType):
        raise NotFlatError(f"{template!r} is not a function")
    writer = FlatWriter(dialect)
    return Flat(writer.write(template, name), writer.globals, writer.apart)


class FlatWriter:
    """Writes one flat function."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.numbers = count(1)
        self.globals: dict[str, Any] = {}
        self.apart: list[str] = []
        self.taken: set[str] = set()
        self.single: set[str] = set()
        """Variables of the flat function that are assigned once."""

    def write(self, template: FunctionType, name: str, given: list[Value] | None = None) -> str:
        """Return the source of a flat function; `given` has the kinds or values of its arguments that are known."""
        scope = Scope(template, "")
        self.taken = set(scope.assigned)
        parameters = []
        for place, argument in enumerate(scope.node.args.args):
            value = given[place] if given else None
            if isinstance(value, Static):
                scope.values[argument.arg] = value
                continue
            if isinstance(value, Struct):
                known = {field: v for field, v in value.fields.items() if isinstance(v, Static)}
                names = {field: ast.Name(f"{argument.arg}_{field}") for field in value.fields if field not in known}
                self.single.update(name.id for name in names.values())
                self.taken.update(name.id for name in names.values())
                fields = {field: known.get(field) or names[field] for field in value.fields}
                scope.values[argument.arg] = Struct(value.kind, fields)
                parameters += [name.id for name in names.values()]
            else:
                parameters.append(argument.arg)
                self.let(argument.arg, scope, ast.Name(argument.arg))
        body: list[ast.stmt] = []
        Body(self, scope, None).run(_statements(scope.node), body)
        head = ast.FunctionDef(
            name=name,
            args=ast.arguments(
                posonlyargs=[], args=[ast.arg(arg=p) for p in parameters], kwonlyargs=[], kw_defaults=[], defaults=[]
            ),
            body=body or [ast.Pass()],
            decorator_list=[],
            lineno=0,
        )
        return ast.unparse(head)

    def call_apart(self, function: FunctionType, arguments: list[Value]) -> ast.expr:
        """Return the call of a function that is compiled apart for arguments of these kinds."""
        writer = FlatWriter(self.dialect)
        name = function.__name__.strip("_")
        source = writer.write(function, name, arguments)
        self.apart += [source, *writer.apart]
        given: list[ast.expr] = []
        for argument in arguments:
            values = argument.fields.values() if isinstance(argument, Struct) else [argument]
            given += [self.lifted(value) for value in values if not isinstance(value, Static)]
        return ast.Call(self.lifted(Static(_apart(source, name, writer.globals))), given, [])

    def let(self, name: str, scope: Scope, value: Value) -> None:
        """Make a local name represent a value."""
        scope.values[name] = value
        if scope.assigned.get(name, 0) == 1 and isinstance(value, ast.Name):
            self.single.add(value.id)

    def fresh(self, base: str) -> ast.Name:
        """Return a new variable, which is assigned once."""
        name = f"{base}_{next(self.numbers)}"
        while name in self.taken:
            name = f"{base}_{next(self.numbers)}"
        self.taken.add(name)
        self.single.add(name)
        return ast.Name(name)

    def lifted(self, value: Value) -> ast.expr:
        """Return a value as an expression."""
        if isinstance(value, Struct):
            kind = self.lifted(Static(value.kind))
            return ast.Call(func=kind, args=[self.lifted(field) for field in value.fields.values()], keywords=[])
        if isinstance(value, ast.Tuple):
            return ast.Tuple([self.lifted(item) for item in value.elts])
        if not isinstance(value, Static):
            return value
        plain = value.value
        if isinstance(plain, np.generic) and not self.dialect.compiled:
            plain = plain.item()
        if plain is None or (type(plain) in (bool, int, float, str) and repr(plain) not in ("inf", "-inf", "nan")):
            return ast.UnaryOp(ast.USub(), ast.Constant(-plain)) if _negative(plain) else ast.Constant(plain)
        base = getattr(plain, "__name__", None) or f"{type(plain).__name__}_{plain}"
        base = "".join(c if c.isalnum() else "_" for c in str(base))
        name = base if base.isidentifier() else f"_{base}"
        while name in self.taken or self.globals.get(name, plain) is not plain:
            name += "_"
        self.globals[name] = plain
        return ast.Name(name)

    def atom(self, value: Value, base: str, out: list[ast.stmt]) -> Value:
        """Return a value that can be written several times, and does not change: assign it to a new variable if not."""
        if isinstance(value, Struct | Static | ast.Constant):
            return value
        if isinstance(value, ast.Name) and value.id in self.single:
            return value
        if isinstance(value, ast.Tuple):
            return ast.Tuple([self.lifted(self.atom(item, base, out)) for item in value.elts])
        name = self.fresh(base)
        out.append(_assign(name, value))
        return name

    def inline(self, function: FunctionType, arguments: list[Value], out: list[ast.stmt]) -> Value:
        """Write a function's body, and return its value."""
        scope = Scope(function, f"_{next(self.numbers)}")
        names = [argument.arg for argument in scope.node.args.args]
        star = scope.node.args.vararg
        if star is not None:
            arguments = arguments[: len(names)]
        if len(names) != len(arguments) or scope.node.args.kwonlyargs or scope.node.args.kwarg:
            raise NotFlatError(f"{function.__qualname__} takes other arguments than {len(arguments)} by position")
        for name, argument in zip(names, arguments, strict=True):
            if scope.assigned[name] == 1:
                self.let(name, scope, self.atom(argument, name, out))
            else:
                own = ast.Name(scope.renamed(name))
                out.append(_assign(own, self.lifted(argument)))
                scope.values[name] = own
        result = ReturnedValue(self, function.__name__.strip("_") or "value")
        Body(self, scope, result).run(_statements(scope.node), out)
        return result.only if result.several is None else result.several


class ReturnedValue:
    """The value that an inlined function returns, on one path or on several."""

    def __init__(self, writer: FlatWriter, base: str) -> None:
        self.writer, self.base = writer, base
        self.several: ast.Name | None = None
        self.only: Value = Static(None)

    def set(self, value: Value, out: list[ast.stmt], branching: bool) -> None:
        """Take the value of a path; on one of several paths it is assigned to a variable."""
        if not branching:
            self.only = value
            return
        if isinstance(value, Struct):
            raise NotFlatError(f"{self.base} returns a {value.kind.__name__} on some paths only")
        if self.several is None:
            self.several = self.writer.fresh(self.base)
        out.append(_assign(self.several, self.writer.lifted(value)))


class Body:
    """Writes the statements of one function."""

    def __init__(self, writer: FlatWriter, scope: Scope, result: ReturnedValue | None) -> None:
        self.writer, self.scope, self.result = writer, scope, result
        self.loops = 0

    def run(self, statements: list[ast.stmt], out: list[ast.stmt], branching: bool = False) -> bool:
        """Write statements; return whether every path through them has returned a value to the caller."""
        for place, statement in enumerate(statements):
            match statement:
                case ast.Return() if self.result is not None:
                    if self.loops:
                        raise NotFlatError(f"{self.scope.node.name} returns from inside a loop")
                    if statement.value is not None:
                        self.result.set(self.value(statement.value, out), out, branching)
                    return True
                case ast.Return():
                    value = None if statement.value is None else self.plain(statement.value, out)
                    out.append(ast.Return(value))
                case ast.If():
                    test = self.value(statement.test, out)
                    if isinstance(test, Static):
                        if self.run(statement.body if test.value else statement.orelse, out, branching):
                            return True
                        continue
                    if self._branch(test, statement, statements[place + 1 :], out):
                        return True
                case ast.For():
                    self._for(statement, out)
                case ast.While():
                    self._while(statement, out)
                case ast.Assign():
                    assigned = self.value(statement.value, out)
                    if len(statement.targets) > 1:
                        assigned = self.writer.atom(assigned, "saved", out)
                    for target in statement.targets:
                        self._assign(target, assigned, out)
                case ast.AnnAssign() if statement.value is not None:
                    self._assign(statement.target, self.value(statement.value, out), out)
                case ast.AugAssign():
                    value = self.plain(statement.value, out)
                    changed: Any = self._target(statement.target, out)
                    if type(statement.op) in self.writer.dialect.calls:
                        out.append(_assign(changed, self._operation(changed, statement.op, value)))
                    else:
                        out.append(ast.AugAssign(target=changed, op=statement.op, value=value))
                case ast.Expr():
                    value = self.value(statement.value, out)
                    if isinstance(value, ast.Call):
                        out.append(ast.Expr(value))
                case ast.Pass():
                    pass
                case ast.Break() | ast.Continue():
                    out.append(statement)
                case _:
                    raise NotFlatError(f"{self.scope.node.name} has a statement {type(statement).__name__}")
        return False

    def _branch(self, test: ast.expr, statement: ast.If, rest: list[ast.stmt], out: list[ast.stmt]) -> bool:
        """Write an `if`; where one branch returns to the caller, the rest of the function goes into the other."""
        body: list[ast.stmt] = []
        orelse: list[ast.stmt] = []
        done = self.run(statement.body, body, True)
        done_else = self.run(statement.orelse, orelse, True)
        returns = done or done_else
        if returns and not done:
            done = self.run(rest, body, True)
        if returns and not done_else:
            done_else = self.run(rest, orelse, True)
        if returns and not (done and done_else) and self.result is not None and self.result.several is not None:
            raise NotFlatError(f"{self.scope.node.name} returns a value on some paths only")
        if not body:
            test, body, orelse = ast.UnaryOp(ast.Not(), test), orelse, []
        if body:
            out.append(ast.If(test=test, body=body, orelse=orelse))
        return returns

    def _for(self, statement: ast.For, out: list[ast.stmt]) -> None:
        self._refuse_else(statement)
        loop = self.plain(statement.iter, out)
        target = self._target(statement.target, out)
        body: list[ast.stmt] = []
        self.loops += 1
        self.run(statement.body, body)
        self.loops -= 1
        if body and not all(isinstance(inner, ast.Pass) for inner in body):
            out.append(ast.For(target=target, iter=loop, body=body, orelse=[], lineno=0))

    def _refuse_else(self, loop: ast.For | ast.While) -> None:
        if loop.orelse:
            raise NotFlatError(f"{self.scope.node.name} has a loop with else")

    def _while(self, statement: ast.While, out: list[ast.stmt]) -> None:
        self._refuse_else(statement)
        before: list[ast.stmt] = []
        test = self.plain(statement.test, before)
        body: list[ast.stmt] = []
        self.loops += 1
        self.run(statement.body, body)
        self.loops -= 1
        if before:
            stop = ast.If(test=ast.UnaryOp(ast.Not(), test), body=[ast.Break()], orelse=[])
            out.append(ast.While(test=ast.Constant(True), body=[*before, stop, *body], orelse=[]))
        else:
            out.append(ast.While(test=test, body=body, orelse=[]))

    def _assign(self, target: ast.expr, value: Value, out: list[ast.stmt]) -> None:
        """Assign a value to a target, or let the target's name represent the value."""
        writer, scope = self.writer, self.scope
        if isinstance(target, ast.Tuple):
            if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                items = value.elts
                if {scope.renamed(name) for name in _names(target.elts)} & _names(items):
                    items = [writer.atom(item, "saved", out) for item in items]
                for one, item in zip(target.elts, items, strict=True):
                    self._assign(one, item, out)
            else:
                targets = [self._target(one, out) for one in target.elts]
                out.append(_assign(ast.Tuple(targets), writer.lifted(value)))
        elif isinstance(target, ast.Name):
            once = scope.assigned[target.id] == 1
            if isinstance(value, Struct | Static) and once:
                scope.values[target.id] = value
            elif isinstance(value, Struct):
                raise NotFlatError(f"{scope.node.name} assigns the {value.kind.__name__} {target.id} more than once")
            else:
                out.append(_assign(self._target(target, out), writer.lifted(value)))
        else:
            out.append(_assign(self._target(target, out), writer.lifted(value)))

    def _target(self, target: ast.expr, out: list[ast.stmt]) -> ast.expr:
        if isinstance(target, ast.Name):
            name = self.scope.renamed(target.id)
            self.writer.taken.add(name)
            self.writer.let(target.id, self.scope, ast.Name(name))
            return ast.Name(name)
        if isinstance(target, ast.Subscript):
            return self.plain(target, out)
        raise NotFlatError(f"{self.scope.node.name} assigns to {ast.unparse(target)}")

    def plain(self, node: ast.expr, out: list[ast.stmt]) -> ast.expr:
        """Return an expression of the flat function."""
        return self.writer.lifted(self.value(node, out))

    def value(self, node: ast.expr, out: list[ast.stmt]) -> Value:
        """Return the value of an expression; statements that it needs are written first."""
        match node:
            case ast.Constant():
                return Static(node.value)
            case ast.Name():
                if node.id in self.scope.values:
                    return self.scope.values[node.id]
                if node.id in self.scope.assigned:
                    raise NotFlatError(f"{self.scope.node.name}: {node.id} is read before it is assigned")
                return self.scope.static(node.id)
            case ast.Attribute():
                return self._attribute(self.value(node.value, out), node.attr)
            case ast.Call():
                return self._call(node, out)
            case ast.BoolOp():
                return self._bool(node, out)
            case ast.IfExp():
                return self._if_expression(node, out)
            case ast.Tuple():
                return ast.Tuple(self._several(node.elts, out))
            case ast.UnaryOp():
                operand = self.value(node.operand, out)
                if isinstance(operand, Static) and isinstance(node.op, ast.Not):
                    return Static(not operand.value)
                return ast.UnaryOp(node.op, self.writer.lifted(operand))
            case ast.BinOp():
                left, right = map(self.writer.lifted, self._several([node.left, node.right], out))
                return self._operation(left, node.op, right)
            case ast.Compare():
                return self._compare(node, out)
            case ast.Subscript():
                value, place = map(self.writer.lifted, self._several([node.value, node.slice], out))
                return ast.Subscript(value, place)
            case ast.Slice(step=None):
                parts = [None if part is None else self.plain(part, out) for part in (node.lower, node.upper)]
                return ast.Slice(*parts)
            case _:
                raise NotFlatError(f"{self.scope.node.name} has an expression {type(node).__name__}")

    def _operation(self, left: ast.expr, operator: ast.operator, right: ast.expr) -> ast.expr:
        """Return an operation on two numbers; the dialect's function for it, unless the second is a number but 0."""
        function = self.writer.dialect.calls.get(type(operator))
        if function is None or (isinstance(operator, ast.Div) and isinstance(right, ast.Constant) and right.value):
            return ast.BinOp(left, operator, right)
        return ast.Call(self.writer.lifted(Static(function)), [left, right], [])

    def _attribute(self, value: Value, name: str) -> Value:
        if isinstance(value, Struct):
            if name in value.fields:
                return value.fields[name]
            method = getattr(value.kind, name, None)
            if not isinstance(method, FunctionType):
                raise NotFlatError(f"{value.kind.__name__} has no field {name}")
            return Method(value, method)
        if isinstance(value, Static):
            return Static(getattr(value.value, name))
        return ast.Attribute(value, name)

    def _several(self, nodes: list[ast.expr], out: list[ast.stmt]) -> list[Value]:
        """Return several values, evaluated from left to right."""
        values: list[Value] = []
        for node in nodes:
            written: list[ast.stmt] = []
            value = self.value(node, written)
            if written:
                values = [self.writer.atom(before, "saved", out) for before in values]
                out.extend(written)
            values.append(value)
        return values

    def _compare(self, node: ast.Compare, out: list[ast.stmt]) -> Value:
        left, *right = self._several([node.left, *node.comparators], out)
        if len(right) == 1 and isinstance(left, Static) and isinstance(right[0], Static):
            match node.ops[0]:
                case ast.Is():
                    return Static(left.value is right[0].value)
                case ast.IsNot():
                    return Static(left.value is not right[0].value)
                case ast.Eq():
                    return Static(left.value == right[0].value)
                case ast.NotEq():
                    return Static(left.value != right[0].value)
        lift = self.writer.lifted
        return ast.Compare(lift(left), node.ops, [lift(value) for value in right])

    def _bool(self, node: ast.BoolOp, out: list[ast.stmt]) -> Value:
        """Return `a and b` or `a or b` without the operands that are known; those that need statements are assigned."""
        stops = isinstance(node.op, ast.Or)
        operands: list[tuple[list[ast.stmt], Value]] = []
        for place, inner in enumerate(node.values):
            written: list[ast.stmt] = []
            value = self.value(inner, written)
            if isinstance(value, Static) and not written:
                if bool(value.value) == stops:
                    if not operands:
                        return value
                    operands.append((written, value))
                    break
                if place < len(node.values) - 1:
                    continue
            operands.append((written, value))
        first, *others = operands
        out.extend(first[0])
        if not others:
            return first[1]
        if not any(written for written, _ in others):
            return ast.BoolOp(node.op, [self.writer.lifted(value) for _, value in operands])
        result = self.writer.fresh("fine")
        self.writer.single.discard(result.id)
        out.append(_assign(result, self.writer.lifted(first[1])))
        for written, value in others:
            test: ast.expr = ast.UnaryOp(ast.Not(), result) if stops else result
            inside = [*written, _assign(result, self.writer.lifted(value))]
            out.append(ast.If(test=test, body=inside, orelse=[]))
            out = inside
        return result

    def _if_expression(self, node: ast.IfExp, out: list[ast.stmt]) -> Value:
        test = self.value(node.test, out)
        if isinstance(test, Static):
            return self.value(node.body if test.value else node.orelse, out)
        body: list[ast.stmt] = []
        orelse: list[ast.stmt] = []
        value, other = self.plain(node.body, body), self.plain(node.orelse, orelse)
        if not body and not orelse:
            return ast.IfExp(test, value, other)
        result = self.writer.fresh("chosen")
        out.append(ast.If(test=test, body=[*body, _assign(result, value)], orelse=[*orelse, _assign(result, other)]))
        return result

    def _call(self, node: ast.Call, out: list[ast.stmt]) -> Value:
        if node.keywords:
            raise NotFlatError(f"{self.scope.node.name} passes {node.keywords[0].arg} by name")
        function = self.value(node.func, out)
        if isinstance(function, Method):
            return self._method(function, self._several(node.args, out), out)
        if not isinstance(function, Static):
            return ast.Call(self.writer.lifted(function), self._plain_arguments(node, out), [])
        called, dialect = function.value, self.writer.dialect
        if called in dialect.calls:
            called = dialect.calls[called]
            if called is None:
                return self.value(node.args[0], out)
        elif not dialect.compiled and getattr(called, "omitted", False):
            return Static(None)
        elif hasattr(called, "compiled"):
            meaning = called.compiled if dialect.compiled else called
            if isinstance(meaning, FunctionType):
                return self.writer.inline(meaning, self._several(node.args, out), out)
            called = meaning
        elif isinstance(called, type) and hasattr(called, "_fields"):
            return self._struct(called, node, out)
        elif hasattr(called, "compiled_apart"):
            arguments = self._several(node.args, out)
            if dialect.compiled:
                return self.writer.call_apart(called, arguments)
            return self.writer.inline(called, arguments, out)
        elif hasattr(called, "meaning"):
            arguments = self._several(node.args, out)
            return self.writer.inline(called.meaning([kind_of(a) for a in arguments]), arguments, out)
        return ast.Call(self.writer.lifted(Static(called)), self._plain_arguments(node, out), [])

    def _method(self, method: Method, arguments: list[Value], out: list[ast.stmt]) -> Value:
        """Inline a method, or call it compiled where it uses more of Python than can be inlined."""
        everything = [method.struct, *(self.writer.atom(argument, "given", out) for argument in arguments)]
        written: list[ast.stmt] = []
        try:
            value = self.writer.inline(method.function, everything, written)
        except NotFlatError:
            function = method.function
            called = Static(njit(error_model="numpy")(function) if self.writer.dialect.compiled else function)
            return ast.Call(self.writer.lifted(called), [self.writer.lifted(a) for a in everything], [])
        out.extend(written)
        return value

    def _plain_arguments(self, node: ast.Call, out: list[ast.stmt]) -> list[ast.expr]:
        return [self.writer.lifted(value) for value in self._several(node.args, out)]

    def _struct(self, kind: Any, node: ast.Call, out: list[ast.stmt]) -> Struct:
        """Return a named tuple as variables: of its arguments, or of the items of one tuple (`Kind(*items)`)."""
        if len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
            items = self.plain(node.args[0].value, out)
            names = [self.writer.fresh(field) for field in kind._fields]
            if names:
                out.append(_assign(ast.Tuple(list(names)), items))
            return Struct(kind, dict(zip(kind._fields, names, strict=True)))
        values = self._several(node.args, out)
        if len(values) != len(kind._fields):
            raise NotFlatError(f"{kind.__name__} is made of {len(values)} values by position")
        values = [self.writer.atom(v, field, out) for field, v in zip(kind._fields, values, strict=True)]
        return Struct(kind, dict(zip(kind._fields, values, strict=True)))


def kind_of(value: Value) -> type | None:
    """Return the kind of a value that is a named tuple; None for others."""
    return value.kind if isinstance(value, Struct) else None


def _statements(node: ast.FunctionDef) -> list[ast.stmt]:
    """Return the statements of a function after its docstring."""
    body = node.body
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    return body[1:] if documented else body


def _names(values: list[Value]) -> set[str]:
    """Return the variables in some expressions."""
    nodes = (node for value in values if isinstance(value, ast.expr) for node in ast.walk(value))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


_compiled_apart: dict[Any, Any] = {}
"""Functions that are compiled apart, by their source and the identity of the values of their global names."""


def _apart(source: str, name: str, names: dict[str, Any]) -> Any:
    """Return the compiled function of a source text."""
    key = source, *((global_name, id(value)) for global_name, value in names.items())
    if key not in _compiled_apart:
        space = dict(names)
        exec(source, space)
        _compiled_apart[key] = njit(error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(space[name])
    return _compiled_apart[key]


def _negative(number: Any) -> bool:
    return type(number) in (int, float) and (number < 0 or repr(number) == "-0.0")


def _assign(target: ast.expr, value: ast.expr) -> ast.Assign:
    return ast.Assign(targets=[target], value=value, lineno=0)
