"""Runs async calls on the event loop.

A task for each call would be simpler, and would add a quarter to the cost of a small call. So one
task takes calls off a queue, one after another, each in a context of its own. A call that has to
wait keeps its task from then on, and another task takes over the queue.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Final

from accord.protocol import Call
from accord.serve.eager_task import Pending
from accord.serve.flow_control import OutputGate, StartWindow
from accord.server.operation import Done, Operation

_BATCH: Final = 128  # calls that may run before the loop looks at its input again


class TaskRunner:
    """Runs async jobs on the loop and delivers their outcomes; see also ThreadRunner.

    A job that was cancelled before it began is delivered as None.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        deliver: Callable[[Call, Done | None], None],
        *,
        gate: OutputGate,
        capacity: int,
    ) -> None:
        self._loop = loop
        self._deliver = deliver
        self._capacity = capacity
        self._gate = gate
        self.window = StartWindow(gate)
        self.window.on_room = self._continue
        self._queue: deque[Operation] = deque()
        self._consumer: asyncio.Task[None] | None = None
        """The task that takes calls off the queue."""
        self.open = 0
        """Number of calls that are queued or running."""
        self._is_fork = False
        os.register_at_fork(after_in_child=self._note_fork)

    def _note_fork(self) -> None:
        self._is_fork = True

    def submit(self, job: Operation) -> bool:
        """Run a job in the next turn of the loop; False if too many are open."""
        if self.open >= self._capacity:
            return False
        self.open += 1
        self._queue.append(job)
        if self._consumer is None:
            self._continue()
        return True

    def cancel(self, call: Call) -> None:
        """Cancel the task of a call that runs."""
        if call.running is not None:
            call.running.cancel()

    def _start_consumer(self) -> None:
        self._consumer = asyncio.Task(self._consume(), loop=self._loop, name="accord-tasks")
        self._consumer.add_done_callback(self._replace_consumer)

    def _replace_consumer(self, task: "asyncio.Task[None]") -> None:
        if self._consumer is task:  # it was cancelled before it began
            self._release_queue()

    async def _consume(self) -> None:
        """Run jobs off the queue until one of them has to wait."""
        task = self._consumer
        assert task is not None
        task.remove_done_callback(self._replace_consumer)
        try:
            await self._run_queue(task)
        finally:
            if self._consumer is task:
                self._release_queue()

    async def _run_queue(self, task: "asyncio.Task[None]") -> None:
        window, count = self.window, 0
        while self._queue and self._consumer is task and window.has_room:
            job = self._queue.popleft()
            call = job.call
            if not call.cancelled:
                call.running = task
                task.set_name(call.name)
                run, context = job.run(), copy_context()
                try:
                    awaited = context.run(run.send, None)
                except StopIteration as stop:
                    done = stop.value
                else:
                    window.enter()
                    self._release_queue()
                    try:
                        done = await Pending(run, awaited, context, self._gate)
                    finally:
                        window.leave()
                if self._is_fork:  # the tool forked, and both processes come back here
                    os._exit(0)
                self.open -= 1
                self._deliver(call, done)
            else:
                self.open -= 1
                self._deliver(call, None)
            if task.cancelling():  # by its own call: it cannot run another
                break
            count += 1
            if count % _BATCH == 0:
                await asyncio.sleep(0)

    def _release_queue(self) -> None:
        """Let another task take over the queue."""
        self._consumer = None
        self._continue()

    def _continue(self) -> None:
        """Start a consumer if calls are queued and one may start."""
        if not self._queue or self._consumer is not None:
            return
        if self.window.has_room:
            self._start_consumer()
        else:
            self.window.watch(self._loop)
