"""`replay`: does again what a recording holds."""

from __future__ import annotations

import os

from planaria.session._sync.session import Session
from planaria.session.playback import Playback
from planaria.session.result import Result
from planaria.snapshot.recording import Recording
from planaria.snapshot.state import SessionState

__all__ = ["Replay", "replay"]


def replay(recording: Recording | bytes | str | os.PathLike[str]) -> Replay:
    """Begin to do again what a recording holds: a `Recording`, its bytes, or the path of its file.

    Raises OSError, and ReplayError for what is not a recording that can be replayed here.
    """
    if isinstance(recording, bytes):
        recording = Recording.from_bytes(recording)
    elif not isinstance(recording, Recording):
        recording = Recording.load(recording)
    return Replay(recording)


class Replay(Playback):
    """A recording that is executed again, one execution after the other, without the outside.

    It stands between two executions, or after `step_call` in one that waits; `position` says after how many.
    The code gets what it got when it was recorded: no callback is called, no server asked, no file of the
    host read.
    Raises ReplayError when it goes another way all the same, which a damaged recording can do.
    """

    def session(self) -> Session:
        """A session that continues from here, without callbacks and network; the replay stays as it is."""
        return Session._around(self._engine.copy(self._engine.state(shared=True), reseed=False))

    def evaluate(self, code: str) -> Result:
        """What code gives here, in a copy that is discarded: variables, calls of functions, anything.

        At a line (see `until`) it is an expression, and has the names of the function that the line is in. In
        an execution that waits, see `session()`: only one execution at a time is under way in a session.
        """
        if self.line is not None:
            return self.evaluate_at_line(code)
        state = self._engine.state(shared=True)
        state = SessionState(state.kernel, state.count, state.pending)
        session = Session._around(self._engine.copy(state, reseed=False))
        try:
            return session.run(code)
        finally:
            session.close()
