"""The command `fairhold`, which is `python -m fairhold`, too."""

from __future__ import annotations

import sys

from fairhold.errors import ExtraMissing
from fairhold.extras import needs


def main() -> None:
    """Run the command line. Where its extra is not installed, say so in one line, with exit code 2."""
    try:
        with needs("cli", "the command line"):
            from fairhold.cli.main import main as run
    except ExtraMissing as error:
        sys.stderr.write(f"fairhold: {error}\n")
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
