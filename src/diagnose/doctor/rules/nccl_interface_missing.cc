#include "base/text.h"
#include "diagnose/doctor/rules.h"

namespace berth::doctor {

namespace {

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

}  // namespace

Findings nccl_interface_missing(const Examined& host) {
  const auto interface = host.world.variable("NCCL_SOCKET_IFNAME");
  if (!interface || interface->empty() || host.world.interfaces.empty() ||
      names_an_interface(*interface, host.world.interfaces)) {
    return {};
  }
  return {{.rule = "nccl_interface_missing",
           .severity = Severity::error,
           .title = sentence("NCCL is told to use a network interface that is not there"),
           .evidence = {sentence("NCCL_SOCKET_IFNAME={}", *interface)},
           .meaning = sentence("It fails with \"no socket interface found\"."),
           .steps = {{sentence("see what there is"), "ip -br link"}}}};
}

}  // namespace berth::doctor
