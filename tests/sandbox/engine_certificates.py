"""Certificates for an engine that is spoken to by TLS, and for those who speak to it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """What an engine takes and what it shows; clients' are made from it."""

    folder: Path
    ca: trustme.CA

    @property
    def options(self) -> tuple[str, ...]:
        """For `dockerd`."""
        names = {"tlscacert": "ca.pem", "tlscert": "cert.pem", "tlskey": "key.pem"}
        files = (f"--{option}={self.folder / 'engine' / name}" for option, name in names.items())
        return ("--tlsverify", *files)

    def client(
        self,
        name: str,
        *,
        by: trustme.CA | None = None,
        trusts: trustme.CA | None = None,
        expired: bool = False,
    ) -> Path:
        """A folder for DOCKER_CERT_PATH: of the engine's CA and trusting it, unless said."""
        until = datetime.now(UTC) + timedelta(days=-1 if expired else 1)
        began = until - timedelta(days=2)
        certificate = (by or self.ca).issue_cert("client", not_before=began, not_after=until)
        return _written(self.folder / name, trusts or self.ca, certificate)


def certificates_for(folder: Path, host: str) -> Certificates:
    """An engine's, made out to its address."""
    ca = trustme.CA()
    _written(folder / "engine", ca, ca.issue_cert(host))
    return Certificates(folder=folder, ca=ca)


def _written(folder: Path, ca: trustme.CA, certificate: trustme.LeafCert) -> Path:
    folder.mkdir()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    certificate.cert_chain_pems[0].write_to_path(folder / "cert.pem")
    certificate.private_key_pem.write_to_path(folder / "key.pem")
    return folder
