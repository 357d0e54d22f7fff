#include "probe/nvml/nvml_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/fd.h"
#include "base/sentence.h"
#include "base/text.h"
#include "probe/device_source.h"
#include "probe/nvml/device_details.h"
#include "probe/nvml/device_mig.h"
#include "probe/nvml/device_processes.h"
#include "probe/nvml/device_reading.h"
#include "probe/nvml/events.h"
#include "probe/pci/parse.h"
#include "snapshot/questions.h"

namespace berth {

using namespace nvml;

struct NvmlProbe::Parts {
  NvmlSource source;
  std::optional<Api> given;  // by a test, instead of a library
  std::optional<Library> library;
  bool initialised = false;
  bool stale = false;  // some answer said that the library must be initialised again
  /// The last answer. Asked once: NVML loads CUDA's own library to tell it, each time.
  Reading<std::string> cuda_version;
  std::vector<DeviceMemory> devices;
  EventWatch events;
  OnAnswer on_answer;

  [[nodiscard]] const Api& api() const { return given ? *given : library->api(); }

  std::optional<Problem> load();
  std::optional<Problem> initialise();
  std::expected<int, Return> count() const;
  void close();
  void identify(int index, DeviceAsker& asker);
  void read_missing_facts(DeviceAsker& asker, DeviceMemory& memory);
  std::expected<Handle, Return> handle_of(int index);
  [[nodiscard]] std::optional<std::string> address_by_place(int index) const;
  [[nodiscard]] DeviceId unused_id(int index, const Device& device) const;
  [[nodiscard]] Device row_without_handle(int index) const;
};

namespace {

constexpr std::size_t most_devices = 1024;

/// The driver version in an NVML version: "13.595.80" is 595.80.
std::string driver_part(const std::string& nvml_version) {
  const std::size_t point = nvml_version.find('.');
  return point == std::string::npos ? nvml_version : nvml_version.substr(point + 1);
}

Reading<std::string> system_text(const Function<char*, unsigned>& function) {
  if (function.call == nullptr) return Absent::unsupported;
  char buffer[text_size] = {};
  const Return code = function.call(buffer, text_size);
  if (code != success) return why_absent(code);
  buffer[text_size - 1] = '\0';
  return std::string(buffer);
}

template <std::size_t size>
std::string text_in(char (&buffer)[size]) {
  buffer[size - 1] = '\0';
  return buffer;
}

Reading<std::vector<ExcludedDevice>> excluded_devices(const Api& api) {
  const auto& count_of = api.nvmlGetExcludedDeviceCount;
  const auto& info_of = api.nvmlGetExcludedDeviceInfoByIndex;
  if (count_of.call == nullptr || info_of.call == nullptr) return Absent::unsupported;
  unsigned count = 0;
  if (const Return code = count_of.call(&count); code != success) return why_absent(code);
  std::vector<ExcludedDevice> excluded;
  for (unsigned i = 0; i < count && i < most_devices; ++i) {
    ExcludedDeviceInfo info{};
    if (const Return code = info_of.call(i, &info); code != success) return why_absent(code);
    const std::string place = text_in(info.place.bus_id);
    excluded.push_back(
        {.pci_address = normal_pci_address(place).value_or(place), .uuid = text_in(info.uuid)});
  }
  return excluded;
}

/// NVML's number for CUDA 12.4 is 12040.
Reading<std::string> cuda_version(const Api& api) {
  const auto& newest = api.nvmlSystemGetCudaDriverVersion_v2;
  const auto& function = newest.call != nullptr ? newest : api.nvmlSystemGetCudaDriverVersion;
  int version = 0;
  if (function.call == nullptr) return Absent::unsupported;
  const Return code = function.call(&version);
  if (code != success) return why_absent(code);
  if (version <= 0) return Absent::failed;
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Problem load_problem(const LoadFailure& failure, const std::optional<std::string>& module,
                     std::string_view maker) {
  Problem problem{
      .source = "nvml",
      .code = failure.absent ? "library_not_found" : "library_unusable",
      .message = sentence("loading {}'s management library: {}", maker, failure.message),
      .remedy = sentence("install the {} driver, its libraries included", maker)};
  if (module) {
    add(problem, sentence("the loaded kernel module is {}", *module));
    problem.remedy = sentence(
        "install the driver's libraries of the same version as the kernel module. In a container, "
        "start it with the NVIDIA runtime and NVIDIA_DRIVER_CAPABILITIES=compute,utility");
  }
  return problem;
}

/// The device as one that cannot be used or read: facts stay, readings go.
Device lost_device(const Device& facts, const Wanted& wanted) {
  Device device = only_facts(facts, Absent::failed);
  if (wanted.has_details()) device.details = failed_details();
  if (wanted.has_lists()) device.lists = failed_lists();
  device.lost = true;
  device.unusable_because = WhyUnusable(as_key("it fell off the bus"));
  return device;
}

void add_problems(const DeviceAsker& asker, const Device& device, const std::string& shown,
                  std::vector<Problem>& problems) {
  if (const auto verdict = device_problem(asker.verdict(), device.id, shown)) {
    problems.push_back(*verdict);
  } else if (!asker.failures().empty()) {
    problems.push_back(failures_problem(asker.failures(), device.id, shown));
  }
}

/// The processes of a GPU, by itself or, where it does not tell, by its instances.
std::vector<GpuProcess> processes_of(DeviceAsker& asker, WallTime taken, DeviceMemory& memory,
                                     DeviceLook& look, const std::string& shown) {
  const bool wanted = asker.wants(Extra::processes);
  ProcessList listed = wanted ? read_processes(asker) : ProcessList{};
  bool by_instance = false;
  if (asker.wants(Extra::instances) && division_of(look.devices.front()) == Division::divided) {
    ProcessList by_instances;
    auto instances = read_mig_instances(asker, look.devices.front(), memory,
                                        listed.unread ? &by_instances : nullptr);
    for (Device& instance : instances) look.devices.push_back(std::move(instance));
    const bool is_more = by_instances.processes.size() > listed.processes.size();
    by_instance = listed.unread && (is_more || !by_instances.unread);
    if (by_instance) {
      if (!by_instances.unread) listed.unread.reset();
      listed.processes = std::move(by_instances.processes);
    }
  }
  if (!wanted) return {};
  std::vector<GpuProcess>& processes = listed.processes;
  if (listed.unread && !is_refused_for_good(*listed.unread) && !asker.is_lost()) {
    look.problems.push_back(
        processes_problem(*listed.unread, !processes.empty(), look.devices.front().id, shown));
  }
  attribute_processes(look.devices, processes);
  leave_out_impossible_memory(look.devices.front(), processes);
  for (Device& device : look.devices) {
    if (listed.unread) {
      const Absent why = why_absent(*listed.unread);
      device.process_count = why == Absent::not_sampled ? Absent::failed : why;
    } else if (device.parent && !device.partition && !by_instance) {
      device.process_count = Absent::failed;  // the driver's list names instances by their place
    } else {
      device.process_count = static_cast<std::uint64_t>(
          std::count_if(processes.begin(), processes.end(),
                        [&](const GpuProcess& process) { return process.device == device.id; }));
    }
  }
  if (asker.wants(Extra::process_load)) {
    read_process_utilization(asker, taken, memory, processes);
  }
  return std::move(processes);
}

}  // namespace

std::optional<Problem> NvmlProbe::Parts::load() {
  if (given || library) return std::nullopt;
  auto opened = Library::open(source.library);
  if (!opened) {
    return load_problem(opened.error(), kernel_module_version(source.proc), source.maker);
  }
  library.emplace(std::move(*opened));
  const bool complete =
      (api().nvmlInit_v2.call || api().nvmlInit.call) &&
      (api().nvmlDeviceGetCount_v2.call || api().nvmlDeviceGetCount.call) &&
      (api().nvmlDeviceGetHandleByIndex_v2.call || api().nvmlDeviceGetHandleByIndex.call);
  if (complete) return std::nullopt;
  library.reset();
  return load_problem(
      {.message = sentence("{}: it lacks NVML's first functions (nvmlInit, nvmlDeviceGetCount)",
                           source.library)},
      std::nullopt, source.maker);
}

std::optional<Problem> NvmlProbe::Parts::initialise() {
  const auto& newest = api().nvmlInit_v2;
  const auto& function = newest.call != nullptr ? newest : api().nvmlInit;
  const Return code = function.call();
  if (code == success) {
    initialised = true;
    return std::nullopt;
  }
  Problem problem =
      source_problem(code, sentence("initialising the {} driver's library", source.maker),
                     kernel_module_version(source.proc));
  // Needs no initialised library, and is then the only thing that tells the library's version.
  const auto own = system_text(api().nvmlSystemGetNVMLVersion);
  if (code == version_mismatch && own.get()) {
    add(problem, sentence("the library is {}", driver_part(*own.get())));
  }
  close();
  return problem;
}

std::expected<int, Return> NvmlProbe::Parts::count() const {
  const auto& newest = api().nvmlDeviceGetCount_v2;
  const auto& function = newest.call != nullptr ? newest : api().nvmlDeviceGetCount;
  unsigned found = 0;
  const Return code = function.call(&found);
  if (code != success) return std::unexpected(code);
  return static_cast<int>(std::min<std::size_t>(found, most_devices));
}

// A reloaded driver may be another version, so the library is opened anew too.
void NvmlProbe::Parts::close() {
  if (initialised) events.close(api());
  devices.clear();  // gives back what the library allocated for them
  if (initialised && api().nvmlShutdown.call != nullptr) api().nvmlShutdown.call();
  initialised = stale = false;
  cuda_version = Absent::not_sampled;
  library.reset();
}

std::expected<Handle, Return> NvmlProbe::Parts::handle_of(int index) {
  DeviceMemory& memory = devices[static_cast<std::size_t>(index)];
  if (memory.handle != nullptr) return memory.handle;
  const auto& newest = api().nvmlDeviceGetHandleByIndex_v2;
  const auto& function = newest.call != nullptr ? newest : api().nvmlDeviceGetHandleByIndex;
  Handle handle = nullptr;
  const Return code = function.call(static_cast<unsigned>(index), &handle);
  if (wants_initialising(code)) stale = true;
  if (code != success) return std::unexpected(code);
  return memory.handle = handle;
}

// The driver numbers its devices in the order of their PCI addresses. The place in the directory is
// believed only under two conditions: it has as many devices as the driver counts, and the other
// known devices stand at their own places. In a container it may list more.
std::optional<std::string> NvmlProbe::Parts::address_by_place(int index) const {
  const auto names = list_directory(source.proc + "/driver/nvidia/gpus");
  if (!names || names->size() != devices.size()) return std::nullopt;
  std::vector<std::string> addresses;
  for (const std::string& name : *names) {
    const std::size_t colon = name.find(':');
    if (colon == std::string::npos || colon > 8) return std::nullopt;
    addresses.push_back(std::string(8 - colon, '0') + name);
  }
  std::sort(addresses.begin(), addresses.end());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const auto& known = devices[i].facts.pci_address;
    if (known.get() && *known.get() != addresses[i]) return std::nullopt;
  }
  return addresses[static_cast<std::size_t>(index)];
}

DeviceId NvmlProbe::Parts::unused_id(int index, const Device& device) const {
  const auto is_free = [&](const std::string& id) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (static_cast<int>(i) != index && devices[i].facts.id.text() == id) return false;
    }
    return true;
  };
  const std::string& earlier = device.id.text();
  if (device.uuid.get() && is_free(*device.uuid.get())) return DeviceId(*device.uuid.get());
  if (!earlier.empty()) return device.id;
  if (device.pci_address.get() && is_free(*device.pci_address.get())) {
    return DeviceId(*device.pci_address.get());
  }
  return DeviceId(fmt::format("nvml-index-{}", index));
}

Device NvmlProbe::Parts::row_without_handle(int index) const {
  // A probe process that was given no time to open the library remembers nobody.
  const auto at = static_cast<std::size_t>(index);
  Device device = at < devices.size() ? devices[at].facts : Device{};
  device.kind = DeviceKind::nvidia_gpu;
  device.index = index;
  if (!device.pci_address.get()) {
    if (auto address = address_by_place(index)) device.pci_address = std::move(*address);
  }
  device.id = unused_id(index, device);
  return only_facts(device, Absent::failed);
}

void NvmlProbe::Parts::identify(int index, DeviceAsker& asker) {
  DeviceMemory& memory = devices[static_cast<std::size_t>(index)];
  const Wanted missing = asker.wanted().without(memory.identity_known);
  if (!missing.has<&Device::uuid, &Device::name, &Device::pci_address, &Device::pci_id,
                   &Device::minor_number, &Device::compute_capability>()) {
    return;
  }
  Device fresh = memory.facts;
  fresh.kind = DeviceKind::nvidia_gpu;
  fresh.index = index;
  read_identity(asker, missing, fresh);
  if (asker.failures().empty() && !asker.is_lost()) memory.identity_known.add(asker.wanted());
  if (!fresh.pci_address.get()) {
    if (auto address = address_by_place(index)) fresh.pci_address = std::move(*address);
  }
  fresh.id = unused_id(index, fresh);
  memory.facts = std::move(fresh);
}

void NvmlProbe::Parts::read_missing_facts(DeviceAsker& asker, DeviceMemory& memory) {
  const std::size_t failed_before = asker.failures().size();
  read_facts(asker, asker.wanted().without(memory.facts_known), memory.facts);
  if (asker.failures().size() == failed_before && !asker.is_lost()) {
    memory.facts_known.add(asker.wanted());
  }
}

NvmlProbe::NvmlProbe(NvmlSource source) : parts_(std::make_unique<Parts>()) {
  parts_->source = std::move(source);
}

NvmlProbe::NvmlProbe(const Api& api, NvmlSource source) : NvmlProbe(std::move(source)) {
  parts_->given = api;
}

NvmlProbe::~NvmlProbe() { parts_->close(); }

void NvmlProbe::on_answer(std::function<void()> act) { parts_->on_answer = std::move(act); }

bool NvmlProbe::is_asleep() const {
  return !is_open() && are_all_suspended("nvidia", parts_->source.sys);  // open keeps them awake
}

std::expected<int, Problem> NvmlProbe::open() {
  if (parts_->initialised && !parts_->stale) {
    if (const auto count = parts_->count()) {
      if (parts_->devices.size() != static_cast<std::size_t>(*count)) {
        parts_->events.close(parts_->api());
        parts_->devices.clear();
      }
      parts_->devices.resize(static_cast<std::size_t>(*count));
      return *count;
    }
  }
  parts_->close();
  if (auto problem = parts_->load()) return std::unexpected(std::move(*problem));
  if (auto problem = parts_->initialise()) return std::unexpected(std::move(*problem));
  const auto count = parts_->count();
  if (!count) {
    Problem problem =
        source_problem(count.error(), sentence("counting the {} devices", parts_->source.maker),
                       kernel_module_version(parts_->source.proc));
    parts_->close();
    return std::unexpected(std::move(problem));
  }
  parts_->devices.resize(static_cast<std::size_t>(*count));
  return *count;
}

void NvmlProbe::observe_host(Host& host, const Wanted& wanted, std::vector<Problem>& problems) {
  VendorSoftware& software = host.software_of(Runtime::cuda);
  if (!is_open()) {
    software.driver = software.library = software.runtime = Absent::failed;
    host.excluded_devices = Absent::failed;
    return;
  }
  const Api& api = parts_->api();
  if (wanted.has(Extra::driver_version)) {
    software.driver = system_text(api.nvmlSystemGetDriverVersion);
  }
  if (wanted.has(Extra::runtime_version)) {
    if (!parts_->cuda_version.get()) parts_->cuda_version = cuda_version(api);
    software.runtime = parts_->cuda_version;
  }
  if (wanted.has(Extra::excluded_devices)) host.excluded_devices = excluded_devices(api);
  if (!wanted.has(Extra::library_version)) return;
  software.library = system_text(api.nvmlSystemGetNVMLVersion);
  const auto module = kernel_module_version(parts_->source.proc);
  if (!module || !software.library.get()) return;
  const std::string library = driver_part(*software.library.get());
  if (library == *module) return;
  problems.push_back(
      {.source = "nvml",
       .code = "version_mismatch",
       .message = sentence("the loaded kernel module is {}, the library is {}", *module, library),
       .remedy =
           sentence("programs started from now on may not find the GPUs: reboot, or end all GPU "
                    "programs and reload the module")});
}

void NvmlProbe::wake_device(int index) { static_cast<void>(parts_->handle_of(index)); }

Device NvmlProbe::identify_device(int index, const Wanted& wanted) {
  const auto handle = parts_->handle_of(index);
  if (!handle) return parts_->row_without_handle(index);
  DeviceMemory& memory = parts_->devices[static_cast<std::size_t>(index)];
  const Wanted asked = with_sources(wanted);
  DeviceAsker asker(parts_->api(), *handle, memory.refusals, asked, parts_->on_answer);
  parts_->identify(index, asker);
  parts_->stale |= asker.wants_initialising();
  return memory.facts;
}

DeviceLook NvmlProbe::observe_device(int index, const Wanted& wanted, WallTime taken) {
  DeviceLook look;
  const auto handle = parts_->handle_of(index);
  if (!handle) {
    Device device = parts_->row_without_handle(index);
    const std::string shown = shown_as(index, device);
    const Return code = handle.error();
    device =
        code == gpu_is_lost ? lost_device(device, wanted) : only_facts(device, why_absent(code));
    if (code == reset_required) {
      device.unusable_because = Unusable::must_be_reset;
    } else if (code != gpu_is_lost) {
      device.unusable_because =
          WhyUnusable(sentence("the driver gives no access to it: {}", words(code)));
    }
    look.problems.push_back(device_problem(code, device.id, shown)
                                .value_or(failures_problem({words(code)}, device.id, shown)));
    look.devices.push_back(std::move(device));
    return look;
  }
  DeviceMemory& memory = parts_->devices[static_cast<std::size_t>(index)];
  if (++memory.looks % DeviceMemory::looks_between_refusals == 0) memory.forget_refusals();
  const Wanted asked = with_sources(wanted);
  DeviceAsker asker(parts_->api(), *handle, memory.refusals, asked, parts_->on_answer);
  parts_->identify(index, asker);
  if (asked.has<&Device::mig_mode>() &&
      memory.mig_mode != std::exchange(memory.mig_mode, read_mig_mode(asker))) {
    memory.forget_refusals();
  }
  parts_->read_missing_facts(asker, memory);
  look.devices.push_back(memory.facts);
  const std::string shown = shown_as(index, memory.facts);
  read_state(asker, taken, memory, look.devices.front());
  if (asked.has_details()) read_details(asker, taken, memory, look.devices.front());
  if (asked.has_lists()) read_lists(asker, look.devices.front().lists);
  look.processes = processes_of(asker, taken, memory, look, shown);
  if (asker.is_lost()) {
    look.devices = {lost_device(memory.facts, wanted)};
    look.processes.clear();
  } else if (asker.verdict() == reset_required) {
    look.devices.front().unusable_because = Unusable::must_be_reset;
  }
  add_problems(asker, look.devices.front(), shown, look.problems);
  parts_->stale |= asker.wants_initialising();
  return look;
}

Reading<std::vector<XidEvent>> NvmlProbe::new_events(WallTime taken) {
  std::vector<EventSource> sources;
  // One that hung was not asked in this process: it is left alone.
  for (const DeviceMemory& memory : parts_->devices) {
    const auto& address = memory.facts.pci_address.get();
    if (memory.handle != nullptr && address) sources.push_back({memory.handle, *address});
  }
  auto told = parts_->events.news(parts_->api(), sources, taken);
  parts_->stale |= parts_->events.wants_initialising();
  return told;
}

bool NvmlProbe::is_open() const { return parts_->initialised; }

Device NvmlProbe::skipped_device(int index) const { return parts_->row_without_handle(index); }

}  // namespace berth
