#include "run/handover.h"

#include <fmt/format.h>

#include "base/fd.h"
#include "base/text.h"
#include "run/run.h"

namespace berth {

namespace {

std::optional<int> number_at(const std::vector<std::string_view>& words, std::size_t at) {
  const auto number = at < words.size() ? parse_signed(words[at]) : std::nullopt;
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

/// The rest of the line after so many words.
std::string_view behind(std::string_view line, std::size_t words) {
  for (; words > 0; --words) {
    const std::size_t blank = line.find(' ');
    line.remove_prefix(blank == line.npos ? line.size() : blank + 1);
  }
  return line;
}

std::string line_of_end(std::string_view word, const Exit& exit, std::string_view more) {
  return fmt::format("{} {} {} {}{}{}\n", word, exit.code, exit.signal, exit.dumped ? 1 : 0,
                     more.empty() ? "" : " ", more);
}

std::optional<EndNews> end_behind(std::string_view word, std::string_view line) {
  const auto words = split(line, ' ');
  const auto code = number_at(words, 1);
  const auto signal = number_at(words, 2);
  const auto dumped = number_at(words, 3);
  if (words[0] != word || !code || !signal || !dumped) return std::nullopt;
  return EndNews{.exit = {.code = *code, .signal = *signal, .dumped = *dumped != 0},
                 .more = std::string(behind(line, 4))};
}

void take_line(std::string_view line, Handover& left) {
  const auto words = split(line, ' ');
  const auto first = number_at(words, 1);
  if (words[0] == "job" && first && *first > 0) left.job = *first;
  if (words[0] == "ending") left.because = line.substr(std::min<std::size_t>(7, line.size()));
  if (auto failure = failure_in(line)) left.not_started = std::move(failure);
  if (const auto end = end_news_in(line)) left.exit = end->exit;
}

}  // namespace

Handover handover_from(std::string_view lines) {
  Handover left;
  for (std::size_t end = lines.find('\n'); end != lines.npos; end = lines.find('\n')) {
    take_line(lines.substr(0, end), left);
    lines.remove_prefix(end + 1);
  }
  return left;
}

std::string job_line(pid_t job) { return fmt::format("job {}\n", job); }

std::string failed_line(const Error& error) {
  // The heir's pipe is not read while the keeper lives: what does not fit would be waited for.
  constexpr int longest = 4000;
  return fmt::format("failed {} {}\n", exit_code_of_no_start(error),
                     cut_to_width(printable(error.message()), longest, false));
}

std::optional<Error> failure_in(std::string_view line) {
  const auto words = split(line, ' ');
  const auto code = number_at(words, 1);
  if (words[0] != "failed" || !code) return std::nullopt;
  return Error(reason_of_no_start(*code), Sentence(behind(line, 2)));
}

std::string ending_line(std::string_view because) { return fmt::format("ending {}\n", because); }

std::string end_line(const Exit& exit, std::string_view more) {
  return line_of_end("end", exit, more);
}
std::string runs_on_line(const Exit& exit, std::string_view container) {
  return line_of_end("runs_on", exit, container);
}
std::optional<EndNews> end_news_in(std::string_view line) { return end_behind("end", line); }
std::optional<EndNews> runs_on_in(std::string_view line) { return end_behind("runs_on", line); }

int exit_code_of_no_start(const Error& error) {
  if (error.code() == ErrorCode::not_found) return exit_code::not_found;
  if (error.code() == ErrorCode::no_permission) return exit_code::cannot_execute;
  return exit_code::berth_failed;
}

ErrorCode reason_of_no_start(int code) {
  if (code == exit_code::not_found) return ErrorCode::not_found;
  return code == exit_code::cannot_execute ? ErrorCode::no_permission : ErrorCode::io;
}

Manifest manifest_left(const RecordWriter* record, const Manifest& begun) {
  if (record == nullptr) return begun;
  const auto text = read_file(record->path_of(record_file::manifest));
  auto left = text ? manifest_from_json(*text) : Result<Manifest>(begun);
  if (!left) return begun;
  left->started = begun.started;
  left->started_steady_ms = begun.started_steady_ms;
  return *std::move(left);
}

std::vector<RunEvent> events_left(const RecordWriter* record) {
  if (record == nullptr) return {};
  return events_of({.directory = record->directory()});
}

std::optional<RunEnd> end_left(const RecordWriter* record) {
  if (record == nullptr) return std::nullopt;
  const auto text = read_file(record->path_of(record_file::end));
  auto end = text ? end_from_json(*text) : Result<RunEnd>(fail(ErrorCode::not_found, ""));
  return end && end->known ? std::optional(*std::move(end)) : std::nullopt;
}

}  // namespace berth
