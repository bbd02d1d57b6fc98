"""A seeded scoring problem: contexts (who asks), candidates (what to show them), and labels.

The shape is that of a news site's front page: about half of the visitors are known, with up to 38
topics, 58 sections and 50 articles that they have read; every visitor has 4 to 38 interests. A
candidate has an identity, a section and one to three topics. In Vowpal Wabbit's text format a line
is a context's part and a candidate's part, and a model is told to look at every pair of a context
feature and a candidate feature.
"""

import random

CONTEXTS = 1_000
CANDIDATES = 3_000

CONTEXT_NAMESPACES = "defghi"
CANDIDATE_NAMESPACES = "abc"
INTERACTIONS = [item + context for item in CANDIDATE_NAMESPACES for context in CONTEXT_NAMESPACES]
"""Pairs of namespaces whose features are crossed."""

_GROUPS = 6


class Problem:
    """So many candidates, the same for every context.

    Equal seeds give equal problems on every Python.
    """

    def __init__(self, candidates: int = CANDIDATES, seed: int = 1) -> None:
        self._seed = seed
        rng = random.Random(seed * 7_919)
        self._sections = [min(int(rng.expovariate(0.08)), 120) for _ in range(candidates)]
        self.candidates: list[str] = []
        """Each candidate's part of a line."""
        for section in self._sections:
            topics = sorted(rng.sample(range(60), rng.choice((1, 2, 2, 3))))
            topic_features = " ".join(f"c{topic}" for topic in topics)
            self.candidates.append(f"|a a{rng.getrandbits(63)} |b b{section} |c {topic_features}")

    def context(self, number: int) -> str:
        """The part of every line of the context with this number."""
        rng = self._rng(number)
        group = rng.randrange(_GROUPS)
        known = rng.random() < 0.5
        parts = [
            "|d " + _weighted(rng, "d", 400, rng.randrange(3, 38) if known else 0),
            "|e " + _weighted(rng, "e", 530, rng.randrange(1, 58) if known else 0),
            "|f "
            + " ".join(
                f"f{rng.getrandbits(63)}" for _ in range(rng.randrange(1, 51) if known else 0)
            ),
            "|g " + _weighted(rng, "g", 120, rng.randrange(4, 39)),
            f"|h h{group}",
            f"|i i{rng.randrange(5)}",
        ]
        return " ".join(part.strip() for part in parts)

    def labels(self, number: int) -> list[int]:
        """1 or -1 for each candidate.

        Visitors of a group prefer the sections whose number leaves the group's as remainder.
        """
        rng = self._rng(number)
        group = rng.randrange(_GROUPS)
        return [
            1 if rng.random() < (0.8 if section % _GROUPS == group else 0.3) else -1
            for section in self._sections
        ]

    def _rng(self, number: int) -> random.Random:
        return random.Random(self._seed * 1_000_003 + number)


def _weighted(rng: random.Random, prefix: str, of: int, count: int) -> str:
    """``count`` different features, with weights that add up to 1: shares of what somebody read."""
    features = rng.sample(range(of), count)
    weights = [rng.expovariate(1) for _ in features]
    total = sum(weights) or 1.0
    return " ".join(
        f"{prefix}{feature}:{weight / total:.2f}"
        for feature, weight in zip(features, weights, strict=True)
    )
