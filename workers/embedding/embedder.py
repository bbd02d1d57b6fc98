"""An embedding service with the interface of text-embeddings-inference, on a real model.

It answers ``/embed``, ``/health`` and ``/info``.

    python embedder.py            # settings: environment or .env, see .env.example

The model is wordllama's default of 256 dimensions, which its package carries, so nothing is
downloaded.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import numpy as np
import web
import wire
import wordllama
from fastapi import FastAPI, Request
from fastapi.responses import Response
from pydantic import Field
from reading import Reader
from wire import EmbedRequest, ErrorType, ServiceError, Text

MODEL = "wordllama/l2_supercat_256"
MAX_INPUT_TOKENS = 512
DIMENSIONS = 256
# Before the tokenizer is first asked. The texts of one call are too few to be shared out among
# threads: to wake them and to wait for them takes longer than to do their work.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
_QUICK_CHARACTERS = 20_000
"""Up to so many the event loop can wait for the model; beyond, a thread does."""


class EmbedderSettings(web.ServerSettings):
    """From the environment, or ``.env``."""

    max_client_batch_size: int = Field(default=32, ge=1)
    call_cost_ms: float = Field(
        default=0.0,
        ge=0,
        description="A fixed part of each call's cost, during which nothing else is served.",
    )


class Embedder:
    """The model, one call at a time, as on one accelerator."""

    def __init__(self, settings: EmbedderSettings) -> None:
        # Its tokenizer is not where the package itself looks for it, but where it looks in a cache.
        package = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(
            cache_dir=package, dim=DIMENSIONS, disable_download=True
        )
        self._cost_s = settings.call_cost_ms / 1000
        self._one_at_a_time = asyncio.Lock()

    async def embed(self, asked: EmbedRequest) -> Any:
        """The vectors of a request's texts: float32, of shape (texts, dimensions).

        Raises ``ServiceError`` for a text that is too long, and for options of other models.
        """
        dimensions = asked.dimensions or DIMENSIONS
        if dimensions > DIMENSIONS:
            raise _invalid(f"`dimensions` is {dimensions}, of a vector's {DIMENSIONS}")
        if asked.prompt_name is not None:
            raise _invalid(f"`prompt_name` {asked.prompt_name!r}: the model has no prompts")
        if asked.truncation_direction not in ("Left", "Right"):
            raise _invalid("`truncation_direction` must be Left or Right")
        texts = [self._fitting(text, asked) for text in asked.texts]
        if self._cost_s:
            async with self._one_at_a_time:
                await asyncio.sleep(self._cost_s)
                return self._compute(texts, dimensions, asked.normalize)
        if sum(map(len, texts)) > _QUICK_CHARACTERS:
            return await asyncio.to_thread(self._compute, texts, dimensions, asked.normalize)
        return self._compute(texts, dimensions, asked.normalize)

    def _compute(self, texts: list[str], dimensions: int, normalize: bool) -> Any:
        whole = dimensions == DIMENSIONS
        vectors = self._model.embed(texts, norm=normalize and whole)
        if not whole:
            vectors = np.ascontiguousarray(vectors[:, :dimensions])
            if normalize:
                vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(vectors).all():
            raise ServiceError("the model has no vector for one of the inputs", ErrorType.TOKENIZER)
        return vectors

    def _fitting(self, given: Text, asked: EmbedRequest) -> str:
        # As text-embeddings-inference does: ids become text again, and that is split anew.
        text = given if isinstance(given, str) else self._decode(given)
        # No text has more tokens than bytes, and the one that begins it.
        if len(text) * 4 < MAX_INPUT_TOKENS:
            return text
        encoded = self._model.tokenizer.encode(text)
        if len(encoded.ids) <= MAX_INPUT_TOKENS:
            return text
        if not asked.truncate:
            raise _invalid(
                f"`inputs` must have less than {MAX_INPUT_TOKENS} tokens. Given: {len(encoded.ids)}"
            )
        if asked.truncation_direction == "Left":
            return text[encoded.offsets[-MAX_INPUT_TOKENS][0] :]
        return text[: encoded.offsets[MAX_INPUT_TOKENS - 1][1]]

    def _decode(self, ids: list[int]) -> str:
        text: str = self._model.tokenizer.decode(ids, skip_special_tokens=False)
        return text


def _invalid(message: str) -> ServiceError:
    return ServiceError(message, ErrorType.VALIDATION)


def create_app(settings: EmbedderSettings) -> FastAPI:
    """The service as an ASGI application."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.embedder = Embedder(settings)
        yield

    app = web.create("Embedding service", lifespan)
    limit = settings.max_client_batch_size
    reader = Reader(settings.read_timeout)

    async def embed(request: Request) -> Response:
        with reader.serving(request) as client:
            asked = wire.parse(await client.read())
            if len(asked.texts) > limit:
                raise _invalid(
                    f"batch size {len(asked.texts)} > maximum allowed batch size {limit}"
                )
            return wire.answer(await app.state.embedder.embed(asked))

    web.add_embed(app, embed)

    async def health() -> None:
        """Says by answering at all that the service is up."""

    async def info() -> dict[str, str | int]:
        return {
            "model_id": MODEL,
            "model_dtype": "float32",
            "max_input_length": MAX_INPUT_TOKENS,
            "max_client_batch_size": limit,
            "version": wordllama.__version__,
        }

    app.add_api_route("/health", health, summary="200 once the model is loaded")
    app.add_api_route("/info", info, summary="The model, and the limits")
    return app


def main() -> None:
    settings = web.load_settings(EmbedderSettings)
    web.serve(create_app(settings), settings)


if __name__ == "__main__":
    main()
