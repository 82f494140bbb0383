"""The page docs/reference/api.md, written from the operations of the HTTP service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairhold.http.openapi import document
from fairhold.http.problems import STATUSES, TITLES
from fairhold.http.service import operations_of
from fairhold.http.settings import Settings
from fairhold.keys import PATTERN

OPENING = """# The HTTP API

Written from the service's own OpenAPI document by `python3 dev.py docs`. The service shows the same, to be
tried, at `/docs`, and to programs at `/openapi.json`. For walks through it see [the guide](../howto/http.md).
"""

KEYS = f"""## What a key looks like

A program sends its API key with every request, as `Authorization: Bearer fh_…`. A key has 52 characters:

| characters | what they are |
|---|---|
| `fh_` | the prefix of every key |
| 43 | the secret: 256 random bits in URL-safe base64, without padding |
| 6 | a checksum: the CRC-32 of all characters before it, in base 62, with zeros at its left |

The digits of base 62 are `0` to `9`, `A` to `Z` and `a` to `z`, in this order. Scanners of source code find
keys by this regular expression:

```text
\\b{PATTERN}\\b
```

Where the checksum is wrong, what was found is not a key. In Python:

```python
import string, zlib

digits = string.digits + string.ascii_uppercase + string.ascii_lowercase


def is_a_key(text: str) -> bool:
    number = 0
    for digit in text[46:]:
        number = number * 62 + digits.index(digit)
    return zlib.crc32(text[:46].encode()) == number
```

A key that was mistyped or copied in part is refused as any unknown key is, with 401 and the code
`unauthenticated`; its `detail` says that it is no key at all. Fairhold keeps a hash of each key, and its last
four characters to tell keys apart. Revoke a key that was published: `fairhold key revoke`, or
`DELETE /v1/keys/{{key}}`.
"""


def api_reference() -> str:
    told = document(operations_of(Settings(database="", test_clock=True)))
    schemas = told["components"]["schemas"]
    parts = [OPENING, KEYS]
    for tag in told["tags"]:
        parts.append(f"## {tag['name'].capitalize()}\n")
        for path, methods in told["paths"].items():
            for method, operation in methods.items():
                if tag["name"] in operation["tags"]:
                    parts += _operation(method.upper(), path, operation)
    parts.append("## Problems\n\n| code | status | meaning |\n|---|--:|---|")
    parts += [f"| `{code}` | {status} | {TITLES[code]} |" for code, status in STATUSES.items()]
    parts.append("\n## Shapes\n")
    for name, schema in sorted(schemas.items()):
        if "properties" in schema and not name.startswith("Page_") and schema["properties"]:
            parts += _shape(name, schema)
    return "\n".join(parts).rstrip() + "\n"


def _operation(method: str, path: str, operation: Any) -> Iterator[str]:
    yield f"### {method} {path}\n\n{operation['summary']}. {operation['description']}\n"
    body = operation.get("requestBody")
    if body:
        ((kind, content),) = body["content"].items()
        yield f"- body: {_type(content['schema']) if kind == 'application/json' else kind}"
    query = [f"`{one['name']}`" for one in operation["parameters"] if one["in"] == "query"]
    if query:
        yield f"- query: {', '.join(query)}"
    for status, response in operation["responses"].items():
        (content,) = response["content"].values()
        if int(status) < 300:
            yield f"- {status}: {_type(content['schema'])}"
        else:
            codes = [code for code in STATUSES if f"`{code}`" in response["description"]]
            yield f"- {status}: {', '.join(f'`{code}`' for code in codes)}"
    yield ""


def _shape(name: str, schema: Any) -> Iterator[str]:
    yield f"### {name}\n\n{schema.get('description', '')}\n\n| field | type |\n|---|---|"
    needed = schema.get("required", ())
    closed = schema.get("additionalProperties") is False
    for field, kind in schema["properties"].items():
        star = " (required)" if closed and field in needed else ""
        yield f"| `{field}`{star} | {_type(kind)} |"
    yield ""


def _type(schema: Any) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        if name.startswith("Page_"):
            inner = name.removeprefix("Page_").removesuffix("_")
            return f"a page of [{inner}](#{inner.lower()})"
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("format") == "date-time":
        return "instant"
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(
        schema.get("type", ""), str(schema.get("type", "anything"))
    )
