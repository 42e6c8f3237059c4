"""Downloads of attached files that are named by URL.

One blocking function, as `suite.files.FileStore` wants it: called in a thread, once per file and process. Redirects are
not followed, so that a task file names what it really uses; no key and no cookie is ever sent. Source: spec mindtrial
2.7; providers 3.1.
"""

from __future__ import annotations

import asyncio
from urllib.parse import quote, urldefrag

from pytest_mindtrial import __version__
from pytest_mindtrial.core.errors import TransportError
from pytest_mindtrial.providers.http import Http, HttpReply, HttpRequest
from pytest_mindtrial.suite.files import FETCH_TIMEOUT_S, MAX_FILE_BYTES

__all__ = ["fetch_file"]

_HEADERS = (("accept", "*/*"), ("accept-encoding", "gzip, deflate"), ("user-agent", f"pytest-mindtrial/{__version__}"))
_ALLOWED = "%/:=&?~+!$,;'@()*[]"
_PASSING = frozenset((408, 425, 429))


def fetch_file(url: str, *, timeout_s: float = FETCH_TIMEOUT_S, limit: int = MAX_FILE_BYTES) -> bytes:
    """Download a file; blocking.

    Args:
        url: An http or https URL; a fragment is left out.
        timeout_s: Total deadline, connecting included.
        limit: Largest size in bytes, as received and as unpacked; reading stops there.

    Raises:
        TransportError: The status is not 200, the file is too large, or no complete reply came in time.
    """
    reply = asyncio.run(_get(quote(urldefrag(url).url, safe=_ALLOWED), timeout_s, limit))
    if reply.status != 200:
        raise _refused(reply)
    return reply.body


async def _get(url: str, timeout_s: float, limit: int) -> HttpReply:
    http = Http(body_limit=limit)
    try:
        return await http.send(HttpRequest(url, _HEADERS, method="GET"), timeout_s=timeout_s)
    finally:
        await http.close()


def _refused(reply: HttpReply) -> TransportError:
    status = reply.status
    message = f"the server answered with status {status}"
    if 300 <= status < 400 and (target := reply.headers.get("location")):
        message += f"; redirects are not followed, write the final address: {target.partition('?')[0]}"
    is_passing = status in _PASSING or status >= 500
    return TransportError(message, transient=is_passing, cause=f"http-{status}", status=status)
