// A lease in the process that holds it: what it shows, and how it ends.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/lease_file.h"
#include "base/lock.h"
#include "lib/ask.h"
#include "snapshot/device_kind_rows.h"

namespace berth::lib {

OwnLeases& OwnLeases::all() {
  // Never taken down: a host may end a lease in a destructor that runs after ours.
  static OwnLeases& own = *new OwnLeases;
  return own;
}

void OwnLeases::add(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(owner_, ::getpid()) != ::getpid()) ids_.clear();
  ids_.push_back(id);
}

void OwnLeases::remove(const std::string& id) {
  const std::lock_guard lock(mutex_);
  std::erase(ids_, id);
}

std::string OwnLeases::in(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const std::string id = path.substr(path.rfind('/') + 1);
  const bool is_own = owner_ == ::getpid() && std::ranges::find(ids_, id) != ids_.end();
  return is_own ? id : std::string();
}

Outcome too_late(bool after_init) {
  if (after_init) return std::nullopt;
  const berth_cuda state = berth_cuda_state();
  if (state != BERTH_CUDA_STARTED && state != BERTH_CUDA_INHERITED) return std::nullopt;
  return Failure(BERTH_E_CUDA_STARTED,
                 "leasing a device: CUDA has started in this process and reads "
                 "CUDA_VISIBLE_DEVICES no more; lease before the first call of CUDA (in PyTorch "
                 "torch.cuda.is_available() is one), or ask for a device that it sees already "
                 "(after_init)");
}

namespace {

/// What somebody has set since stays.
void restore_variables(const berth_lease& lease) {
  for (std::size_t at = 0; at < lease.before.size(); ++at) {
    const auto& [name, value] = lease.variables[at];
    const char* is = std::getenv(name.c_str());
    if (is == nullptr || value != is) continue;
    lease.before[at] ? ::setenv(name.c_str(), lease.before[at]->c_str(), 1)
                     : ::unsetenv(name.c_str());
  }
}

/// What is left to do once a lease is no longer held.
void forget(berth_lease& lease) {
  OwnLeases::all().remove(lease.id);
  if (lease.keeper) (void)lease.keeper->ask({{"ask", "end"}});
}

/// The end of a lease's life: its file goes, and with it the promise.
Outcome end(berth_lease& lease) {
  const auto removed = remove_lease_file(lease.descriptor.get(), AT_FDCWD, lease.file);
  if (!removed) return Failure(removed.error());
  remove_ledgers_inside(lease.inside);
  lease.descriptor.close();
  restore_variables(lease);
  forget(lease);
  return std::nullopt;
}

/// A process that inherited it keeps it; where there is none, it ends.
Outcome let_go(berth_lease& lease) {
  const bool is_its_file = is_named(lease.descriptor.get(), AT_FDCWD, lease.file);
  lease.descriptor.close();
  // Locked by another: it lives on. If a dead one cannot be removed, a later process sweeps it.
  const auto file = is_its_file ? open_fd(lease.file, O_RDWR | O_NOFOLLOW)
                                : Result<Fd>(fail(ErrorCode::not_found, ""));
  if (file && !take_ofd_lock(file->get())) {
    OwnLeases::all().remove(lease.id);  // its record is not told of an end
    return std::nullopt;
  }
  forget(lease);
  if (!file) return std::nullopt;
  (void)remove_lease_file(file->get(), AT_FDCWD, lease.file);
  remove_ledgers_inside(lease.inside);
  return std::nullopt;
}

Outcome apply(berth_lease& lease) {
  if (lease.owner != ::getpid()) {
    return Failure(BERTH_E_INVALID, "the lease is of the process that this one was forked from");
  }
  if (lease.shows_after_init) return std::nullopt;
  if (auto late = too_late(false)) return late;
  for (const auto& [name, value] : lease.variables) {
    const char* had = std::getenv(name.c_str());
    if (lease.before.size() < lease.variables.size()) {
      lease.before.push_back(had == nullptr ? std::nullopt : std::optional<std::string>(had));
    }
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  return std::nullopt;
}

}  // namespace

}  // namespace berth::lib

using berth::lib::at_border;
using berth::lib::Outcome;

extern "C" {

const char* berth_lease_id(const berth_lease* lease) {
  return lease == nullptr ? "" : lease->id.c_str();
}

const char* berth_lease_run(const berth_lease* lease) {
  return lease == nullptr ? "" : lease->run.c_str();
}

size_t berth_lease_devices(const berth_lease* lease) {
  return lease == nullptr ? 0 : lease->devices.size();
}

berth_code berth_lease_device(const berth_lease* lease, size_t at, berth_device* device) {
  if (lease == nullptr || at >= lease->devices.size()) return BERTH_E_INVALID;
  // Applied, the lease's devices are all that is seen, in its order.
  std::optional<int> ordinal;
  if (!lease->shows_after_init) ordinal = static_cast<int>(at);
  return at_border(nullptr, [&] {
    return berth::lib::device_at(lease->look, lease->devices[at], device, ordinal);
  });
}

size_t berth_lease_variables(const berth_lease* lease) {
  return lease == nullptr ? berth::cpu_only_variables.size() : lease->variables.size();
}

const char* berth_lease_variable(const berth_lease* lease, size_t at, const char** value) {
  if (at >= berth_lease_variables(lease)) return nullptr;
  if (lease == nullptr) {
    const auto& [name, hides] = berth::cpu_only_variables[at];
    if (value != nullptr) *value = hides.data();
    return name.data();
  }
  if (value != nullptr) *value = lease->variables[at].second.c_str();
  return lease->variables[at].first.c_str();
}

berth_code berth_lease_apply(berth_lease* lease, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (lease == nullptr) return berth::lib::Failure(BERTH_E_INVALID, "there is no lease");
    return berth::lib::apply(*lease);
  });
}

int berth_lease_fd(const berth_lease* lease) {
  return lease == nullptr ? -1 : lease->descriptor.get();
}

berth_code berth_lease_let_go(berth_lease* lease, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (lease == nullptr) return std::nullopt;
    if (lease->owner != ::getpid()) {
      (void)lease->descriptor.release();
    } else if (auto failed = berth::lib::let_go(*lease)) {
      return failed;
    }
    delete lease;
    return std::nullopt;
  });
}

berth_code berth_lease_free(berth_lease* lease, berth_error** error) {
  return at_border(error, [&]() -> Outcome {
    if (lease == nullptr) return std::nullopt;
    if (lease->owner != ::getpid()) {
      (void)lease->descriptor.release();  // it keeps the lease until this process ends
    } else if (auto failed = berth::lib::end(*lease)) {
      return failed;  // it still holds, and may be tried again
    }
    delete lease;
    return std::nullopt;
  });
}
}
