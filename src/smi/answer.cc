// One answer: the look, what must be said before anything else, and the surface asked for.

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "smi/facts.h"
#include "smi/smi.h"

namespace berth::smi {

namespace {

using What = SmiRequest::What;

constexpr int object_not_found = 6;
constexpr int no_power = 8;
constexpr int driver_not_loaded = 9;
constexpr int interrupt_issue = 10;
constexpr int library_not_found = 12;
constexpr int inforom_corrupted = 14;
constexpr int device_lost = 15;
constexpr int version_mismatch = 18;
constexpr int other_failure = 255;

/// Why no device can be shown, as nvidia-smi says it.
std::optional<Output> failure_of(const Snapshot& snapshot) {
  for (const Problem& problem : snapshot.problems) {
    const bool of_all = problem.source == "nvml" || problem.source == "probe";
    if (!of_all || problem.device) continue;
    if (problem.code == "library_not_found") {
      return Output{
          "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make "
          "sure that the NVIDIA Display Driver is properly installed and present in your "
          "system.\nPlease also try adding directory that contains libnvidia-ml.so to "
          "your system PATH.\n",
          library_not_found};
    }
    if (problem.code == "version_mismatch") {
      return Output{"Failed to initialize NVML: Driver/library version mismatch\n" +
                        printable(problem.message.english()) + "\n",
                    version_mismatch};
    }
    if (problem.code == "driver_not_loaded") {
      return Output{
          "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
          "Make sure that the latest NVIDIA driver is installed and running.\n\n",
          driver_not_loaded};
    }
    // No driver was asked: a file to be replayed cannot be read.
    if (problem.code == "look_failed")
      return Output{printable(problem.message.english()) + "\n", other_failure};
    return Output{"Failed to initialize NVML: " + printable(problem.message.english()) + "\n",
                  other_failure};
  }
  return std::nullopt;
}

int code_of(const Problem& problem, const Device& device) {
  const bool refused =
      !device.memory_total.get() && device.memory_total.why() == Absent::no_permission;
  if (problem.code == "no_permission" || refused) return not_permitted;
  if (problem.code == "no_power") return no_power;
  if (problem.code == "driver_failed") return interrupt_issue;
  return other_failure;
}

/// A card that does not answer, or not until it is reset. Its cells say so, and the exit code, for
/// callers who look at that alone. One reading that fails shows in its cell only.
void note_silent(const Snapshot& snapshot, const std::vector<const Device*>& devices,
                 Output& output) {
  const auto end_with = [&](int code) {
    if (output.code == 0) output.code = code;
  };
  for (const Device* device : devices) {
    if (is_lost_without_handle(*device)) end_with(device_lost);
    if (device->lost || device->unusable_because.empty()) continue;
    for (const Problem& problem : snapshot.problems) {
      if (problem.source != "nvml" || problem.device != device->id) continue;
      output.silent.push_back(problem);
      end_with(code_of(problem, *device));
    }
  }
}

/// Below the table alone: only for it nvidia-smi validates the infoROM. Its -q -x ends with 0 for
/// such a card (microsoft/pai#3756).
void warn_of_inforom(const std::vector<const Device*>& devices, Output& output) {
  for (const Device* device : devices) {
    if (device->details.get<bool>(Detail::inforom_valid).get() != false) continue;
    const std::string address = bus_id(*device);
    output.text += fmt::format("WARNING: infoROM is corrupted at gpu {}\n",
                               address.size() > 4 ? address.substr(4) : address);
    if (output.code == 0) output.code = inforom_corrupted;
  }
}

/// Whether the answer is about devices: one that is about the driver does not depend on their
/// state.
bool shows_devices(What what) { return what != What::version && what != What::excluded; }

Output surface(const Snapshot& snapshot, const SmiRequest& request, Clockface clockface,
               std::uint64_t tick, const Snapshot* before) {
  switch (request.what) {
    case What::table:
      return {.text = render_table(snapshot, request, clockface)};
    case What::list:
      return {.text = render_list(snapshot, request)};
    case What::excluded:
      return render_excluded(snapshot);
    case What::query:
      if (request.form == SmiRequest::Form::xml) {
        return {.text = render_xml(snapshot, request, clockface)};
      }
      if (request.form == SmiRequest::Form::json) {
        return {.text = render_json(snapshot, request, clockface)};
      }
      return {.text = render_query(snapshot, request, clockface)};
    case What::query_gpu:
    case What::query_compute_apps:
    case What::query_accounted_apps:
    case What::query_retired_pages:
    case What::query_remapped_rows:
    case What::query_supported_clocks:
      return render_csv(snapshot, request, clockface);
    case What::topology:
      return render_topology(snapshot, request);
    case What::nvlink:
      return render_nvlink(snapshot, request);
    case What::dmon:
      return render_dmon(snapshot, request, clockface, tick, before);
    case What::pmon:
      return render_pmon(snapshot, request, clockface, tick);
    case What::version:
      return {.text = render_version(snapshot)};
    case What::text:
      return request.said;
  }
  return request.said;
}

}  // namespace

Output answer(const SmiRequest& request, Source& source, Clockface clockface, std::uint64_t tick) {
  if (!request.help_of.empty()) return help_query(request.help_of);
  if (request.what == What::text) return request.said;
  SmiRequest later = request;
  if (tick > 0) later.header = false;
  const Snapshot snapshot = source.look(wanted_by(request));
  if (gpus(snapshot, {}).empty()) {
    if (auto failure = failure_of(snapshot)) return *failure;
    if (shows_devices(request.what)) {
      return {.text = "No devices were found\n", .code = object_not_found};
    }
  }
  const auto devices = chosen(snapshot, request.devices);
  if (!devices) return {.text = "No devices were found\n", .code = object_not_found};
  Output output = surface(snapshot, later, clockface, tick, source.round_before());
  if (shows_devices(request.what)) note_silent(snapshot, *devices, output);
  if (request.what == What::table) warn_of_inforom(*devices, output);
  if (request.what == What::dmon) source.keep_round(snapshot);
  return output;
}

Output run(const std::vector<std::string>& argv, Source& source, Clockface clockface) {
  return answer(parse(argv), source, clockface);
}

std::string printable_answer(std::string_view text, const SmiRequest& request) {
  if (request.form == SmiRequest::Form::json && text.starts_with('{')) return printable_json(text);
  constexpr std::string_view underlined = "\t\x1b[4m";
  if (request.what != SmiRequest::What::topology || !text.starts_with(underlined)) {
    return printable_lines(text);
  }
  // The heading is the first line, and has no stranger's text.
  const std::size_t heading = std::min(text.find('\n'), text.size());
  return std::string(text.substr(0, heading)) + printable_lines(text.substr(heading));
}

}  // namespace berth::smi
