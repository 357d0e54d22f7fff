// Composing a `berth run` command: what a form's fields would get on the machine as it was seen
// last. Nothing is taken.

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "place/placement.h"
#include "serve/api_json.h"
#include "view/placement_text.h"

namespace berth::serve {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t longest_text = 4096;
constexpr std::size_t most_words = 256;

Error wrong(std::string_view key, std::string_view why) {
  return {ErrorCode::invalid, std::string(key) + ": " + std::string(why)};
}

/// The text under a key; empty: it is not there, or null.
Result<std::string> text_at(const Json& body, const char* key) {
  const auto found = body.find(key);
  if (found == body.end() || found->is_null()) return std::string();
  if (!found->is_string()) return std::unexpected(wrong(key, "a text is wanted"));
  auto text = found->get<std::string>();
  if (text.size() > longest_text) return std::unexpected(wrong(key, "too long"));
  return text;
}

Result<int> devices_at(const Json& body) {
  const auto found = body.find("devices");
  if (found == body.end() || found->is_null()) return 1;
  constexpr int most = 1024;
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() < 1 ||
      found->get<std::uint64_t>() > most) {
    return std::unexpected(wrong("devices", "a number from 1 to 1024 is wanted"));
  }
  return static_cast<int>(found->get<std::uint64_t>());
}

Result<std::vector<std::string>> command_at(const Json& body) {
  std::vector<std::string> words;
  const auto found = body.find("command");
  if (found == body.end() || found->is_null()) return words;
  const Error mistake = wrong("command", "a list of words is wanted");
  if (!found->is_array() || found->size() > most_words) return std::unexpected(mistake);
  for (const Json& word : *found) {
    if (!word.is_string() || word.get_ref<const std::string&>().size() > longest_text) {
      return std::unexpected(mistake);
    }
    words.push_back(word.get<std::string>());
  }
  return words;
}

/// Reads the text under `key`, if there is one, by `parse`, and keeps what it says.
template <class Parse, class Keep>
Result<void> take(const Json& body, const char* key, Parse parse, Keep keep) {
  const auto text = text_at(body, key);
  if (!text) return std::unexpected(text.error());
  if (text->empty()) return {};
  auto parsed = parse(*text);
  if (!parsed) return std::unexpected(std::move(parsed).error().because(key));
  keep(std::move(*parsed));
  return {};
}

Result<Percent> parse_percent(std::string_view text) {
  constexpr double most = 100;
  const auto number = parse_decimal(text);
  if (!number || *number > most) {
    return fail(ErrorCode::invalid, "a number from 0 to 100 is wanted");
  }
  return Percent(*number);
}

constexpr auto keys = std::to_array<std::string_view>(
    {"devices", "memory", "only", "except", "min_compute", "need", "idle_for", "max_utilization",
     "prefer", "allow_failed", "wait", "command"});

/// A wish under a name that nobody knows would be passed over in silence.
Result<void> known_keys_alone(const Json& body) {
  for (const auto& [key, value] : body.items()) {
    if (std::ranges::find(keys, key) != keys.end()) continue;
    constexpr int widest = 80;  // of a name that is as long as the whole body
    return fail(ErrorCode::invalid,
                fmt::format("there is no {}; there are {}",
                            cut_to_width(printable(key), widest, true), fmt::join(keys, ", ")));
  }
  return {};
}

Result<berth::Request> request_in(const Json& body) {
  if (auto known = known_keys_alone(body); !known) return std::unexpected(known.error());
  berth::Request request;
  const auto devices = devices_at(body);
  if (!devices) return std::unexpected(devices.error());
  request.devices = *devices;
  Result<void> done = take(body, "memory", parse_share, [&](auto v) { request.memory = v; });
  const auto then = [&](const char* key, auto parse, auto keep) {
    if (done) done = take(body, key, parse, keep);
  };
  then("only", parse_patterns, [&](auto v) { request.only = std::move(v); });
  then("except", parse_patterns, [&](auto v) { request.except = std::move(v); });
  then("min_compute", parse_compute, [&](auto v) { request.min_compute = v; });
  then("need", parse_needs, [&](auto v) { request.needs = std::move(v); });
  then("idle_for", parse_duration, [&](auto v) { request.idle_for = Milliseconds(v.count()); });
  then("max_utilization", parse_percent, [&](auto v) { request.max_utilization = v; });
  then(
      "prefer",
      [&](std::string_view text) -> Result<int> {
        auto parsed = parse_preference(text, request);
        if (!parsed) return std::unexpected(parsed.error());
        return 0;
      },
      [](int) {});
  if (!done) return std::unexpected(done.error());
  const auto allow = body.find("allow_failed");
  if (allow != body.end() && !allow->is_boolean() && !allow->is_null()) {
    return std::unexpected(wrong("allow_failed", "true or false is wanted"));
  }
  request.allow_failed = allow != body.end() && allow->is_boolean() && allow->get<bool>();
  return request;
}

/// As typed behind `--wait`; empty: the command is not to wait.
Result<std::string> wait_at(const Json& body) {
  auto wait = text_at(body, "wait");
  if (!wait || wait->empty() || *wait == "forever") return wait;
  const auto time = parse_duration(*wait);
  if (!time) return std::unexpected(Error(time.error()).because("wait"));
  if (time->count() <= 0) return std::unexpected(wrong("wait", "a time or \"forever\" is wanted"));
  return wait;
}

std::string command_line(const berth::Request& request, const std::string& wait,
                         const std::vector<std::string>& command) {
  std::string line = "berth run";
  if (const std::string typed = as_typed(request); !typed.empty()) line += " " + typed;
  if (!wait.empty()) line += wait == "forever" ? " --wait" : " --wait=" + shell_joined({wait});
  return line + " -- " + (command.empty() ? "COMMAND" : shell_joined(command));
}

/// What the command would do if it were typed now.
void write_outcome(Archive& archive, const Placement& placement, const std::string& wait) {
  constexpr int no_device = 124;  // doc/EXIT_CODES.md
  const bool waits = !placement.satisfied() && placement.possible && !wait.empty();
  const bool ends = !placement.satisfied() && !waits;
  archive.derived("does", std::string(ends ? "ends" : waits ? "waits" : "starts"));
  archive.derived("exit_code", ends ? std::optional(no_device) : std::nullopt);
}

}  // namespace

Response answer_compose(const Question& question) {
  constexpr int deepest = 4;
  const std::string& text = question.request.body;
  const Json body = nesting_depth(text) > deepest ? Json() : Json::parse(text, nullptr, false);
  if (!body.is_object()) {
    return error_response(
        400, "bad_body", "this is no request",
        "{\"devices\":2,\"memory\":\"10G\",\"command\":[\"python\",\"train.py\"]}");
  }
  const auto request = request_in(body);
  if (!request) return error_response(request.error());
  const auto command = command_at(body);
  if (!command) return error_response(command.error());
  const auto wait = wait_at(body);
  if (!wait) return error_response(wait.error());
  // What the asker may not see stands in his way all the same, without a name.
  const auto seen = seen_by(question.asker, question.world);
  const Placement placement = place_behind(*seen, seen->waiters.size(), *request);
  return json_answer([&](Archive& archive) {
    archive.derived("command", command_line(*request, *wait, *command));
    write_outcome(archive, placement, *wait);
    write_placement(archive, placement, as_typed(*request), *seen);
  });
}

}  // namespace berth::serve
