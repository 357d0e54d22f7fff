#pragma once
// A run's account of device memory (guard/account.h), from berth's side. It is made before the job
// starts, and read while it runs and after its end. The shims of the job's processes write into it,
// so what it says is theirs to say.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/reading.h"
#include "base/result.h"
#include "base/units.h"

struct berth_account;

namespace berth {

struct AccountDevice {
  std::string uuid;            // "GPU-…" or "MIG-…"
  std::optional<Bytes> limit;  // nothing: unlimited
  Bytes context{0};            // what one context is expected to take
};

class AccountFile {
 public:
  /// A new file at `path`, for its owner alone. invalid: more devices than an account has places,
  /// or a UUID that is none.
  [[nodiscard]] static Result<AccountFile> make(const std::string& path,
                                                const std::vector<AccountDevice>& devices);
  /// One that is there. invalid: it is no account of this version.
  [[nodiscard]] static Result<AccountFile> open(const std::string& path);

  struct Told {
    Bytes charged{0};  // now, by all processes
    Bytes highest{0};  // that was granted
    std::uint64_t refusals = 0;
    Bytes context{0};  // expected of each that is made
  };
  /// One for each device, in the order in which they were given. io: the job has damaged the file.
  [[nodiscard]] Result<std::vector<Told>> told() const;

  /// What the run has on device number `place` that no shim has seen. For the sampler alone, whose
  /// end ends nothing else: a job that cuts its account short ends the writer.
  void tell_unseen(std::size_t place, Bytes unseen);

  /// One process's share of it, under the names that the process has in its own PID namespace.
  struct Slot {
    std::size_t number = 0;
    std::uint64_t pid = 0;
    std::uint64_t start_time = 0;     // field 22 of its stat
    std::uint64_t pid_namespace = 0;  // inode of its ns/pid; 0: unknown
    std::vector<Bytes> charged;       // as the devices
    [[nodiscard]] Bytes sum() const;
  };
  /// Those that are taken. io: as of told().
  [[nodiscard]] Result<std::vector<Slot>> slots() const;
  /// Empties a slot whose process has ended, or has become another program. `is_gone` is asked once
  /// more when no process can take it any longer. A program maps the account before it charges.
  /// false: it was not, or the slot is another's by now. For the sampler alone, too.
  bool give_back(const Slot& slot, const std::function<bool()>& is_gone);
  /// How maps in /proc begin to name this file: "fe:01 1234 " stands in them. Empty: unknown.
  [[nodiscard]] std::string name_in_maps(const std::string& proc) const;

 private:
  struct Unmap {
    void operator()(berth_account* account) const;
  };
  AccountFile() = default;
  [[nodiscard]] static Result<AccountFile> mapped(Fd fd, const std::string& path);
  [[nodiscard]] Result<std::unique_ptr<berth_account>> read() const;
  Fd fd_;
  std::unique_ptr<berth_account, Unmap> account_;  // shared with the shims
};

/// Whether a process has this image mapped, which proves that the shim is in it. `image` as
/// Shim::image; `proc` is read, which can take as long as the process is stuck in the kernel. false
/// for a process that has gone.
[[nodiscard]] Reading<bool> has_shim_mapped(pid_t process, const std::string& image,
                                            const std::string& proc);

}  // namespace berth
