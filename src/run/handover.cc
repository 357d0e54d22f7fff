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

void take_line(std::string_view line, Handover& left) {
  const auto words = split(line, ' ');
  const auto first = number_at(words, 1);
  if (words[0] == "job" && first && *first > 0) left.job = *first;
  if (words[0] == "ending") left.because = line.substr(std::min<std::size_t>(7, line.size()));
  if (words[0] == "failed" && first) {
    const std::size_t text = line.find(' ', 7);
    left.not_started =
        Error(reason_of_no_start(*first), Sentence(text == line.npos ? "" : line.substr(text + 1)));
  }
  const auto signal = number_at(words, 2);
  const auto dumped = number_at(words, 3);
  if (words[0] == "end" && first && signal && dumped) {
    left.exit = Exit{.code = *first, .signal = *signal, .dumped = *dumped != 0};
  }
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
  // Nobody reads while the keeper lives: what does not fit would be waited for.
  constexpr int longest = 1000;
  return fmt::format("failed {} {}\n", exit_code_of_no_start(error),
                     cut_to_width(printable(error.message()), longest, false));
}

std::string ending_line(std::string_view because) { return fmt::format("ending {}\n", because); }

std::string end_line(const Exit& exit) {
  return fmt::format("end {} {} {}\n", exit.code, exit.signal, exit.dumped ? 1 : 0);
}

int exit_code_of_no_start(const Error& error) {
  if (error.code() == ErrorCode::not_found) return 127;
  return error.code() == ErrorCode::no_permission ? 126 : 125;
}

ErrorCode reason_of_no_start(int exit_code) {
  if (exit_code == 127) return ErrorCode::not_found;
  return exit_code == 126 ? ErrorCode::no_permission : ErrorCode::io;
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
