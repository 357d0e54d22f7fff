#include "host_environment/cuda_driver.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"
#include "compute/cuda_api.h"

namespace berth {

namespace {

std::string refusal(const char* call, int code) {
  return fmt::format("error\t{}\t{}\n", call, code);
}

/// In the child.
std::string numbering(const std::string& name) {
  const auto api = compute::load_cuda(name);
  if (!api) return fmt::format("absent\t{}\t\n", printable(api.error().message()));
  if (const int code = api->init(0); code != 0) return refusal("cuInit", code);
  int count = 0;
  if (const int code = api->device_get_count(&count); code != 0)
    return refusal("cuDeviceGetCount", code);
  std::string said;
  for (int i = 0; i < count && i < 1024; ++i) {
    int device = 0;
    compute::CudaUuid uuid{};
    char model[256] = "";
    if (const int code = api->device_get(&device, i); code != 0)
      return said + refusal("cuDeviceGet", code);
    if (const int code = api->device_get_uuid(&uuid, device); code != 0) {
      return said + refusal("cuDeviceGetUuid", code);
    }
    if (api->device_get_name != nullptr)
      (void)api->device_get_name(model, sizeof model - 1, device);
    said += fmt::format("device\t{}\t{}\n", compute::text_of(uuid), printable(model));
  }
  return said;
}

}  // namespace

CudaAnswer parse_cuda_answer(std::string_view text) {
  CudaAnswer answer;
  for (const std::string_view line : split(text, '\n')) {
    const auto parts = split(line, '\t');
    if (parts.size() != 3) continue;
    if (parts[0] == "device" && answer.devices.size() < 1024) {
      answer.devices.push_back({std::string(parts[1]), std::string(parts[2])});
    }
    if (parts[0] == "absent") {
      answer.problem = std::string(parts[1]);
      answer.is_absent = true;
    }
    if (parts[0] != "error") continue;
    answer.code =
        static_cast<int>(std::min<std::uint64_t>(parse_unsigned(parts[2]).value_or(0), 99'999));
    answer.problem = fmt::format("{} failed with error {}", parts[1], answer.code);
  }
  return answer;
}

CudaAnswer ask_cuda(const std::string& library, Clock& clock, Duration patience) {
  const auto child =
      ask_child([&] { return write_all(1, numbering(library)) ? 0 : 1; }, clock, patience);
  if (!child) return {.problem = child.error().message()};
  CudaAnswer answer = parse_cuda_answer(child->out);
  if (!child->exit) {
    answer.problem = "libcuda did not answer in time";
    answer.took_too_long = true;
  }
  if (child->exit && child->exit->signal != 0) {
    answer.problem = fmt::format("libcuda crashed (signal {})", child->exit->signal);
  }
  return answer;
}

}  // namespace berth
