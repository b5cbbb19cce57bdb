"""The Python SDK, over a pipe and over HTTP. Run by `make mcp` with the program as the argument."""

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2 as httpx
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

PROGRAM = sys.argv[1]
TOOLS = ["push", "pop", "plan", "activate", "invalidate", "status", "context", "record"]


@asynccontextmanager
async def over_pipe(folder: str) -> AsyncIterator[ClientSession]:
    server = StdioServerParameters(command=PROGRAM, args=["mcp"], cwd=folder)
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        yield session


@asynccontextmanager
async def over_http(folder: str) -> AsyncIterator[ClientSession]:
    command = [PROGRAM, "--json", "mcp", "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        try:
            told = json.loads(server.stdout.readline())["data"]
            headers = {"Authorization": f"Bearer {told['token']}"}
            async with (
                httpx.AsyncClient(headers=headers) as http,
                streamable_http_client(told["url"], http_client=http) as streams,
                ClientSession(*streams[:2]) as session,
            ):
                yield session
        finally:
            server.terminate()


async def use(session: ClientSession) -> None:
    hello = await session.initialize()
    assert hello.server_info.name == "callstack", hello
    assert [tool.name for tool in (await session.list_tools()).tools] == TOOLS

    async def call(tool: str, given: dict[str, object], conversation: str = "one") -> tuple[str, bool]:
        result = await session.call_tool(tool, given, meta={"threadId": conversation})
        return result.content[0].text, bool(result.is_error)

    text, is_error = await call("push", {"title": "Shop", "successCriteria": "All pay"})
    assert text.endswith("You are in f1 (Shop).") and not is_error, text
    text, _ = await call("push", {"title": "Blog", "successCriteria": "Posts"}, "two")
    assert text.endswith("You are in f2 (Blog)."), text
    text, is_error = await call("activate", {"frame": "f9"})
    assert is_error and "f1 (Shop)" in text, text
    text, _ = await call("pop", {"status": "completed", "results": "The shop"})
    assert text.endswith("You are in no frame."), text
    tree = await session.read_resource("stack://tree")
    assert "f1 Shop" in tree.contents[0].text, tree


async def main() -> None:
    for connect in (over_pipe, over_http):
        with tempfile.TemporaryDirectory() as folder:
            async with connect(folder) as session:
                await use(session)
        print(f"Python SDK {connect.__name__}: ok")


asyncio.run(main())
