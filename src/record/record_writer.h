#pragma once
// RecordWriter: the one who writes a run's record: the launcher makes the directory, the keeper and
// the sampler fill it. Every failure is returned, none stops a run.

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "record/run_record.h"

namespace berth {

/// Names of the files in a record's directory.
namespace record_file {
inline constexpr std::string_view manifest = "manifest.json";
inline constexpr std::string_view samples = "samples";
inline constexpr std::string_view marks = "marks";
inline constexpr std::string_view events = "events";
/// What the sampler saw of the memory cap's shim, and the shim's own account.
inline constexpr std::string_view cap = "cap.json";
inline constexpr std::string_view account = "account";
/// What the run's container is, of a run that has one.
inline constexpr std::string_view container = "container.json";
/// The Slurm job that the run was handed to.
inline constexpr std::string_view slurm = "slurm.json";
/// The processes of a run that is several, and what each said.
inline constexpr std::string_view ranks = "ranks.json";
/// Where the container's engine writes its id.
inline constexpr std::string_view container_id = "cid";
inline constexpr std::string_view end = "end.json";
/// Room on the disk for the end, taken at the start.
inline constexpr std::string_view end_room = "end.room";
inline constexpr std::string_view keeper_lock = "keeper.lock";
inline constexpr std::string_view stop_request = "stop";
inline constexpr std::string_view output = "output";
}  // namespace record_file

/// In runs/: where those of launches under way are made. What a killed one has left there goes with
/// a later launch, ten minutes after.
inline constexpr std::string_view unfinished_directory = ".new";

/// Beside runs/: a symbolic link to the record of the run that started last.
inline constexpr std::string_view last_run_link = "last";
/// What it points to instead, before the id, where that run has no record.
inline constexpr std::string_view unrecorded_run_prefix = "unrecorded/";

/// The run that starts now has no record: "last" is not to mean an earlier one. False: it goes on
/// to.
[[nodiscard]] bool note_unrecorded_run(const std::string& state_directory, const std::string& id);

[[nodiscard]] std::string manifest_to_json(const Manifest& manifest);
[[nodiscard]] Result<Manifest> manifest_from_json(std::string_view text);
[[nodiscard]] std::string end_to_json(const RunEnd& end);
[[nodiscard]] std::string cap_seen_to_json(const CapSeen& seen);
/// From a record's directory. Nothing: there is none yet.
[[nodiscard]] std::optional<CapSeen> cap_seen_in(const std::string& directory);
[[nodiscard]] Result<RunEnd> end_from_json(std::string_view text);

/// Whether who asks can signal the run's processes itself.
enum class StopFrom { here, another_machine };
/// Asks for the end of the run with that record, in this user's name.
[[nodiscard]] Result<void> note_stop_request(const std::string& directory,
                                             std::chrono::milliseconds grace,
                                             StopFrom from = StopFrom::here);
struct StopRequest {
  std::string by;                                  // as they say; empty: an older berth
  std::optional<std::chrono::milliseconds> grace;  // left to the run; nothing: an older berth
  StopFrom from = StopFrom::here;
};
/// Nothing: nobody asked.
[[nodiscard]] std::optional<StopRequest> stop_request_in(const std::string& directory);

/// Also where the disk has filled up since the run began.
[[nodiscard]] Result<void> write_end_into(const std::string& directory, const RunEnd& end);

class RecordWriter {
 public:
  /// Makes the directory with its manifest and its keeper's lock. This process holds the lock, and
  /// its forked children, but no executed program. Visible only once both are there. `devices`: how
  /// many the run may get that are not in the manifest yet.
  [[nodiscard]] static Result<RecordWriter> create(const std::string& state_directory,
                                                   const Manifest& manifest,
                                                   std::size_t devices = 0);

  /// Takes over a record that nobody keeps: this process keeps it from here on. busy: somebody
  /// keeps it.
  [[nodiscard]] static Result<RecordWriter> adopt(const std::string& directory);

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string path_of(std::string_view file) const;

  [[nodiscard]] Result<void> write_manifest(const Manifest& manifest) const;
  [[nodiscard]] Result<void> write_end(const RunEnd& end) const;
  [[nodiscard]] Result<void> append_event(const RunEvent& event) const;
  /// Opens the samples file for appending and writes its header line.
  [[nodiscard]] Result<Fd> open_samples() const;
  /// This process is no keeper: the lock is for others to hold.
  void let_go() { lock_.close(); }

 private:
  [[nodiscard]] static Result<RecordWriter> fill(const std::string& directory,
                                                 const Manifest& manifest, std::size_t devices);
  void reserve_room_for_end(std::size_t devices) const;
  RecordWriter(std::string directory, Fd lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}
  std::string directory_;
  Fd lock_;
};

}  // namespace berth
