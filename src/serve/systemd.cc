#include "serve/systemd.h"
#include "base/fd.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>

#include "snapshot/device_kind.h"

namespace berth::serve {

namespace {

constexpr std::string_view mark = "# Written by `berth service install`.";

/// A word of ExecStart: systemd takes out quotes, "%" and "$" of its own.
std::string exec_word(const std::string& word) {
  std::string quoted = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '%' || c == '$') quoted += c;
    quoted += c;
  }
  return quoted + '"';
}

constexpr std::string_view common_service = R"(Type=notify
NotifyAccess=main
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=2
WatchdogSec=30
TimeoutStopSec=10
# A connection is a descriptor.
LimitNOFILE=8192
# It must not be what brings a full machine down.
MemoryMax=1G
TasksMax=64
)";

constexpr std::string_view hardened =
    R"(# Everything is read-only to it but its state and its socket's directory, which systemd
# makes, homes and temporary files.
ProtectSystem=strict
StateDirectory=berth
# Nobody lists it. What lies there is root's alone but for the hours, which everybody reads.
StateDirectoryMode=0711
RuntimeDirectory=berth-serve
RuntimeDirectoryMode=0755
# Root's own runs are recorded there.
Environment=HOME=%h
# The ledger of leases, which all users share; "-": where `sudo berth setup` was never run root has
# one of its own, in /var/tmp: no PrivateTmp. Records of runs lie in homes: they are read with the
# rights of their owners, and a child that has become the owner notes there that a run was stopped.
# Homes elsewhere: add a line ReadWritePaths=-/data/home.
ReadWritePaths=-/run/berth -/home -/tmp -/var/tmp
# The driver's devices and no others. PrivateDevices would hide them.
DevicePolicy=closed
@devices@# Which errors the driver reported stands in the kernel's log.
DeviceAllow=/dev/kmsg r
# What root is needed for: reading other users' processes and records (DAC_READ_SEARCH, SYS_PTRACE),
# the kernel's log (SYSLOG), acting as the user who asks (SETUID, SETGID, KILL).
CapabilityBoundingSet=CAP_DAC_READ_SEARCH CAP_SYS_PTRACE CAP_SYSLOG CAP_SETUID CAP_SETGID CAP_KILL
NoNewPrivileges=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
# No ProtectProc and no PrivatePIDs: it shows whose the processes on the devices are.
# No MemoryDenyWriteExecute: the driver's library makes executable pages.
)";

// Most of the above needs root to set up, and a user's manager would refuse to start the unit.
constexpr std::string_view careful = R"(NoNewPrivileges=yes
RestrictSUIDSGID=yes
LockPersonality=yes
)";

/// Whether its driver's library opens device files, and no class of them is known.
bool is_allowed_by_files(const DeviceKindFacts& kind) {
  return !kind.in_kernel && kind.file_classes.empty() && !kind.card_file.empty();
}

std::string hardening() {
  constexpr int most_cards =
      32;  // more than a server of theirs has; what is not there is passed over
  std::string allowed;
  const auto allow = [&](std::string_view device) {
    const std::string line = "DeviceAllow=" + std::string(device) + " rw\n";
    if (!device.empty() && allowed.find(line) == std::string::npos) allowed += line;
  };
  for (const DeviceKindFacts& kind : device_kinds()) {
    for (const std::string_view one : kind.file_classes) allow("char-" + std::string(one));
    if (!is_allowed_by_files(kind)) continue;
    allow(kind.driver_file);
    for (const std::string_view file : kind.further_files) allow(file);
    for (int card = 0; card < most_cards; ++card) {
      allow(std::string(kind.card_file) + std::to_string(card));
    }
  }
  constexpr std::string_view place = "@devices@";
  std::string text(hardened);
  return text.replace(text.find(place), place.size(), allowed);
}

/// What has to be there before it, with a blank before each.
std::string services_of_drivers() {
  std::string services;
  for (const DeviceKindFacts& kind : device_kinds()) {
    const std::string one = " " + std::string(kind.driver_service);
    if (one.size() > 1 && services.find(one) == std::string::npos) services += one;
  }
  return services;
}

}  // namespace

std::string service_unit(ServiceScope scope, const std::string& program) {
  const bool is_system = scope == ServiceScope::system;
  std::string unit(mark);
  unit += "\n# To change something: systemctl ";
  unit += is_system ? "" : "--user ";
  unit += std::string("edit ") + service_name + "; the options are `berth serve --help`'s.\n";
  unit += "[Unit]\nDescription=berth: this machine's GPUs, for browsers, programs and Prometheus\n";
  if (is_system) unit += "After=network.target" + services_of_drivers() + "\n";
  unit += "\n[Service]\nExecStart=" + exec_word(program) + " serve\n";
  unit += common_service;
  unit += is_system ? hardening() : std::string(careful);
  unit += "\n[Install]\nWantedBy=";
  unit += is_system ? "multi-user.target\n" : "default.target\n";
  return unit;
}

bool is_our_unit(const std::string& text) { return text.starts_with(mark); }

Result<void> notify(const std::optional<std::string>& socket, std::string_view state) {
  if (!socket || socket->empty()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket->size() >= sizeof address.sun_path) {
    return fail(ErrorCode::invalid, "NOTIFY_SOCKET is longer than 107 bytes");
  }
  std::copy(socket->begin(), socket->end(), address.sun_path);
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return fail_system(errno, "open a socket to systemd");
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket->size());
  const ssize_t sent = ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                                reinterpret_cast<const sockaddr*>(&address), size);
  if (sent < 0) return fail_system(errno, "tell systemd at {}", *socket);
  return {};
}

}  // namespace berth::serve
