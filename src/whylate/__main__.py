"""`python -m whylate`."""

from whylate.cli import main

main()
