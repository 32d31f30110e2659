"""The transport that the SDKs of OpenAI and Anthropic are given: httpx on top, the kit's aiohttp session below.

On aiohttp a call takes half the CPU time of that of httpx's own transport.
"""

import aiohttp
import httpx2
from yarl import URL


class SessionTransport(httpx2.AsyncBaseTransport):
    """Sends through a session, which has read and checked the whole reply when it returns."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request.

        Raises:
            RequestFailure: there is no reply that an SDK could read.
        """
        url = URL(str(request.url), encoded=True)
        content = await request.aread()
        response = await self.session.request(request.method, url, headers=request.headers.multi_items(), data=content)
        headers = {"content-type": "application/json"}  # of the body as it was read, whatever it came as
        return httpx2.Response(response.status, headers=headers, content=await response.read(), request=request)

    async def aclose(self) -> None:
        """Close all connections."""
        await self.session.close()
