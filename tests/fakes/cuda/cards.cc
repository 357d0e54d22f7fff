// The fake driver's cards, and when it is too late to choose among them.

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>

#include "fake_driver.h"

namespace fake {

std::string variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::vector<std::string> entries(const std::string& text, char separator) {
  std::vector<std::string> found;
  std::string one;
  for (const char c : text + separator) {
    if (c != separator) {
      one += c;
      continue;
    }
    if (!one.empty()) found.push_back(one);
    one.clear();
  }
  return found;
}

bool has_fault(const std::string& wanted) {
  for (const std::string& fault : entries(variable("BERTH_FAKE_CUDA_FAULT"), ',')) {
    if (fault == wanted) return true;
  }
  return false;
}

std::size_t bytes_of(const std::string& text) {
  char* unit = nullptr;
  const std::size_t number = std::strtoull(text.c_str(), &unit, 10);
  if (*unit == 'G') return number << 30U;
  if (*unit == 'M') return number << 20U;
  return number;
}

namespace {

std::vector<Card> all_cards() {
  std::vector<Card> all;
  for (const std::string& entry : entries(variable("BERTH_FAKE_CUDA"), ';')) {
    const auto parts = entries(entry, '=');
    Card one;
    one.number = all.size();
    one.uuid = parts[0];
    if (parts.size() > 1) one.name = parts[1];
    // Little: ptx_machine runs a million instructions in some 20 ms.
    one.bytes = parts.size() > 2 ? bytes_of(parts[2]) : std::size_t{1} << 20U;
    if (parts.size() > 3) one.pci = parts[3];
    if (parts.size() > 4) {
      one.major = std::atoi(parts[4].c_str());
      one.minor = std::atoi(parts[4].c_str() + parts[4].find('.') + 1);
    }
    all.push_back(one);
  }
  if (variable("CUDA_DEVICE_ORDER") == "PCI_BUS_ID") {
    std::stable_sort(all.begin(), all.end(),
                     [](const Card& a, const Card& b) { return a.pci < b.pci; });
  }
  return all;
}

/// Where the entry of a list leads; as many as there are cards: nowhere.
std::size_t place_of(const std::string& entry, const std::vector<Card>& all) {
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) {
    std::string uuid = entry.substr(4);
    std::erase(uuid, '-');
    const auto hit = std::find_if(all.begin(), all.end(),
                                  [&](const Card& card) { return card.uuid.starts_with(uuid); });
    return static_cast<std::size_t>(hit - all.begin());
  }
  char* end = nullptr;
  const long index = std::strtol(entry.c_str(), &end, 10);
  if (end == entry.c_str() || index < 0) return all.size();
  return std::min(static_cast<std::size_t>(index), all.size());
}

/// CUDA reads the list up to the first entry that leads nowhere; one named twice leaves nothing.
std::vector<Card> shown_cards() {
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  const auto all = all_cards();
  if (list == nullptr) return all;
  std::vector<Card> shown;
  for (const std::string& entry : entries(list, ',')) {
    const std::size_t place = place_of(entry, all);
    if (place >= all.size()) break;
    for (const Card& before : shown) {
      if (before.number == all[place].number) return {};
    }
    shown.push_back(all[place]);
  }
  return shown;
}

std::vector<Card>& frozen() {
  static auto& cards = *new std::vector<Card>;
  return cards;
}
pid_t begun_by = 0;

}  // namespace

const std::vector<Card>& cards() { return frozen(); }

const Card* card(int device) {
  if (device < 0 || static_cast<std::size_t>(device) >= frozen().size()) return nullptr;
  return &frozen()[static_cast<std::size_t>(device)];
}

bool has_begun() { return begun_by == getpid(); }

int fault(const char* name) {
  const char* faults = std::getenv("BERTH_FAKE_CUDA_FAULT");
  if (faults == nullptr || *faults == '\0') return broken ? illegal_address : 0;
  const Card* here = card(current_device());
  const std::string at = here == nullptr ? "" : "@" + std::to_string(here->number);
  if (has_fault(std::string("hang:") + name) || has_fault(std::string("hang:") + name + at)) {
    for (;;) pause();
  }
  if (has_fault(std::string("crash:") + name)) std::abort();
  for (const std::string& one : entries(variable("BERTH_FAKE_CUDA_FAULT"), ',')) {
    if (one.starts_with(std::string(name) + "="))
      return std::atoi(one.c_str() + std::strlen(name) + 1);
  }
  return broken ? illegal_address : 0;
}

}  // namespace fake

using namespace fake;

namespace {

constexpr std::array<std::pair<int, const char*>, 12> error_names = {{
    // Those of cuda.h that a test may meet.
    {1, "CUDA_ERROR_INVALID_VALUE"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "CUDA_ERROR_NOT_INITIALIZED"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE"},
    {100, "CUDA_ERROR_NO_DEVICE"},
    {101, "CUDA_ERROR_INVALID_DEVICE"},
    {201, "CUDA_ERROR_INVALID_CONTEXT"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {218, "CUDA_ERROR_INVALID_PTX"},
    {500, "CUDA_ERROR_NOT_FOUND"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"},
}};

/// CUdevice_attribute of cuda.h, as an A100 answers; what is missing answers 0.
constexpr std::array<std::pair<int, int>, 24> attributes = {{
    {1, 1024},        // MAX_THREADS_PER_BLOCK
    {2, 1024},        // MAX_BLOCK_DIM_X, Y, Z
    {3, 1024},        //
    {4, 64},          //
    {5, 2147483647},  // MAX_GRID_DIM_X, Y, Z
    {6, 65535},       //
    {7, 65535},       //
    {8, 49152},       // MAX_SHARED_MEMORY_PER_BLOCK
    {10, 32},         // WARP_SIZE
    {12, 65536},      // MAX_REGISTERS_PER_BLOCK
    {13, 1410000},    // CLOCK_RATE
    {14, 512},        // TEXTURE_ALIGNMENT
    {16, 108},        // MULTIPROCESSOR_COUNT
    {31, 1},          // CONCURRENT_KERNELS
    {36, 1215000},    // MEMORY_CLOCK_RATE
    {37, 5120},       // GLOBAL_MEMORY_BUS_WIDTH
    {38, 41943040},   // L2_CACHE_SIZE
    {39, 2048},       // MAX_THREADS_PER_MULTIPROCESSOR
    {40, 3},          // ASYNC_ENGINE_COUNT
    {41, 1},          // UNIFIED_ADDRESSING
    {81, 167936},     // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    {97, 166912},     // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    {102, 1},         // VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    {115, 1},         // MEMORY_POOLS_SUPPORTED
}};

}  // namespace

extern "C" {

int cuInit(unsigned) {
  const std::string wanted = variable("BERTH_FAKE_CUDA");
  if (wanted == "hang") pause();
  if (wanted == "crash") std::abort();
  if (wanted.starts_with("error:")) return std::atoi(wanted.c_str() + 6);
  if (const int code = fault("cuInit")) return code;
  if (begun_by != 0) return has_begun() ? 0 : not_initialized;  // in a forked child
  const auto shown = shown_cards();
  if (shown.empty()) return no_device;
  frozen() = shown;
  begun_by = getpid();
  return 0;
}

int cuDriverGetVersion(int* version) {
  *version = 12040;
  return 0;
}

int cuDeviceGetCount(int* count) {
  if (!has_begun()) return not_initialized;
  *count = static_cast<int>(cards().size());
  return fault("cuDeviceGetCount");
}

int cuDeviceGet(int* device, int index) {
  if (!has_begun()) return not_initialized;
  if (card(index) == nullptr) return invalid_device;
  *device = index;
  return fault("cuDeviceGet");
}

int cuDeviceTotalMem(unsigned* bytes, int device) {
  const Card* one = card(device);
  if (one == nullptr) return invalid_device;
  *bytes = static_cast<unsigned>(std::min<std::size_t>(one->bytes, 0xFFFFFFFFU));
  return 0;
}

int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  const Card* one = card(device);
  if (one == nullptr) return invalid_device;
  for (std::size_t i = 0; i < 16; ++i) {
    uuid[i] =
        static_cast<unsigned char>(std::strtoul(one->uuid.substr(2 * i, 2).c_str(), nullptr, 16));
  }
  return fault("cuDeviceGetUuid_v2");
}

int cuDeviceGetName(char* name, int length, int device) {
  const Card* one = card(device);
  if (one == nullptr || one->name.empty()) return invalid_device;
  std::strncpy(name, one->name.c_str(), static_cast<std::size_t>(length) - 1);
  name[length - 1] = '\0';
  return 0;
}

int cuDeviceGetPCIBusId(char* address, int length, int device) {
  const Card* one = card(device);
  if (one == nullptr || one->pci.empty()) return invalid_device;
  std::strncpy(address, one->pci.c_str(), static_cast<std::size_t>(length) - 1);
  address[length - 1] = '\0';
  return 0;
}

int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  const Card* one = card(device);
  if (one == nullptr) return invalid_device;
  *bytes = one->bytes;
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const Card* one = card(device);
  if (one == nullptr) return invalid_device;
  *value = 0;
  if (attribute == 75) *value = one->major;  // COMPUTE_CAPABILITY_MAJOR, MINOR
  if (attribute == 76) *value = one->minor;
  for (const auto& [number, answer] : attributes) {
    if (number == attribute) *value = answer;
  }
  return fault("cuDeviceGetAttribute");
}

int cuDeviceCanAccessPeer(int* can, int, int) {
  *can = has_fault("no_peer") ? 0 : 1;
  return 0;
}

int cuGetErrorName(int code, const char** name) {
  *name = nullptr;
  for (const auto& [known, text] : error_names) {
    if (known == code) *name = text;
  }
  return *name == nullptr ? invalid_value : 0;
}

int cuGetErrorString(int code, const char** text) { return cuGetErrorName(code, text); }

}  // extern "C"
