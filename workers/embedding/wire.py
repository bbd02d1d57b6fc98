"""What travels: requests, answers and errors in the shapes of text-embeddings-inference.

And how OpenAPI describes them.
"""

import json
from enum import Enum
from typing import Annotated, Any

import orjson
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

EMBED_PATH = "/embed"
MAX_BODY_BYTES = 2_000_000
"""text-embeddings-inference's default ``--payload-limit``."""
NO_OPTIONS = b"{}"

TokenId = Annotated[int, Field(ge=0, lt=2**32)]
Text = str | list[TokenId]
"""What a vector is of: a text, or the ids of its tokens."""


_TOKEN_IDS: Any = {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}}


class EmbedRequest(BaseModel):
    """Body of ``POST /embed``."""

    model_config = ConfigDict(strict=True, extra="allow")

    inputs: str | list[str] | list[TokenId] | list[Text] = Field(
        # Those that nearly everybody sends are tried first, and alone.
        union_mode="left_to_right",
        examples=[["What is Vector Search?", "Hello, world!"]],
        # Described, and checked in ``read``: what is empty has an error of its own.
        json_schema_extra={
            "anyOf": [
                {"type": "string", "minLength": 1},
                _TOKEN_IDS,
                {
                    "type": "array",
                    "minItems": 1,
                    "items": {"anyOf": [{"type": "string", "minLength": 1}, _TOKEN_IDS]},
                },
            ]
        },
    )
    truncate: bool | None = Field(
        False, description="Cut inputs that are too long, instead of refusing them."
    )
    truncation_direction: str = Field("Right", description="Which end to cut: Left or Right.")
    prompt_name: str | None = Field(None, description="A prompt of the model's, put before inputs.")
    normalize: bool = Field(True, description="Whether vectors have length 1.")
    dimensions: int | None = Field(None, ge=1, description="How many numbers of a vector to keep.")

    @property
    def texts(self) -> list[Text]:
        inputs: Any = self.inputs
        is_one = isinstance(inputs, str) or (inputs and isinstance(inputs[0], int))
        return [inputs] if is_one else inputs

    @property
    def options(self) -> bytes:
        """All fields but the inputs, just as they were given: an object of JSON, sorted by name.

        What is absent stays so, for the upstream to decide: its defaults can be set.
        """
        given = {name: getattr(self, name) for name in self.model_fields_set if name != "inputs"}
        return json.dumps(given, sort_keys=True).encode() if given else NO_OPTIONS


class ErrorType(str, Enum):
    """What text-embeddings-inference calls its errors."""

    UNHEALTHY = "Unhealthy"
    BACKEND = "Backend"
    OVERLOADED = "Overloaded"
    VALIDATION = "Validation"
    TOKENIZER = "Tokenizer"
    EMPTY = "Empty"


STATUS = {
    ErrorType.UNHEALTHY: 503,
    ErrorType.BACKEND: 424,
    ErrorType.OVERLOADED: 429,
    ErrorType.VALIDATION: 413,
    ErrorType.TOKENIZER: 422,
    ErrorType.EMPTY: 400,
}


class ServiceError(Exception):
    """An answer that is an error: what is wrong, and its HTTP status."""

    def __init__(
        self,
        message: str,
        kind: ErrorType,
        status: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status or STATUS[kind]
        self.headers = headers

    @property
    def response(self) -> Response:
        body = orjson.dumps({"error": str(self), "error_type": self.kind.value})
        return Response(body, self.status, self.headers, media_type="application/json")


class ErrorBody(BaseModel):
    """Body of every error."""

    error: str
    error_type: ErrorType


def answer(vectors: Any) -> Response:
    """``vectors`` is a list of lists, or an array of floats."""
    return Response(
        orjson.dumps(vectors, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json"
    )


def request_body(texts: list[Text], options: bytes) -> bytes:
    """A request of the upstream. ``options`` are those of an ``EmbedRequest``."""
    others = b"," + options[1:] if options != NO_OPTIONS else b"}"
    return b'{"inputs":%b%b' % (orjson.dumps(texts), others)


def parse(body: bytes) -> EmbedRequest:
    """Raises ``ServiceError`` for a body that is not a request for embeddings."""
    try:
        found = EmbedRequest.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        status = 400 if first["type"] == "json_invalid" else 422
        raise ServiceError(
            f"{where + ': ' if where else ''}{first['msg']}", ErrorType.VALIDATION, status
        ) from None
    if not all(found.texts) or not found.texts:
        raise ServiceError("`inputs` cannot be empty", ErrorType.EMPTY)
    return found


EMBED_DOCUMENTATION: dict[str, Any] = {
    "summary": "Embed one text, or several",
    "response_model": list[list[float]],
    "responses": {
        status: {"model": ErrorBody, "description": description}
        for status, description in (
            (400, "Not JSON, or no inputs"),
            (408, "The body did not come in time"),
            (413, "Too many inputs, or too long ones"),
            (415, "Not application/json"),
            (422, "JSON, but not a request for embeddings"),
            (424, "The model failed"),
            (429, "Too much is waiting; see Retry-After"),
            (503, "The model cannot be reached"),
        )
    },
    "openapi_extra": {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": EmbedRequest.model_json_schema()}},
        }
    },
}
"""What FastAPI is told of ``POST /embed``; its body is read by ``parse``, which is faster."""
