"""User and password, or an API key: given as such, or in a file that may be replaced while the program runs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from elastic_transport import Transport, TransportApiResponse
from elastic_transport.client_utils import basic_auth_to_header

from indexer.settings import secret_of

REFUSED = 401


def authorization(secret: str) -> str:
    """Return the header for ``user:password`` or an API key; empty for an empty secret."""
    user, colon, password = secret.partition(":")
    if colon:
        return basic_auth_to_header((user, password))
    return f"ApiKey {secret}" if secret else ""


class RereadingTransport(Transport):
    """Reads the file of the credentials again when the server refuses them, and repeats the request if they are new.

    So a password can be changed while a run or a worker is at work.
    """

    credentials = ""  # as in the settings; `connect` sets it
    _known = ""  # the header that was last read

    def perform_request(
        self, method: str, target: str, *, headers: Any = MappingProxyType({}), **options: Any
    ) -> TransportApiResponse:
        used = self._known
        answer = super().perform_request(method, target, headers=_with(headers, used), **options)
        if answer.meta.status != REFUSED or not self.credentials.startswith("@"):
            return answer
        self._known = authorization(secret_of(self.credentials))
        if self._known == (used or headers.get("authorization")):
            return answer
        return super().perform_request(method, target, headers=_with(headers, self._known), **options)


def _with(headers: Mapping[str, Any], header: str) -> Mapping[str, Any]:
    return {**headers, "authorization": header} if header else headers
