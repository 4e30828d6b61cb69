"""What the failures of a first connection mean; the words are OpenSSL's, Go's and the kernel's."""

import pytest

from agentbench.sandbox.docker.connection import explain_refusal

SAID = {
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate "
    "is not valid for 'x'": "another name",
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: certificate has expired": (
        "its certificate has expired"
    ),
    "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate": (
        "not signed by the CA"
    ),
    "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required": "refuses our",
    "[SSL: SSLV3_ALERT_BAD_CERTIFICATE] ssl/tls alert bad certificate": "refuses our",
    "400 Client Error: Client sent an HTTP request to an HTTPS server.": "DOCKER_TLS_VERIFY=1",
    "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)": "does not use TLS",
    "[SSL: RECORD_LAYER_FAILURE] record layer failure": "does not use TLS",
    "[X509: KEY_VALUES_MISMATCH] key values mismatch": "do not belong together",
    "[Errno 13] Permission denied": "join the group docker",
    "[Errno 2] No such file\nor directory": "No such file or directory: start it (`systemctl",
}


@pytest.mark.parametrize(("said", "meaning"), SAID.items())
def test_a_failure_is_told_in_a_line_with_what_to_do(said: str, meaning: str) -> None:
    told = explain_refusal(OSError(said))
    assert meaning in told
    assert "\n" not in told
