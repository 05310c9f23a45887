"""A git repository with a commit that costs something, the same for a seed: for bisections.

A static C program serves requests from a hash table. How many, depends on when it starts, so that
runs differ by 2 % (one standard deviation). 72 commits: a trunk with three branches that are
merged, an interval in which nothing compiles, and one commit, on the trunk or in a branch, that
makes each request take some per cent longer. Every other commit changes a text, a comment, or code
that costs nothing here.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

COMMITS = 72
_BRANCHES = 3

MAIN = """\
/* Serve requests. Release {release}. */
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <time.h>
#include "words.h"

uint32_t look_up(uint64_t key);
uint32_t check(uint64_t key, unsigned words);
void fill(void);

static uint64_t state;

static uint64_t draw(void)
{{
	uint64_t mixed = state += 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return mixed ^ mixed >> 31;
}}

int main(void)
{{
	const uint64_t *random = (const uint64_t *)getauxval(AT_RANDOM);
	struct timespec now;
	int64_t requests = {requests};
	uint32_t sum = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	state = (uint64_t)now.tv_nsec ^ (random ? *random : 0);
	/* The sum of twelve uniform numbers has a variance of one twelfth each. */
	for (int number = 0; number < 12; number++)
		requests += (int64_t)(draw() % (2 * SPREAD + 1)) - SPREAD;
	fill();
	for (int64_t number = 0; number < requests; number++) {{
		uint64_t key = draw();

		sum += look_up(key) + check(key, WORDS);
	}}
	printf("release {release}: %lld words, %u\\n", (long long)requests * WORDS, sum);
	return 0;
}}
"""
TABLE = """\
/* A table with chains: {text}. */
#include <stdint.h>

#define ENTRIES 4096
static uint32_t heads[{buckets}], next[ENTRIES + 1], keys[ENTRIES + 1];

void fill(void)
{{
	for (uint32_t entry = 1; entry <= ENTRIES; entry++) {{
		uint32_t key = entry * 2654435761u, bucket = key >> 7 & ({buckets} - 1);

		keys[entry] = key;
		next[entry] = heads[bucket];
		heads[bucket] = entry;
	}}
}}

uint32_t look_up(uint64_t wanted)
{{
	uint32_t key = ((uint32_t)wanted % ENTRIES + 1) * 2654435761u;
	uint32_t entry = heads[key >> 7 & ({buckets} - 1)];

	while (entry && keys[entry] != key)
		entry = next[entry];
	return entry;
}}
{broken}"""
CHECK = """\
/* The checksum of a request: {text}. */
#include <stdint.h>

uint32_t check(uint64_t key, unsigned words);

uint32_t check(uint64_t key, unsigned words)
{{
	uint32_t sum = {start}u;

	for (unsigned word = 0; word < words; word++)
		sum = (sum ^ (uint32_t)(key >> (word & 31))) * 16777619u;
	return sum;
}}
"""
HEADER = """\
/* The words of a request. */
#define WORDS {words}
"""
BUILD = "{cc} -O1 -static -DSPREAD={spread} -o work main.c table.c check.c"
REQUESTS = 40_000
#: Words of a checksum: before the culprit, and from it on.
FEW, MANY = 96, 104
#: Uniform in ± SPREAD has a variance of SPREAD² / 3: twelve of them, 2 % of the requests.
SPREAD = round(0.02 * REQUESTS / 2)


@dataclass(frozen=True)
class MadeRepository:
    """A repository. culprit, good, bad: hashes. unbuildable: how many commits do not compile."""

    path: Path
    good: str
    bad: str
    culprit: str
    commits: int
    merges: int
    unbuildable: int


@dataclass(frozen=True)
class _Node:
    """A commit: its parents by number, and all that it holds."""

    parents: tuple[int, ...]
    holds: frozenset[int]


def build_command(cc: str = "cc") -> str:
    """Return the command that builds a commit."""
    return BUILD.format(cc=cc, spread=SPREAD)


def make_repository(path: Path, seed: int, words: int = MANY) -> MadeRepository:
    """Make the repository of a seed in a new directory; words: from the culprit on."""
    chance = random.Random(seed)
    nodes = _nodes(chance)
    last = len(nodes) - 1
    trunk = _trunk(nodes)
    length = chance.randint(4, 9)
    begins = chance.randrange(4, len(trunk) - length - 4)
    breaks, mends = trunk[begins], trunk[begins + length]
    broken = {
        number
        for number, node in enumerate(nodes)
        if breaks in node.holds and mends not in node.holds
    }
    # The first parent too: it is what the culprit is confirmed against.
    candidates = [
        number
        for number in range(2, last)
        if len(nodes[number].parents) == 1 and not {number, nodes[number].parents[0]} & broken
    ]
    culprit = chance.choice(candidates)
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "trunk")
    stream = bytearray()
    for number, node in enumerate(nodes):
        # The culprit changes nothing else, so that it can be reverted.
        written = number if number != culprit else node.parents[0]
        files = _files(written, number in broken, random.Random(seed * 1000 + written))
        files["words.h"] = HEADER.format(words=words if culprit in node.holds else FEW)
        stream += _commit(number, node, files)
    git(path, "fast-import", "--quiet", "--export-marks=marks", data=bytes(stream))
    marks = dict(line.split() for line in (path / "marks").read_text().splitlines())
    hashes = [marks[f":{number + 1}"] for number in range(len(nodes))]
    git(path, "reset", "-q", "--hard")
    (path / "marks").unlink()
    return MadeRepository(
        path, hashes[0], hashes[-1], hashes[culprit], len(nodes),
        sum(len(node.parents) > 1 for node in nodes), len(broken),
    )  # fmt: skip


def _nodes(chance: random.Random) -> list[_Node]:
    """Return the commits of a trunk with branches, parents first."""
    nodes = [_Node((), frozenset({0}))]

    def add(*parents: int) -> int:
        number = len(nodes)
        holds = frozenset({number}).union(*(nodes[parent].holds for parent in parents))
        nodes.append(_Node(parents, holds))
        return number

    tip = 0
    for _ in range(_BRANCHES):
        for _ in range(chance.randint(4, 8)):
            tip = add(tip)
        branch = tip
        for _ in range(chance.randint(4, 9)):
            branch = add(branch)
        for _ in range(chance.randint(1, 5)):
            tip = add(tip)
        tip = add(tip, branch)
    while len(nodes) < COMMITS:
        tip = add(tip)
    return nodes


def _trunk(nodes: Sequence[_Node]) -> list[int]:
    """Return the commits along the first parents, the first one first."""
    number, trunk = len(nodes) - 1, []
    while nodes[number].parents:
        trunk.append(number)
        number = nodes[number].parents[0]
    return [number, *reversed(trunk)]


def _files(number: int, broken: bool, chance: random.Random) -> dict[str, str]:
    """Return the sources as a commit has them."""
    text = " ".join(chance.choices(["fast", "small", "plain", "open", "exact"], k=3))
    return {
        "main.c": MAIN.format(release=number, requests=REQUESTS),
        "table.c": TABLE.format(
            text=text, buckets=1024, broken="uint32_t remove(\n" if broken else ""
        ),
        "check.c": CHECK.format(text=text, start=chance.randrange(1 << 32)),
    }


def _commit(number: int, node: _Node, files: dict[str, str]) -> bytes:
    """Return a commit as `git fast-import` reads it."""
    subject = f"merge of {node.parents[1]}" if len(node.parents) > 1 else f"change {number}"
    lines = [
        "commit refs/heads/trunk",
        f"mark :{number + 1}",
        f"committer n <n@example.org> {1_700_000_000 + 3600 * number} +0000",
        f"data {len(subject)}",
        subject,
    ]
    lines += [
        f"{'merge' if place else 'from'} :{parent + 1}" for place, parent in enumerate(node.parents)
    ]
    for name, text in files.items():
        lines += [f"M 100644 inline {name}", f"data {len(text.encode())}", text]
    return ("\n".join(lines) + "\n\n").encode()


def git(path: Path, *arguments: str, data: bytes = b"") -> str:
    """Return what git prints in a repository, whatever the user has configured."""
    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", "-C", str(path), *arguments],
        input=data, capture_output=True, check=True, env=environment,
    )  # fmt: skip
    return done.stdout.decode().strip()
