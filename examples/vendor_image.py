"""The line in the vendor's rc.local.

`python examples/vendor_image.py [--out DIR] [--quick] [--json]`

The vendor's image copies memory at twice the speed of one's own. Libraries, kernel, boot loader and
root file system were exchanged by hand for days; it was a line of /etc/rc.local that sets the mode
of transparent huge pages. Here two such images are made of Debian's packages of two releases, with
two kernels, two C libraries and hundreds of other differences, and whylate searches. Time is
counted in instructions (virtual time), so what huge pages save is page faults, and the direction is
the other one: the published line switched huge pages off, this one switches them on. Needs the
packages (`whylate lab pair` fetches them), half an hour on a quiet machine, and no root.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from story import HERE, Claim, Interval, judge, number, refused, run_whylate, telling, whylate

PAIR = "one-line"
PLAN = HERE / "vendor_image.toml"
STATISTIC = "wall time"
#: The vendor's speed to that of the other image, as published, in GB/s.
PUBLISHED = 5.870508 / 2.786695
#: The file whose line is to be named, and the setting in it.
FILE, SETTING = "etc/rc.local", "transparent_hugepage"
#: A huge page takes the place of so many pages; some buffers are not aligned to it.
LEAST_FEWER_FAULTS = 50
#: Runs at most, in a quick story.
QUICK_RUNS = 128
FASTER = (
    "The vendor's image copies 5.87 GB/s, ours 2.79 (× "
    f"{PUBLISHED:.3g}); exchanging libraries, kernel and boot loader does not change that."
)
CULPRIT = "The difference is a line of /etc/rc.local that sets the mode of transparent huge pages."
BOTH_WAYS = "With that line our image is as fast as the vendor's."


def measured(root: Path, recording: Path) -> dict[str, Any]:
    """Return the one point of a run with a root, with its page faults."""
    document = whylate(
        "bench", "cmd", "virt-arm64", "--virtual-time", "--root", root, "--rounds", "6",
        "--counters", "page-faults", "-o", recording,
        "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=32M", "count=1",
    )  # fmt: skip
    point: dict[str, Any] = document["points"][0]
    return point


def not_treated(vendor: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Return why the images do not differ in what huge pages do; "" where they do."""
    few, many = (point["counts"]["page-faults"]["value"] for point in (vendor, ours))
    if many - few >= LEAST_FEWER_FAULTS * max(few, 1):
        return ""
    return f"{number(few)} page faults with the vendor's image and {number(many)} with ours"


def speed(gap: Mapping[str, Any]) -> Claim:
    """Return whether the vendor's image is faster. gap: ours minus the vendor's, in logarithms."""
    low, high = (None if gap[end] is None else math.exp(gap[end]) for end in ("low", "high"))
    ratio = Interval(math.exp(gap["value"]), low, high)
    reproduced, why = judge(ratio, PUBLISHED, size=False)
    return Claim(FASTER, f"ours takes × {ratio} of the vendor's instructions", reproduced, why)


def is_the_line(name: str) -> bool:
    """Whether a difference is the line of rc.local."""
    return FILE in name and SETTING in name


def culprit(result: Mapping[str, Any]) -> Claim:
    """Return whether the line was named, and only it."""
    names = [_named(item) for item in result.get("culprits", [])]
    seen = f"{result['answer']}: {'; '.join(names) or 'none'}, in {len(result['runs'])} runs"
    lines = [name for name in names if is_the_line(name)]
    if not names:
        return Claim(CULPRIT, seen, "cannot be told here", "the search named nothing")
    if lines == names:
        return Claim(CULPRIT, seen, "yes", "it was named among all differences, and nothing else")
    if lines:
        return Claim(CULPRIT, seen, "yes", "it was named, beside others")
    return Claim(CULPRIT, seen, "no", "something else was named")


def _named(item: Mapping[str, Any]) -> str:
    name = next(value for key, value in item.items() if key != "share")
    return f"{name} ({100 * item['share']['value']:.0f} % of it)"


def both_ways(result: Mapping[str, Any]) -> Claim:
    """Return whether exchanging the line alone moved both images, by fresh runs."""
    confirmation = result.get("confirmation") or {}
    ways = [confirmation.get(way) for way in ("first_with_second", "second_with_first")]
    shares = [Interval(way["value"], way["low"], way["high"]) for way in ways if way is not None]
    if len(shares) < len(ways):
        return refused(BOTH_WAYS, "there was nothing to confirm, or only one way was run")
    away, back = shares
    seen = (
        f"the vendor's image with our line goes {away} of the way, ours with the vendor's {back}; "
        f"{confirmation['runs']} fresh runs"
    )
    if all(share.low is not None and share.low >= 0.5 for share in shares):
        return Claim(BOTH_WAYS, seen, "yes", "both intervals lie above half of the way")
    return Claim(
        BOTH_WAYS, seen, "cannot be told here", "an interval reaches below half of the way"
    )


def main() -> None:
    """Make the images, search, and print what was found."""
    with telling(__doc__) as story:
        pair = story.out / "pair"
        run_whylate("lab", "pair", PAIR, "-o", pair)
        vendor, ours = pair / "vendor.tar", pair / "ours.tar"
        listed = whylate("bisect", "diff", vendor, ours)["counts"]
        print(f"  {sum(listed.values()):,} differences of {len(listed)} kinds")
        why = not_treated(
            measured(vendor, story.out / "vendor"), measured(ours, story.out / "ours")
        )
        if why:
            story.end(*(refused(claim, why) for claim in (FASTER, CULPRIT, BOTH_WAYS)))
            return
        result = whylate(
            "bisect", "images", vendor, ours, PLAN, "--statistic", STATISTIC,
            "-o", story.out / "bisection", *(["--runs", str(QUICK_RUNS)] if story.quick else []),
        )  # fmt: skip
        if "gap" not in result:
            story.end(*(refused(claim, result["answer"]) for claim in (FASTER, CULPRIT, BOTH_WAYS)))
            return
        story.end(speed(result["gap"]), culprit(result), both_ways(result))


if __name__ == "__main__":
    main()
