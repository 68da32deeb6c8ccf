"""A certificate authority for one session's proxy, which its code trusts and no one else does."""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
import tempfile
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority"]

_VALID_FOR: Final = datetime.timedelta(days=365)
#: How many servers' certificates are kept.
_MOST_KEPT: Final = 256
_PEM: Final = serialization.Encoding.PEM


class Authority:
    """Issues certificates (RFC 5280) for the servers that the code connects to."""

    def __init__(self) -> None:
        # The clock of a container or a virtual machine may be behind.
        self._begin = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = _name("planaria session")
        self._certificate = (
            self._builder(self._key.public_key())
            .subject_name(name)
            .issuer_name(name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self._server_key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, in PEM form."""
        return self._certificate.public_bytes(_PEM)

    def context_for(self, host: str) -> ssl.SSLContext:
        """The server's side of TLS for a host in canonical form."""
        context = self._contexts.get(host)
        if context is None:
            if len(self._contexts) >= _MOST_KEPT:
                del self._contexts[next(iter(self._contexts))]
            context = self._contexts[host] = self._new_context(host)
        return context

    def _new_context(self, host: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        key = self._server_key.private_bytes(
            _PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        # Python reads certificates and keys from files only.
        descriptor, path = tempfile.mkstemp()
        try:
            with open(descriptor, "wb") as file:
                file.write(key + self._issued(host).public_bytes(_PEM) + self.certificate)
            context.load_cert_chain(path)
        finally:
            os.unlink(path)
        return context

    def _issued(self, host: str) -> x509.Certificate:
        try:
            subject: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            subject = x509.DNSName(host)
        authority_key = self._certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
        return (
            self._builder(self._server_key.public_key())
            .subject_name(_name("planaria proxy"))
            .issuer_name(self._certificate.subject)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.SubjectAlternativeName([subject]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(authority_key.value),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )

    def _builder(self, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._begin)
            .not_valid_after(self._begin + _VALID_FOR)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
