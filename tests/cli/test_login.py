"""`accord login`, `logout` and `whoami`, and the verbs that use a sign-in."""

import asyncio
import json
import re
import stat
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from auth.sign_in.authorization_server import Site, Variant, agree, serving
from auth.sign_in.test_sign_in import where_it_leads
from cli.command import ACCORD, ENVIRONMENT, Done, assert_one_line_of_misuse
from client.connections import run
from commands import run as run_command
from commands import start
from peers.scripted_server import Request, scripted_server, stateless

T = TypeVar("T")

BROWSER = f"""\
#!{sys.executable}
import sys, urllib.error, urllib.request
print("noise of a browser")
try:
    urllib.request.urlopen(sys.argv[1], timeout=10).read()
except urllib.error.HTTPError as error:
    error.read()
"""


class Terminal:
    """Runs `accord` for one user, whose browser agrees to everything."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state" / "accord" / "sign-ins.json"
        browser = folder / "browser"
        browser.write_text(BROWSER)
        browser.chmod(0o700)
        self.environment = {
            **ENVIRONMENT,
            "XDG_STATE_HOME": str(folder / "state"),
            "BROWSER": str(browser),
        }

    async def accord(self, *words: str, stdin: bytes = b"") -> Done:
        """Run a command to its end, while the site answers."""
        command = [ACCORD, *words]
        return await asyncio.to_thread(run_command, command, env=self.environment, stdin=stdin)


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path)


def with_site(say: Callable[[str, Site], Awaitable[T]], variant: Variant | None = None) -> T:
    """Serve a site, and return what `say` returns."""
    site = Site(variant or Variant())

    async def main() -> T:
        async with serving(site) as url:
            return await say(url, site)

    return run(main())


def test_after_a_login_calls_need_no_option_until_a_logout(terminal: Terminal) -> None:
    async def say(url: str, site: Site) -> None:
        login = await terminal.accord("login", url)
        assert login.code == 0, login.err
        assert f"Signed in to {url} at {site.origin}; scopes: read; kept in {terminal.state}\n" in login.out  # fmt: skip
        assert "To sign in, open this page:" in login.err
        assert f"{site.origin}/authorize?response_type=code&" in login.err
        assert stat.S_IMODE(terminal.state.stat().st_mode) == 0o600
        call = await terminal.accord("call", url, "hello")
        assert (call.code, call.out, call.err) == (0, "well\n", "")
        tools = await terminal.accord("tools", url)
        assert tools.code == 0
        assert (await terminal.accord("whoami")).out == f"{url}\n"
        logout = await terminal.accord("logout", url)
        assert logout == (0, f"Signed out of {url}: the tokens are deleted and revoked\n", "")
        assert len(site.named("revoke")) == 2
        assert_one_line_of_misuse(await terminal.accord("call", url, "hello"), f"run: accord login {url}")  # fmt: skip
        assert len(site.named("authorize")) == 1

    with_site(say)


@pytest.mark.parametrize("verb", [["call", "hello"], ["tools"]])
def test_a_verb_without_a_person_never_starts_a_sign_in(
    terminal: Terminal, verb: list[str]
) -> None:
    async def say(url: str, site: Site) -> Done:
        done = await terminal.accord(verb[0], url, *verb[1:])
        assert site.events == []
        assert_one_line_of_misuse(done, f"{url} requires a sign-in; run: accord login {url}")
        return done

    with_site(say)
    assert not terminal.state.parent.exists()


def test_a_call_renews_the_token_without_a_word(terminal: Terminal) -> None:
    async def say(url: str, site: Site) -> None:
        await terminal.accord("login", url)
        site.tokens.clear()
        call = await terminal.accord("call", url, "hello")
        assert (call.code, call.out, call.err) == (0, "well\n", "")
        assert len(site.named("authorize")) == 1
        site.tokens.clear()
        site.refresh_tokens.clear()
        ended = await terminal.accord("call", url, "hello")
        assert_one_line_of_misuse(ended, f"the sign-in at {url} has ended; run: accord login {url}")

    with_site(say)


def test_two_processes_renew_a_rotating_token_once(terminal: Terminal) -> None:
    async def say(url: str, site: Site) -> None:
        await terminal.accord("login", url)
        site.tokens.clear()
        done = await asyncio.gather(*(terminal.accord("call", url, "hello") for _ in range(4)))
        assert [each.out for each in done] == ["well\n"] * 4, [each.err for each in done]
        forms = [each["grant_type"] for each in site.named("token")]
        assert forms == ["authorization_code", "refresh_token"]

    with_site(say)


def test_a_missing_scope_is_named_with_the_command_that_adds_it(terminal: Terminal) -> None:
    async def say(url: str, site: Site) -> None:
        await terminal.accord("login", url)
        refused = await terminal.accord("call", url, "restock")
        assert_one_line_of_misuse(refused, f"run: accord login {url} --scope write")
        await terminal.accord("login", url, "--scope", "write")
        assert (await terminal.accord("call", url, "restock")).out == "well\n"
        assert [set(each["scope"].split()) for each in site.named("authorize")] == [
            {"read"},
            {"read", "write"},
        ]

    with_site(say, Variant(needs={"restock": "write"}))


@pytest.mark.parametrize("comes_back", [False, True])
def test_without_a_browser_the_url_is_pasted_unless_it_comes_back_itself(
    terminal: Terminal, comes_back: bool
) -> None:
    async def say(url: str, site: Site) -> None:
        words = [ACCORD, "login", url, "--no-browser"]
        child: Any = start(
            words,
            env=terminal.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with child.stdin, child.stdout, child.stderr:
            await asyncio.to_thread(child.stderr.readline)
            await asyncio.to_thread(child.stderr.readline)
            page = (await asyncio.to_thread(child.stderr.readline)).decode().strip()
            if comes_back:  # standard input stays open, and empty
                await asyncio.to_thread(agree, page)
            else:
                location = await asyncio.to_thread(where_it_leads, page)
                child.stdin.write(f"{location}\nmore".encode())
                child.stdin.flush()
            out = (await asyncio.to_thread(child.stdout.read)).decode()
            err = (await asyncio.to_thread(child.stderr.read)).decode()
            assert await asyncio.to_thread(child.wait, 20) == 0
        assert "Signed in to" in out
        assert err.strip().endswith("or the code in it:")

    with_site(say)


def test_what_is_pasted_wrong_is_one_line(terminal: Terminal) -> None:
    async def say(url: str, site: Site) -> None:
        for pasted, message in (
            (b"", "no code was entered"),
            (b"code\n", "paste the whole URL"),
            (b"http://127.0.0.1:1/callback?code=c&state=x\n", "belongs to another sign-in"),
        ):
            done = await terminal.accord("login", url, "--no-browser", stdin=pasted)
            assert done.code == 2
            assert message in done.err.splitlines()[-1]

    with_site(say)


def test_a_sign_in_that_fails_keeps_nothing(terminal: Terminal) -> None:
    async def say(url: str, site: Site) -> None:
        for variant, message in (
            (Variant(error={"error": "access_denied"}), "refused the sign-in: access_denied"),
            (Variant(accepts=False), "has just issued"),
            (Variant(token_error="invalid_request"), "refused the token request"),
        ):
            site.variant = variant
            done = await terminal.accord("login", url, "--timeout", "10")
            assert (done.code, done.out) == (2, "noise of a browser\n"), done
            assert message in done.err.splitlines()[-1]
            assert (await terminal.accord("whoami")).out == ""

    with_site(say)


def test_a_registered_client_is_given_by_options(terminal: Terminal, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")

    async def say(url: str, site: Site) -> None:
        given = [
            "--client-id",
            "mine",
            "--client-secret-file",
            str(secret),
            "--issuer",
            site.issuer,
        ]
        done = await terminal.accord("login", url, *given)
        assert done.code == 0, done.err
        assert "s3cret" not in done.out + done.err
        again = await terminal.accord("login", url)
        assert again.code == 0, again.err
        assert {each["client_id"] for each in site.named("authorize")} == {"mine"}
        assert site.named("register") == []
        other = await terminal.accord("login", url, *given[:4], "--issuer", "https://as.example")
        assert_one_line_of_misuse(other, "does not trust the issuer https://as.example")

    with_site(say, Variant(server={"registration_endpoint": None}))


def test_whoami_says_who_and_for_how_long_and_shows_no_token(terminal: Terminal) -> None:
    async def say(url: str, site: Site) -> None:
        missing = await terminal.accord("whoami", url)
        assert missing.code == 1
        assert missing.err == f"accord whoami: not signed in to {url}; run: accord login {url}\n"
        assert (await terminal.accord("logout", url)).code == 1
        await terminal.accord("login", url)
        payload = urlsafe_b64encode(b'{"sub": "ada\\u001b[2J"}').rstrip(b"=").decode()
        terminal.state.write_text(
            terminal.state.read_text().replace("access-1", f"e30.{payload}.x")
        )
        shown = (await terminal.accord("whoami", url)).out
        assert payload not in shown
        assert "refresh-" not in shown
        rows = dict(line.split(maxsplit=1) for line in shown.splitlines())
        assert rows["server"] == url
        assert rows["issuer"] == site.origin
        assert rows["user"] == "ada [2J (as the token says)"
        assert rows["scopes"] == "read"
        assert rows["token"] == "valid for 1 h, renewed on use"

    with_site(say)


def test_a_server_without_a_sign_in_says_so(terminal: Terminal) -> None:
    async def open_to_all(request: Request) -> None:
        await (stateless(request) if request.method == "POST" else request.reply(404))

    async def main() -> None:
        async with scripted_server(open_to_all) as server:
            done = await terminal.accord("login", server.url)
        assert_one_line_of_misuse(done, "can be used without a sign-in, and offers none")

    run(main())


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (["login", "shop:server"], "is not the URL of a server"),
        (["logout", "npx server"], "is not the URL of a server"),
        (["whoami", "shop.db"], "is not the URL of a server"),
        (["login"], "URL"),
        (["login", "https://h", "--client-secret-file", "missing", "--client-id", "x"], "could not read the secret"),
        (["login", "https://h", "--client-secret-file", "/dev/null"], "holds no secret"),
        (["login", "https://h", "--client-metadata-url", "http://x/y"], "must be an https URL"),
        (["login", "https://h", "--redirect-port", "99999"], "--redirect-port"),
        (["login", "https://h", "--no-browser", "--client-id", "x", "--client-secret-file", "-"], "standard input is for the code"),
    ],
)  # fmt: skip
def test_misuse_is_one_line(terminal: Terminal, words: list[str], fragment: str) -> None:
    assert_one_line_of_misuse(asyncio.run(terminal.accord(*words)), fragment)


def test_a_header_replaces_the_sign_in(terminal: Terminal) -> None:
    async def say(url: str, site: Site) -> None:
        site.tokens["mine"] = {"read"}
        call = await terminal.accord("call", url, "hello", "--header", "Authorization: Bearer mine")
        assert call.out == "well\n", call.err
        wrong = await terminal.accord("call", url, "hello", "--header", "authorization: Bearer no")
        assert_one_line_of_misuse(wrong, "refused the Authorization header (HTTP 401)")

    with_site(say)


def test_a_damaged_file_is_one_line_and_stays(terminal: Terminal) -> None:
    async def say(url: str, site: Site) -> None:
        await terminal.accord("login", url)
        terminal.state.write_text("{")
        for words in (["call", url, "hello"], ["whoami"], ["logout", url], ["tools", url]):
            assert_one_line_of_misuse(await terminal.accord(*words), f"{terminal.state} is damaged")
        assert terminal.state.read_text() == "{"

    with_site(say)


def test_a_damaged_entry_is_mended_by_signing_out_and_in(terminal: Terminal) -> None:
    async def say(url: str, site: Site) -> None:
        await terminal.accord("login", url)
        stored = json.loads(terminal.state.read_text())
        stored["servers"][url] = {"server": url}
        terminal.state.write_text(json.dumps(stored))
        damaged = await terminal.accord("call", url, "hello")
        assert_one_line_of_misuse(damaged, "is damaged; sign out and in again")
        assert (await terminal.accord("logout", url)).code == 1
        assert (await terminal.accord("login", url)).code == 0
        assert (await terminal.accord("call", url, "hello")).out == "well\n"

    with_site(say)


def test_inspect_signs_in(terminal: Terminal) -> None:
    async def say(url: str, site: Site) -> None:
        child: Any = start(
            [ACCORD, "inspect", url, "--http", "127.0.0.1:0"],
            env=terminal.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        with child.stderr:
            lines: list[bytes] = []
            while not lines or b"page at" not in lines[-1]:
                lines.append(await asyncio.to_thread(child.stderr.readline))
                assert lines[-1], lines
            child.terminate()
            await asyncio.to_thread(child.wait, 20)
        assert re.search(rb"http://\S+/authorize", b"".join(lines))
        assert {each.get("authorization") for each in site.headers} == {None, "Bearer access-1"}

    with_site(say)
    stored = json.loads(terminal.state.read_text())
    assert len(stored["servers"]) == 1
