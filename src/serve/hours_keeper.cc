#include "serve/hours_keeper.h"

#include "config/policy_file.h"
#include "record/history/reader.h"

namespace berth::serve {

Result<void> write_hours_from(const std::string& history, WallTime now, const std::string& file) {
  auto reader = HistoryReader::open(history);
  if (!reader) return std::unexpected(std::move(reader).error());
  constexpr std::chrono::milliseconds window = hours_window;
  const auto report =
      reader->usage({.since = WallTime{now.unix_ms - window.count()}, .until = now});
  if (!report) return std::unexpected(report.error());
  std::map<uid_t, double> hours;
  for (const UsageRow& row : report->rows) {
    if (row.uid && *row.uid >= 0) hours[static_cast<uid_t>(*row.uid)] += row.gpu_hours;
  }
  return write_hours(hours, now, file);
}

void HoursKeeper::keep(const Moment& now) {
  if (now.steady < due_) return;
  constexpr std::chrono::seconds between{60};
  due_ = now.steady + between;
  // A failure here is not told: readers of the file see that nobody counts.
  (void)workers_.give([history = history_, file = file_, at = now.wall] {
    (void)write_hours_from(history, at, file);
  });
}

}  // namespace berth::serve
