#include "diagnose/doctor/framework_words.h"

namespace berth::doctor {

std::string_view question_of(std::string_view name) {
  if (name == "torch") return "torch.cuda.is_available()";
  if (name == "tensorflow") return "tf.config.list_physical_devices('GPU')";
  return "jax.devices()";
}

}  // namespace berth::doctor
