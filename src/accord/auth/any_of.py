"""Several verifiers as one: the first that knows a token decides."""

from collections.abc import Sequence

from accord.auth.verdicts import Verdicts
from accord.auth.verifier import LEEWAY, Unavailable
from accord.model.caller import Caller, TokenRequest, Verifier


class AnyOf:
    """Asks verifiers in order until one accepts a token: a token file beside an issuer.

    The verdicts of each are kept for its own `cache_seconds`. A token is shown to all verifiers
    before the one that accepts it: put those first that send it nowhere.
    """

    def __init__(self, verifiers: Sequence[Verifier]) -> None:
        self._verifiers = tuple(verifiers)
        self._verdicts = [Verdicts(each) for each in verifiers]
        self.issuers: tuple[str, ...] = self._all("issuers")
        self.audiences: tuple[str, ...] = self._all("audiences")
        self.scopes: tuple[str, ...] = self._all("scopes")
        self.leeway: float = min(getattr(each, "leeway", LEEWAY) for each in verifiers)
        self.cache_seconds: float = min(getattr(each, "cache_seconds", 300.0) for each in verifiers)

    def _all(self, name: str) -> tuple[str, ...]:
        found = [value for each in self._verifiers for value in getattr(each, name, ())]
        return tuple(dict.fromkeys(found))

    async def verify(self, token: str, request: TokenRequest) -> Caller | None:
        """Return the caller of a token; None if no verifier accepts it.

        If none does and one could not know, the token may be valid.
        """
        unknown: Unavailable | None = None
        for each in self._verdicts:
            try:
                grant = await each.find(token, request)
            except Unavailable as error:
                unknown = error
                continue
            if grant is not None:
                return grant.caller
        if unknown is not None:
            raise unknown
        return None
