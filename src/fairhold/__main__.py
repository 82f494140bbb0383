"""`python -m fairhold` is the command line."""

from fairhold.cli.main import main

main()
