#include "probe/nvml/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"

namespace berth::nvml {

namespace {

struct AnswerRow {
  Return code;
  std::string_view words;  // as nvmlErrorString of a real library puts them
  Absent why;
};

// NOT_FOUND, NO_DATA and NOT_READY are of things that may be there at the next look.
// ARGUMENT_VERSION_MISMATCH reaches a reading when the driver knows none of our struct versions.
constexpr std::array<AnswerRow, 28> rows = {{
    {success, "Success", Absent::failed},
    {uninitialized, "Uninitialized", Absent::failed},
    {invalid_argument, "Invalid Argument", Absent::failed},
    {not_supported, "Not Supported", Absent::unsupported},
    {no_permission, "Insufficient Permissions", Absent::no_permission},
    {5, "Already Initialized", Absent::failed},
    {not_found, "Not Found", Absent::not_sampled},
    {insufficient_size, "Insufficient Size", Absent::failed},
    {insufficient_power, "Insufficient External Power", Absent::failed},
    {driver_not_loaded, "Driver Not Loaded", Absent::failed},
    {timed_out, "Timeout", Absent::failed},
    {irq_issue, "Interrupt Request Issue", Absent::failed},
    {library_not_found, "NVML Shared Library Not Found", Absent::failed},
    {function_not_found, "Function Not Found", Absent::unsupported},
    {corrupted_inforom, "Corrupted infoROM", Absent::failed},
    {gpu_is_lost, "GPU is lost", Absent::failed},
    {reset_required, "GPU requires reset", Absent::failed},
    {operating_system, "GPU access blocked by the operating system", Absent::no_permission},
    {version_mismatch, "Driver/library version mismatch", Absent::failed},
    {in_use, "In use by another client", Absent::failed},
    {insufficient_memory, "Insufficient Memory", Absent::failed},
    {no_data, "No data", Absent::not_sampled},
    {23, "Insufficient resources", Absent::failed},
    {argument_version_mismatch, "Argument version mismatch", Absent::unsupported},
    {deprecated, "Deprecated", Absent::unsupported},
    {not_ready, "Not ready", Absent::not_sampled},
    {gpu_not_found, "No GPUs found", Absent::failed},
    {unknown, "Unknown Error", Absent::failed},
}};

const AnswerRow* find(Return code) {
  for (const AnswerRow& row : rows) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

struct Advice {
  Return code;
  std::string_view problem;
  std::string_view remedy;
};

constexpr std::string_view ask_admin_for_log = as_key(
    "look for NVRM and Xid lines in the kernel log (journalctl -k) and tell the administrator");

constexpr std::array<Advice, 8> source_advice = {{
    {driver_not_loaded, "driver_not_loaded",
     as_key("load the NVIDIA kernel module (sudo modprobe nvidia). Where that fails, look at "
            "`journalctl -k`: Secure Boot or a kernel update without a rebuilt module are the "
            "usual causes")},
    {version_mismatch, "version_mismatch",
     as_key("the driver was updated while the old kernel module stayed loaded. Reboot, or end all "
            "GPU programs and reload the module")},
    {no_permission, "no_permission",
     as_key(
         "this user may not open /dev/nvidiactl: compare `ls -l /dev/nvidia*` with your groups")},
    {operating_system, "no_permission",
     as_key("the devices are blocked for this process (container or cgroup): start it with access "
            "to the "
            "GPUs")},
    {gpu_is_lost, "device_lost",
     as_key("a GPU fell off the bus and takes the driver along: save work elsewhere, then reboot")},
    {insufficient_power, "no_power", as_key("connect the power cables of the card")},
    {irq_issue, "driver_failed", ask_admin_for_log},
    {gpu_not_found, "no_devices", as_key("the driver is loaded and drives no GPU: see `lspci -k`")},
}};

constexpr std::array<Advice, 5> device_advice = {{
    {gpu_is_lost, "device_lost",
     as_key("it fell off the bus: look for Xid lines in the kernel log (journalctl -k), then "
            "reboot. If it comes back, suspect power, heat or the slot")},
    {reset_required, "reset_required",
     as_key(
         "end the programs on it and reset it (sudo nvidia-smi --gpu-reset -i INDEX), or reboot")},
    {insufficient_power, "no_power", as_key("connect the power cables of the card")},
    {irq_issue, "driver_failed", ask_admin_for_log},
    {operating_system, "no_permission",
     as_key("the device is blocked for this process (container or cgroup): start it with access to "
            "it")},
}};

}  // namespace

std::string vendor_words(Return code) {
  const AnswerRow* row = find(code);
  return row == nullptr ? fmt::format("error {}", code) : std::string(row->words);
}

std::string words(Return code) {
  const AnswerRow* row = find(code);
  if (row == nullptr) return fmt::format("error {}", code);
  return fmt::format("{} ({})", row->words, code);
}

Absent why_absent(Return code) {
  const AnswerRow* row = find(code);
  return row == nullptr ? Absent::failed : row->why;
}

Absent why_absent_newcomer(Return code) {
  return code == invalid_argument ? Absent::unsupported : why_absent(code);
}

bool is_refused_for_good(Return code) {
  return code == not_supported || code == function_not_found || code == deprecated ||
         code == argument_version_mismatch;
}

bool wants_initialising(Return code) {
  return code == uninitialized || code == driver_not_loaded || code == version_mismatch;
}

void add(Problem& problem, const Sentence& more) {
  problem.message = sentence("{}; {}", problem.message, more);
}

Problem source_problem(Return code, const Sentence& attempted,
                       const std::optional<std::string>& module_version) {
  Problem problem{.source = "nvml",
                  .code = "driver_failed",
                  .message = sentence("{} failed: {}", attempted, words(code)),
                  .remedy = Sentence(ask_admin_for_log)};
  for (const Advice& advice : source_advice) {
    if (advice.code != code) continue;
    problem.code = advice.problem;
    problem.remedy = Sentence(advice.remedy);
  }
  if (module_version && (code == version_mismatch || code == driver_not_loaded)) {
    add(problem, sentence("the loaded kernel module is {}", *module_version));
  }
  return problem;
}

std::optional<Problem> device_problem(Return code, const DeviceId& device,
                                      std::string_view shown_as) {
  for (const Advice& advice : device_advice) {
    if (advice.code != code) continue;
    return Problem{.source = "nvml",
                   .device = device,
                   .code = std::string(advice.problem),
                   .message = sentence("reading {}: {}", shown_as, words(code)),
                   .remedy = Sentence(advice.remedy)};
  }
  return std::nullopt;
}

Problem failures_problem(const std::vector<std::string>& failures, const DeviceId& device,
                         std::string_view shown) {
  constexpr std::size_t most = 3;
  Sentence listed = Sentence::as_is(joined(failures | std::views::take(most), "; "));
  if (failures.size() > most) {
    listed = sentence("{}; {}", listed, sentence("and {} more", failures.size() - most));
  }
  return {.source = "nvml",
          .device = device,
          .code = "reading_failed",
          .message = sentence("reading {}: {}", shown, listed),
          .remedy = sentence("look for NVRM and Xid lines in the kernel log (journalctl -k)")};
}

Problem processes_problem(Return code, bool is_any_listed, const DeviceId& device,
                          std::string_view shown) {
  return {.source = "nvml",
          .device = device,
          .code = "processes_unreadable",
          .message = sentence("listing the processes on {}: {}", shown, words(code)),
          .remedy = is_any_listed
                        ? sentence("there may be more of them than are shown")
                        : sentence("its processes are not shown; nvidia-smi may say more")};
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.163.01  Tue …", and with the open module
// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.80  Release Build …": the first
// word after "Kernel Module" that is digits and points.
std::optional<std::string> kernel_module_version(const std::string& proc) {
  const Result<std::string> text = read_file(proc + "/driver/nvidia/version", 4096);
  if (!text) return std::nullopt;
  const std::size_t module = text->find("Kernel Module");
  if (module == std::string::npos) return std::nullopt;
  const std::string_view line = std::string_view(*text).substr(module, text->find('\n') - module);
  for (const std::string_view word : split(line, ' ')) {
    if (word.find('.') == std::string_view::npos) continue;
    if (word.find_first_not_of("0123456789.") == std::string_view::npos) return std::string(word);
  }
  return std::nullopt;
}

}  // namespace berth::nvml
