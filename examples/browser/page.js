// What both pages do: read local files only, run a model, show a table of texts and numbers.
import { env } from "./node_modules/@huggingface/transformers/dist/transformers.min.js";

export * from "./node_modules/@huggingface/transformers/dist/transformers.min.js";

// This server has the model and the WebAssembly of ONNX Runtime.
env.allowLocalModels = true;
env.allowRemoteModels = false;
env.localModelPath = "./";
env.backends.onnx.wasm.wasmPaths = new URL("node_modules/onnxruntime-web/dist/", location).href;

// `load` returns a model. `answer` returns rows [text, number] from it and the form's fields.
export async function run(load, answer) {
  const form = document.querySelector("form");
  const state = document.querySelector("#state");
  const table = document.querySelector("table");

  async function show(model) {
    const start = performance.now();
    const rows = await answer(model, form.elements);
    state.textContent = `${(performance.now() - start).toFixed(0)} ms`;
    table.replaceChildren();
    for (const [text, number] of rows) {
      const row = table.insertRow();
      row.insertCell().textContent = text;
      row.insertCell().textContent = number.toFixed(6);
    }
  }

  try {
    const model = await load();
    form.onsubmit = (event) => {
      event.preventDefault();
      show(model);
    };
    form.querySelector("button").disabled = false;
    state.textContent = "ready";
    // index.html?text=... answers at once.
    const text = new URLSearchParams(location.search).get("text");
    if (text !== null) {
      form.elements.text.value = text;
      await show(model);
    }
  } catch (error) {
    state.textContent = `The model cannot be used: ${error.message}`;
  }
}
