"""Stacks on a server, as far as the native library can open them."""

from __future__ import annotations

import os

import pytest

from callstack_core import Stack
from callstack_core._library import has
from callstack_core.errors import DisconnectedError, LibraryError

URL = os.environ.get("POSTGRES_URL")
HAS_POSTGRES = has("callstack_open_url")


@pytest.mark.skipif(HAS_POSTGRES, reason="the library has PostgreSQL")
def test_a_library_without_postgresql_says_how_to_get_one_with_it() -> None:
    with pytest.raises(LibraryError, match="native-postgres"):
        Stack.open("postgres://localhost/agents/shop")


@pytest.mark.skipif(URL is None, reason="there is no server")
def test_a_stack_on_a_server_is_used_as_one_in_a_folder() -> None:
    place = f"{URL}/python"
    with Stack.open(place) as stack, Stack.open(place, {"busyTimeout": 5000}) as other:
        root = stack.push({"title": "Build a shop", "sessionID": "ses_1"})
        stack.append_log(root, [{"role": "user"}])
        other.refresh()
        assert other.frame("ses_1")["title"] == "Build a shop"
        assert "Build a shop" in other.context(root).xml
        other.add_decision(root, "Use PostgreSQL")
        assert stack.refresh()
        assert stack.frame(root)["decisions"] == ["Use PostgreSQL"]


@pytest.mark.skipif(not HAS_POSTGRES, reason="the library has no PostgreSQL")
def test_a_server_that_cannot_be_reached_is_an_error() -> None:
    with pytest.raises(DisconnectedError) as raised:
        Stack.open("postgres://127.0.0.1:1/agents/shop", {"busyTimeout": 200})
    assert raised.value.details["isOutcomeUnknown"] is False
