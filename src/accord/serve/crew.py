"""Tasks for async calls, each of them as long as it is needed, and no longer.

A task for each call would be simpler, and would add a quarter to what a small call costs. So a task
takes calls off a queue, one after another, each in a context of its own. A call that has to wait
keeps the task to itself from then on, and another task takes over the queue.
"""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from typing import Final

from accord.protocol import Call
from accord.serve.eager import Pending
from accord.serve.flow_control import OutputGate, StartWindow
from accord.work import Done, Work

_BATCH: Final = 128  # calls that may run before the loop looks at its input again


class Crew:
    """Runs async jobs on the loop and delivers how they ended; Pool is for those that block."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        deliver: Callable[[Call, Done], None],
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
        self._jobs: deque[Work] = deque()
        self._in_charge: asyncio.Task[None] | None = None
        self.open = 0
        self._is_fork = False
        os.register_at_fork(after_in_child=self._disown)

    def _disown(self) -> None:
        self._is_fork = True

    def submit(self, job: Work) -> bool:
        """Run it in the next turn of the loop; False if too many are open already."""
        if self.open >= self._capacity:
            return False
        self.open += 1
        self._jobs.append(job)
        if self._in_charge is None:
            self._continue()
        return True

    def abandon(self, call: Call) -> None:
        """A call was cancelled; if it runs, its tool gets to know."""
        if call.running is not None:
            call.running.cancel()

    def _put_in_charge(self) -> None:
        self._in_charge = asyncio.Task(self._work(), loop=self._loop, name="accord-crew")
        self._in_charge.add_done_callback(self._replace)

    def _replace(self, task: "asyncio.Task[None]") -> None:
        if self._in_charge is task:  # somebody cancelled it before it could begin
            self._hand_over()

    async def _work(self) -> None:
        """Run jobs while in charge; whoever has to wait for one hands the others over."""
        me = self._in_charge
        assert me is not None
        me.remove_done_callback(self._replace)
        try:
            await self._run_jobs(me)
        finally:
            if self._in_charge is me:
                self._hand_over()

    async def _run_jobs(self, me: "asyncio.Task[None]") -> None:
        window, count = self.window, 0
        while self._jobs and self._in_charge is me and window.has_room:
            job = self._jobs.popleft()
            call = job.call
            if not call.cancelled:
                call.running = me
                me.set_name(call.name)
                run, context = job.run(), copy_context()
                try:
                    awaited = context.run(run.send, None)
                except StopIteration as stop:
                    done = stop.value
                else:
                    window.enter()
                    self._hand_over()
                    try:
                        done = await Pending(run, awaited, context, self._gate)
                    finally:
                        window.leave()
                if self._is_fork:  # a tool has forked, and returned twice: here is nobody to tell
                    os._exit(0)
                self.open -= 1
                self._deliver(call, done)
            else:
                self.open -= 1
            if me.cancelling():  # by its own call: it is not fit for another
                break
            count += 1
            if count % _BATCH == 0:
                await asyncio.sleep(0)

    def _hand_over(self) -> None:
        self._in_charge = None
        self._continue()

    def _continue(self) -> None:
        """Go on with the queue, if there is one and a call may start."""
        if not self._jobs or self._in_charge is not None:
            return
        if self.window.has_room:
            self._put_in_charge()
        else:
            self.window.watch(self._loop)
