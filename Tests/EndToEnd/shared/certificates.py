# SPDX-License-Identifier: Apache-2.0
"""Keys and certificates for tests."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def write_key(path: Path, curve: ec.EllipticCurve | None = None, mode: int = 0o600) -> ec.EllipticCurvePrivateKey:
    """Writes a new private key as PEM, by default of the curve P-256, and returns it."""
    key = ec.generate_private_key(curve or ec.SECP256R1())
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    path.chmod(mode)
    return key


def write_authority(folder: Path) -> tuple[Path, Path, Path]:
    """Makes a certificate authority, and a certificate for 127.0.0.1 and localhost that it signs.

    Returns the paths of the authority's certificate, of the certificate, and of its key.
    """
    authority_key = write_key(folder / "authority.key")
    authority = _certificate("Tests", authority_key, None, None)
    (folder / "authority.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    key = write_key(folder / "service.key")
    certificate = _certificate("localhost", key, authority, authority_key)
    (folder / "service.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return folder / "authority.pem", folder / "service.pem", folder / "service.key"


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
    issuer_key: ec.EllipticCurvePrivateKey | None,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    if issuer is not None:
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
    return builder.sign(issuer_key or key, hashes.SHA256())
