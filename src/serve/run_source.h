#pragma once
// Records of runs, read for the server: from one state directory or, by root, from those of all
// users. A user's directory is read with that user's rights. So a link in it opens nothing that the
// user could not open.

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned_file.h"
#include "base/result.h"
#include "record/run_record.h"

namespace berth::serve {

// Where a run lies. It tells apart two people's runs of one name, and says where a list of runs
// goes on.

struct RunPlace {
  std::string name;  // its folder's, which begins with the date: the order is that of time
  uid_t whose = 0;   // whose state directory it lies in; the order within one name
  friend auto operator<=>(const RunPlace&, const RunPlace&) = default;
};

/// "20251121-014946-k3f9q2@1001"
[[nodiscard]] std::string to_text(const RunPlace& place);
/// The API spelt a name without a uid before. Such a name comes before everybody's run of that
/// name: from there a list goes on with older runs.
[[nodiscard]] RunPlace run_place_in(std::string_view text);

struct StateDirectory {
  std::string path;
  /// With whose rights it is read; nothing: our own.
  std::optional<FileOwner> as;
};

/// The state directories of all people whose homes the text of /etc/passwd names, each with its
/// owner. Directories that belong to somebody else are left out.
[[nodiscard]] std::vector<StateDirectory> state_directories_of_all(std::string_view passwd);

/// A run and what its files tell, read where they can be read.
struct FoundRun {
  RunRecord record;  // whose owner is its folder's, whatever it says
  RunStory story;
  RunPlace place;
  [[nodiscard]] uid_t owner() const { return record.owner.uid; }
};

struct SampleTable {
  std::vector<std::string> devices;
  std::vector<std::string> columns;
  /// Time, position of the device, then one value per column.
  struct RunRow {
    std::int64_t at_unix_ms = 0;
    std::size_t device = 0;
    std::vector<std::optional<double>> values;
  };
  std::vector<RunRow> rows;
};

struct LogPiece {
  std::uint64_t offset = 0;
  std::uint64_t next = 0;
  std::uint64_t total = 0;
  std::string text;
};

class RunSource {
 public:
  using IsShown = std::function<bool(uid_t owner)>;
  using IsWanted = std::function<bool(const RunRecord& run)>;
  /// How many records one question may read: who looks for something rare asks on from `next`.
  static constexpr std::size_t most_looked_at = 1000;
  struct Page {
    std::vector<FoundRun> runs;
    std::optional<RunPlace> next;  // behind which to ask on; nothing: these are the last
  };

  /// Nowhere before look_in().
  RunSource() { look_in({}); }

  /// From now on there, from any thread; what is being read goes on where it is.
  void look_in(std::vector<StateDirectory> directories);

  /// At most `limit` runs whose owner `is_shown`, newest first, from behind `after` on. Nothing:
  /// from the newest. Other runs are not even counted. Runs that cannot be read are left out.
  /// `is_wanted`: null: all are.
  [[nodiscard]] Page list(std::size_t limit, const std::optional<RunPlace>& after,
                          const IsShown& is_shown, const IsWanted& is_wanted = nullptr) const;
  /// The run of that id ("ID", or "ID@UID": that person's) whose owner `is_shown`. If several
  /// people have one, the asking user's own comes first. not_found: there is none, or its folder
  /// holds no record that could be believed; the error says so. io: it cannot be read now.
  [[nodiscard]] Result<FoundRun> find(std::string_view id, std::optional<uid_t> principal,
                                      const IsShown& is_shown) const;
  /// At most about `points` per device: each the mean of the samples of its stretch of time.
  [[nodiscard]] Result<SampleTable> samples(const FoundRun& run, std::size_t points,
                                            WallTime now) const;
  /// unsupported: the run has no log.
  [[nodiscard]] Result<LogPiece> log(const FoundRun& run, std::uint64_t offset,
                                     std::size_t limit) const;

 private:
  using Directories = std::shared_ptr<const std::vector<StateDirectory>>;
  [[nodiscard]] Directories directories() const;

  mutable std::mutex mutex_;  // guards what it points with: others read on threads of theirs
  Directories directories_;
};

}  // namespace berth::serve
