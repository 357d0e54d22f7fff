#include "world/cuda_driver.h"

#include <dlfcn.h>

#include <array>
#include <cstring>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/process.h"
#include "base/text.h"

namespace berth {

namespace {

// cuda.h of CUDA 12 (CUresult is an int, CUdevice an int, CUuuid 16 bytes). _v2 names a MIG
// instance where the first version names its card.
using Uuid = std::array<unsigned char, 16>;
static_assert(sizeof(Uuid) == 16);
using Init = int (*)(unsigned);
using GetCount = int (*)(int*);
using Get = int (*)(int*, int);
using GetUuid = int (*)(Uuid*, int);
using GetName = int (*)(char*, int, int);

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

std::string uuid_text(const Uuid& uuid) {
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid[i]);
  }
  return text;
}

std::string refusal(const char* call, int code) {
  return fmt::format("error\t{}\t{}\n", call, code);
}

/// In the child.
std::string numbering(const std::string& name) {
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fmt::format("absent\t{}\t\n", printable(::dlerror()));
  const auto init = symbol<Init>(library, "cuInit");
  const auto get_count = symbol<GetCount>(library, "cuDeviceGetCount");
  const auto get = symbol<Get>(library, "cuDeviceGet");
  auto get_uuid = symbol<GetUuid>(library, "cuDeviceGetUuid_v2");
  if (get_uuid == nullptr) get_uuid = symbol<GetUuid>(library, "cuDeviceGetUuid");
  const auto get_name = symbol<GetName>(library, "cuDeviceGetName");
  if (init == nullptr || get_count == nullptr || get == nullptr || get_uuid == nullptr) {
    return fmt::format("absent\t{} lacks a function that every driver since 2018 has\t\n", name);
  }
  if (const int code = init(0); code != 0) return refusal("cuInit", code);
  int count = 0;
  if (const int code = get_count(&count); code != 0) return refusal("cuDeviceGetCount", code);
  std::string said;
  for (int i = 0; i < count && i < 1024; ++i) {
    int device = 0;
    Uuid uuid{};
    char model[256] = "";
    if (const int code = get(&device, i); code != 0) return said + refusal("cuDeviceGet", code);
    if (const int code = get_uuid(&uuid, device); code != 0) {
      return said + refusal("cuDeviceGetUuid", code);
    }
    if (get_name != nullptr) (void)get_name(model, sizeof model - 1, device);
    said += fmt::format("device\t{}\t{}\n", uuid_text(uuid), printable(model));
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
