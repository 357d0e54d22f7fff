// Variables that slow programs down or lead them astray.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnose/doctor/doctor.h"

namespace berth::doctor {

namespace {

Findings nccl_slow_settings(const Examined& host) {
  std::vector<Sentence> slow;
  const bool several = working_gpus(host).size() > 1;
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"}) {
    const auto value = host.facts.variable(name);
    // Without InfiniBand nothing is lost by doing without.
    const bool has_ib = std::ranges::any_of(
        host.facts.interfaces, [](const std::string& one) { return one.starts_with("ib"); });
    if (std::string_view(name) == "NCCL_IB_DISABLE" && !has_ib) continue;
    if (value && *value == "1" && several) slow.push_back(sentence("{}={}", name, *value));
  }
  if (slow.empty()) return {};
  return {
      {.rule = "nccl_slow_settings",
       .severity = Severity::hint,
       .title = sentence("NCCL may not use its fast ways"),
       .evidence = std::move(slow),
       .meaning = sentence("Set to get past a fault, these make every exchange between GPUs slower "
                           "for good."),
       .steps =
           {{sentence("see whether it works without; NCCL then says which way it takes"),
             "env -u NCCL_P2P_DISABLE -u NCCL_SHM_DISABLE -u NCCL_IB_DISABLE NCCL_DEBUG=INFO …"}},
       .doubt = sentence("there may be a good reason on this machine")}};
}

/// The interfaces that NCCL_SOCKET_IFNAME allows: "^lo" all but, "=eth0" exactly, "eth" beginnings.
bool names_an_interface(std::string_view value, const std::vector<std::string>& interfaces) {
  if (value.starts_with('^')) return true;
  const bool exact = value.starts_with('=');
  if (exact) value.remove_prefix(1);
  for (const std::string_view whole : split(value, ',')) {
    const std::string_view wanted = trimmed(whole.substr(0, whole.find(':')));
    for (const std::string& one : interfaces) {
      if (exact ? one == wanted : one.starts_with(wanted)) return true;
    }
  }
  return false;
}

Findings nccl_interface_missing(const Examined& host) {
  const auto interface = host.facts.variable("NCCL_SOCKET_IFNAME");
  if (!interface || interface->empty() || host.facts.interfaces.empty() ||
      names_an_interface(*interface, host.facts.interfaces)) {
    return {};
  }
  return {{.rule = "nccl_interface_missing",
           .severity = Severity::error,
           .title = sentence("NCCL is told to use a network interface that is not there"),
           .evidence = {sentence("NCCL_SOCKET_IFNAME={}", *interface)},
           .meaning = sentence("It fails with \"no socket interface found\"."),
           .steps = {{sentence("see what there is"), "ip -br link"}}}};
}

struct OldName {
  std::string_view old;
  std::string_view now;
};

// torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp since 2.2: the old names are still read, with a
// warning.
constexpr std::array<OldName, 4> old_names = {{
    {"NCCL_BLOCKING_WAIT", "TORCH_NCCL_BLOCKING_WAIT"},
    {"NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ASYNC_ERROR_HANDLING"},
    {"NCCL_DESYNC_DEBUG", "TORCH_NCCL_DESYNC_DEBUG"},
    {"NCCL_ENABLE_TIMING", "TORCH_NCCL_ENABLE_TIMING"},
}};

Findings nccl_old_names(const Examined& host) {
  std::vector<Sentence> evidence;
  std::string command;
  for (const OldName& one : old_names) {
    if (!host.facts.variable(one.old) || host.facts.variable(one.now)) continue;
    evidence.push_back(sentence("{} is called {} now", one.old, one.now));
    if (!command.empty()) command += " && ";
    command += fmt::format("export {}=\"${}\" && unset {}", one.now, one.old, one.old);
  }
  const FrameworkBuild* torch = host.facts.python->framework("torch");
  const auto release = torch != nullptr ? two_part(torch->version) : std::nullopt;
  if (evidence.empty() || !release || *release < TwoPart{2, 2}) return {};
  return {{.rule = "nccl_old_names",
           .severity = Severity::hint,
           .title = sentence("variables with names that PyTorch has given up"),
           .evidence = std::move(evidence),
           .meaning = sentence("torch {} still reads them, with a warning; later ones need not.",
                               torch->version),
           .steps = {{sentence("give them the names that they have now"), command}}}};
}

Findings launch_blocking(const Examined& host) {
  const auto value = host.facts.variable("CUDA_LAUNCH_BLOCKING");
  if (!value || *value != "1") return {};
  return {
      {.rule = "launch_blocking",
       .severity = Severity::hint,
       .title = sentence("CUDA_LAUNCH_BLOCKING=1 makes the CPU wait for every kernel"),
       .evidence = {sentence("{}={}", "CUDA_LAUNCH_BLOCKING", *value)},
       .meaning = sentence("Good for finding the line of an error, and slow for everything else."),
       .steps = {{sentence("when the error is found"), "unset CUDA_LAUNCH_BLOCKING"}}}};
}

/// What the import of a framework said of it, as mkl-service words it.
bool is_layer_refused(const FrameworkSaid& said) {
  constexpr std::string_view words = "is incompatible with lib";
  return said.error.find(words) != std::string::npos ||
         said.warning.find(words) != std::string::npos;
}

Findings mkl_threading_layer(const Examined& host) {
  const auto value = host.facts.variable("MKL_THREADING_LAYER");
  if (!value || value->empty()) return {};
  const auto is_word = [&](std::string_view word) { return equals_ignoring_case(*value, word); };
  if (is_word("GNU") || is_word("SEQUENTIAL") || is_word("TBB") || is_word("PGI")) return {};
  const bool is_intel = is_word("INTEL");
  const bool is_refused = host.facts.python &&
                          std::ranges::any_of(host.facts.python->said.frameworks, is_layer_refused);
  Finding finding{
      .rule = "mkl_threading_layer",
      .severity = is_refused ? Severity::error : Severity::hint,
      .title = is_intel ? sentence("MKL is told to bring Intel's OpenMP beside GNU's")
                        : sentence("MKL_THREADING_LAYER has a word that MKL does not know"),
      .evidence = {sentence("{}={}", "MKL_THREADING_LAYER", *value)},
      .meaning = is_intel
                     ? sentence("Where a library has loaded GNU's (libgomp) first, numpy ends with "
                                "\"MKL_THREADING_LAYER=INTEL is incompatible with libgomp\".")
                     : sentence("MKL goes on with its own choice."),
      .steps = {
          {sentence("have MKL take the one that is loaded"), "export MKL_THREADING_LAYER=GNU"}}};
  if (is_intel && !is_refused) {
    finding.doubt = sentence("programs that import numpy before torch do not meet it");
  }
  return {std::move(finding)};
}

Findings duplicate_openmp(const Examined& host) {
  const auto value = host.facts.variable("KMP_DUPLICATE_LIB_OK");
  if (!value || !(*value == "1" || equals_ignoring_case(*value, "true"))) return {};
  return {{.rule = "duplicate_openmp",
           .severity = Severity::hint,
           .title = sentence("a second OpenMP in one program is let pass"),
           .evidence = {sentence("{}={}", "KMP_DUPLICATE_LIB_OK", *value)},
           .meaning = sentence("It silences \"OMP: Error #15\". Intel's OpenMP itself warns of "
                               "crashes and of wrong results that nobody notices."),
           .steps = {{sentence("see whether it works without; else have one installer bring "
                               "numpy and torch"),
                      "unset KMP_DUPLICATE_LIB_OK"}}}};
}

}  // namespace

std::span<const DoctorRule> variables_rules() {
  static constexpr DoctorRule rules[] = {
      {.find = nccl_slow_settings,
       .reports = {{"nccl_slow_settings", "hint",
                    "NCCL_P2P_DISABLE, NCCL_SHM_DISABLE or NCCL_IB_DISABLE is 1, several GPUs",
                    "try without"}}},
      {.find = nccl_interface_missing,
       .reports = {{"nccl_interface_missing", "error",
                    "NCCL_SOCKET_IFNAME names no interface there is", "`ip -br link`"}}},
      {.find = nccl_old_names,
       .needs = HostPart::python,
       .reports = {{"nccl_old_names", "hint",
                    "NCCL_BLOCKING_WAIT and the like with torch 2.2 or newer", "the new names"}}},
      {.find = launch_blocking,
       .reports = {{"launch_blocking", "hint", "CUDA_LAUNCH_BLOCKING=1",
                    "unset it when the error is found"}}},
      {.find = mkl_threading_layer,
       .reports = {{"mkl_threading_layer",
                    "hint, with a doubt; error where a framework's import says so",
                    "MKL_THREADING_LAYER=INTEL, or a word that MKL does not know",
                    "MKL_THREADING_LAYER=GNU"}}},
      {.find = duplicate_openmp,
       .reports = {{"duplicate_openmp", "hint", "KMP_DUPLICATE_LIB_OK is TRUE",
                    "one installer for numpy and torch"}}},
  };
  return rules;
}

}  // namespace berth::doctor
