"""Find the spots of SQL files where a small fault changes what a query finds, or in which order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from trials.faults.spot import Spot

# Comments and texts are no SQL: they are blanked out, character by character.
NO_SQL: Final = re.compile(r"--[^\n]*|'[^']*'")
TOKEN: Final = re.compile(r"\w+|[();]|<>|!=|->>|->|<@|@>|<=|>=|=>|<|>")
FLIPPED: Final = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
CLAUSES: Final = {"GROUP", "ORDER", "LIMIT", "UNION", "RETURNING", "FOR", "HAVING", "WINDOW", "OFFSET"} | {
    *("SELECT", "ROWS", "RANGE", "ON", "SET", ";"),
}


class Token(NamedTuple):
    """A word or an operator, where it stands, and in how many brackets."""

    word: str
    start: int
    end: int
    depth: int


def spots_in_sql(path: str, text: str) -> list[Spot]:
    """Return every spot of a file of named queries, in the order of the source."""
    masked = NO_SQL.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    tokens = list(_tokens(masked))
    spots = set()
    for index, token in enumerate(tokens):
        for operator, start, end, new in _changes(tokens, index, token, text):
            spots.add(Spot(path, operator, start, end, text[start:end], new))
    return sorted(spots, key=lambda it: (it.start, it.end, it.operator))


def _tokens(masked: str) -> Iterator[Token]:
    depth = 0
    for found in TOKEN.finditer(masked):
        word = found[0].upper()
        if word in (")", "END"):
            depth -= 1
        yield Token(word, found.start(), found.end(), depth)
        if word in ("(", "CASE"):
            depth += 1
        elif word == ";":
            depth = 0


def _changes(tokens: list[Token], index: int, token: Token, text: str) -> Iterator[tuple[str, int, int, str]]:
    after = tokens[index + 1 :]
    if token.word in FLIPPED:
        yield "sql boundary", token.start, token.end, FLIPPED[token.word]
    elif token.word == "WHERE":
        for start, end in _conditions(token, after):
            # Its parameters must stay, or the database complains of them.
            condition = text[start:end].strip()
            start = text.index(condition, start)
            yield "sql drop a condition", start, start + len(condition), f"({condition} OR TRUE)"
    elif token.word == "ORDER" and after and after[0].word == "BY":
        end, stop = _end_of(token, after)
        # The order of locks only matters to those who lock the other way round.
        if stop != "FOR" and not (stop == "LIMIT" and _locks(after)):
            end = token.start + len(text[token.start : end].rstrip())
            yield "sql drop order", token.start, end, ""
    elif token.word == "DESC":
        yield "sql drop desc", token.start, token.end, "ASC"
    elif token.word in ("MIN", "MAX") and after and after[0].word == "(":
        yield "sql min max", token.start, token.end, "max" if token.word == "MIN" else "min"


def _locks(after: list[Token]) -> bool:
    words = [token.word for token in after]
    return "FOR" in words[: words.index(";")] if ";" in words else False


def _end_of(opening: Token, after: list[Token]) -> tuple[int, str]:
    """Return where a clause ends, and the word that ends it."""
    for token in after:
        if token.depth < opening.depth or token.word == ";":
            return token.start, token.word
        if token.depth == opening.depth and token.word in CLAUSES:
            return token.start, token.word
    return after[-1].end, ""


def _conditions(where: Token, after: list[Token]) -> list[tuple[int, int]]:
    """Return where each condition of a WHERE stands that must hold with the others; none where one may do."""
    end = _end_of(where, after)[0]
    here = [it for it in after if it.start < end and it.depth == where.depth]
    if any(token.word == "OR" for token in here) or not here:
        return []
    starts, ends, between = [where.end], list[int](), False
    for token in here:
        if token.word == "BETWEEN":
            between = True
        elif token.word == "AND" and between:
            between = False
        elif token.word == "AND":
            ends.append(token.start)
            starts.append(token.end)
    return list(zip(starts, [*ends, end], strict=True))


def count_sql_lines(text: str) -> int:
    """Return how many lines have SQL on them."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith("--"))
