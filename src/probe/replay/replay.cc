#include "probe/replay/replay.h"

#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "base/encoding.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "probe/nvml/card_table.h"
#include "smi/dump.h"
#include "snapshot/json.h"

namespace berth {

namespace {

/// A day at one snapshot a second, of a small machine.
constexpr std::size_t longest_recording = std::size_t{1} << 30;

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

/// What the vendor's tool printed, as snapshots, one per line.
Result<std::string> lines_of_dump(const std::string& text, std::string_view phase) {
  std::string lines;
  for (const std::string_view one : smi::dumps_in(text)) {
    auto snapshot = smi::snapshot_from_dump(one, phase);
    if (!snapshot) return std::unexpected(std::move(snapshot).error());
    for (Device& device : snapshot->devices) {
      if (device.cuda_cores.get() || device.parent || !device.name.get()) continue;
      if (const auto cores = nvml::cores_of_product(*device.name.get())) device.cuda_cores = *cores;
    }
    lines += to_json(*snapshot, JsonLayout::compact) + "\n";
  }
  return lines;
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
    return fail(ErrorCode::invalid, trf("{}: snapshots are counted from 1", spec));
  }
  return Spec{.file = spec.substr(0, hash), .first = *number};
}

bool begins_like_json(std::string_view line) {
  return line.starts_with('{') || line.starts_with('[');
}

/// What JSON's reader would say of an arbitrary file helps nobody.
std::unexpected<Error> nothing_known(const std::string& name) {
  return fail(ErrorCode::invalid,
              trf("cannot replay {}: it is none of the files that --replay reads: berth status "
                  "--json, berth record, nvidia-smi -q, nvidia-smi -q -x, or a capture of several "
                  "of nvidia-smi's answers",
                  name));
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
    const std::string_view line = std::string_view(text_).substr(begin, end - begin);
    if (!trimmed(line).empty()) lines_.push_back({number, begin, end - begin});
    begin = end + 1;
  }
}

Result<Recording> Recording::parse(std::string text, std::string name, std::size_t first,
                                   std::string_view phase) {
  const std::string beginning = text.substr(0, byte_order_mark_length);
  text = as_utf8(std::move(text), beginning, 0);
  if (smi::looks_like_dump(text)) {
    auto lines = lines_of_dump(text, phase);
    if (!lines) {
      return fail(ErrorCode::invalid, trf("cannot replay {}: {}", name, lines.error().message()));
    }
    text = std::move(*lines);
  } else if (!phase.empty()) {
    return fail(ErrorCode::invalid,
                trf("{} is no capture file: it has no phase \"{}\"", name, phase));
  }
  Recording recording(std::move(text), std::move(name), first - 1);
  recording.split_lines();
  if (recording.lines_.empty()) {
    return fail(ErrorCode::invalid, trf("{} holds no snapshot: it is empty", recording.name_));
  }
  if (!recording.has_json()) return nothing_known(recording.name_);
  // Indented JSON has its first line end in the middle of an object.
  const std::string_view opening = recording.line(0);
  if (recording.lines_.size() > 1 && begins_like_json(opening) && !opening.ends_with('}')) {
    recording.lines_ = {{1, 0, recording.text_.size()}};
  }
  if (recording.first_ >= recording.size()) {
    return fail(ErrorCode::invalid, trf("{} holds {} snapshots, there is no number {}",
                                        recording.name_, recording.size(), first));
  }
  auto readable = recording.at(recording.first_);
  if (!readable) return std::unexpected(std::move(readable).error());
  return recording;
}

Result<Recording> Recording::open(const std::string& spec) {
  const auto wanted = parse_spec(spec);
  if (!wanted) return std::unexpected(wanted.error());
  std::error_code unknown;
  const auto kind = std::filesystem::status(wanted->file, unknown).type();
  if (kind == std::filesystem::file_type::character || kind == std::filesystem::file_type::block) {
    return fail(ErrorCode::invalid, trf("cannot replay {}: it is a device, not a file", spec));
  }
  auto text = read_file(wanted->file, longest_recording);
  if (!text) {
    return fail(ErrorCode::invalid, trf("cannot replay {}: {}", spec, text.error().message()));
  }
  return parse(std::move(*text), wanted->file, wanted->first, wanted->phase);
}

std::string_view Recording::line(std::size_t position) const {
  const Line& line = lines_.at(position);
  return trimmed(std::string_view(text_).substr(line.begin, line.length));
}

bool Recording::has_json() const {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (begins_like_json(line(i))) return true;
  }
  return false;
}

Result<Snapshot> Recording::at(std::size_t position) const {
  if (!begins_like_json(line(position))) {
    return fail(ErrorCode::invalid,
                trf("{}, line {}: it is no snapshot", name_, lines_.at(position).number));
  }
  auto snapshot = snapshot_from_json(line(position));
  if (!snapshot) {
    return fail(ErrorCode::invalid, trf("{}, line {}: {}", name_, lines_.at(position).number,
                                        snapshot.error().message()));
  }
  return snapshot;
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
          {.source = "replay", .code = "unreadable", .message = next.error().message()});
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
