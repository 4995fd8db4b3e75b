"""URI templates: which URIs they stand for, and which values nobody gets out of them."""

from time import process_time

import pytest

from accord import ContractError, Server
from accord.model.resource import Template

MATCHES = [
    ("a://b", "a://b", {}),
    ("a://b", "a://c", None),
    ("a://b", "a://b?c=1", None),
    ("a://b/{c}", "a://b/x", {"c": "x"}),
    ("a://b/{c}", "a://b/", None),
    ("a://b/{c}", "a://b/x/y", None),
    ("a://b/{c}", "a://b/x%20y", {"c": "x y"}),
    ("a://b/{c}", "a://b/caf%C3%A9", {"c": "café"}),
    ("a://b/{c}", "a://b/x?d=1", None),
    ("a://{b}/{c}", "a://x/y", {"b": "x", "c": "y"}),
    ("a://b/{c}.txt", "a://b/x.txt", {"c": "x"}),
    ("a://b/{c}.txt", "a://b/x.md", None),
    ("a://b.c/{d}", "a://bxc/y", None),
    ("a://{+b}", "a://x/y/z", {"b": "x/y/z"}),
    ("a://{+b}/end", "a://x/y/end", {"b": "x/y"}),
    ("a://{+b}/end/{c}", "a://x/end/y/end/z", {"b": "x/end/y", "c": "z"}),
    ("a://{b}-{c}.txt", "a://x-y-z.txt.txt", {"b": "x", "c": "y-z.txt"}),
    ("a://{b}.{c}/{+d}", "a://x.y.z/u/v", {"b": "x", "c": "y.z", "d": "u/v"}),
    ("a://{b}", "a://" + "x" * 9_000, None),
    ("a://b{?c,d}", "a://b", {}),
    ("a://b{?c,d}", "a://b?d=2&c=1&e=3", {"c": "1", "d": "2"}),
    ("a://b{?c}", "a://b?c=x%26y", {"c": "x&y"}),
    ("a://b/{c}{?d}", "a://b/x?d=", {"c": "x", "d": ""}),
]
ESCAPES = [
    ("a://b/{c}", "a://b/.."),
    ("a://b/{c}", "a://b/."),
    ("a://b/{c}", "a://b/%2e%2e"),
    ("a://b/{c}", "a://b/x%2Fy"),
    ("a://b/{c}", "a://b/x%5Cy"),
    ("a://b/{c}", "a://b/x%00"),
    ("a://{+b}", "a://x/../y"),
    ("a://{+b}", "a://x/%2e%2e/y"),
    ("a://{+b}", "a://x%5C..%5Cy"),
    ("a://{+b}", "a://x/./y"),
    ("a://{+b}", "a://x%00/y"),
    ("a://b/{+c}", "a://b//etc/passwd"),
    ("a://b/{+c}", "a://b/%2Fetc/passwd"),
    ("a://b/{+c}", "a://b/%5Cserver"),
    ("a://b{?c}", "a://b?c=../x"),
    ("a://b{?c}", "a://b?c=x%2F..%2Fy"),
    ("a://b{?c}", "a://b?c=/etc/passwd"),
    ("a://b{?c}", "a://b?c=x%00"),
]
REFUSED = [
    *("", "b", "a:", "/a/b", "a://b c", "a://{b}{b}", "a://{b}/{+b}", "a://{b}{?b}"),
    *("a://{}", "a://{b,c}", "a://{/b}", "a://{#b}", "a://{b*}", "a://{b:3}", "a://{?b}/c"),
    *("a://{1}", "a://{?1b}", "a://{b}{c}", "a://{+b}{c}", "a://{+b}/x/{+c}"),
]


@pytest.mark.requirement("mcp.resources.validate-uris")
@pytest.mark.parametrize(("template", "uri", "variables"), MATCHES)
def test_a_template_reads_its_variables(
    template: str, uri: str, variables: dict[str, str] | None
) -> None:
    assert Template(template).match(uri) == variables


@pytest.mark.requirement("mcp.resources.no-traversal")
@pytest.mark.parametrize(("template", "uri"), ESCAPES)
def test_no_value_climbs_out_of_its_place(template: str, uri: str) -> None:
    assert Template(template).match(uri) is None


@pytest.mark.requirement("mcp.resources.uri-scheme")
@pytest.mark.parametrize("template", REFUSED)
def test_what_is_no_template_is_refused(template: str) -> None:
    with pytest.raises(ContractError):
        Template(template)


@pytest.mark.parametrize(
    "template", ["a://{b}-{c}-{d}-{e}/x", "a://{b}{?c}", "a://{+b}/-{c}-{d}/x"]
)
@pytest.mark.parametrize("step", ["-", "/-", "x", "%2e"])
def test_a_uri_costs_no_more_than_it_is_long(template: str, step: str) -> None:
    uris = Template(template)
    began = process_time()
    assert uris.match("a://" + step * 1_000 + "#") is None
    assert process_time() - began < 0.5, "where four variables tried all their places, hours"


def both(a: str, b: str) -> str:
    return a + b


def with_default(a: str, b: str = "") -> str:
    return a + b


@pytest.mark.parametrize(
    ("uri", "function", "fault"),
    [
        ("a://{a}", both, "has a parameter 'b', but its URI does not"),
        ("a://{a}/{c}", with_default, "has no parameter 'c', but its URI has"),
        ("a://{a}{?b}", both, "must give 'b' a default"),
        ("a://x", lambda a: a, "has a parameter 'a'"),
    ],
)
def test_a_function_takes_what_its_uri_has(uri: str, function: object, fault: str) -> None:
    with pytest.raises(ContractError, match=fault):
        Server("s").resource(uri)(function)  # type: ignore[type-var]


def test_what_may_be_left_out_is() -> None:
    server = Server("s")
    server.resource("a://{a}{?b}")(with_default)
    server.resource("b://{a}")(with_default)
    assert list(server.resources) == ["a://{a}{?b}", "b://{a}"]


@pytest.mark.requirement("mcp.caching.hints")
@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
def test_a_resource_is_fresh_for_a_time_that_there_is(seconds: float) -> None:
    with pytest.raises(ContractError, match="fresh_for"):
        Server("s").resource("a://b", fresh_for=seconds)(lambda: "x")
