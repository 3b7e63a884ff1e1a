"""Repositories become token ids once: whole files, and blanks with the cross-file context that is found for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tqdm import tqdm

from repoformer.code.chunk_blanks import chunk_blanks
from repoformer.code.function_blanks import function_blanks
from repoformer.code.languages import language_of
from repoformer.code.records import Blank, Repository, RetrievedContext
from repoformer.config import config_hash
from repoformer.context.leaks import CopyFinder
from repoformer.context.next_chunk import NextChunk
from repoformer.models.pretraining.recipe import Documents, PretrainRecipe
from repoformer.models.pretraining.token_file import BlankTokens, Ragged, TokenFile
from repoformer.models.pretraining.tokenizer import train_tokenizer
from repoformer.prompt.budgets import TRAINING
from repoformer.prompt.builder import PromptBuilder
from repoformer.seeding import generator, stable_hash


def tokens_key(repositories: Sequence[Repository], recipe: PretrainRecipe) -> str:
    """A hash of all that tokenizer and token file depend on."""
    texts = [
        stable_hash(repository.id, *(part for file in repository.files for part in (file.path, file.text)))
        for repository in repositories
    ]
    return config_hash(recipe.seed, recipe.documents, recipe.model.vocabulary, texts)


def tokenizer_texts(repositories: Sequence[Repository], recipe: PretrainRecipe) -> Iterator[str]:
    """Files in random order until the tokenizer's share of text is reached."""
    files = [file for repository in repositories for file in repository.files]
    generator(recipe.seed, "tokenizer").shuffle(files)
    left = int(recipe.documents.tokenizer_megabytes * 1e6)
    for file in files:
        if left <= 0:
            return
        yield file.text[:left]
        left -= len(file.text)


def learn_tokenizer(repositories: Sequence[Repository], recipe: PretrainRecipe) -> Any:
    """The tokenizer of a run."""
    return train_tokenizer(tokenizer_texts(repositories, recipe), recipe.model.vocabulary)


def build_tokens(repositories: Sequence[Repository], builder: PromptBuilder, recipe: PretrainRecipe) -> TokenFile:
    """All files and blanks of the repositories as token ids."""
    files: list[list[int]] = []
    segments: list[Sequence[int]] = []
    for repository in tqdm(repositories, desc="tokens", unit="repository"):
        files += [builder.encode(file.text)[: recipe.documents.most_file_tokens] for file in repository.files]
        for blank, context in blanks_with_context(repository, recipe.documents, recipe.seed):
            parts = blank_tokens(builder, blank, context)
            if len(parts.target) <= TRAINING["pocket"].target:
                segments += parts
    return TokenFile(tokens_key(repositories, recipe), Ragged.of(files), Ragged.of(segments))


def blanks_with_context(
    repository: Repository, documents: Documents, seed: int
) -> Iterator[tuple[Blank, RetrievedContext]]:
    """Chunk and function blanks of one repository, each with what next-chunk retrieval finds for it."""
    copies = CopyFinder(repository.files)
    chunk_index = NextChunk(repository.files, window=20, stride=10, copies=copies)
    function_index = NextChunk(repository.files, window=50, stride=25, copies=copies)
    for draw in range(documents.draws):
        drawn = stable_hash(seed, "pretraining", draw)
        chunks = chunk_blanks(repository, seed=drawn, most=documents.chunks_per_repository).blanks
        functions = function_blanks(repository, seed=drawn, most=documents.functions_per_repository).blanks
        for index, blanks in ((chunk_index, chunks), (function_index, functions)):
            for blank in blanks:
                holds = generator(drawn, "query", blank.id).random() < documents.query_holds_target
                yield blank, index.retrieve(blank, query_holds_target=holds, top=documents.top)


def blank_tokens(builder: PromptBuilder, blank: Blank, context: RetrievedContext) -> Any:
    """The parts of a blank's prompt at completion budgets, and its whole target."""
    language = language_of(blank.path)
    in_file = builder.in_file(blank.left, blank.right)
    cross_file = builder.cross_file(
        [ranked.chunk for ranked in context.chunks], language.comment if language is not None else "#"
    )
    return BlankTokens(in_file.left, in_file.right, cross_file, builder.encode(blank.target))  # type: ignore[arg-type]
