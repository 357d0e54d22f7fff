// links: berth_fit
// A downloaded model: config.json, the header of a safetensors file and the index of several. And
// how much memory that comes to. Also the words of --train and a number of parameters.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "fit/estimate.h"
#include "fit/model.h"
#include "fit/safetensors.h"

namespace {

constexpr std::uint64_t data_size = 1'000'000;

void check_estimate(const berth::Model& model, const berth::Workload& workload) {
  if (mistake_in(workload) || mistake_in(model, workload)) return;
  const berth::Estimate estimate = berth::estimate(model, workload);
  BERTH_CHECK(estimate.total.low <= estimate.total.high, "a range goes upwards");
  for (const berth::PartSize& part : estimate.parts) {
    BERTH_CHECK(part.size.low <= part.size.high, "a part's range goes upwards");
    BERTH_CHECK(part.size.high <= estimate.total.high, "a part is no more than the whole");
  }
}

void check_model(std::string_view text) {
  const auto model = berth::parse_model_config(text);
  if (!model) return;
  berth::Workload workload;
  check_estimate(*model, workload);
  for (const std::string_view training : {"adam", "qlora:8", "adafactor"}) {
    berth::Workload trains;
    BERTH_CHECK(berth::set_training(training, trains), "there is such a training");
    trains.gpus = 8;
    trains.sharding = berth::Sharding::zero3;
    check_estimate(*model, trains);
  }
}

void check_tensors(std::string_view text) {
  const auto length = berth::safetensors_header_length(text.substr(0, 8), text.size());
  if (length) BERTH_CHECK(*length <= text.size(), "a header lies within its file");
  auto tensors = berth::parse_safetensors_header(text, data_size);
  if (tensors) {
    BERTH_CHECK(!tensors->parameters() || *tensors->parameters() <= berth::most_parameters,
                "no model is larger");
    const berth::StoredTensors same = *tensors;
    if (tensors->add(same)) BERTH_CHECK(tensors->elements == same.elements * 2, "sums add up");
  }
  if (const auto files = berth::parse_safetensors_index(text)) {
    for (const std::string_view file : *files) {
      BERTH_CHECK(!file.empty() && file.find('/') == file.npos, "a name leads out of no folder");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_model(text);
  check_tensors(text);
  berth::Workload workload;
  if (berth::set_training(text, workload)) BERTH_CHECK(workload.rank > 0, "adapters have a rank");
  if (const auto count = berth::parse_parameter_count(text)) {
    BERTH_CHECK(*count <= berth::most_parameters, "no model is larger");
    check_estimate({.name = "given", .parameters = *count, .shape = {}}, workload);
  }
  return 0;
}
