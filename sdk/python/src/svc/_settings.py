from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_ENDPOINT = "http://127.0.0.1:4317"


@dataclass(frozen=True)
class Settings:
    """Where the service is and who calls."""

    endpoint: str
    api_key: str | None
    project: str | None
    environment: str | None
    service_name: str | None
    service_version: str | None
    sample: float
    enabled: bool
    problems: tuple[str, ...]
    """What could not be used, and what is used instead. Never holds a key."""

    def __repr__(self) -> str:
        return f"Settings(endpoint={self.endpoint!r}, project={self.project!r})"


def _is_http_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        # Reading the port raises where it is none.
        return (
            url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0 and not set(text) & set(" \r\n\t")
        )
    except ValueError:
        return False


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]  # Whatever it is, it is judged here.
    except (TypeError, ValueError, OverflowError):
        return math.nan


def read_settings(
    *,
    endpoint: str | None = None,
    api_key: str | None = None,
    project: str | None = None,
    environment: str | None = None,
    service_name: str | None = None,
    service_version: str | None = None,
    sample: float | None = None,
    enabled: bool | None = None,
    env: Mapping[str, str] | None = None,
) -> Settings:
    """Reads the settings of a client, a worker or instrumentation. Code wins over the environment.

    An empty text counts as absent. What cannot be used falls back to its default and is named in `problems`.
    """
    variables = os.environ if env is None else env
    problems: list[str] = []

    def text(value: str | None, name: str) -> str | None:
        chosen = variables.get(name) if value is None else value
        return chosen or None

    chosen_endpoint = text(endpoint, "SVC_ENDPOINT") or DEFAULT_ENDPOINT
    if not _is_http_url(chosen_endpoint):
        problems.append(f"endpoint {chosen_endpoint!r} is not an http or https URL; {DEFAULT_ENDPOINT} is used")
        chosen_endpoint = DEFAULT_ENDPOINT

    key = text(api_key, "SVC_API_KEY")
    if key is not None and not (key.isascii() and key.isprintable()):
        problems.append("api_key holds characters that a header cannot carry; none is used")
        key = None

    sample_text = text(None, "SVC_SAMPLE")
    given: object = sample if sample is not None else sample_text
    fraction = 1.0 if given is None else _number(given)
    if not 0 <= fraction <= 1:
        problems.append(f"sample {given} is not between 0 and 1; 1 is used")
        fraction = 1.0

    return Settings(
        endpoint=chosen_endpoint,
        api_key=key,
        project=text(project, "SVC_PROJECT"),
        environment=text(environment, "SVC_ENVIRONMENT"),
        service_name=text(service_name, "SVC_SERVICE_NAME"),
        service_version=text(service_version, "SVC_SERVICE_VERSION"),
        sample=fraction,
        enabled=enabled if enabled is not None else variables.get("SVC_ENABLED", "").strip().lower() != "false",
        problems=tuple(problems),
    )
