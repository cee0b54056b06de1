"""HTTP server of one exported model, for development."""

import asyncio
import html
import importlib.resources
import json
import socket
import time

from albert_keras.checks import import_optional, shown
from albert_keras.serving.batching import MicroBatcher
from albert_keras.serving.options import ServerOptions
from albert_keras.serving.rest import encode_outputs, read_request
from albert_keras.serving.served_model import ServedModel

METRICS_PATH = "/monitoring/prometheus/metrics"
# Seconds for requests in progress to end after Ctrl-C or SIGTERM.
SHUTDOWN_S = 10


def serve(path, options=None, on_start=None):
    """Serves an exported model until Ctrl-C or SIGTERM, for development.

    The paths are those of TensorFlow Serving's REST API: `/v1/models/NAME` (status),
    `/v1/models/NAME/metadata` and `/v1/models/NAME:predict`, with or without
    `/versions/NUMBER` after the name. Prometheus' metrics are at
    `/monitoring/prometheus/metrics`, and a page to try the model at `/`. The server has
    one model, and neither users nor TLS. For production use TensorFlow Serving.

    Requests in progress end before the server stops.

    Args:
        path: str or path of a SavedModel, or a folder of its versions.
        options: `ServerOptions`.
        on_start: Function that is called with the server's address once it listens.

    Raises:
        ImportError: If starlette, uvicorn or prometheus_client are absent.
        OSError: If the port is taken.
    """
    uvicorn = import_optional("uvicorn", "serving")
    options = options or ServerOptions()
    model = ServedModel(path)
    listener = listen(options.host, options.port)

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            if on_start and self.started:
                host, port, *_ = listener.getsockname()
                on_start(f"http://{host}:{port}/v1/models/{model.name}")

    config = uvicorn.Config(
        make_app(model, options),
        log_level="warning",
        timeout_graceful_shutdown=SHUTDOWN_S,
    )
    with listener:
        Server(config).run(sockets=[listener])


def listen(host, port):
    """Returns a listening socket; uvicorn would end the process without an address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
        # Connections inherit the option. Without it the body of a response, sent after
        # its headers, waits 40 ms for the client's acknowledgement. asyncio sets it only
        # for sockets that name TCP as their protocol.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        raise OSError(
            f"The server's port must be free. Received: host={host}, "
            f"port={port}: {error.strerror}. Choose another one with --port."
        ) from error


def make_app(model, options):
    """Returns the ASGI application that serves a `ServedModel`."""
    starlette = import_optional("starlette.applications", "serving")
    routing = import_optional("starlette.routing", "serving")
    responses = import_optional("starlette.responses", "serving")
    metrics = _Metrics()
    delay_s = options.batch_delay_ms / 1000
    batcher = MicroBatcher(
        lambda key, inputs: model.predict(inputs, key[0]),
        max_rows=options.max_batch_rows if delay_s else 1,
        delay_s=delay_s,
        observe=metrics.rows.observe,
    )

    def answer(function):
        """Returns an endpoint that responds with JSON, also for errors."""

        async def endpoint(request):
            start = time.perf_counter()
            try:
                async with asyncio.timeout(options.timeout):
                    status, content = 200, await function(request)
            except RefusedError as error:
                status, content = error.status, {"error": str(error)}
            except ValueError as error:
                status, content = 400, {"error": str(error)}
            except OverflowError as error:
                status, content = 503, {"error": str(error)}
            except TimeoutError:
                message = f"The model did not answer in {options.timeout:g} seconds."
                status, content = 504, {"error": message}
            metrics.requests.labels(str(status)).inc()
            metrics.seconds.observe(time.perf_counter() - start)
            return responses.JSONResponse(content, status)

        return endpoint

    async def predict(request):
        body = await _read_body(request, options.max_body_bytes)
        try:
            content = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"The body must be JSON. Received: {error}.") from error
        signature, inputs, is_row_wise = read_request(content, model.inputs)
        rows = max((len(array) for array in inputs.values() if array.ndim), default=1)
        if rows > options.max_request_rows:
            raise RefusedError(
                413,
                f"A request may have {options.max_request_rows} rows. Received: {rows}.",
            )
        shapes = [array.shape for array in inputs.values()]
        if all(shapes) and len({shape[0] for shape in shapes}) == 1:
            key = signature, *(shape[1:] for shape in shapes)
            outputs = await batcher.submit(key, inputs)
        else:
            # Scalars cannot be joined; the model refuses unequal numbers of rows.
            outputs = await asyncio.to_thread(model.predict, inputs, signature)
        return encode_outputs(outputs, is_row_wise)

    async def status(request):
        return model.status()

    async def metadata(request):
        return model.metadata()

    async def page(request):
        template = importlib.resources.files(__package__).joinpath("page.html")
        content = template.read_text("utf-8")
        content = content.replace("{name}", html.escape(model.name))
        return responses.HTMLResponse(content)

    async def show_metrics(request):
        return responses.PlainTextResponse(metrics.text())

    async def not_found(request, error):
        known = f"/v1/models/{model.name}"
        message = (
            f"There is {known}, {known}/metadata, {known}:predict for POST, "
            f"{METRICS_PATH}, and a page at /. KServe's protocol is the first, /v1."
        )
        return responses.JSONResponse({"error": message}, error.status_code)

    paths = [routing.Route("/", page), routing.Route(METRICS_PATH, show_metrics)]
    base = f"/v1/models/{model.name}"
    for path in (base, f"{base}/versions/{model.version}"):
        paths += [
            routing.Route(path, answer(status)),
            routing.Route(f"{path}/metadata", answer(metadata)),
            routing.Route(f"{path}:predict", answer(predict), methods=["POST"]),
        ]
    handlers = {"exception_handlers": {404: not_found, 405: not_found}}
    return starlette.Starlette(routes=paths, **handlers)


class RefusedError(Exception):
    """Error of a request, with an HTTP status."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


async def _read_body(request, max_bytes):
    """Returns the body of a request, of at most `max_bytes`."""
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding != "identity":
        message = f"A body must not be compressed. Received: {shown(encoding)}."
        raise RefusedError(415, message)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > max_bytes:
            raise RefusedError(413, f"The body may have {max_bytes:,} bytes.")
    return bytes(body)


class _Metrics:
    """Prometheus' metrics of one server."""

    def __init__(self):
        client = import_optional("prometheus_client", "serving")
        self._generate = client.generate_latest
        self.registry = client.CollectorRegistry()
        kind = {"registry": self.registry, "namespace": "albert_keras"}
        self.requests = client.Counter("requests", "Requests", ["status"], **kind)
        self.seconds = client.Histogram("request_seconds", "Time to answer", **kind)
        kind["buckets"] = [2**power for power in range(11)]
        self.rows = client.Histogram("batch_rows", "Rows of a batch", **kind)

    def text(self):
        return self._generate(self.registry).decode("utf-8")
