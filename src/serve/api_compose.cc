// Composes a `berth run` command. Says what a job (place/job_spec.h) would get on the machine as of
// the last look. Nothing is taken.

#include <algorithm>

#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "config/config.h"
#include "place/job_spec.h"
#include "place/placement.h"
#include "serve/api_json.h"
#include "view/placement_text.h"

namespace berth::serve {

namespace {

constexpr std::size_t longest_text = 4096;
constexpr std::size_t most_words = 256;

Error wrong(std::string_view key, std::string_view why) {
  return Error(ErrorCode::invalid, "{}: {}", key, why);
}

/// As one would type it: "10G", "2", "true", "0,2"; nothing: it is no such value.
std::optional<std::string> typed(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  if (!value.is_array() || value.size() > most_words) return std::nullopt;
  std::string joined;
  for (const Json& one : value) {
    const auto text = one.is_array() ? std::nullopt : typed(one);
    if (!text) return std::nullopt;
    joined += (joined.empty() ? "" : ",") + *text;
  }
  return joined;
}

/// The text under a key; empty: it is not there, or null.
Result<std::string> text_at(const Json& body, std::string_view key) {
  const auto found = body.find(key);
  if (found == body.end() || found->is_null()) return std::string();
  auto text = typed(*found);
  if (!text) return std::unexpected(wrong(key, "a text, a number or a list of them is wanted"));
  if (text->size() > longest_text) return std::unexpected(wrong(key, "too long"));
  return *std::move(text);
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

/// A wish under a name that nobody knows would be passed over in silence.
Result<void> known_keys_alone(const Json& body) {
  std::vector<std::string_view> known;
  for (const JobKey& key : job_keys()) {
    if (key.is_for_all) known.push_back(key.name);
  }
  known.emplace_back("command");
  for (const auto& [key, value] : body.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    constexpr int widest = 80;  // of a name that is as long as the whole body
    return fail(ErrorCode::invalid, "there is no {}; there are {}",
                cut_to_width(printable(key), widest, true), joined(known, ", "));
  }
  return {};
}

/// What the policy says of such a job counts as where it is typed.
Result<JobSpec> job_in(const Json& body, const PlaceLimits& limits) {
  if (auto known = known_keys_alone(body); !known) return std::unexpected(known.error());
  std::vector<std::string> typed;
  for (const JobKey& key : job_keys()) {
    auto text = key.is_for_all ? text_at(body, key.name) : Result<std::string>("");
    if (!text) return std::unexpected(text.error());
    typed.push_back(*std::move(text));
  }
  Config rules;
  if (limits.policy != nullptr) rules.add_rules(limits.policy->of(limits.uid), limits.policy->path);
  auto job = job_of(typed, rules, [](const JobKey& key) { return key.name; });
  if (!job) return job;
  auto command = command_at(body);
  if (!command) return std::unexpected(command.error());
  job->command = *std::move(command);
  return job;
}

/// What the command would do if it were typed now.
void write_outcome(Archive& archive, const Placement& placement, const JobSpec& job) {
  const bool may_wait = !job.wait || job.wait->count() > 0;
  const bool waits = !placement.satisfied() && placement.possible && may_wait;
  const bool ends = !placement.satisfied() && !waits;
  archive.derived("does", std::string(ends ? "ends" : waits ? "waits" : "starts"));
  archive.derived("exit_code", ends ? std::optional(exit_code::no_device) : std::nullopt);
}

}  // namespace

HttpResponse answer_compose(const Question& question) {
  constexpr int deepest = 4;
  const Json body = parse_json(question.request.body, deepest).value_or(Json());
  if (!body.is_object()) {
    return error_response(
        400, "bad_body", "this is no request",
        "{\"devices\":2,\"memory\":\"10G\",\"command\":[\"python\",\"train.py\"]}");
  }
  PlaceLimits limits;
  if (question.principal.uid) {  // else nobody knows whose rules would hold
    limits.policy = question.context.rules.get();
    limits.uid = *question.principal.uid;
  }
  const auto job = job_in(body, limits);
  if (!job) return error_response(job.error());
  limits.time_limit = job->time_limit;
  if (question.context.are_rules_unread) {
    return error_response(503, "policy_unread",
                          "the policy of this machine cannot be read, so that no job starts",
                          "`berth policy` says what is wrong with it");
  }
  // What the principal may not see still stands in the way, without a name.
  const auto seen = seen_by(question.principal, question.context);
  const Placement placement = place_newcomer(*seen, job->request, limits);
  return json_answer([&](Archive& archive) {
    archive.derived("command", run_line(*job));
    write_outcome(archive, placement, *job);
    write_placement(archive, placement, as_typed(job->request), *seen);
  });
}

}  // namespace berth::serve
