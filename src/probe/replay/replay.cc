#include "probe/replay/replay.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/json_archive.h"
#include "base/text.h"
#include "snapshot/json.h"

namespace berth {

namespace {

/// A recording that is longer is not held in memory, but read as it is played.
constexpr std::size_t long_from = std::size_t{64} << 20;
/// For all else: one snapshot, a dump, what comes through a pipe.
constexpr std::size_t longest_in_memory = std::size_t{1} << 30;
/// For a long recording. A look at eight H100 takes 21 kB.
constexpr std::size_t longest_line = std::size_t{256} << 20;
constexpr std::size_t most_lines = 100'000'000;  // three years at one a second

struct Spec {
  std::string file;
  std::size_t first = 1;
  std::string phase;
};

/// "idle" in "FILE#idle", where no file has that name as a whole.
bool names_phase(const std::string& spec, std::string_view tail) {
  const bool word = !tail.empty() && tail.size() <= 16 &&
                    tail.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
  std::error_code error;
  return word && !std::filesystem::exists(spec, error);
}

Result<Spec> parse_spec(const std::string& spec) {
  const std::size_t hash = spec.rfind('#');
  if (hash == std::string::npos) return Spec{.file = spec};
  const std::string_view tail = std::string_view(spec).substr(hash + 1);
  const auto number = parse_unsigned(tail);
  if (!number && names_phase(spec, tail)) {
    return Spec{.file = spec.substr(0, hash), .phase = std::string(tail)};
  }
  if (!number) return Spec{.file = spec};  // a '#' of the file's own name
  if (*number == 0) {
    return fail(ErrorCode::invalid, "{}: snapshots are counted from 1", spec);
  }
  return Spec{.file = spec.substr(0, hash), .first = *number};
}

Sentence standard_input() { return sentence("the standard input"); }

bool begins_like_json(std::string_view line) {
  return line.starts_with('{') || line.starts_with('[');
}

/// What JSON's reader would say of an arbitrary file helps nobody.
std::unexpected<Error> nothing_known(const Sentence& name) {
  return fail(
      ErrorCode::invalid,
      "cannot replay {}: it is none of the files that --replay reads. Those are of berth status "
      "--json, berth record, nvidia-smi -q, nvidia-smi -q -x, or several of nvidia-smi's answers",
      name);
}

std::unexpected<Error> cannot_replay(const auto& what, const Error& why) {
  return fail(ErrorCode::invalid, "cannot replay {}: {}", what, why.said());
}

/// Whether the file begins as a recording does and is too long for memory.
bool is_long_recording(int fd) {
  struct stat facts{};
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  if (static_cast<std::size_t>(facts.st_size) <= long_from) return false;
  ReadBlock<1 << 20> block;
  const ssize_t got = ::pread(fd, block.data(), block.size(), 0);
  if (got <= 0) return false;
  const std::string_view beginning(block.data(), static_cast<std::size_t>(got));
  const std::string_view first = trimmed(beginning.substr(0, beginning.find('\n')));
  return first.starts_with('{') && first.ends_with('}');
}

/// What the reader of JSON says of a line that breaks off is for programmers: of it, the place.
std::unexpected<Error> unreadable(const Error& why, std::string_view text, const Sentence& name,
                                  std::size_t line) {
  const auto fault = json_fault_in(text);
  if (!fault) return fail(ErrorCode::invalid, "{}, line {}: {}", name, line, why.said());
  if (!fault->byte) {
    return fail(
        ErrorCode::invalid,
        "{}, line {}: not valid JSON: the file was cut short or damaged; have it written again",
        name, line);
  }
  const std::string_view before = text.substr(0, *fault->byte);
  const auto within = static_cast<std::size_t>(std::ranges::count(before, '\n'));
  const std::size_t column = *fault->byte - (before.rfind('\n') + 1);  // npos + 1 is 0
  return fail(ErrorCode::invalid,
              "{}, line {}: not valid JSON from column {} on: the file was cut short or damaged. "
              "Have it written again, or begin at another snapshot of it: FILE#N",
              name, line + within, column);
}

/// A file may hold times whose difference fits into no number: then it is the largest there is.
std::int64_t milliseconds_from(WallTime earlier, WallTime later) {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(later.unix_ms, earlier.unix_ms, &difference)) return difference;
  using Limits = std::numeric_limits<std::int64_t>;
  return later < earlier ? Limits::min() : Limits::max();
}

}  // namespace

void Recording::split_lines() {
  std::size_t begin = 0;
  for (std::size_t number = 1; begin < text_.size(); ++number) {
    std::size_t end = text_.find('\n', begin);
    if (end == std::string::npos) end = text_.size();
    const std::string_view line = trimmed(std::string_view(text_).substr(begin, end - begin));
    if (!line.empty()) lines_.push_back({number, begin, end - begin, begins_like_json(line)});
    begin = end + 1;
  }
}

Result<void> Recording::find_lines() {
  ReadBlock<1 << 16> block;
  Line line{.number = 1, .begin = 0, .length = 0, .is_json = false};
  bool is_blank = true;
  std::size_t offset = 0;
  const auto end_line = [&](std::size_t end) {
    line.length = end - line.begin;
    if (!is_blank) lines_.push_back(line);
    line = {.number = line.number + 1, .begin = end + 1, .length = 0, .is_json = false};
    is_blank = true;
  };
  while (lines_.size() < most_lines) {
    const ssize_t got =
        ::pread(file_.get(), block.data(), block.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_system(errno, "read {}", name_);
    if (got == 0) {
      if (line.begin < offset) end_line(offset);
      return {};
    }
    std::string_view rest(block.data(), static_cast<std::size_t>(got));
    while (!rest.empty()) {
      const std::string_view piece = rest.substr(0, rest.find('\n'));
      const std::string_view words = is_blank ? trimmed(piece) : std::string_view();
      if (!words.empty()) {
        is_blank = false;
        line.is_json = begins_like_json(words);
      }
      offset += piece.size();
      rest.remove_prefix(piece.size());
      if (rest.empty()) break;
      end_line(offset++);
      rest.remove_prefix(1);
    }
  }
  return fail(ErrorCode::invalid, "{} has more than {} lines", name_, most_lines);
}

Result<Recording> Recording::parse(std::string text, Sentence name, RecordingPart part) {
  const std::string beginning = text.substr(0, byte_order_mark_length);
  text = as_utf8(std::move(text), beginning, 0);
  if (auto read = part.foreign != nullptr ? part.foreign(text, part.phase) : std::nullopt) {
    if (!*read) return cannot_replay(name, read->error());
    Recording recording({}, std::move(name), part.first - 1);
    recording.foreign_ = std::move(**read);
    if (auto playable = recording.check(); !playable) {
      return std::unexpected(std::move(playable).error());
    }
    return recording;
  }
  if (!part.phase.empty()) {
    return fail(ErrorCode::invalid, "{} is no capture file: it has no phase \"{}\"", name,
                part.phase);
  }
  Recording recording(std::move(text), std::move(name), part.first - 1);
  recording.split_lines();
  // Indented JSON has its first line end in the middle of an object. So has a line that was cut
  // short, and behind that another snapshot begins.
  if (recording.lines_.size() > 1 && recording.lines_.front().is_json &&
      !recording.line(0).value_or("").ends_with('}') &&
      !recording.line(1).value_or("").starts_with("{\"")) {
    recording.lines_ = {{1, 0, recording.text_.size(), true}};
  }
  if (auto playable = recording.check(); !playable) {
    return std::unexpected(std::move(playable).error());
  }
  return recording;
}

Result<void> Recording::check() const {
  if (size() == 0) {
    return fail(ErrorCode::invalid, "{} holds no snapshot: it is empty", name_);
  }
  if (foreign_.empty() && std::ranges::none_of(lines_, &Line::is_json)) return nothing_known(name_);
  if (first_ >= size()) {
    return fail(ErrorCode::invalid, "{} holds {} snapshots, there is no number {}", name_, size(),
                first_ + 1);
  }
  auto readable = at(first_);
  if (!readable) return std::unexpected(std::move(readable).error());
  return {};
}

Result<Recording> Recording::open(const std::string& spec,
                                  const std::optional<Result<std::string>>& piped,
                                  ForeignReader foreign) {
  const auto wanted = parse_spec(spec);
  if (!wanted) return std::unexpected(wanted.error());
  const RecordingPart part{.first = wanted->first, .phase = wanted->phase, .foreign = foreign};
  if (!piped) return open_file(wanted->file, part);
  if (!*piped) return cannot_replay(spec, piped->error());
  return parse(**piped, wanted->file == "-" ? standard_input() : Sentence::as_is(wanted->file),
               part);
}

Result<Recording> Recording::open_file(const std::string& file, RecordingPart part) {
  std::error_code unknown;
  const auto kind = std::filesystem::status(file, unknown).type();
  if (kind == std::filesystem::file_type::character || kind == std::filesystem::file_type::block) {
    return fail(ErrorCode::invalid, "cannot replay {}: it is a device, not a file", file);
  }
  auto fd = open_fd(file, O_RDONLY | O_NONBLOCK);
  if (!fd) return cannot_replay(file, fd.error());
  if (part.phase.empty() && is_long_recording(fd->get())) {
    Recording recording({}, Sentence::as_is(file), part.first - 1);
    recording.file_ = std::move(*fd);
    if (auto found = recording.find_lines(); !found) return cannot_replay(file, found.error());
    if (auto playable = recording.check(); !playable) {
      return std::unexpected(std::move(playable).error());
    }
    return recording;
  }
  auto text = read_file(file, longest_in_memory);
  if (!text) return cannot_replay(file, text.error());
  return parse(std::move(*text), Sentence::as_is(file), part);
}

std::optional<Result<std::string>> piped_recording(const std::string& spec) {
  const auto wanted = parse_spec(spec);
  if (!wanted) return std::nullopt;
  const std::string& file = wanted->file;
  if (file == "-" && !is_there(file)) {
    return read_stream(STDIN_FILENO, longest_in_memory, standard_input());
  }
  std::error_code unknown;
  const auto kind = std::filesystem::status(file, unknown).type();
  if (kind != std::filesystem::file_type::fifo) return std::nullopt;
  return read_named_file(file, longest_in_memory);
}

Result<std::string> Recording::line(std::size_t position) const {
  const Line& line = lines_.at(position);
  if (!file_.is_open()) {
    return std::string(trimmed(std::string_view(text_).substr(line.begin, line.length)));
  }
  if (line.length > longest_line) {
    return fail(ErrorCode::invalid, "{}, line {}: it is no snapshot", name_, line.number);
  }
  std::string text(line.length, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::pread(file_.get(), text.data() + have, text.size() - have,
                                static_cast<off_t>(line.begin + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_system(errno, "read {}", name_);
    if (got == 0) break;  // somebody has cut the file meanwhile
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return std::string(trimmed(text));
}

Result<Snapshot> Recording::at(std::size_t position) const {
  if (!foreign_.empty()) return foreign_.at(position);
  const Line& one = lines_.at(position);
  if (!one.is_json) {
    return fail(ErrorCode::invalid, "{}, line {}: it is no snapshot", name_, one.number);
  }
  const auto text = line(position);
  if (!text) return std::unexpected(text.error());
  auto snapshot = snapshot_from_json(*text);
  if (!snapshot) return unreadable(snapshot.error(), *text, name_, one.number);
  return snapshot;
}

namespace {

bool ends_a_line(const std::string& file, off_t size) {
  const auto fd = open_fd(file, O_RDONLY | O_NONBLOCK);
  char last = 0;
  return fd && ::pread(fd->get(), &last, 1, size - 1) == 1 && last == '\n';
}

std::unexpected<Error> torn(const std::string& file, const Recording::Line& last) {
  return fail(ErrorCode::invalid,
              "{} breaks off in its last line, {}: nothing was added to it; --replay plays what "
              "is before. To go on with it, cut that line off: truncate -s {} {}",
              printable(file), last.number, last.begin, shell_quoted(file));
}

/// Adding to anything else would spoil it, and the recording too.
Result<void> is_fit_to_go_on(const std::string& file) {
  struct stat facts{};
  if (::stat(file.c_str(), &facts) != 0 || facts.st_size == 0) return {};
  const auto recording = Recording::open_file(file);
  const bool is_whole = ends_a_line(file, facts.st_size);
  if (recording && is_whole) return {};
  if (recording && !recording->at(recording->size() - 1)) return torn(file, recording->last_line());
  return fail(ErrorCode::invalid, "{} is no whole recording: nothing was added to it",
              printable(file));
}

}  // namespace

Result<Fd> open_to_record(const std::string& file, RecordInto into) {
  const bool goes_on = into == RecordInto::what_is_there;
  struct stat facts{};
  if (::stat(file.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
    return S_ISDIR(facts.st_mode)
               ? fail(ErrorCode::invalid, "{} is a folder; name a file in it, or - for stdout",
                      printable(file))
               : fail(ErrorCode::invalid,
                      "{} is no regular file; name one, or - for stdout, which may lead into it",
                      printable(file));
  }
  if (const auto fit = goes_on ? is_fit_to_go_on(file) : Result<void>(); !fit) {
    return std::unexpected(fit.error());
  }
  const int create = goes_on ? 0 : O_EXCL;
  auto fd = open_fd(file, O_WRONLY | O_CREAT | O_APPEND | create, 0644);
  if (!fd && !goes_on && is_there(file)) {
    return fail(fd.error().code(), "{}; --append goes on with a file that is there",
                fd.error().said());
  }
  return fd;
}

Snapshot Player::look(WallTime now) {
  if (!started_) {
    started_ = now;
    position_ = recording_.first();
    // parse() has read this one.
    shown_ = recording_.at(position_++).value_or(Snapshot{});
    recorded_ = shown_.taken;
  }
  const std::int64_t elapsed = milliseconds_from(*started_, now);
  std::vector<Problem> unreadable;
  while (position_ < recording_.size()) {
    auto next = recording_.at(position_);
    if (!next) {
      unreadable.push_back(
          {.source = "replay", .code = "unreadable", .message = next.error().said()});
    } else if (milliseconds_from(*recorded_, next->taken) <= elapsed) {
      shown_ = std::move(*next);
    } else {
      break;
    }
    ++position_;
  }
  Snapshot shown = shown_;
  shown.problems.insert(shown.problems.end(), unreadable.begin(), unreadable.end());
  return shown;
}

}  // namespace berth
