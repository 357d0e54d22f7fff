#pragma once
// The Prometheus page as a pure function: a look goes in, text comes out. Nothing here knows a
// socket, a clock or a scraper. A page tells of the newest look alone: nothing is kept from one
// look to the next. An absent reading has no line.
//
//   const Scrape scrape{.snapshot = *published, .age = now - published_at, …};
//   const MetricsFormat format = negotiated(accept_header);
//   respond(content_type(format), metrics_page(scrape, options, format));

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "alert/alert.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/units.h"
#include "serve/metrics_window.h"
#include "snapshot/snapshot.h"

namespace berth::serve {

/// Whose names: our own, NVIDIA's dcgm-exporter's defaults (Grafana dashboard 12239), or
/// nvidia_gpu_exporter's (14574, 25547).
enum class MetricsProfile { berth, dcgm, nvidia_smi };
[[nodiscard]] std::string_view name_of(MetricsProfile profile);

/// "berth,dcgm": in this order, each once. invalid: an unknown one, or none at all.
[[nodiscard]] Result<std::vector<MetricsProfile>> profiles_from(std::string_view list);

enum class MetricsFormat { text_0_0_4, openmetrics_1_0 };
[[nodiscard]] std::string_view content_type(MetricsFormat format);

/// What an Accept header prefers; text where it says nothing of either. Never fails: the header is
/// a stranger's.
[[nodiscard]] MetricsFormat negotiated(std::string_view accept);

struct MetricsOptions {
  std::vector<MetricsProfile> profiles = {MetricsProfile::berth};
  /// Series of single processes too: their pid comes and goes, so they are for those who ask.
  bool per_process = false;
  /// At most so many processes, leases, users and pods; the rest is counted in
  /// berth_series_left_out.
  std::size_t most_processes = 100;
  std::size_t most_leases = 500;
  std::size_t most_users = 500;
  std::size_t most_pods = 500;
  /// The label of the dcgm profile that names the host: "hostname" since dcgm-exporter 4.5.3,
  /// "Hostname" before. Empty: no such label.
  std::string dcgm_hostname_label = "hostname";
};

/// What the daemon itself did and costs.
struct DaemonFigures {
  std::uint64_t looks = 0;
  std::uint64_t looks_failed = 0;
  std::uint64_t samples_lost = 0;  // that the history never wrote
  std::uint64_t requests = 0;
  std::optional<Duration> cpu_time;  // nothing: it could not be read
  std::optional<Bytes> resident;
  WallTime started;
};

/// The store of samples, where there is one.
struct HistoryFigures {
  std::optional<Bytes> used;  // nothing: it is not open yet
  Bytes limit;
  Reading<Bytes> disk_free;
  bool is_writing = true;
};

/// A server shown beside this one.
struct JoinFigures {
  std::string host;  // as we call it
  bool is_up = false;
  std::optional<Duration> age;  // of its last answer; nothing: there was none
};

struct Scrape {
  const Snapshot& snapshot;
  Duration age{};            // of the snapshot
  Duration interval{};       // between two looks
  Duration look_duration{};  // of the newest look
  DaemonFigures daemon{};
  std::optional<HistoryFigures> history;
  const std::vector<Alert>* alerts = nullptr;  // those that go on; null: nobody watches for any
  const WindowStatistics* window = nullptr;    // null: nobody keeps one
  std::span<const XidCount> xids;
  std::span<const JoinFigures> joined;
  std::string_view version;  // of the program
};

[[nodiscard]] std::string metrics_page(const Scrape& scrape, const MetricsOptions& options,
                                       MetricsFormat format);

/// The two parts it is made of, for a server asked several times between two looks. First what it
/// says of the newest look. `room`: a text that nobody reads any more, whose memory is used again.
[[nodiscard]] std::string metrics_of_look(const Scrape& scrape, const MetricsOptions& options,
                                          MetricsFormat format, std::string room = {});
/// Then how old that is, what the program itself does and costs, and the page's end.
[[nodiscard]] std::string with_metrics_of_now(std::string of_look, const Scrape& scrape,
                                              const MetricsOptions& options, MetricsFormat format);

/// The second part of doc/METRICS.md: the berth profile's families that are not in the field table.
[[nodiscard]] std::string metrics_markdown();

}  // namespace berth::serve
