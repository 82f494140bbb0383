"""Find the spots of Python source where a small fault changes what the program does.

Left out is what no test should notice: types, docstrings, logging, texts of errors, assertions, decorators,
constants of speed and size (a number that is `Final` at the top of a module), and numbers above 600.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from trials.faults.spot import Spot

Function = ast.FunctionDef | ast.AsyncFunctionDef
Change = tuple[str, int, int, str]

COMPARISONS: Final[dict[type[ast.cmpop], tuple[str, str, str]]] = {
    ast.Lt: ("boundary", "<", "<="),
    ast.LtE: ("boundary", "<=", "<"),
    ast.Gt: ("boundary", ">", ">="),
    ast.GtE: ("boundary", ">=", ">"),
    ast.Eq: ("equality", "==", "!="),
    ast.NotEq: ("equality", "!=", "=="),
    ast.Is: ("equality", "is", "is not"),
    ast.IsNot: ("equality", "is not", "is"),
    ast.In: ("equality", "in", "not in"),
    ast.NotIn: ("equality", "not in", "in"),
}
TWINS: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
QUIET_NAMES: Final = {"log", "_log", "logger", "logging", "warnings"}
# In these, and in `min` and `max`, arguments in another order mean the same, or nothing at all.
NO_ORDER: Final = {*TWINS, "isinstance", "issubclass", "zip"}
QUIET_FUNCTIONS: Final = {"__repr__", "__str__"}
QUIET_KEYWORDS: Final = {"strict", "slots", "frozen", "ensure_ascii", "check_same_thread", "daemon", "name"}
QUIET_CONDITIONS: Final = re.compile(r"TYPE_CHECKING|sys\.platform|os\.name|sys\.version_info")
NUMBER_MAX: Final = 600


def spots_in_python(path: str, text: str) -> list[Spot]:
    """Return every spot of a Python file, in the order of the source."""
    places = _Places(text)
    spots = set()
    for node, function in _walk(ast.parse(text), None):
        for operator, start, end, new in _changes(node, function, places):
            spot = Spot(path, operator, start, end, text[start:end], new)
            if spot.old != new:
                spots.add(spot)
    return sorted(spots, key=lambda it: (it.start, it.end, it.operator, it.new))


def is_python(text: str) -> bool:
    """Return True if a text can be compiled: a fault that cannot says nothing about the tests."""
    try:
        compile(text, "fault", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


class _Places:
    """Where nodes stand in a text; Python counts the bytes of a line, we count characters of the whole."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def _at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._at(node.lineno, node.col_offset), self._at(node.end_lineno, node.end_col_offset)

    def read(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def between(self, left: ast.expr, right: ast.expr, word: str) -> tuple[int, int] | None:
        """Return where an operator stands between two expressions; None if that cannot be told."""
        start, end = self.span(left)[1], self.span(right)[0]
        pattern = re.escape(word).replace(r"\ ", r"\s+")
        pattern = rf"\b{pattern}\b" if word[0].isalpha() else pattern
        found = list(re.finditer(pattern, self.text[start:end]))
        return (start + found[0].start(), start + found[0].end()) if len(found) == 1 else None


# Which nodes are looked at.


def _walk(node: ast.AST, function: Function | None) -> Iterator[tuple[ast.AST, Function | None]]:
    """Yield every node that a test could notice, with the function that it stands in."""
    yield node, function
    inner = node if isinstance(node, Function) else function
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment") or (
            isinstance(node, ast.ClassDef) and name in ("bases", "keywords")
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_quiet(child, function=inner):
                yield from _walk(child, inner)


def _is_quiet(node: ast.AST, *, function: Function | None) -> bool:
    match node:
        case ast.Assert() | ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom():
            return True
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name in QUIET_FUNCTIONS
        case ast.If(test=test):
            return bool(QUIET_CONDITIONS.search(ast.unparse(test)))
        case ast.keyword(arg=name):
            return name in QUIET_KEYWORDS
        case ast.Call():
            return bool(QUIET_NAMES & set(ast.unparse(node.func).split(".")))
        case ast.AnnAssign(annotation=annotation, value=value) if function is None:
            is_number = isinstance(value, ast.Constant | ast.BinOp)
            return is_number and ast.unparse(annotation).split("[")[0].endswith("Final")
    return False


# What can be changed about a node.


def _changes(node: ast.AST, function: Function | None, places: _Places) -> Iterator[Change]:
    match node:
        case ast.Compare():
            yield from _comparisons(node, places)
        case ast.BoolOp():
            yield from _connections(node, places)
        case ast.UnaryOp(op=ast.Not()):
            yield ("drop not", *places.span(node), f"({places.read(node.operand)})")
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            yield from _sums(node, places)
        case ast.Constant():
            yield from _constants(node, places)
        case ast.Call():
            yield from _calls(node, function, places)
        case ast.For() | ast.comprehension():
            yield from _loops(node, places)
        case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Return() if function is not None:
            yield from _statements(node, function, places)


def _comparisons(node: ast.Compare, places: _Places) -> Iterator[Change]:
    left = node.left
    for kind, right in zip(node.ops, node.comparators, strict=True):
        operator, old, new = COMPARISONS[type(kind)]
        place = places.between(left, right, old)
        if place is not None:
            yield (operator, *place, new)
        left = right


def _connections(node: ast.BoolOp, places: _Places) -> Iterator[Change]:
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        place = places.between(left, right, old)
        if place is not None:
            yield ("and or", *place, new)
            # Only the left one is asked, or only the right one.
            yield ("drop a condition", places.span(left)[0], places.span(right)[0], "")


def _sums(node: ast.BinOp, places: _Places) -> Iterator[Change]:
    are_numbers = isinstance(node.left, ast.Name | ast.Attribute | ast.Constant | ast.Call | ast.BinOp)
    is_text = any(isinstance(it, ast.Constant) and isinstance(it.value, str) for it in ast.walk(node))
    old, new = ("+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
    place = places.between(node.left, node.right, old)
    if are_numbers and not is_text and place is not None:
        yield ("plus minus", *place, new)


def _constants(node: ast.Constant, places: _Places) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield ("true false", *places.span(node), str(not value))
    elif isinstance(value, int) and 0 <= value < NUMBER_MAX:
        yield ("constant", *places.span(node), str(value + 1))
        if value > 0:
            yield ("constant", *places.span(node), str(value - 1))


def _calls(node: ast.Call, function: Function | None, places: _Places) -> Iterator[Change]:
    if isinstance(node.func, ast.Name) and node.func.id in TWINS:
        yield ("min max", *places.span(node.func), TWINS[node.func.id])
    if isinstance(node.func, ast.Name) and node.func.id in NO_ORDER:
        return
    # The first parameter of a function is mostly what it works on: in another's place it breaks at once.
    first = function.args.args[0].arg if function is not None and function.args.args else ""
    for left, right in zip(node.args, node.args[1:], strict=False):
        is_pair = type(left) is type(right) and isinstance(left, ast.Name | ast.Attribute)
        if is_pair and ast.unparse(left) != first:
            (start, left_end), (right_start, end) = places.span(left), places.span(right)
            middle = places.text[left_end:right_start]
            yield ("swap arguments", start, end, f"{places.read(right)}{middle}{places.read(left)}")


def _loops(node: ast.For | ast.comprehension, places: _Places) -> Iterator[Change]:
    if isinstance(node, ast.comprehension):
        if node.is_async:
            return
        for condition in node.ifs:
            yield ("drop a filter", *places.span(condition), "True")
    many = places.read(node.iter)
    yield ("skip an element", *places.span(node.iter), f"list({many})[1:]")
    yield ("skip an element", *places.span(node.iter), f"list({many})[:-1]")
    if isinstance(node, ast.For) and not all(isinstance(it, ast.Assert) for it in node.body):
        start = places.span(node.body[0])[0]
        yield ("break at once", start, start, f"break\n{' ' * node.body[0].col_offset}")


def _statements(node: ast.stmt, function: Function, places: _Places) -> Iterator[Change]:
    match node:
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
            call = node.value.value if isinstance(node.value, ast.Await) else node.value
            if not _is_quiet(call, function=function):
                yield ("drop a statement", *places.span(node), "pass")
        case (
            ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
            | ast.AugAssign(target=ast.Attribute() | ast.Subscript())
        ):
            # Without its first value an object breaks at once: that says nothing about the tests.
            if function.name != "__init__":
                yield ("drop a statement", *places.span(node), "pass")
        case ast.Return(value=value):
            if node is not function.body[-1]:
                yield ("drop a return", *places.span(node), "pass")
            answers_none = function.returns is not None and "None" in ast.unparse(function.returns)
            if value is not None and answers_none and not isinstance(value, ast.Constant):
                yield ("return none", *places.span(value), "None")


def count_python_lines(text: str) -> int:
    """Return how many lines have code on them, docstrings, blank lines and comments left out."""
    lines = {
        number for number, line in enumerate(text.splitlines(), 1) if line.strip() and not _is_comment(line)
    }
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")
