#include "diagnose/doctor/framework_words.h"

#include <algorithm>

namespace berth::doctor {

const FrameworkSaid* said_of(const PythonWorld& python, std::string_view name) {
  const auto& all = python.said.frameworks;
  const auto at = std::ranges::find(all, name, &FrameworkSaid::name);
  return at == all.end() ? nullptr : &*at;
}

std::string_view question_of(std::string_view name) {
  if (name == "torch") return "torch.cuda.is_available()";
  if (name == "tensorflow") return "tf.config.list_physical_devices('GPU')";
  return "jax.devices()";
}

}  // namespace berth::doctor
