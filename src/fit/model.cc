#include "fit/model.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace berth {

namespace {

struct KnownModel {
  std::string_view name;
  std::uint64_t parameters;
  ModelShape shape;
};

// Shapes as the models' own config.json have them.
constexpr std::array<KnownModel, 13> known_models = {{
    {"GPT-2", 124'439'808, {12, 768, 12, 12, 64, 50257}},
    {"GPT-2 medium", 354'823'168, {24, 1024, 16, 16, 64, 50257}},
    {"GPT-2 large", 774'030'080, {36, 1280, 20, 20, 64, 50257}},
    {"TinyLlama 1.1B", 1'100'048'384, {22, 2048, 32, 4, 64, 32000}},
    {"GPT-2 XL", 1'557'611'200, {48, 1600, 25, 25, 64, 50257}},
    {"Llama 3.2 3B", 3'212'749'824, {28, 3072, 24, 8, 128, 128256}},
    {"Llama 2 7B", 6'738'415'616, {32, 4096, 32, 32, 128, 32000}},
    {"Llama 3 8B", 8'030'261'248, {32, 4096, 32, 8, 128, 128256}},
    {"Llama 2 13B", 13'015'864'320, {40, 5120, 40, 40, 128, 32000}},
    {"Qwen2.5 32B", 32'763'876'352, {64, 5120, 40, 8, 128, 152064}},
    {"Llama 2 70B", 68'976'648'192, {80, 8192, 64, 8, 128, 32000}},
    {"GPT-3 175B", 175'000'000'000, {96, 12288, 96, 96, 128, 50257}},
    {"Llama 3.1 405B", 405'853'388'800, {126, 16384, 128, 8, 128, 128256}},
}};

std::optional<double> multiple_of(char letter) {
  switch (letter) {
    case 'k':
    case 'K':
      return 1e3;
    case 'm':
    case 'M':
      return 1e6;
    case 'b':
    case 'B':
    case 'g':
    case 'G':
      return 1e9;
    case 't':
    case 'T':
      return 1e12;
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<std::uint64_t> parse_parameter_count(std::string_view text) {
  const auto refuse = [&] {
    return fail(ErrorCode::invalid,
                "\"{}\" is no number of parameters: write 7B, 350M, 1.1e9, or the path of a "
                "config.json or of safetensors files",
                cut_to_width(printable(text), 60, true));
  };
  std::string_view digits = text;
  double multiple = 1;
  if (!digits.empty()) {
    if (const auto found = multiple_of(digits.back())) {
      multiple = *found;
      digits.remove_suffix(1);
    }
  }
  double number = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number);
  if (digits.empty() || read.ec != std::errc() || read.ptr != end) return refuse();
  if (!std::isfinite(number)) return refuse();
  const double count = number * multiple;
  if (count < 1 || count > static_cast<double>(most_parameters)) {
    return fail(ErrorCode::invalid, "\"{}\": from 1 to 1000T parameters are computed with",
                cut_to_width(printable(text), 60, true));
  }
  return static_cast<std::uint64_t>(std::llround(count));
}

Model model_of_size(std::uint64_t parameters) {
  const KnownModel* nearest = &known_models.front();
  const auto far = [&](const KnownModel& known) {
    return std::abs(std::log(static_cast<double>(known.parameters)) -
                    std::log(static_cast<double>(parameters)));
  };
  for (const KnownModel& known : known_models) {
    if (far(known) < far(*nearest)) nearest = &known;
  }
  return {
      .parameters = parameters, .shape = nearest->shape, .shape_like = std::string(nearest->name)};
}

}  // namespace berth
