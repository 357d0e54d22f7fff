#pragma once
// `sudo berth setup`: the ledger that all users of a machine share. Can be repeated; changes only
// what is not yet as it should be.

#include <string>
#include <vector>

#include "base/result.h"

namespace berth {

/// Where things go; tests give a folder of their own as `root`.
struct SetupPaths {
  std::string root;  // put before each path below; empty: this machine
  std::string ledger = "/run/berth";
  std::string tmpfiles = "/etc/tmpfiles.d/berth.conf";
  std::string mount_unit = "/etc/systemd/system/run-berth.mount";
};

struct SetupReport {
  std::vector<Sentence> done;       // what was changed, a sentence each, for people
  std::vector<Sentence> unchanged;  // what was right already
  std::vector<std::string> next;    // commands still to be run by hand
};

/// Makes the directory (root's, 1777) and host.lock (root's, 0666). Writes the files with which
/// systemd makes both again at each boot. Both lie on a tmpfs of their own, of 16 MiB.
///
/// no_permission: not root. invalid: something else is in the way; it is never removed.
[[nodiscard]] Result<SetupReport> make_shared_ledger(const SetupPaths& paths = {});

/// The texts of the two files.
[[nodiscard]] std::string tmpfiles_text(const std::string& ledger);
[[nodiscard]] std::string mount_unit_text(const std::string& ledger);

}  // namespace berth
