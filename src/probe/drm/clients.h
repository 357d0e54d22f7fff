#pragma once
// OpenDeviceFiles: which processes have device files open, as the links of /proc/PID/fd say: none
// is opened. One walk serves all cards of a look. What a client of a DRM driver holds is read
// on demand, of that card alone. The kernel may keep the reader waiting there, and then only for
// that card.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/process_stat.h"
#include "base/reading.h"
#include "probe/drm/fdinfo.h"

namespace berth::drm {

struct HeldFile {
  pid_t pid = 0;
  OpenFile file;  // its path: "/dev/dri/renderD128"
};

/// A client, and the process that it is counted for. Several can have it: a descriptor is inherited
/// or passed on. The first that does not own the display counts, else the first.
struct ClientOf {
  pid_t pid = 0;
  Client client;
};

/// Whether /proc is of the first PID namespace, or does not tell.
[[nodiscard]] bool sees_all_processes(const std::string& proc);

class OpenDeviceFiles {
 public:
  /// Walks /proc: links that begin with one of `beginnings`. `failed`, `no_permission`: /proc
  /// itself cannot be listed; nobody is known then.
  OpenDeviceFiles(std::string proc, std::vector<std::string> beginnings);

  [[nodiscard]] const std::vector<HeldFile>& files() const { return files_; }
  /// Processes with at least one of these files open, by number.
  [[nodiscard]] std::vector<pid_t> holders_of(const std::vector<std::string>& paths) const;
  /// Whether there are processes whose files may not be seen: other users', for all but root, and
  /// the machine's, in a container.
  [[nodiscard]] bool hides_some() const { return hides_some_; }
  [[nodiscard]] std::optional<Absent> why_none() const { return why_none_; }

  /// Clients of the card with these files: its card and render node. Unreadable ones are left out.
  [[nodiscard]] std::vector<ClientOf> clients_of(const std::vector<std::string>& paths) const;

 private:
  std::string proc_;
  std::vector<HeldFile> files_;
  bool hides_some_ = false;
  std::optional<Absent> why_none_;
};

}  // namespace berth::drm
