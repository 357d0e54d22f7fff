// A request as one line of JSON, for a ticket in the queue. The reader is somebody else's process,
// perhaps of another version and another user: all of it is hostile until it is a Request.

#include <nlohmann/json.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <new>

#include "base/memory_limit.h"
#include "base/text.h"
#include "base/tr.h"
#include "place/request.h"
#include "place/words.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;

constexpr int newest_version = 1;
constexpr int most_devices = 4096;
constexpr std::size_t longest_text = 64 << 10;
constexpr int deepest_nesting = 8;

/// A mistake in the text, thrown inside this file only and turned into an Error at its border.
struct Malformed {
  std::string what;
};

Json patterns_json(const std::vector<DevicePattern>& patterns) {
  Json list = Json::array();
  for (const DevicePattern& pattern : patterns) list.push_back(pattern.text);
  return list;
}

std::string preference_word(Preference preference) {
  for (const auto& [value, word] : preference_words) {
    if (value == preference) return std::string(word);
  }
  return "listed";
}

/// Null where there is no such key.
const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text_of(const Json& value, const char* key) {
  if (!value.is_string()) throw Malformed{std::string(key) + " is not a text"};
  return value.get<std::string>();
}

std::uint64_t unsigned_of(const Json& value, const char* key, std::uint64_t most) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
    throw Malformed{std::string(key) + " is not a whole number in range"};
  }
  return value.get<std::uint64_t>();
}

Percent percent_of(const Json& value, const char* key) {
  const double percent = value.is_number() ? value.get<double>() : -1;
  if (!(percent >= 0 && percent <= 100)) throw Malformed{std::string(key) + " is not 0 to 100"};
  return Percent(percent);
}

std::vector<DevicePattern> patterns_of(const Json& object, const char* key) {
  std::vector<DevicePattern> patterns;
  const Json* list = member(object, key);
  if (list == nullptr) return patterns;
  if (!list->is_array()) throw Malformed{std::string(key) + " is not a list"};
  for (const Json& entry : *list) patterns.push_back({text_of(entry, key)});
  return patterns;
}

std::optional<MemoryShare> memory_of(const Json& object) {
  const Json* size = member(object, "memory_bytes");
  const Json* percent = member(object, "memory_percent");
  if (size != nullptr && percent != nullptr) throw Malformed{"it has two sizes of memory"};
  if (size != nullptr) {
    const auto bytes = unsigned_of(*size, "memory_bytes", std::numeric_limits<std::int64_t>::max());
    if (bytes == 0) throw Malformed{"memory_bytes is 0"};
    return Bytes(bytes);
  }
  if (percent == nullptr) return std::nullopt;
  const Percent share = percent_of(*percent, "memory_percent");
  if (share.count() == 0) throw Malformed{"memory_percent is 0"};
  return share;
}

Preference preference_of(const Json& object) {
  const Json* word = member(object, "prefer");
  if (word == nullptr) return Preference::best_fit;
  const std::string text = text_of(*word, "prefer");
  if (text == "listed") return Preference::listed;
  for (const auto& [preference, known] : preference_words) {
    if (known == text) return preference;
  }
  throw Malformed{"prefer has an unknown value"};
}

std::vector<Need> needs_of(const Json& object) {
  std::vector<Need> needs;
  for (const DevicePattern& word : patterns_of(object, "needs")) {
    const auto known = parse_needs(word.text);
    if (!known) throw Malformed{"needs has an unknown feature"};
    needs.insert(needs.end(), known->begin(), known->end());
  }
  return needs;
}

Request request_from(const Json& root) {
  if (!root.is_object()) throw Malformed{"it is not an object"};
  const Json* version = member(root, "berth_request");
  if (version == nullptr) throw Malformed{"it has no \"berth_request\": 1"};
  const std::uint64_t number = unsigned_of(*version, "berth_request", 1'000'000'000);
  if (number == 0) throw Malformed{"its version is 0"};
  if (number > newest_version) {
    throw Malformed{"its version " + std::to_string(number) + " is newer than this berth knows"};
  }
  Request request;
  if (const Json* devices = member(root, "devices")) {
    request.devices = static_cast<int>(unsigned_of(*devices, "devices", most_devices));
    if (request.devices == 0) throw Malformed{"devices is 0"};
  }
  request.memory = memory_of(root);
  request.only = patterns_of(root, "only");
  request.except = patterns_of(root, "except");
  request.prefer = preference_of(root);
  request.preferred = patterns_of(root, "preferred");
  if (const Json* compute = member(root, "min_compute")) {
    const auto parsed = parse_compute(text_of(*compute, "min_compute"));
    if (!parsed) throw Malformed{"min_compute is not a compute capability"};
    request.min_compute = *parsed;
  }
  request.needs = needs_of(root);
  if (const Json* percent = member(root, "max_utilization_percent")) {
    request.max_utilization = percent_of(*percent, "max_utilization_percent");
  }
  if (const Json* idle = member(root, "idle_for_ms")) {
    constexpr std::uint64_t year_ms = 366ULL * 86'400'000ULL;
    request.idle_for =
        Milliseconds(static_cast<std::int64_t>(unsigned_of(*idle, "idle_for_ms", year_ms)));
  }
  if (const Json* allowed = member(root, "allow_failed")) {
    if (!allowed->is_boolean()) throw Malformed{"allow_failed is not true or false"};
    request.allow_failed = allowed->get<bool>();
  }
  return request;
}

}  // namespace

std::string to_json(const Request& request) {
  Json root = Json::object();
  root["berth_request"] = newest_version;
  root["devices"] = request.devices;
  if (request.memory) {
    if (const auto* size = std::get_if<Bytes>(&*request.memory)) {
      root["memory_bytes"] = size->count();
    } else {
      root["memory_percent"] = std::get<Percent>(*request.memory).count();
    }
  }
  if (!request.only.empty()) root["only"] = patterns_json(request.only);
  if (!request.except.empty()) root["except"] = patterns_json(request.except);
  root["prefer"] = preference_word(request.prefer);
  if (!request.preferred.empty()) root["preferred"] = patterns_json(request.preferred);
  if (request.min_compute) {
    root["min_compute"] = std::to_string(request.min_compute->major) + "." +
                          std::to_string(request.min_compute->minor);
  }
  if (!request.needs.empty()) {
    Json needs = Json::array();
    for (const Need need : request.needs) needs.push_back(facts_of(need).word);
    root["needs"] = std::move(needs);
  }
  if (request.max_utilization) root["max_utilization_percent"] = request.max_utilization->count();
  if (request.idle_for) root["idle_for_ms"] = request.idle_for->count();
  if (request.allow_failed) root["allow_failed"] = true;
  return printable_json(root.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<Request> request_from_json(std::string_view text) {
  if (text.size() > longest_text || nesting_depth(text) > deepest_nesting) {
    return fail(ErrorCode::invalid,
                std::string(tr("not a request of berth: too long or too deep")));
  }
  try {
    return request_from(Json::parse(text));
  } catch (const Malformed& mistake) {
    return fail(ErrorCode::invalid, trf("not a request that berth can read: {}", mistake.what));
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::io, std::string(memory_ran_out()));
  } catch (const std::exception& error) {  // nlohmann's: says line and column
    return fail(ErrorCode::invalid, trf("not a request of berth: {}", error.what()));
  }
}

}  // namespace berth
