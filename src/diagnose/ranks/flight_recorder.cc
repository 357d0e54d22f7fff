#include "diagnose/ranks/flight_recorder.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "diagnose/ranks/pickle.h"

namespace berth {

namespace {

/// The innermost frame that is the user's: those of torch itself say nothing new.
std::string where_of(const Pickle& dump, Pickle::Number entry) {
  const auto frames = dump.find(entry, "frames");
  if (!frames) return {};
  std::string first;
  for (const Pickle::Number frame : dump.items(*frames)) {
    const std::string_view file = dump.text(dump.find(frame, "filename"));
    if (file.empty()) continue;
    const std::string place = fmt::format("{}:{} in {}", file.substr(file.rfind('/') + 1),
                                          dump.integer(dump.find(frame, "line")).value_or(0),
                                          dump.text(dump.find(frame, "name")));
    if (file.find("/torch/") == file.npos) return place;
    if (first.empty()) first = place;
  }
  return first;
}

std::string group_of(const Pickle& dump, Pickle::Number entry) {
  const auto group = dump.find(entry, "process_group");
  if (!group) return {};
  const auto& names = dump.items(*group);
  return names.empty() ? std::string() : std::string(dump.text(names.front()));
}

}  // namespace

Result<FlightDump> read_flight_dump(std::string_view bytes) {
  const auto dump = Pickle::read(bytes);
  if (!dump) return std::unexpected(dump.error());
  const auto entries = dump->find(dump->root(), "entries");
  if (!entries) return fail(ErrorCode::invalid, "it has no entries of a flight recorder");
  FlightDump last;
  for (const Pickle::Number entry : dump->items(*entries)) {
    // Between two ranks alone there is no number that all count.
    const auto is_pair = dump->find(entry, "is_p2p");
    if (is_pair && std::holds_alternative<bool>(dump->at(*is_pair)) &&
        std::get<bool>(dump->at(*is_pair))) {
      continue;
    }
    auto number = dump->integer(dump->find(entry, "collective_seq_id"));
    if (!number) number = dump->integer(dump->find(entry, "seq_id"));  // before 2.4
    if (!number) continue;
    LastOperation& known = last[group_of(*dump, entry)];
    if (*number < known.number) continue;
    known = {.number = *number,
             .name = std::string(dump->text(dump->find(entry, "profiling_name"))),
             .state = std::string(dump->text(dump->find(entry, "state"))),
             .where = where_of(*dump, entry)};
  }
  return last;
}

namespace {

std::string told(const LastOperation& operation) {
  return operation.where.empty() ? operation.name : operation.name + ", " + operation.where;
}

FlightStory story_of_group(const std::map<int, LastOperation>& last) {
  FlightStory story;
  std::int64_t furthest = 0;
  for (const auto& [rank, operation] : last) furthest = std::max(furthest, operation.number);
  std::set<std::string> names;
  for (const auto& [rank, operation] : last) {
    if (operation.number < furthest) {
      if (story.ranks.empty()) story.last = told(operation);
      story.ranks.push_back(rank);
      continue;
    }
    names.insert(operation.name);
    if (story.others.empty()) story.awaited = operation;
    story.others.push_back(rank);
  }
  const bool is_over = story.awaited.state == "completed";
  if (!story.ranks.empty() && !is_over) {
    story.how = FlightStory::How::behind;
  } else if (names.size() > 1) {
    story = {.how = FlightStory::How::differs};
    for (const auto& [rank, operation] : last) {
      story.ranks.push_back(rank);
      story.last += (story.last.empty() ? "" : ", ") + fmt::format("{}: {}", rank, operation.name);
    }
  } else if (is_over) {
    story.others.clear();
  }
  return story;
}

}  // namespace

FlightStory flight_story(const std::map<int, FlightDump>& dumps, int ranks) {
  std::map<std::string, std::map<int, LastOperation>> groups;
  for (const auto& [rank, dump] : dumps) {
    for (const auto& [group, operation] : dump) groups[group][rank] = operation;
  }
  FlightStory best;
  std::size_t largest = 0;
  for (const auto& [group, last] : groups) {
    FlightStory story = story_of_group(last);
    const bool is_told = story.how != FlightStory::How::nobody;
    if ((!is_told && best.how != FlightStory::How::nobody) ||
        (is_told == (best.how != FlightStory::How::nobody) && last.size() <= largest)) {
      continue;
    }
    best = std::move(story);
    largest = last.size();
  }
  if (best.how != FlightStory::How::nobody || best.others.empty()) return best;
  for (int rank = 0; rank < ranks; ++rank) {
    if (!dumps.contains(rank)) best.ranks.push_back(rank);
  }
  if (!best.ranks.empty()) best.how = FlightStory::How::undumped;
  return best;
}

}  // namespace berth
