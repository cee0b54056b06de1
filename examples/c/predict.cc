// Labels texts with a SavedModel, without Python.
//
//   predict MODEL OPERATIONS.so... -- TEXT...
//
// MODEL is a folder that `albert-keras export --format saved_model` wrote. OPERATIONS are
// libraries of tensorflow-text; README.md says where to find them. For each text the program
// prints a line with all outputs of the signature serving_default.

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tensorflow/c/c_api.h"
#include "tensorflow/cc/saved_model/loader.h"
#include "tensorflow/core/framework/tensor.h"
#include "tensorflow/core/public/session.h"

namespace {

void LoadOperations(const std::string& library) {
  TF_Status* status = TF_NewStatus();
  TF_LoadLibrary(library.c_str(), status);
  if (TF_GetCode(status) != TF_OK) {
    std::cerr << library << ": " << TF_Message(status) << "\n";
    exit(1);
  }
  TF_DeleteStatus(status);
}

void Check(const absl::Status& status) {
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
    exit(1);
  }
}

// Prints the values of one row.
void PrintRow(const tensorflow::Tensor& values, int row) {
  const auto& shape = values.shape();
  const int64_t size = shape.num_elements() / shape.dim_size(0);
  for (int64_t i = row * size; i < (row + 1) * size; ++i) {
    if (values.dtype() == tensorflow::DT_STRING) {
      std::cout << " " << values.flat<tensorflow::tstring>()(i);
    } else if (values.dtype() == tensorflow::DT_INT32) {
      std::cout << " " << values.flat<int32_t>()(i);
    } else {
      std::cout << " " << values.flat<float>()(i);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  auto end = std::find(words.begin(), words.end(), "--");
  if (words.empty() || end == words.begin() || end == words.end() || end + 1 == words.end()) {
    std::cerr << "usage: predict MODEL OPERATIONS.so... -- TEXT...\n";
    return 2;
  }
  for (auto library = words.begin() + 1; library != end; ++library) LoadOperations(*library);

  tensorflow::SavedModelBundleLite model;
  Check(tensorflow::LoadSavedModel({}, {}, words[0], {"serve"}, &model));
  const auto& signature = model.GetSignatures().at("serving_default");

  const std::vector<std::string> texts(end + 1, words.end());
  tensorflow::Tensor text(tensorflow::DT_STRING, {static_cast<int64_t>(texts.size())});
  for (size_t i = 0; i < texts.size(); ++i) text.vec<tensorflow::tstring>()(i) = texts[i];

  // Sorted by name.
  std::map<std::string, std::string> named;
  for (const auto& [name, tensor] : signature.outputs()) named[name] = tensor.name();
  std::vector<std::string> names, tensors;
  for (const auto& [name, tensor] : named) {
    names.push_back(name);
    tensors.push_back(tensor);
  }
  std::vector<tensorflow::Tensor> outputs;
  Check(model.GetSession()->Run({{signature.inputs().at("text").name(), text}}, tensors, {},
                                &outputs));
  std::cout.precision(9);
  for (size_t row = 0; row < texts.size(); ++row) {
    for (size_t i = 0; i < names.size(); ++i) {
      std::cout << (i ? "\t" : "") << names[i] << ":";
      PrintRow(outputs[i], row);
    }
    std::cout << "\n";
  }
  return 0;
}
