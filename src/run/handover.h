#pragma once
// What a keeper leaves to its heir: lines in a pipe, which outlive their writer. So a keeper
// killed at any moment leaves behind what only it knew.
//
//   job PID                  by the job itself, before it does anything else
//   failed CODE TEXT         by the job: the command could not be run
//   ending BECAUSE           the keeper ends the job, or has warned it: one of end_cause
//   end CODE SIGNAL DUMPED   the job has ended; before it is reaped
//
// The launcher gets "failed" and "end" in the same words (run/keeper.h). The job tells its keeper
// "failed" in them, too.
//
// The pipe's end means that there is no keeper, and no job that has yet to become its command.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "record/record_writer.h"

namespace berth {

struct Handover {
  std::optional<pid_t> job;
  std::optional<Error> not_started;
  std::string because;
  std::optional<Exit> exit;
};

[[nodiscard]] Handover handover_from(std::string_view lines);

[[nodiscard]] std::string job_line(pid_t job);
[[nodiscard]] std::string ending_line(std::string_view because);

/// The command could not be run: in English, in one line that fits a pipe.
[[nodiscard]] std::string failed_line(const Error& error);
/// Reads a line without its end. Nothing: it is another one.
[[nodiscard]] std::optional<Error> failure_in(std::string_view line);

/// The job has ended. `more` says why it was ended, for readers that are told so.
[[nodiscard]] std::string end_line(const Exit& exit, std::string_view more = {});
/// The engine's client has, and its container lives.
[[nodiscard]] std::string runs_on_line(const Exit& exit, std::string_view container);
struct EndNews {
  Exit exit;
  std::string more;
};
[[nodiscard]] std::optional<EndNews> end_news_in(std::string_view line);
[[nodiscard]] std::optional<EndNews> runs_on_in(std::string_view line);

// What it left in the record; null: there is none.

/// With what the sampler has gathered since the start, which `begun` was at.
[[nodiscard]] Manifest manifest_left(const RecordWriter* record, const Manifest& begun);
[[nodiscard]] std::vector<RunEvent> events_left(const RecordWriter* record);
/// How the job ended, where that was written already.
[[nodiscard]] std::optional<RunEnd> end_left(const RecordWriter* record);

}  // namespace berth
