"""Brings the catalogues of pages and console up to date with their templates: `python -m testbed.catalogues`.

New sentences come in without a translation, and the tests fail until they have one. What no template says
any more goes.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

FAIRHOLD = Path(__file__).parent.parent / "src" / "fairhold"
PAGES, CONSOLE = FAIRHOLD / "pages", FAIRHOLD / "console"
WIDTH = 106


def main() -> None:
    for package in (PAGES, CONSOLE):
        sentences = extracted(package / "templates")
        for path in sorted((package / "catalogues").glob("*.po")):
            update(path, sentences)


def extracted(folder: Path) -> dict[str | tuple[str, str], list[str]]:
    """Every sentence of the templates, with the files that say it."""
    found: dict[str | tuple[str, str], list[str]] = {}
    for file in sorted(folder.glob("*.html")):
        text = BytesIO(file.read_bytes())
        for _, _, said, _ in babel_extract(text, ["gettext", "ngettext"], [], {"trimmed": "true"}):
            assert said
            key = said if isinstance(said, str) else (str(said[0]), str(said[1]))
            files = found.setdefault(key, [])
            if file.name not in files:
                files.append(file.name)
    return found


def update(path: Path, sentences: dict[str | tuple[str, str], list[str]]) -> None:
    with path.open("rb") as file:
        old = read_po(file, locale=path.stem)
    header = path.read_text(encoding="utf-8").partition("\nmsgid")[0]
    new = Catalog(locale=path.stem, charset="utf-8")
    for said, files in sentences.items():
        kept = old.get(said if isinstance(said, str) else said[0])
        new.add(said, kept.string if kept else None, [(name, 0) for name in files])
    text = BytesIO()
    write_po(text, new, width=WIDTH, omit_header=True, include_lineno=False)
    forms = f"nplurals=2; plural=({'n != 1'});"
    head = [header, 'msgid ""', 'msgstr ""', f'"Language: {path.stem}\\n"', f'"Plural-Forms: {forms}\\n"']
    head += ['"MIME-Version: 1.0\\n"', '"Content-Type: text/plain; charset=utf-8\\n"']
    head += ['"Content-Transfer-Encoding: 8bit\\n"', ""]
    path.write_text("\n".join(head) + "\n" + text.getvalue().decode().strip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
