"""Options of every verb that bisects."""

from __future__ import annotations

import click

from whylate.cli.option_groups import Heading, option_under
from whylate.cli.parameter_types import NewPath

statistic_option = option_under(Heading.WHAT)(
    "--statistic", metavar="NAME",
    help="What runs are compared by.  [default: p99, or the only point of a benchmark]",
)  # fmt: skip
output_option = option_under(Heading.OUTPUT)(
    "-o", "--output", type=NewPath(), metavar="DIR",
    help="The bisection's directory; resume the one that is there.  [default: bisections/TIME]",
)  # fmt: skip
margin_option = option_under(Heading.WHAT)(
    "--margin", type=float, default=0.3, show_default=True, metavar="PART",
    help="What is nearer to a side than this part of the gap behaves like it.",
)  # fmt: skip
runs_option = option_under(Heading.LENGTH)(
    "--runs", type=int, default=256, show_default=True, metavar="N", help="At most N runs."
)
junit_option = option_under(Heading.OUTPUT)(
    "--junit", type=NewPath(), metavar="FILE", help="Write JUnit XML too."
)
exclude_option = option_under(Heading.WHAT)(
    "--exclude", multiple=True, metavar="PATTERN",
    help="Leave out what matches: a name like 'usr/share/doc/*', or KIND:NAME.",
)  # fmt: skip
keep_option = option_under(Heading.WHAT)(
    "--keep", multiple=True, metavar="PATTERN",
    help="Mark what matches as kept: a search does not exchange it.",
)  # fmt: skip
pin_option = option_under(Heading.WHAT)(
    "--pin", multiple=True, metavar="PATTERN",
    help="Pin what matches together: a search exchanges it as one.",
)  # fmt: skip
confidence_option = option_under(Heading.LENGTH)(
    "--confidence", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True,
    metavar="P", help="End when the answer is so probable.",
)  # fmt: skip
