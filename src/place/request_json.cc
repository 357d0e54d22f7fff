// A request as one line of JSON, for a ticket in the queue. The reader is somebody else's process,
// perhaps of another version and another user: all of it is hostile until it is a Request.

#include <algorithm>

#include "base/json_archive.h"
#include "base/tr.h"
#include "place/request.h"
#include "place/words.h"

namespace berth {

namespace {

constexpr int newest_version = 1;
constexpr int most_devices = 4096;
constexpr std::size_t longest_text = 64 << 10;
constexpr Milliseconds longest_idle{366LL * 86'400'000};

void walk_version(Archive& archive) {
  std::optional<std::uint64_t> version;
  if (!archive.is_reading()) version = newest_version;
  archive.member("berth_request", version);
  if (!version) return archive.mistake("it has no \"berth_request\": 1");
  if (*version == 0) archive.mistake("its version is 0");
  if (*version > newest_version) {
    archive.mistake("its version " + std::to_string(*version) + " is newer than this berth knows");
  }
}

void walk_memory(Archive& archive, std::optional<MemoryShare>& memory) {
  std::optional<Bytes> size;
  std::optional<Percent> percent;
  if (memory && std::holds_alternative<Bytes>(*memory)) size = std::get<Bytes>(*memory);
  if (memory && std::holds_alternative<Percent>(*memory)) percent = std::get<Percent>(*memory);
  archive.member("memory_bytes", size, Form::sparse);
  archive.member("memory_percent", percent, Form::sparse);
  if (size && percent) archive.mistake("it has two sizes of memory");
  if (size && (size->count() == 0 || !std::in_range<std::int64_t>(size->count()))) {
    archive.mistake("memory_bytes is not in range");
  }
  if (percent && !(percent->count() > 0 && percent->count() <= 100)) {
    archive.mistake("memory_percent is not more than 0 and up to 100");
  }
  if (size) memory = *size;
  if (percent) memory = *percent;
}

void walk_preference(Archive& archive, Preference& preference) {
  constexpr std::string_view listed = "listed";
  std::string word(listed);
  for (const auto& [value, name] : preference_words) {
    if (value == preference) word = name;
  }
  archive.member("prefer", word);
  if (word == listed) return void(preference = Preference::listed);
  const auto known =
      std::ranges::find(preference_words, word, [](const auto& one) { return one.second; });
  if (known == preference_words.end()) return archive.mistake("prefer has an unknown value");
  preference = known->first;
}

void walk_compute(Archive& archive, std::optional<ComputeCapability>& least) {
  std::optional<std::string> text;
  if (least) text = std::to_string(least->major) + "." + std::to_string(least->minor);
  archive.member("min_compute", text, Form::sparse);
  if (!text || !archive.is_reading()) return;
  const auto parsed = parse_compute(*text);
  if (!parsed) return archive.mistake("min_compute is not a compute capability");
  least = *parsed;
}

void walk_needs(Archive& archive, std::vector<Need>& needs) {
  std::vector<std::string> words;
  for (const Need need : needs) words.emplace_back(facts_of(need).word);
  archive.member("needs", words, Form::sparse);
  if (!archive.is_reading()) return;
  for (const std::string& word : words) {
    const auto known = parse_needs(word);
    if (!known) return archive.mistake("needs has an unknown feature");
    needs.insert(needs.end(), known->begin(), known->end());
  }
}

}  // namespace

// Found by the namespace of what they put, hence not in the nameless one.
static void put(Archive& archive, DevicePattern& pattern) { put(archive, pattern.text); }

static void walk(Archive& archive, Request& request) {
  walk_version(archive);
  archive.member("devices", request.devices);
  if (request.devices < 1 || request.devices > most_devices) {
    archive.mistake("devices is not in range");
  }
  walk_memory(archive, request.memory);
  archive.member("only", request.only, Form::sparse);
  archive.member("except", request.except, Form::sparse);
  walk_preference(archive, request.prefer);
  archive.member("preferred", request.preferred, Form::sparse);
  walk_compute(archive, request.min_compute);
  walk_needs(archive, request.needs);
  archive.member("max_utilization_percent", request.max_utilization, Form::sparse);
  const double percent = request.max_utilization.value_or(Percent(0)).count();
  if (!(percent >= 0 && percent <= 100)) {
    archive.mistake("max_utilization_percent is not 0 to 100");
  }
  archive.member("idle_for_ms", request.idle_for, Form::sparse);
  const Milliseconds idle = request.idle_for.value_or(Milliseconds(0));
  if (idle < Milliseconds(0) || idle > longest_idle) archive.mistake("idle_for_ms is not in range");
  archive.member("allow_failed", request.allow_failed, Form::sparse);
}

std::string to_json(const Request& request) {
  Request copy = request;
  return write_json(JsonLayout::compact, [&](Archive& archive) { walk(archive, copy); });
}

Result<Request> request_from_json(std::string_view text) {
  if (text.size() > longest_text) {
    return fail(ErrorCode::invalid, std::string(tr("not a request of berth: too long")));
  }
  Request request;
  const auto read = read_json(text, [&](Archive& archive) { walk(archive, request); });
  if (read) return request;
  return fail(read.error().code(),
              trf("not a request that berth can read: {}", read.error().message()));
}

}  // namespace berth
