#include "run/inside.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "snapshot/process_claims.h"

namespace berth {

namespace {
/// Otherwise the memory would look as if held by nobody that can be seen.
void leave_out(Bytes memory, Device& device) {
  if (device.memory_used.get()) {
    device.memory_used = minus(*device.memory_used.get(), memory).value_or(Bytes{0});
  }
  if (device.memory_free.get()) device.memory_free = *device.memory_free.get() + memory;
}

/// In a directory that everybody can write to the name may be taken already, by anybody.
Result<void> make_own_directory(const std::string& path) {
  if (auto made = make_directories(path, 0700); !made) return made;
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0) return fail_system(errno, "examine {}", path);
  if (S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid()) return {};
  return fail(ErrorCode::no_permission,
              "{} is not a directory of yours, and runs inside a lease need it. Have its owner "
              "(user {}) or root remove it",
              path, facts.st_uid);
}

/// The caller's own lease of that name; null: there is none.
const Claim* find_claim(const std::string& lease, const std::vector<Claim>& claims) {
  const auto claim = std::find_if(claims.begin(), claims.end(), [&](const Claim& one) {
    return one.id == lease && one.uid == ::getuid();
  });
  return claim == claims.end() ? nullptr : &*claim;
}
}  // namespace

std::string inside_directory(const Ledger& ledger, const std::string& lease) {
  // If the ledger is ours alone, the directory stands beside it. If the ledger is somebody else's,
  // it stands where each user's own ledger does. So nobody stands in another's way.
  struct stat facts{};
  const bool ours = ledger.place().kind != LedgerPlace::Kind::shared &&
                    ::fstat(ledger.directory(), &facts) == 0 && facts.st_uid == ::geteuid() &&
                    (facts.st_mode & 0022U) == 0;
  const std::string beside =
      ours ? ledger.place().directory : "/var/tmp/berth-" + std::to_string(::geteuid());
  return beside + "-inside/" + lease;
}

namespace {
Sentence names_of(const std::vector<DeviceId>& devices) {
  return devices.empty() ? sentence("none of them")
                         : Sentence::as_is(joined(devices, ", ", &DeviceId::text));
}

/// The error if the job's own environment, and not the lease, leaves too few devices.
std::unexpected<Error> hidden(const Claim& claim, const std::vector<DeviceId>& shown) {
  std::vector<DeviceId> leased;
  for (const ClaimedDevice& device : claim.devices) leased.push_back(device.device);
  return fail(
      ErrorCode::invalid,
      "this runs inside a lease of {}, and its own variables show {}: unset them to use the "
      "lease's",
      names_of(leased), names_of(shown));
}
}  // namespace

Result<void> narrow_to(const Claim& claim, AcquireOptions& options) {
  std::vector<DeviceId> devices;
  std::optional<Bytes> smallest;
  for (const ClaimedDevice& device : claim.devices) {
    const auto& visible = options.limits.visible;
    if (visible && std::find(visible->begin(), visible->end(), device.device) == visible->end()) {
      continue;
    }
    devices.push_back(device.device);
    if (device.promised)
      smallest = smallest ? std::min(*smallest, *device.promised) : device.promised;
  }
  if (static_cast<std::size_t>(options.request.devices) > devices.size()) {
    if (devices.size() < claim.devices.size()) return hidden(claim, devices);
    return fail(ErrorCode::invalid,
                "this runs inside a lease of {} device(s) and asks for {}: ask for more in the "
                "outer `berth run`",
                devices.size(), options.request.devices);
  }
  if (smallest) {
    const auto* bytes =
        options.request.memory ? std::get_if<Bytes>(&*options.request.memory) : nullptr;
    if (bytes != nullptr && *bytes > *smallest) {
      return fail(ErrorCode::invalid,
                  "this runs inside a lease of {} per device and asks for {}: ask for more in the "
                  "outer `berth run`",
                  short_size(*smallest), short_size(*bytes));
    }
    // A percentage of the device could be more than the lease has, and none means all of it.
    if (bytes == nullptr) options.request.memory = *smallest;
  }
  options.limits.visible = std::move(devices);
  options.limits.visible_by = VisibleBy::lease;
  // What the outer run was given is its own, however well it is.
  options.request.allow_failed = true;
  return {};
}

Snapshot without_run_of(const Claim& claim, Snapshot snapshot) {
  const ProcessClaims run(snapshot, {&claim, 1});
  const auto is_of_run = [&](pid_t pid) { return run.of(pid) != nullptr; };
  for (const GpuProcess& process : snapshot.gpu_processes) {
    if (!is_of_run(process.pid) || !process.memory.get()) continue;
    for (Device& device : snapshot.devices) {
      if (device.id != process.device) continue;
      leave_out(*process.memory.get(), device);
      // How much of it is not the outer run's nobody can tell: the process list has to do.
      device.utilization_gpu = Absent::unsupported;
      device.utilization_history = Absent::unsupported;
    }
  }
  std::erase_if(snapshot.gpu_processes,
                [&](const GpuProcess& process) { return is_of_run(process.pid); });
  return snapshot;
}

namespace {
/// The lease's own ledger, made where it is not there yet.
Result<Ledger> open_inside(const Ledger& ledger, const std::string& lease, Clock& clock) {
  const std::string directory = inside_directory(ledger, lease);
  if (auto made = make_own_directory(directory.substr(0, directory.rfind('/'))); !made) {
    return std::unexpected(std::move(made).error());
  }
  return Ledger::open({.directory = directory, .kind = LedgerPlace::Kind::named}, clock);
}

/// The look without what the run of that claim has on the devices.
TakeSnapshot without_run(TakeSnapshot look, const Ledger& ledger, Claim found) {
  return [original = std::move(look), &ledger, found = std::move(found)]() -> Result<Snapshot> {
    auto snapshot = original();
    if (!snapshot) return snapshot;
    // The outer run's keeper says which processes are its own only after its job, which may be
    // us, has started.
    const auto now = ledger.read();
    const Claim* current = now ? find_claim(found.id, now->claims) : nullptr;
    return without_run_of(current != nullptr ? *current : found, std::move(*snapshot));
  };
}
}  // namespace

Result<std::optional<Inside>> enter_outer_lease(const Ledger& outer,
                                                const std::optional<std::string>& lease,
                                                Clock& clock, AcquireOptions& options,
                                                TakeSnapshot& look) {
  std::optional<Inside> inside;
  const std::string within = lease.value_or("");
  for (const std::string_view part : split(within, '/')) {
    const std::string id(part);
    const bool is_a_name = !id.empty() && id != "." && id != "..";
    const Ledger& ledger = inside ? inside->ledger : outer;
    const auto view = is_a_name ? ledger.read() : Result<LedgerView>(LedgerView{});
    if (!view) return std::unexpected(view.error());
    const Claim* claim = find_claim(id, view->claims);
    if (claim == nullptr) break;
    auto narrowed = narrow_to(*claim, options);
    if (!narrowed) return std::unexpected(std::move(narrowed).error());
    // Runs inside descend from the outermost run, so that its processes are all of theirs.
    if (!inside) look = without_run(std::move(look), outer, *claim);
    auto inner = open_inside(ledger, id, clock);
    if (!inner) return std::unexpected(std::move(inner).error());
    const std::string name = inside ? inside->lease + "/" + id : id;
    inside.emplace(Inside{.lease = name, .ledger = std::move(*inner)});
  }
  return inside;
}

}  // namespace berth
