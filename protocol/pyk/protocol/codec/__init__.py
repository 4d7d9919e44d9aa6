"""Functions that encode and decode one version of a message, generated on first use."""

from .decoder import Decode, decoder_source
from .decoding import compile_decoder
from .encoder import Encode, compile_encoder, encoder_source

__all__ = [
    "Decode",
    "Encode",
    "compile_decoder",
    "compile_encoder",
    "decoder_source",
    "encoder_source",
]
