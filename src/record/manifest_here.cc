#include "record/manifest_here.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "record/record_writer.h"

namespace berth {

namespace {

using Json = nlohmann::ordered_json;
constexpr auto format = "berth-manifest";

// What only a run has, with what a manifest of no run reads as.
Json run_alone() {
  return {{"id", ""},
          {"command", Json::array()},
          {"started_steady_ms", nullptr},
          {"keeper", {{"pid", 0}, {"start_ticks", 0}}},
          {"job", nullptr},
          {"lease", ""},
          {"inside", ""},
          {"retry_of", nullptr},
          {"wanted", ""},
          {"cpu_only", false},
          {"waited_ms", 0},
          {"time_limit_ms", nullptr},
          {"log", nullptr},
          {"promised_bytes", Json::array()}};
}

}  // namespace

std::string here_to_json(const Manifest& manifest) {
  Json json = Json::parse(manifest_to_json(manifest));
  const Json alone = run_alone();
  for (const auto& [key, unused] : alone.items()) json.erase(key);
  Json ordered = {
      {"format", format},
      {"version", Manifest::format_version},
      {"taken_unix_ms", manifest.started.unix_ms},
      {"simulated", manifest.given.simulated ? Json(*manifest.given.simulated) : Json()}};
  json.erase("started_unix_ms");
  json.erase("format");
  ordered.update(json);
  return printable_json(ordered.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

Result<Manifest> any_manifest_from_json(std::string_view text) {
  if (nesting_depth(text) > 100) return fail(ErrorCode::invalid, "nested too deeply");
  Json json = Json::parse(text, nullptr, false);
  const bool is_here = json.is_object() && json.contains("format") && json.at("format") == format;
  if (!is_here) return manifest_from_json(text);
  json["format"] = "berth-run";
  json.update(run_alone());
  if (json.contains("taken_unix_ms")) json["started_unix_ms"] = json.at("taken_unix_ms");
  return manifest_from_json(json.dump());
}

}  // namespace berth
