"""The coffee shop of examples/ inside a FastAPI and a Starlette application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from coffee import server

shop = server.asgi()

in_fastapi = FastAPI(lifespan=shop.lifespan)


@in_fastapi.get("/hours")
def hours() -> str:
    return "from seven to seven"


in_fastapi.mount("/shop", shop)


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[dict[str, str]]:
    async with shop.lifespan(app):
        yield {"hours": "from seven to seven"}


def state(request: Request) -> JSONResponse:
    return JSONResponse(request.state.hours)


in_starlette = Starlette(routes=[Route("/hours", state), Mount("/shop", shop)], lifespan=lifespan)
