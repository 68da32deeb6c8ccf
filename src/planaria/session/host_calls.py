"""The host calls of a session: which function is called, how, and what becomes of the answer."""

from __future__ import annotations

import inspect
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future, wait
from functools import partial
from typing import TYPE_CHECKING, Final

from planaria.event_loops import EventLoop
from planaria.executors.executor import Executor
from planaria.executors.host_endpoint import call_name
from planaria.executors.messages import Answer, Begun, EndOfInput, HostCall, Ok, Raised, Suspended
from planaria.machine.exhaustion import host_resources
from planaria.session.admission import NETWORK, Admission
from planaria.session.alarm import Alarm
from planaria.session.callbacks import Callback, raised
from planaria.session.execution_state import ExecutionState
from planaria.session.function_calls import Arguments, FunctionCalls, Keywords, calling_back
from planaria.session.settings import SessionSettings, ended
from planaria.session.worker_threads import BoundedThreads, Job, callback_loop, start

if TYPE_CHECKING:
    from planaria.workspace.tools.call import Outcome

__all__ = ["Blocked", "HostCalls", "calling_back", "end_tool_calls"]

#: Takes a call that blocks and whose answer comes later: the name and the arguments. None refuses it.
Blocked = Callable[[str, Arguments, Keywords], Future[Answer] | None]
#: Plain callbacks of a session that run at once; others that are awaited begin as these end.
_MOST_THREADS: Final = 64
#: Seconds for which the code is held up for the answer to a call that it awaits. It then parks, which takes a
#: small part of that.
_MOMENT: Final = 0.002
_BEGUN: Final = Begun()


class HostCalls:
    """Calls from the code to functions of the host.

    Plain callbacks run on threads, so that one that blocks holds up neither the others nor the time limit;
    asynchronous ones on the `loop` of the user's, or else on one that all sessions of the process share.
    """

    def __init__(self, settings: SessionSettings, executor: Executor) -> None:
        self._settings = settings
        self._executor = executor
        self._read_line = settings.line_reader()
        self.admission = Admission(settings, executor)
        self.loop: EventLoop | None = None
        #: Takes the calls that block and are suspended, and `input()` where there is no standard input.
        self.blocked: Blocked | None = None
        #: Answers on their way, by the id of their call.
        self.answers: dict[int, Future[Answer] | Job[Answer]] = {}
        #: The ids of those that have come.
        self._arrived: set[int] = set()
        #: Of a deterministic session: those that have come and wait for their turn.
        self._ready: dict[int, Ok | Raised] = {}
        #: The plain functions among what is called for them.
        self._plain: dict[int, Callback] = {}
        #: The answers of plain functions on the `loop` that have not returned, also those that no task awaits
        #: any more.
        self._returning: set[Future[Answer]] = set()
        self.functions = FunctionCalls(id(self))
        self.alarm = Alarm()
        #: The threads on which plain callbacks run now.
        self.threads = self.functions.threads
        self._pool = BoundedThreads(_MOST_THREADS)
        #: The latest call that was made beside the pool and took its time.
        self._lone: Job[Answer] | None = None

    def copy_for(self, executor: Executor) -> HostCalls:
        """The host calls of a fork of this session."""
        copy = HostCalls(self._settings, executor)
        copy._read_line = self._read_line
        copy.admission.missing = dict(self.admission.missing)
        copy.blocked = self.blocked
        return copy

    # -- calls for which the guest blocks ------------------------------------------------------------------

    def call(self, execution: ExecutionState, name: str, arguments: Arguments, keywords: Keywords) -> Answer:
        """Answer a call for which the guest blocks; comes on the thread that is inside the kernel.

        Raises KeyboardInterrupt when the execution is stopped meanwhile: the code then sees nothing else.
        """
        ready = self.admission.at_once(execution, name, arguments, may_wait=True)
        if ready is not None:
            self._check_not_stopped(execution)
            return ready
        try:
            callback = self.admission.admit(execution, name, arguments, keywords)
        except Exception as error:
            self._check_not_stopped(execution)
            return raised(error)
        if self._needs_loop(callback):
            answer = self._block(execution, self._spawn(callback, arguments, keywords))
        else:
            if self.loop is None and callback.on_caller_thread:
                answer = self.functions.call(callback, arguments, keywords)
            else:
                # On a thread beside, so that it can be abandoned; the loop is only used when that is needed.
                job = Job(partial(self.functions.call, callback, arguments, keywords))
                start(job, execution.alarm.ring)
                answer = self._block(execution, job)
            if isinstance(answer, Ok) and inspect.isawaitable(answer.value):
                answer = self._block(execution, self._spawn_awaitable(callback, answer.value))
        self._check_not_stopped(execution)
        if isinstance(answer, Suspended):
            later = self._answered_later(execution, name, arguments, keywords)
            return _cannot_suspend(name, arguments) if later is None else later
        return answer

    def _answered_later(
        self, execution: ExecutionState, name: str, arguments: Arguments, keywords: Keywords
    ) -> Answer | None:
        """The answer that `blocked` gets to a call, if it takes that."""
        future = None if self.blocked is None else self.blocked(name, arguments, keywords)
        if future is None:
            return None
        answer = self._block(execution, future)
        self._check_not_stopped(execution)
        return answer

    def input(self, execution: ExecutionState, prompt: str) -> Answer:
        """A line of standard input, with its newline unless the end of the input cuts it off."""
        if self._read_line is None:
            answer = self._answered_later(execution, "input", (prompt,), {})
            return Ok(ended(answer.value)) if isinstance(answer, Ok) else answer or EndOfInput()
        try:
            line: object = self._read_line(prompt)
        except (Exception, SystemExit) as error:
            return raised(error)
        self._check_not_stopped(execution)
        if line is None:
            return EndOfInput()
        if not isinstance(line, str):
            message = f"stdin= returned a {type(line).__name__}, not a line (a str) or None"
            return Raised("TypeError", message)
        return Ok(line)

    @staticmethod
    def _check_not_stopped(execution: ExecutionState) -> None:
        """Another answer could have the code end in its own way before the interrupt reaches it."""
        if execution.asked:
            raise KeyboardInterrupt

    def _block(self, execution: ExecutionState, answer: Future[Answer] | Job[Answer]) -> Answer:
        """Wait for an answer while the guest blocks; a job's rings the alarm of the execution.

        Raises KeyboardInterrupt when none comes in time.
        """
        alarm = execution.alarm
        if isinstance(answer, Future):
            answer.add_done_callback(lambda _: alarm.ring())
        while not answer.done() and not execution.asked:
            seconds = execution.seconds_left()
            if seconds == 0:
                break
            alarm.wait(seconds)
        if answer.done():
            return _outcome(answer)
        end_tool_calls(execution, "interrupted")
        answer.cancel()
        if not execution.asked:
            self._executor.interrupt("timeout")
        raise KeyboardInterrupt

    # -- calls that the code awaits ------------------------------------------------------------------------

    def start(self, execution: ExecutionState, call: HostCall) -> None:
        """Begin a call that the code awaits; one that is refused raises in the code."""
        keywords = call.kwargs or {}
        if call.refused is not None:
            self.settle(execution, call, Raised("TypeError", call.refused))
            return
        ready = self.admission.at_once(execution, call.name, call.args, may_wait=False)
        if ready is not None:
            self.settle(execution, call, ready)
            return
        try:
            callback = self.admission.admit(execution, call.name, call.args, keywords)
        except Exception as error:
            self.settle(execution, call, raised(error))
        else:
            self.start_function(execution, call, callback)

    def begin_now(self, execution: ExecutionState, call: HostCall) -> Ok | Raised | Begun | None:
        """Begin a call that the code awaits, and wait for its answer for a moment; comes on the thread that
        is inside the kernel. None refuses that: the code is to park, as the answer takes its time, or code
        that is to be the same each time may not go by when answers come.

        Raises KeyboardInterrupt when the execution is stopped meanwhile.
        """
        identifier = call.id
        if (
            self._settings.deterministic is not None
            or call.name.startswith(NETWORK)
            or identifier in execution.pending
        ):
            return None
        if self.loop is None and call.refused is None and not self.answers:
            answer = self._call_now(execution, call)
            if answer is not None:
                self._check_not_stopped(execution)
                return answer
        else:
            execution.pending[identifier] = call
            self.start(execution, call)
        end = self._end_of_moment(execution)
        while identifier in self.answers and self._arrives(execution, identifier, end):
            self.collect(execution)
        self._check_not_stopped(execution)
        return execution.take_answer(identifier) or _BEGUN

    def _call_now(self, execution: ExecutionState, call: HostCall) -> Ok | Raised | None:
        """Make the only call of a session without an event loop; its answer if the function returns soon.

        Otherwise, and when it returns what is to be awaited, the call is one of those that wait.
        """
        keywords = call.kwargs or {}
        try:
            callback = self.admission.admit(execution, call.name, call.args, keywords)
        except Exception as error:
            return raised(error)
        if self._needs_loop(callback):
            execution.pending[call.id] = call
            self.start_function(execution, call, callback)
            return None
        if callback.on_caller_thread:
            answer = self.functions.call(callback, call.args, keywords)
        else:
            # Not on a thread of the pool, which has another one look for further calls.
            job = Job(partial(self.functions.call, callback, call.args, keywords))
            start(job, self._arrival(call.id))
            if not self._arrives(execution, call.id, self._end_of_moment(execution)):
                execution.pending[call.id] = call
                self.answers[call.id] = self._lone = job
                self._plain[call.id] = callback
                return None
            self._arrived.discard(call.id)
            answer = _outcome(job)
        if isinstance(answer, Raised) or (isinstance(answer, Ok) and not inspect.isawaitable(answer.value)):
            return answer
        execution.pending[call.id] = call
        self._take(execution, call, callback, answer)
        return None

    @staticmethod
    def _end_of_moment(execution: ExecutionState) -> float:
        """Until when an answer is worth waiting for, as `time.monotonic()`."""
        end = time.monotonic() + _MOMENT
        return end if execution.deadline is None else min(end, execution.deadline)

    def _arrives(self, execution: ExecutionState, identifier: int, end: float) -> bool:
        """Wait for the answer to a call until `end`; whether it has come."""
        arrived, alarm = self._arrived, execution.alarm
        seconds = _MOMENT
        while identifier not in arrived:
            if seconds <= 0 or execution.asked:
                return False
            alarm.wait(seconds)
            seconds = end - time.monotonic()
        return True

    def start_function(self, execution: ExecutionState, call: HostCall, callback: Callback) -> None:
        """Have a function answer a call that waits."""
        keywords = call.kwargs or {}
        if self.loop is not None or self._needs_loop(callback):
            plain = None if callback.is_async else callback
            self._expect(call, self._spawn(callback, call.args, keywords), plain)
        elif not callback.on_caller_thread:
            function = partial(self.functions.call, callback, call.args, keywords)
            self.answers[call.id] = self._pool.submit(function, self._arrival(call.id))
            self._plain[call.id] = callback
        else:
            self._take(execution, call, callback, self.functions.call(callback, call.args, keywords))

    def _take(self, execution: ExecutionState, call: HostCall, callback: Callback, answer: Answer) -> None:
        """Take what a plain function returned, which may be an awaitable."""
        if isinstance(answer, Ok) and inspect.isawaitable(answer.value):
            self._expect(call, self._spawn_awaitable(callback, answer.value))
        else:
            self.settle(execution, call, answer)

    def _expect(self, call: HostCall, future: Future[Answer], plain: Callback | None = None) -> None:
        """An answer is on its way; of a `plain` function it may be an awaitable."""
        self.answers[call.id] = future
        if plain is not None:
            self._plain[call.id] = plain
            self._returning.add(future)
            future.add_done_callback(self._returning.discard)
        arrival = self._arrival(call.id)
        future.add_done_callback(lambda _: arrival())

    def _arrival(self, identifier: int) -> Callable[[], None]:
        """What announces an answer, from any thread. It does not refer to this object (see `Alarm`)."""
        arrived, alarm = self._arrived, self.alarm

        def arrive() -> None:
            arrived.add(identifier)
            alarm.ring()

        return arrive

    def settle(self, execution: ExecutionState, call: HostCall, answer: Answer) -> None:
        """Feed an answer to the execution, unless no task waits for it any more."""
        if call.id not in execution.pending:
            return
        if isinstance(answer, Suspended):
            execution.suspended[call.id] = answer.reason
        elif isinstance(answer, (Ok, Raised)):
            if self._settings.deterministic is None:
                execution.answer(call.id, answer)
            else:
                self._ready[call.id] = answer

    def give_next(self, execution: ExecutionState) -> None:
        """Of a deterministic session: give the code the answer to its oldest call, if that has come.

        One at a time and in the order of the calls, whenever they come. Calls that wait for a decision hold
        up none.
        """
        pending = execution.pending
        for identifier in self._ready.keys() - pending.keys():
            del self._ready[identifier]
        if not self._ready or execution.has_answers:
            return
        oldest = min(
            one for one in pending if one not in execution.suspended and not self.is_held(pending[one])
        )
        if oldest in self._ready:
            execution.answer(oldest, self._ready.pop(oldest))

    def any_expected(self, execution: ExecutionState) -> bool:
        """Whether an answer to a pending call is on its way."""
        pending = execution.pending
        return any(one in pending and not self.is_held(pending[one]) for one in self.answers)

    def is_held(self, call: HostCall) -> bool:
        """Whether a call waits for what only comes after a decision on a request of the same connection."""
        network = self.admission.network
        return network is not None and call.name == "@network.receive" and network.is_held(call)

    def collect(self, execution: ExecutionState) -> None:
        """Take the answers that have come; cancel those that no task awaits any more."""
        pending = execution.pending
        if execution.stop.reason is not None:
            end_tool_calls(execution, "interrupted")  # before their cancellation is recorded
        for identifier in self.answers.keys() - pending.keys():
            unwanted = self.answers.pop(identifier)
            plain = self._plain.pop(identifier, None)
            if plain is None or execution.stop.reason is not None:
                unwanted.cancel()
        for identifier in sorted(self._arrived):  # in the order of the calls
            self._arrived.discard(identifier)
            answer = self.answers.get(identifier)
            if answer is None or not answer.done():
                continue  # no task awaits it, or it is of a call before the session went back to a state
            del self.answers[identifier]
            plain = self._plain.pop(identifier, None)
            if plain is not None:
                self._take(execution, pending[identifier], plain, _outcome(answer))
            else:
                self.settle(execution, pending[identifier], _outcome(answer))

    def let_begin(self, seconds: float | None) -> None:
        """Have the calls of this session made, before it is closed. Blocks.

        Plain functions return within so many seconds, asynchronous ones have run to their first `await` that
        waits.
        """
        from planaria.session.callback_tasks import turn

        turned = self.awaiting_loop().spawn(turn())
        unfinished = self._pool.unfinished()
        if self._lone is not None and not self._lone.done():
            unfinished.append(self._lone)
        jobs = [job.returned() for job in unfinished]
        made: list[Future[object]] = [turned, *self._returning, *jobs]  # type: ignore[list-item]  # only waited for
        wait(made, seconds)

    def keep(self, answers: Iterable[tuple[HostCall, Ok | Raised]]) -> None:
        """Keep answers that came as their execution ended, for the next one."""
        for call, answer in answers:
            kept: Future[Answer] = Future()
            kept.set_result(answer)
            self._expect(call, kept)

    def drop_answers(self) -> None:
        """Cancel the answers on their way: no task waits for them any more."""
        for answer in self.answers.values():
            answer.cancel()
        self.answers.clear()
        self._ready.clear()
        self._plain.clear()

    def after_fork(self) -> None:
        """In a child of a fork, where the threads do not exist."""
        self.answers = {}
        self._ready = {}
        self._plain = {}
        self._arrived = set()
        self._pool = BoundedThreads(_MOST_THREADS)
        self._lone = None

    def answer_from_outside(self, execution: ExecutionState, identifier: int, answer: Ok | Raised) -> None:
        """An answer to a call that waits, given by `Execution.resolve`. Raises KeyError."""
        call = execution.pending.get(identifier)
        if call is None:
            pending = list(execution.pending.values())
            raise KeyError(f"no call {identifier} is pending; pending: {pending}")
        reason = execution.suspended.pop(identifier, "")
        network, workspace = self.admission.network, self.admission.workspace
        if reason and isinstance(answer, Ok) and network is not None and call.name == "@network.send":
            self.start_function(execution, call, network.resuming(answer.value))
            return
        if reason and isinstance(answer, Ok) and workspace is not None and call.name == "@tools.call":
            from planaria.workspace.tools.middleware import asks_approval

            if asks_approval(reason):
                # The answer is a decision: the call continues with it and then has a value.
                self.start_function(execution, call, workspace.resuming(answer.value))
                return
        self.settle(execution, call, answer)

    # -- functions -----------------------------------------------------------------------------------------

    def _needs_loop(self, callback: Callback) -> bool:
        """Whether calling it needs an event loop: it is a coroutine function, or its time is limited."""
        return callback.is_async or self._settings.bounds.callback_timeout is not None

    def _spawn(self, callback: Callback, arguments: Arguments, keywords: Keywords) -> Future[Answer]:
        """Call a function within its time, as a task: an asynchronous one there, a plain one on a thread."""
        return self._task(callback, self.functions.beginning(callback, arguments, keywords))

    def _spawn_awaitable(self, callback: Callback, value: Awaitable[object]) -> Future[Answer]:
        """Await what a plain function returned."""
        return self._task(callback, lambda: value)

    def _task(self, callback: Callback, begin: Callable[[], Awaitable[object]]) -> Future[Answer]:
        with host_resources("a task for a callback"):  # an import opens files
            from planaria.session.callback_tasks import await_callback  # with anyio, which few sessions need

        # Connections have timeouts of their own, and may be idle for longer.
        network = self.admission.network
        is_network = network is not None and callback is network.callback(f"@{callback.name}")
        seconds = None if is_network else self._settings.bounds.callback_timeout
        loop = self.awaiting_loop()
        task: Coroutine[object, object, Answer] = await_callback(callback, begin, seconds)
        return loop.spawn(task)

    def awaiting_loop(self) -> EventLoop:
        """The loop on which asynchronous functions run."""
        return self.loop or callback_loop()


def _cannot_suspend(name: str, arguments: Arguments) -> Raised:
    """A call that blocks has a stack, which cannot be suspended."""
    called = call_name(name, arguments)
    return Raised(
        "RuntimeError",
        f"{called}() wants to suspend; only an awaited call can: await {called}(...), in the session's "
        "own code and not in a script that the shell runs",
    )


def _outcome(answer: Future[Answer] | Job[Answer]) -> Answer:
    """The answer to a call that is no longer on its way."""
    if answer.cancelled():
        return Raised("RuntimeError", "the call was cancelled on the host")
    return answer.result()


def end_tool_calls(execution: ExecutionState, outcome: Outcome) -> None:
    """Record how calls of tools ended that no task waits for any more: their answers do not come."""
    running = [call for call in execution.tool_calls if call.outcome == "running"]
    if not running:
        return
    awaited = Counter(call.args[:2] for call in execution.pending.values() if call.name == "@tools.call")
    for call in reversed(running):
        target = (call.tool, call.callable)
        if awaited[target] > 0:
            awaited[target] -= 1
        else:
            call.end(outcome)
