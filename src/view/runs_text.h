#pragma once
// `berth runs`, `berth show RUN` and the line at a run's end, from its record.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "record/run_record.h"
#include "view/style.h"

namespace berth {

/// A run's readings over time, in few enough points to draw, however long the run was. It is fed
/// sample by sample (for_each_sample), and halves its resolution when it is full.
class RunSeries {
 public:
  void add(const Sample& sample);
  [[nodiscard]] std::size_t device_count() const { return devices_.size(); }
  /// Percent.
  [[nodiscard]] std::vector<Reading<double>> utilization(std::size_t device) const;
  /// Bytes.
  [[nodiscard]] std::vector<Reading<double>> memory(std::size_t device) const;

 private:
  struct Point {
    double sum = 0;
    std::size_t count = 0;
  };
  struct Track {
    std::vector<Point> utilization;
    std::vector<Point> memory;
  };
  static std::vector<Reading<double>> means(const std::vector<Point>& points);
  void halve();
  std::vector<Track> devices_;
  std::size_t samples_ = 0;
  std::size_t samples_per_point_ = 1;
};

/// What `show` tells beside the record itself.
struct RunDetails : RunStory {
  RunSeries series;
};

/// One line per run, newest first: id, start, how long, how it went, where, what.
/// `lately`: the figures of runs that go on, by their ids.
[[nodiscard]] std::string render_runs(const RunList& list, const Moment& now, const Style& style,
                                      const std::map<std::string, Summary>& lately = {});
/// {"berth_runs": 1, "runs": […]}: the records as `show --json` has them.
[[nodiscard]] std::string runs_json(const RunList& list);

/// Everything of one run that a person wants to read.
[[nodiscard]] std::string render_run(const RunRecord& run, const RunDetails& details,
                                     const Moment& now, const Style& style);

/// Says that facts of machine and code are missing, and why. Empty: none is, or there was no job.
[[nodiscard]] std::string facts_missing_text(const RunRecord& run);

/// Whether a simulated server gave what it is said to have used of GPUs.
[[nodiscard]] bool has_invented_figures(const RunRecord& run);

/// For a run without a device: what shows whether it kept off the devices, and in how many looks.
/// Nothing where nobody looked.
[[nodiscard]] std::vector<std::string> kept_off_texts(const Summary& summary);

/// The line on stderr when the job has ended. It says how, how long and on what. It compares the
/// memory peak with the promise, and says how busy the GPU was, and the energy. One line, never
/// cut. Says so if the run is simulated.
[[nodiscard]] std::string render_end_line(const RunRecord& run, const Style& style);

/// One of "ended with 0", "ended with 1", "killed by SIGKILL (9)", "running", "end unknown". Or
/// "never started: waited 12s for 1 GPU, stopped by ana".
[[nodiscard]] std::string state_text(const RunRecord& run);

/// For a waiting run: "12s so far for 1 GPU; `berth explain ID` says why".
[[nodiscard]] std::string wait_text(const RunRecord& run, const Moment& now);

}  // namespace berth
