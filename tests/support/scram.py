"""The exchange that RFC 7677 prints, and the same one with SHA-512 as Kafka 4.3.1 computes it."""

from __future__ import annotations

from pyk.protocol.sasl import ClientFirst, ScramMechanism, ServerFirst

PASSWORD = "pencil"
FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
NONCE = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
ANSWER = f"r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
UNPROVEN = f"c=biws,r={NONCE}".encode()

CLIENT_FIRST = ClientFirst.decode(FIRST)
SERVER_FIRST = ServerFirst.decode(ANSWER, CLIENT_FIRST)

PROOFS = {
    ScramMechanism.SCRAM_SHA_256: "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    ScramMechanism.SCRAM_SHA_512: (
        "gMGXRcevScNtxZ6/8lQYpGtnsNAc3mGcmNomv+xnoOMw+3R2xNJdMNnzMlTN8PPC6wdp6dybEmDYXYTxwnYPJQ=="
    ),
}
SIGNATURES = {
    ScramMechanism.SCRAM_SHA_256: "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
    ScramMechanism.SCRAM_SHA_512: (
        "ZQnYEgWQMFmmsM8aQMF0nDDCy/AgCzkwk8CmMZYcMg0vSVlKDanekLtifDSeVGT4+5ZxXnJq199RVG2rR7N7Zw=="
    ),
}
