#pragma once
// State: all that the live view knows at one moment, and the events that change it. update() and
// render() are pure functions of it. The loop around them (app/) reads keys, looks at the machine
// and does what `wanted` asks for.

#include <sys/types.h>

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/tr.h"
#include "snapshot/snapshot_index.h"
#include "top/history.h"
#include "top/host_use.h"
#include "top/input.h"
#include "top/screen.h"
#include "top/theme.h"

namespace berth::top {

/// A snapshot with its index, which points into it.
struct Seen {
  explicit Seen(Snapshot from) : snapshot(std::move(from)), index(snapshot) {}
  Seen(const Seen&) = delete;
  Seen& operator=(const Seen&) = delete;
  const Snapshot snapshot;
  const SnapshotIndex index;
};

// --- what the table shows --------------------------------------------------------------------

enum class SortKey {
  device,
  memory,
  utilization,
  cpu,
  age,
  user,
  pid,
  command,
  bandwidth,
  encoder,
  decoder,
  resident
};
inline constexpr int sort_key_count = 12;
inline constexpr std::size_t most_sort_levels = 3;

struct SortLevel {
  SortKey key = SortKey::device;
  bool descending = false;
  friend bool operator==(const SortLevel&, const SortLevel&) = default;
};

/// One use of one device by one process, for good: rows move, this does not.
struct UseKey {
  ProcessId process;
  DeviceId device;
  friend auto operator<=>(const UseKey&, const UseKey&) = default;
};

struct UseRow {
  const GpuProcess* use = nullptr;       // into the snapshot of State::seen
  const HostProcess* process = nullptr;  // null: nothing known of it
  const Device* device = nullptr;
  std::optional<double> cpu;  // percent of a core
  int depth = 0;              // in the tree

  [[nodiscard]] UseKey key() const;
};

// --- what can be wanted of the loop -----------------------------------------------------------

struct Target {
  ProcessId process;
  std::string user;
  std::string command;
  friend bool operator==(const Target&, const Target&) = default;
};
struct SendSignal {
  std::vector<Target> to;
  int signal = 0;
  std::string name;  // "TERM"
  friend bool operator==(const SendSignal&, const SendSignal&) = default;
};
struct Renice {
  std::vector<Target> to;
  int nice = 0;
  friend bool operator==(const Renice&, const Renice&) = default;
};
struct ReadDetails {
  ProcessId process;
  friend bool operator==(const ReadDetails&, const ReadDetails&) = default;
};
struct Suspend {
  friend bool operator==(const Suspend&, const Suspend&) = default;
};
struct Redraw {
  friend bool operator==(const Redraw&, const Redraw&) = default;
};
/// For a recording: so many snapshots on or back.
struct SkipSnapshots {
  int by = 0;
  friend bool operator==(const SkipSnapshots&, const SkipSnapshots&) = default;
};
using Command = std::variant<SendSignal, Renice, ReadDetails, Suspend, Redraw, SkipSnapshots>;

// --- events besides keys ------------------------------------------------------------------------

struct Resized {
  Size size;
};
struct Looked {
  std::shared_ptr<const Seen> seen;
  CpuShares cpu = {};  // between it and the look before
  HostUse host = {};   // then; nothing of a recording and of a simulated server
};
struct Tick {
  WallTime now;
};
/// The look under way has not been answered since then; nothing: it has.
struct Unanswered {
  std::optional<WallTime> since;
};
/// How a wish turned out, in words.
struct Outcome {
  std::string text;
  bool good = true;
};
/// Facts that only the process's own files tell.
struct ProcessDetails {
  ProcessId process;
  Reading<std::vector<std::string>> environment_names;
  Reading<std::vector<std::string>> device_files;
};
struct TapePlace {
  std::size_t position = 0;  // from 0
  std::size_t count = 0;
};
using Event =
    std::variant<Key, Mouse, Resized, Looked, Tick, Unanswered, Outcome, ProcessDetails, TapePlace>;

// --- the state ----------------------------------------------------------------------------------

enum class Panel { none, help, details, leases, problems, host, device };
/// Which processes are shown, by what they do on a device.
enum class UseKind { all, compute, graphics };
/// What the keys mean now.
enum class Mode { browse, filter, user, signal, nice, question };

struct Question {
  std::string text;
  Command if_yes;
};

struct Viewer {
  uid_t uid = 0;
  bool replay = false;     // a recording: there is nobody to signal
  bool read_only = false;  // nothing is ended or changed from here
};

struct Message {
  std::string text;
  bool good = true;
  WallTime until;
};

struct State {
  Size size;
  Viewer viewer;
  WallTime now;
  std::shared_ptr<const Seen> seen;  // null: nothing looked at yet
  CpuShares cpu;
  HostUse host;
  std::optional<WallTime> unanswered_since;

  std::vector<SortLevel> sort = {{SortKey::device, false}, {SortKey::memory, true}};
  std::string filter;
  std::string user;
  std::set<DeviceId> only_devices;  // empty: all
  UseKind use_kind = UseKind::all;
  std::string digits;  // typed so far for only_devices
  WallTime digits_at;
  bool tree = false;
  bool charts = true;
  int charted = 0;  // 0: each device has all its charts; else one of them, in their order
  int zoom = 0;     // samples per column of dots: 4 to the power of it
  bool fahrenheit = false;
  Theme theme = Theme::dark;
  Language language = Language::english;

  Panel panel = Panel::none;
  int panel_scroll = 0;
  Mode mode = Mode::browse;
  std::string typed;
  std::optional<Question> question;
  std::optional<Message> message;

  std::vector<UseRow> rows;  // as shown: filtered and sorted
  std::optional<UseKey> selected;
  std::size_t cursor = 0;  // its place among the rows
  std::size_t first_row = 0;
  std::set<UseKey> marked;
  std::size_t focus = 0;  // which of the shown devices the charts begin with
  std::optional<ProcessDetails> details;

  bool paused = false;
  double speed = 1;  // of a recording
  std::optional<TapePlace> tape;
  Duration interval = std::chrono::seconds(1);

  std::vector<Command> wanted;  // for the loop, which empties it
  bool quits = false;
};

[[nodiscard]] State update(State state, const Event& event);

// --- parts of update(), for render() and tests ------------------------------------------------

/// Filters and sorts anew; the selection stays on its process.
void arrange_rows(State& state);
/// The devices that the filter lets through, in the snapshot's order.
[[nodiscard]] std::vector<const Device*> shown_devices(const State& state);
/// Not all processes are wanted.
[[nodiscard]] bool is_filtered(const State& state);
/// The row under the cursor. Null: there is none.
[[nodiscard]] const UseRow* selected_row(const State& state);
/// "3", of a MIG instance "3.1", "-" of a device without a number.
[[nodiscard]] std::string short_name(const Device& device);
[[nodiscard]] std::string command_text(const UseRow& row);

struct Sorting {
  std::string_view name;  // as typed and in the file of settings
  bool descending_first;
  int (*compare)(const UseRow&, const UseRow&, bool descending);  // < 0, 0, > 0
};
/// In the order of SortKey.
[[nodiscard]] std::span<const Sorting> sortings();
[[nodiscard]] inline const Sorting& sorting_by(SortKey key) {
  return sortings()[static_cast<std::size_t>(key)];
}

/// Starts to ask for a signal to the marked processes, or to the selected one.
void ask_for_signal(State& state, int signal, const std::string& name);
void ask_for_nice(State& state, int nice);
void say(State& state, std::string text, bool good);

}  // namespace berth::top
