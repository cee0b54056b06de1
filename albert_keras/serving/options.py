"""Options of the server, without the imports of its work."""

import dataclasses

from albert_keras.options import MAX_BATCH_SIZE, Options, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerOptions(Options):
    """Address and limits of the server."""

    host: str = option("address to listen on; 0.0.0.0 for all networks", "127.0.0.1")
    port: int = option("port; 0 for a free one", 8501, minimum=0, maximum=65535)
    max_body_bytes: int = option(
        "largest body of a request", 4_000_000, minimum=1, maximum=2**31
    )
    max_request_rows: int = option(
        "most rows of a request", 1000, minimum=1, maximum=MAX_BATCH_SIZE
    )
    timeout: float = option("seconds until a request is given up", 30.0, above=0)
    max_batch_rows: int = option(
        "most rows that run as one batch", 32, minimum=1, maximum=MAX_BATCH_SIZE
    )
    batch_delay_ms: float = option(
        "milliseconds for which a request waits for others; 0 to run each alone",
        1.0,
        minimum=0,
    )
