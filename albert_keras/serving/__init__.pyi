from .batching import MicroBatcher as MicroBatcher
from .options import ServerOptions as ServerOptions
from .rest import encode_outputs as encode_outputs
from .rest import read_request as read_request
from .served_model import ServedModel as ServedModel
from .server import make_app as make_app
from .server import serve as serve
