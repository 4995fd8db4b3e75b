"""`subscriptions/listen`: sends changes to a client until it is cancelled or the server ends."""

import msgspec

from accord.errors import INTERNAL_ERROR, Reject
from accord.model.answer import Problem
from accord.protocol import Call, messages, results
from accord.protocol.messages import Wanted
from accord.protocol.news import acknowledged
from accord.server.offers import Renderer
from accord.server.operation import GIVEN, Done, rejected


class Subscription(msgspec.Struct, frozen=True, eq=False):
    """An open subscription, and the changes that it is for."""

    call: Call
    wanted: Wanted
    renderer: Renderer
    is_async: bool = True

    async def run(self) -> Done:
        """Say what will be told, and tell it."""
        call, edge = self.call, self.call.edge
        if edge is not None:
            edge.push(acknowledged(call.id, self.wanted))
            await edge.hold(call, self.wanted)
        ended = self.renderer.complete(results.listened(call.id), call.revision)
        return Done(GIVEN, messages.reply(call.id, ended))

    def refuse(self, problem: Problem) -> Done:
        """How it ends when there are too many."""
        return rejected(self.call, Reject(INTERNAL_ERROR, problem.message))
