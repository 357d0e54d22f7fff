#include "machine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "base/fd.h"
#include "base/text.h"
#include "snapshot/json.h"

namespace fake_nvml {

namespace {

struct State {
  int initialisations = 0;
  std::string read_from;  // the text of the snapshot below
  berth::Snapshot snapshot;
  std::vector<std::unique_ptr<FakeDevice>> devices;
  std::vector<FakeDevice*> gpus;
  /// Machines played before. They are kept, so that no old handle is ever a new device's address.
  std::vector<std::unique_ptr<FakeDevice>> gone;
  std::chrono::steady_clock::time_point started;
};

State& state() {
  static State the_state;
  return the_state;
}

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// BERTH_FAKE_NVML_FAULTS holds the faults, read at each initialisation. Or it is "@FILE": the file
// is read at every call, so that a test can change its mind.
const std::vector<Fault>& current_faults() {
  static std::vector<Fault> faults;
  static std::string text;
  if (!is_initialised()) {
    text = setting("BERTH_FAKE_NVML_FAULTS");
    if (!text.starts_with('@')) faults = parse_faults(text);
  }
  if (text.starts_with('@')) {
    const auto file = berth::read_file(text.substr(1));
    faults = parse_faults(file ? *file : std::string());
  }
  return faults;
}

/// A GPU keeps its handle while its driver stays loaded, whatever becomes of its instances.
std::unique_ptr<FakeDevice> device_for(State& s, const berth::Device& device) {
  for (auto& known : s.gone) {
    if (known == nullptr || known->parent != nullptr || known->data.id != device.id) continue;
    auto same = std::move(known);
    *same = FakeDevice{};
    return same;
  }
  return std::make_unique<FakeDevice>();
}

// BERTH_FAKE_NVML_FILES=1: a card whose /dev/nvidiaN this process may not open is passed over. The
// others are counted without it, as driver 580.159.04 does (seen on an H100).
bool is_passed_over(const berth::Device& device) {
  if (setting("BERTH_FAKE_NVML_FILES") != "1" || !device.minor_number.get()) return false;
  const std::string path = "/dev/nvidia" + std::to_string(*device.minor_number.get());
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file >= 0) ::close(file);
  return file < 0;
}

void add_devices(State& s) {
  for (const berth::Device& device : s.snapshot.devices) {
    const bool instance = device.kind == berth::DeviceKind::nvidia_mig;
    if (device.kind != berth::DeviceKind::nvidia_gpu && !instance) continue;
    if (is_passed_over(device)) continue;
    auto fake = device_for(s, device);
    fake->data = device;
    if (!instance) {
      fake->index = static_cast<unsigned>(s.gpus.size());
      fake->label = std::to_string(fake->index);
      s.gpus.push_back(fake.get());
    }
    s.devices.push_back(std::move(fake));
  }
  for (const auto& device : s.devices) {
    for (FakeDevice* gpu : s.gpus) {
      if (!device->data.parent || gpu->data.id != *device->data.parent) continue;
      device->parent = gpu;
      device->label = gpu->label + "." + std::to_string(gpu->instances.size());
      gpu->instances.push_back(device.get());
    }
  }
}

void add_processes(State& s) {
  for (const berth::GpuProcess& process : s.snapshot.gpu_processes) {
    for (const auto& device : s.devices) {
      if (device->data.id != process.device) continue;
      berth::GpuProcess placed = process;
      if (!placed.partition) placed.partition = device->data.partition;
      device->processes.push_back(placed);
      if (device->parent != nullptr) device->parent->processes.push_back(placed);
    }
  }
}

Return load(State& s) {
  const std::string path = setting("BERTH_FAKE_NVML");
  const auto text = path.empty() ? berth::Result<std::string>("{}")  // a machine without devices
                                 : berth::read_file(path, 64 << 20);
  if (text && *text == s.read_from) return success;
  for (auto& device : s.devices) s.gone.push_back(std::move(device));
  s.devices.clear();
  s.gpus.clear();
  s.read_from.clear();
  auto read = text ? berth::snapshot_from_json(*text)
                   : berth::Result<berth::Snapshot>(std::unexpected(text.error()));
  if (!read) {
    std::fprintf(stderr, "fake NVML: %s: %s\n", path.c_str(), read.error().message().c_str());
    return unknown;
  }
  s.snapshot = std::move(*read);
  s.read_from = *text;
  add_devices(s);
  add_processes(s);
  return success;
}

}  // namespace

// BERTH_FAKE_NVML_LIVE=1: changes in the file change the running machine, as when MIG is set up
// anew. Else the file is read when the driver is initialised.
void follow_changes() {
  if (is_initialised() && setting("BERTH_FAKE_NVML_LIVE") == "1") load(state());
}

Return initialise() {
  State& s = state();
  if (s.initialisations == 0) {
    const Return loaded = load(s);
    if (loaded != success) return loaded;
    s.started = std::chrono::steady_clock::now();
  }
  ++s.initialisations;
  return success;
}

Return shut_down() {
  if (state().initialisations == 0) return uninitialized;
  --state().initialisations;
  return success;
}

bool is_initialised() { return state().initialisations > 0; }
const berth::Snapshot& snapshot() { return state().snapshot; }
const std::vector<FakeDevice*>& gpus() { return state().gpus; }

const FakeDevice* device_of(Handle handle) {
  for (const auto& device : state().devices) {
    if (handle_of(*device) == handle) return device.get();
  }
  return nullptr;
}

Handle handle_of(const FakeDevice& device) {
  return reinterpret_cast<Handle>(const_cast<FakeDevice*>(&device));
}

// BERTH_FAKE_NVML_NOW_MS stops the fake's clock at a calendar time, for tests that compare ages.
std::uint64_t now_us() {
  if (const auto fixed = berth::parse_unsigned(setting("BERTH_FAKE_NVML_NOW_MS"))) {
    return *fixed * 1000;
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

double seconds_moved() {
  if (setting("BERTH_FAKE_NVML_MOVE") != "1") return 0;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - state().started).count();
}

bool five_member_processes() { return setting("BERTH_FAKE_NVML_PROCESS_LAYOUT") == "535"; }

Return code_of(berth::Absent why) {
  switch (why) {
    case berth::Absent::unsupported:
    case berth::Absent::not_sampled:
      return not_supported;
    case berth::Absent::no_permission:
      return no_permission;
    case berth::Absent::failed:
      return unknown;
  }
  return unknown;
}

namespace {
// BERTH_FAKE_NVML_CALLS=FILE: each call is a line there, "nvmlDeviceGetName 3".
void log_call(const char* function, const std::string& device) {
  const std::string path = setting("BERTH_FAKE_NVML_CALLS");
  if (path.empty()) return;
  const int log = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (log < 0) return;
  const std::string line = std::string(function) + " " + device + "\n";
  if (::write(log, line.data(), line.size()) < 0) std::perror(path.c_str());
  ::close(log);
}
}  // namespace

Call::Call(const char* function, const std::string& device) {
  log_call(function, device);
  const Fault* fault = find_fault(current_faults(), function, device);
  if (fault == nullptr) return;
  if (const auto* code = std::get_if<int>(&fault->what)) ended_ = *code;
  if (const auto* lie = std::get_if<Lie>(&fault->what)) lie_ = lie->value;
  if (const auto* sleep = std::get_if<Sleep>(&fault->what)) {
    std::this_thread::sleep_for(sleep->how_long);
  }
  while (std::holds_alternative<Hang>(fault->what)) pause();
}

Return Call::put_text(char* out, unsigned length,
                      const berth::Reading<std::string>& reading) const {
  if (out == nullptr || length == 0) return invalid_argument;
  if (!reading.get() && !lie_) return code_of(reading.why());
  const std::string& text = lie_ ? *lie_ : *reading.get();
  if (text.size() + 1 > length) return insufficient_size;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return success;
}

}  // namespace fake_nvml
