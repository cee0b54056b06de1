"""Options of the server."""

import dataclasses

from albert_keras.options import BATCH_SIZES, Options, Range, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerOptions(Options):
    """Address and limits of the server."""

    host: str = option("address to listen on; 0.0.0.0 for all networks", "127.0.0.1")
    port: int = option("port; 0 for a free one", 8501, Range(0, 65535))
    max_body_bytes: int = option(
        "maximum bytes of a request's body", 4_000_000, Range(1, 2**31)
    )
    max_request_rows: int = option("maximum rows of a request", 1000, BATCH_SIZES)
    timeout: float = option("seconds until a request fails", 30.0, Range(above=0))
    max_batch_rows: int = option("maximum rows of a batch", 32, BATCH_SIZES)
    batch_delay_ms: float = option(
        "milliseconds that a request waits for others; 0 disables batching",
        1.0,
        Range(0),
    )
