"""Different pieces of a repository rather than the same one over and over (the paper's appendix D, section 1)."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence

from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

CLUSTER_SHARE = 0.2
"""Clusters per piece of text."""


def one_of_each_cluster(texts: Sequence[str], rng: random.Random, share: float = CLUSTER_SHARE) -> list[int]:
    """Positions of one random text per cluster of similar texts, in random order; each text must hold a word."""
    members: dict[int, list[int]] = {}
    for position, cluster in enumerate(_clusters(texts, max(1, int(share * len(texts))), rng.getrandbits(32))):
        members.setdefault(cluster, []).append(position)
    drawn = [rng.choice(members[cluster]) for cluster in sorted(members)]
    rng.shuffle(drawn)
    return drawn


def _clusters(texts: Sequence[str], count: int, seed: int) -> list[int]:
    if len(texts) < 2:
        return [0] * len(texts)
    vectors = TfidfVectorizer(lowercase=False, token_pattern=r"\w+").fit_transform(texts)
    means = KMeans(count, n_init=1, random_state=seed)
    # Sums of floats depend on how they are shared out between threads, and so would the clusters.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different texts than clusters: fine
        return [int(cluster) for cluster in means.fit_predict(vectors)]
