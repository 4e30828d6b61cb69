"""What the failures of a first connection to an engine mean, in words that help."""

_START = (
    "start it (`systemctl start docker`, or Docker Desktop), set DOCKER_HOST if it is elsewhere, "
    "or use --sandbox bubblewrap"
)
_MEANINGS = (
    # Of ours about the engine's certificate: what OpenSSL says.
    (
        ("Hostname mismatch", "IP address mismatch", "doesn't match"),
        "its certificate is for another name: connect by a name that is in it",
    ),
    (("certificate has expired",), "its certificate has expired: have the engine get a new one"),
    (
        ("certificate verify failed", "CERTIFICATE_VERIFY_FAILED"),
        "its certificate is not signed by the CA in ca.pem: put the CA that did into "
        "DOCKER_CERT_PATH",
    ),
    # Of the engine about ours.
    (
        ("certificate required", "bad certificate", "unknown ca", "certificate expired"),
        "it does not take our certificate, or there is none: put one into DOCKER_CERT_PATH as "
        "cert.pem and key.pem that its CA has signed and that has not expired",
    ),
    (
        ("HTTP request to an HTTPS server",),
        "it speaks TLS: set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH",
    ),
    (
        ("WRONG_VERSION_NUMBER", "wrong version number", "record layer failure", "HTTP_REQUEST"),
        "it does not speak TLS: unset DOCKER_TLS_VERIFY and DOCKER_CERT_PATH",
    ),
    (("KEY_VALUES_MISMATCH", "PEM lib", "NO_START_LINE"), "cert.pem and key.pem are no pair"),
    (
        ("Permission denied",),
        "its socket is not for you: join the group docker, or use --sandbox bubblewrap",
    ),
)


def explain(fault: BaseException) -> str:
    """Why no engine answered, and what to do about it, in one line."""
    said = " ".join(str(fault).split())
    for needles, meaning in _MEANINGS:
        if any(needle.lower() in said.lower() for needle in needles):
            return meaning
    return f"{said}: {_START}"
