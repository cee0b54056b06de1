from .formats import EXPORTERS as EXPORTERS
from .formats import ExportFormat as ExportFormat
from .formats import is_exported as is_exported
from .formats import load_exported as load_exported
from .saved_model import export_saved_model as export_saved_model
from .saved_model import load_saved_model as load_saved_model
from .tflite import export_tflite as export_tflite
from .tflite import load_tflite as load_tflite
