"""Hybrids of any two roots: the ends are the roots, and what is chosen is all that matters."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hybrid_roots import hybrid_of, members_of, roots_of, write_members
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

_NAME = st.sampled_from(["a", "b", "c.conf", "d", "\udce9", "boot", "lib", "x" * 110])
_PATH = st.lists(_NAME, min_size=1, max_size=3).map("/".join)
_LINES = st.lists(st.sampled_from(["one\n", "two\n", "three\n", "four", "\n"]), max_size=6)
_MEMBER = st.one_of(
    st.tuples(st.just("file"), st.sampled_from([0o644, 0o755, 0o600]), _LINES.map("".join)),
    st.tuples(st.just("file"), st.just(0o644), st.binary(max_size=6)),
    st.tuples(st.just("link"), st.just(0o777), st.sampled_from(["a", "/lib/b", "../c.conf"])),
    st.tuples(st.just("directory"), st.sampled_from([0o755, 0o700]), st.just("")),
)
_KERNELS = st.sampled_from([None, "6.1-a", "6.1-b"])
_WORDS = st.lists(st.sampled_from(["quiet", "nohz=on", "nohz=off", "x", 'v="a b"']), max_size=5)
_PACKAGES = st.dictionaries(
    st.sampled_from(["libc6", "tool", "linux-image-6.1"]), st.sampled_from(["1", "2"]), max_size=3
)


@st.composite
def root(draw: st.DrawFn) -> dict[str, tuple[str, int, str | bytes]]:
    """Draw a root as a tar holds it: what lies in something is behind it, in a directory."""
    drawn = draw(st.dictionaries(_PATH, _MEMBER, max_size=8))
    kernel = draw(_KERNELS)
    files: dict[str, tuple[str, int, str | bytes]] = dict(drawn)
    if kernel is not None:
        files[f"boot/vmlinuz-{kernel}"] = ("file", 0o644, f"kernel {kernel}")
        files[f"boot/config-{kernel}"] = ("file", 0o644, f"CONFIG_A={kernel[-1]}\n# {kernel}\n")
        packed = draw(st.sampled_from(["", ".xz"]))
        files[f"lib/modules/{kernel}/x.ko{packed}"] = ("file", 0o644, draw(st.sampled_from("xy")))
        files[f"lib/modules/{kernel}/same"] = ("file", 0o644, "")
        files["vmlinuz"] = ("link", 0o777, f"boot/vmlinuz-{kernel}")
    if draw(st.booleans()):
        files["boot/cmdline.txt"] = ("file", 0o644, " ".join(draw(_WORDS)) + "\n")
    packages = draw(_PACKAGES)
    if packages:
        status = "".join(
            f"Package: {name}\nStatus: install ok installed\nVersion: {version}\n\n"
            for name, version in packages.items()
        )
        files["var/lib/dpkg/status"] = ("file", 0o644, status)
        for name, version in packages.items():
            files[f"var/lib/dpkg/info/{name}.list"] = ("file", 0o644, f"/a/{name}\n/a\n{version}\n")
    whole: dict[str, tuple[str, int, str | bytes]] = {"etc": ("directory", 0o755, "")}
    for path, member in sorted(files.items()):
        parts = path.split("/")
        above = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
        if any(whole.get(name, ("directory",))[0] != "directory" for name in above):
            continue
        for name in above:
            whole.setdefault(name, ("directory", 0o755, ""))
        if path not in whole:
            whole[path] = member
    return whole


@settings(
    max_examples=80,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(root(), root(), st.data())
def test_the_ends_are_the_roots_and_both_bases_agree(
    first: dict[str, tuple[str, int, str | bytes]],
    second: dict[str, tuple[str, int, str | bytes]],
    data: st.DataObject,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        paths = [
            write_members(directory / f"{side}.tar", members)
            for side, members in (("first", first), ("second", second))
        ]
        if members_of(paths[0]) == members_of(paths[1]):
            return
        with roots_of(paths[0], paths[1], directory) as roots:
            count = len(roots.items)
            assert not roots.has_rest
            path = directory / "hybrid.tar"
            for base in (False, True):
                for chosen in (False, True):
                    hybrid_of(roots, [chosen] * count, path, base=base)
                    assert members_of(path) == members_of(paths[chosen])
            some = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
            chosen_items = np.array(some, bool)
            both = [hybrid_of(roots, chosen_items, path, base=base) for base in (False, True)]
            assert both[0] == both[1]
            again = hybrid_of(roots, chosen_items, path, base=False)
            assert again == both[0]
