"""The certificates that are trusted, and what is wrong with one that is not."""

import ssl
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final

_CA_FILES: Final = (  # where distributions keep what OpenSSL was not built to look for
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


@lru_cache(maxsize=1)
def system_trust() -> ssl.SSLContext:
    """Return a context with the system's certificates, or SSL_CERT_FILE; loading them is slow."""
    if sys.platform == "darwin":
        import truststore  # OpenSSL cannot read the keychain

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    if sys.platform != "win32" and paths.cafile is None and paths.capath is None:
        found = next((path for path in _CA_FILES if Path(path).is_file()), None)
        if found is not None:
            context.load_verify_locations(found)
    context.set_alpn_protocols(["http/1.1"])
    return context


def describe_tls_error(error: ssl.SSLError) -> str:
    """Describe why TLS could not be started."""
    if isinstance(error, ssl.SSLCertVerificationError):
        advice = "; name a file with its authority in SSL_CERT_FILE if you trust it"
        is_other = "mismatch" in error.verify_message
        reason = error.verify_message.rstrip(".")
        return f"its certificate is not trusted: {reason}{'' if is_other else advice}"
    if error.reason == "WRONG_VERSION_NUMBER":
        return "the server does not speak TLS on this port; is the URL http:// instead?"
    return f"TLS failed: {error.reason or error}"
