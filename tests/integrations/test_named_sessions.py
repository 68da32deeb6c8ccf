"""Sessions by name for servers, and what is kept of them in a store."""

from __future__ import annotations

import anyio
import pytest

import planaria
from planaria.integrations.named_sessions import NamedSessions

pytestmark = pytest.mark.slow


def test_a_large_delta_is_folded_in_the_background() -> None:
    """A state that was saved as a large delta becomes complete under its version, on which the next rests."""
    store = planaria.MemoryStore()

    async def main() -> None:
        sessions = NamedSessions(planaria.AsyncSession, planaria.AsyncSession.from_snapshot, store)
        async with sessions.held("one") as named:
            await named.session.execute("import random; parts = [random.randbytes(300_000)]")
            await sessions.save(named)
            for number in range(3):
                await named.session.execute("parts.append(random.randbytes(300_000))")
                await sessions.save(named)
                assert sessions._folding is not None
                await anyio.to_thread.run_sync(sessions._folding.close)
                whole = store.load("one")
                assert whole.parent is None
                assert store.newest("one") == named.version
                await named.session.execute(f"n = {number}")
                await sessions.save(named)
                assert store.load("one").parent == whole
        await sessions.close()

    anyio.run(main)
    with planaria.Session.from_snapshot(store.load("one")) as session:
        assert session.execute("len(parts), n").value == (4, 2)
