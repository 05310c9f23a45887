"""What late episodes have in common: rules that hold for all members, and no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from whylate.causes.families import MOST_FAMILIES, Families, Family, find_families
from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause, Piece

US = 1_000
NET_RX = (Cause.SOFTIRQ, "NET_RX")
SWITCHING = (Cause.SCHEDULING, "")


def activation(number: int, *spent: tuple[Cause, str, int], cpu: int = 0) -> Breakdown:
    """An activation that spent so many µs in each of these, one after the other."""
    pieces, at = [], 0
    for cause, detail, us in spent:
        pieces.append(Piece(at, at + us * US, cause, detail))
        at += us * US
    return Breakdown(cpu, number, 0, at, tuple(pieces))


def softirq(number: int, us: int, cpu: int = 0) -> Breakdown:
    return activation(number, (*SWITCHING, 10), (*NET_RX, us), cpu=cpu)


def thread(number: int, us: int, name: str = "worker") -> Breakdown:
    return activation(number, (*SWITCHING, 10), (Cause.THREAD, name, us))


CONTROL = [activation(1000 + i, (*SWITCHING, 10), (*NET_RX, i % 3)) for i in range(30)]


def named(found: Families) -> list[Family]:
    return [family for family in found.families if family.letter]


def test_episodes_of_one_cause_are_a_family_with_what_all_of_them_have_at_the_least() -> None:
    late = [softirq(i, 215 + 100 * i) for i in range(4)] + [thread(i, 80) for i in (10, 11, 12)]
    first, second = find_families(late, CONTROL).families
    assert (first.letter, first.cause, first.detail) == ("A", *NET_RX)
    assert (first.episodes, first.at_least_ns, first.median_ns) == (4, 210 * US, 315 * US)
    assert first.worst == (0, 3)
    assert first.worst_ns == 525 * US
    assert (second.letter, second.cause, second.detail) == ("B", Cause.THREAD, "worker")
    assert second.at_least_ns == 80 * US


def test_the_rule_says_how_many_ordinary_ones_satisfy_it_too() -> None:
    late = [softirq(i, 2) for i in range(3)]
    found = find_families(late, CONTROL)
    assert (found.families[0].controls, found.control) == (10, 30)
    assert find_families([softirq(i, 200) for i in range(3)], CONTROL).families[0].controls == 0


def test_what_an_ordinary_activation_takes_as_well_makes_no_family() -> None:
    """Switching takes most of these, but no more than of any other."""
    late = [activation(i, (*SWITCHING, 60), (*NET_RX, 40)) for i in range(3)]
    control = [activation(100 + i, (*SWITCHING, 60)) for i in range(9)]
    (family,) = find_families(late, control).families
    assert (family.cause, family.detail) == NET_RX


def test_a_cpu_is_compared_with_its_own_ordinary_activations() -> None:
    busy = [softirq(100 + i, 100, cpu=1) for i in range(9)]
    late = [activation(i, (*SWITCHING, 70), (*NET_RX, 100), cpu=1) for i in range(3)]
    (family,) = find_families(late, CONTROL + busy).families
    assert (family.cause, family.detail) == SWITCHING


def test_without_ordinary_ones_a_cause_must_have_half_of_the_latency() -> None:
    late = [activation(i, (*SWITCHING, 40), (*NET_RX, 50)) for i in range(2)]
    late += [activation(i, (*SWITCHING, 45), (*NET_RX, 40), (Cause.LOCK, "l", 30)) for i in (5, 6)]
    first, rest = find_families(late, []).families
    assert (first.cause, first.episodes) == (NET_RX[0], 2)
    assert (rest.letter, rest.cause, rest.episodes) == ("", None, 2)


def test_one_of_its_kind_has_nothing_in_common_with_others() -> None:
    late = [softirq(0, 300), softirq(1, 300), thread(2, 300)]
    first, rest = find_families(late, CONTROL).families
    assert (first.episodes, rest.episodes, rest.worst) == (2, 1, (0, 2))


def test_ones_of_a_kind_with_various_details_are_a_family_of_that_kind() -> None:
    late = [thread(i, 100 + i, f"kworker/{i}") for i in range(4)]
    late.append(activation(9, (Cause.THREAD, "kworker/7", 60), (Cause.THREAD, "kworker/8", 50)))
    (family,) = find_families(late, CONTROL).families
    assert (family.cause, family.detail, family.episodes) == (Cause.THREAD, None, 5)
    assert family.at_least_ns == 100 * US


def test_a_thread_with_a_hostile_name_is_a_detail_like_any_other() -> None:
    late = [thread(i, 100, name) for i, name in enumerate(["various", "various", "a", "b", ""])]
    found = find_families(late, CONTROL)
    assert sorted(family.episodes for family in found.families) == [2, 3]


def test_there_are_no_more_than_so_many_and_the_rest_is_one() -> None:
    late = [thread(10 * kind + i, 300 - kind, f"t{kind}") for kind in range(9) for i in range(2)]
    found = find_families(late, CONTROL)
    assert [family.letter for family in found.families] == [*"ABCDE", ""]
    assert [one.detail for one in named(found)] == [f"t{kind}" for kind in range(5)]
    assert found.families[-1].episodes == 8


def test_what_was_not_recorded_is_counted_and_in_no_family() -> None:
    lost = [Breakdown(0, 50 + i, 0, 900 * US, None) for i in range(3)]
    found = find_families([*lost, softirq(0, 200), softirq(1, 200)], CONTROL)
    assert found.unrecorded == 3
    assert sum(family.episodes for family in found.families) == 2
    assert set(found.of) == {(0, 0), (0, 1)}


def test_ordinary_ones_that_were_not_recorded_say_nothing() -> None:
    lost = [Breakdown(0, 50 + i, 0, 300 * US, None) for i in range(30)]
    found = find_families([softirq(0, 200), softirq(1, 200)], [*CONTROL, *lost])
    assert found == find_families([softirq(0, 200), softirq(1, 200)], CONTROL)


def test_no_late_episode_no_family() -> None:
    assert find_families([], CONTROL) == Families((), 0, 30, {})


CAUSES = st.sampled_from([(c, d) for c in Cause for d in ("", "a", "b")])
SPENT = st.lists(st.tuples(CAUSES, st.integers(1, 500)), max_size=5)


def made(rows: Sequence[Sequence[tuple[tuple[Cause, str], int]]]) -> list[Breakdown]:
    return [
        activation(i, *((*key, us) for key, us in row), cpu=i % 2) for i, row in enumerate(rows)
    ]


@given(st.lists(SPENT, max_size=30), st.lists(SPENT, max_size=10), st.randoms())
def test_every_episode_is_in_one_family_whose_rule_it_satisfies(
    late: list[list[tuple[tuple[Cause, str], int]]],
    control: list[list[tuple[tuple[Cause, str], int]]],
    random: Random,
) -> None:
    episodes, controls = made(late), made(control)
    found = find_families(episodes, controls)
    assert len(found.families) <= MOST_FAMILIES + 1
    assert sum(family.episodes for family in found.families) == len(episodes)
    counts = Counter(found.of.values())
    for family in named(found):
        assert counts[family.letter] == family.episodes >= 2
        for episode in episodes:
            if found.of.get((episode.cpu, episode.activation)) == family.letter:
                spent = [ns for (cause, detail), ns in episode.by_cause().items()
                         if cause is family.cause and family.detail in (None, detail)]  # fmt: skip
                assert sum(spent) >= family.at_least_ns > 0
    random.shuffle(episodes)
    random.shuffle(controls)
    assert find_families(episodes, controls) == found


def test_of_two_that_are_as_late_the_first_is_the_worst_in_any_order() -> None:
    late = [softirq(4, 200), softirq(3, 200)]
    assert find_families(late, []) == find_families(late[::-1], [])
    assert find_families(late, []).families[0].worst == (0, 3)
