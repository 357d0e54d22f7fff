// Runs: their records, samples and logs.

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/tr.h"
#include "serve/api_json.h"

namespace berth::serve {

/// [time, place of the device, the value of each column]
static void put(Archive& archive, SampleTable::RunRow& row) {
  archive.begin_list(row.values.size() + 2);
  archive.next_item();
  archive.scalar(row.at_unix_ms);
  archive.next_item();
  berth::put(archive, row.device);
  for (std::optional<double>& value : row.values) {
    archive.next_item();
    berth::put(archive, value);
  }
  archive.end_list();
}

namespace {

HttpResponse no_records() {
  return error_response(503, "no_records", "this server reads no records of runs",
                        "start berth serve where HOME or XDG_STATE_HOME is set");
}

AccessLevel access_to(uid_t owner, const Question& question) {
  return access_level(question.principal, owner, question.context.visibility,
                      *question.context.book);
}
AccessLevel access_to(const FoundRun& run, const Question& question) {
  return access_to(run.owner(), question);
}

void write_shown(Archive& archive, const FoundRun& run, const Question& question) {
  const AccessLevel seen = access_to(run, question);
  if (seen == AccessLevel::whole) return write_run(archive, run.record, run.story);
  write_run(archive, visible_part(run.record, seen), {.summary = run.story.summary},
            RunReader::other);
}

/// The users whose runs the principal may know of. The principal does not even learn that others'
/// runs exist.
RunSource::IsShown shown_in(const Question& question) {
  return [&question](uid_t owner) { return access_to(owner, question) != AccessLevel::numbers; };
}

std::expected<FoundRun, HttpResponse> asked_run(const Question& question) {
  if (question.context.runs == nullptr) return std::unexpected(no_records());
  auto run = question.context.runs->find(question.id, question.principal.uid, shown_in(question));
  if (run) return std::move(*run);
  const Error& error = run.error();
  if (error.code() != ErrorCode::io) return std::unexpected(error_response(error));
  return std::unexpected(
      error_response(503, "io", error.message(), "ask again; its owner sees why: berth show ID"));
}

/// The run that is asked for, where the principal may see all of it.
std::expected<FoundRun, HttpResponse> own_run(const Question& question) {
  auto run = asked_run(question);
  if (!run) return run;
  if (access_to(*run, question) != AccessLevel::whole) {
    return std::unexpected(error_response(
        403, "not_yours", "run " + printable(question.id) + " is another user's",
        "only they and administrators may see this: use the Unix socket, or a token"));
  }
  return run;
}

/// What a list of runs may be narrowed to. A run matches by what its reader may see of it alone.
struct RunFilter {
  std::optional<std::string_view> user;
  std::optional<std::string_view> state;
  std::optional<std::string_view> device;  // an index or an id
  std::string words;                       // small letters; in its id, name or command
  std::int64_t since_unix_ms = 0;
  std::int64_t until_unix_ms = 0;

  [[nodiscard]] bool matches(const RunRecord& run) const;
};

bool is_given(const Manifest& manifest, std::string_view device) {
  return std::ranges::any_of(manifest.given.devices, [&](const Device& one) {
    return one.id.text() == device || (one.index && std::to_string(*one.index) == device);
  });
}

bool RunFilter::matches(const RunRecord& run) const {
  const Manifest& manifest = run.manifest;
  const std::int64_t started = manifest.started.unix_ms;
  if (started < since_unix_ms || started > until_unix_ms) return false;
  if (user && manifest.user != *user) return false;
  if (state && (*state == "failed" ? !has_failed(run) : name_of(run.state) != *state)) return false;
  if (device && !is_given(manifest, *device)) return false;
  if (words.empty()) return true;
  std::string said = manifest.id + " " + std::string(manifest.spec_of("name"));
  for (const std::string& word : manifest.command) said += " " + word;
  return small_letters(said).find(words) != std::string::npos;
}

/// Nothing where it is empty: as a form sends what nobody filled in.
std::optional<std::string_view> filter_value(const Question& question, const char* name) {
  const auto given = parameter_of(question.request, name);
  return given && !given->empty() ? given : std::nullopt;
}

std::expected<RunFilter, HttpResponse> filter_of(const Question& question) {
  constexpr std::uint64_t latest = 253'402'300'799'000;  // the end of the year 9999
  const auto since = number_parameter(question.request, "since", 0, 0, latest);
  if (!since) return std::unexpected(since.error());
  const auto until = number_parameter(question.request, "until", latest, 0, latest);
  if (!until) return std::unexpected(until.error());
  constexpr auto states = std::to_array<std::string_view>(
      {"waiting", "running", "ended", "failed", "end unknown", "elsewhere"});
  const auto state = filter_value(question, "state");
  if (state && std::ranges::find(states, *state) == states.end()) {
    return std::unexpected(
        error_response(400, "bad_parameter", "state=" + printable(*state) + " cannot be used",
                       "state=waiting, running, ended, failed, end unknown or elsewhere"));
  }
  return RunFilter{.user = filter_value(question, "user"),
                   .state = state,
                   .device = filter_value(question, "device"),
                   .words = small_letters(filter_value(question, "words").value_or("")),
                   .since_unix_ms = static_cast<std::int64_t>(*since),
                   .until_unix_ms = static_cast<std::int64_t>(*until)};
}

}  // namespace

HttpResponse answer_runs(const Question& question) {
  if (question.context.runs == nullptr) return no_records();
  constexpr std::uint64_t most = 500;
  const auto limit = number_parameter(question.request, "limit", 50, 1, most);
  if (!limit) return limit.error();
  std::optional<RunPlace> after;
  const auto typed = parameter_of(question.request, "after");
  if (typed && !typed->empty()) after = run_place_in(*typed);
  const auto filter = filter_of(question);
  if (!filter) return filter.error();
  const auto page =
      question.context.runs->list(*limit, after, shown_in(question), [&](const RunRecord& run) {
        const AccessLevel seen = access_to(run.owner.uid, question);
        return filter->matches(seen == AccessLevel::whole ? run : visible_part(run, seen));
      });
  return json_answer([&](Archive& archive) {
    archive.derived_list("runs", page.runs,
                         [&](const FoundRun& run) { write_shown(archive, run, question); });
    archive.derived("next", page.next ? std::optional(to_text(*page.next)) : std::nullopt);
  });
}

HttpResponse answer_run(const Question& question) {
  const auto run = asked_run(question);
  if (!run) return run.error();
  return json_answer([&](Archive& archive) { write_shown(archive, *run, question); });
}

HttpResponse answer_run_samples(const Question& question) {
  constexpr std::uint64_t most = 5000;
  const auto points = number_parameter(question.request, "points", 500, 1, most);
  if (!points) return points.error();
  const auto run = own_run(question);
  if (!run) return run.error();
  const auto table = question.context.runs->samples(*run, *points, question.context.now);
  if (!table) return error_response(table.error());
  return json_answer([&](Archive& archive) {
    archive.derived("devices", table->devices);
    archive.derived("columns", table->columns);
    archive.derived("points", table->rows);
  });
}

HttpResponse answer_run_log(const Question& question) {
  constexpr std::uint64_t most = 256 << 10;
  constexpr std::uint64_t furthest = std::uint64_t{1} << 62;
  const auto limit = number_parameter(question.request, "limit", 64 << 10, 16, most);
  if (!limit) return limit.error();
  const auto offset = number_parameter(question.request, "offset", 0, 0, furthest);
  if (!offset) return offset.error();
  const auto run = own_run(question);
  if (!run) return run.error();
  const auto piece = question.context.runs->log(*run, *offset, *limit);
  if (!piece) return error_response(piece.error());
  return json_answer([&](Archive& archive) {
    archive.derived("offset", piece->offset);
    archive.derived("next", piece->next);
    archive.derived("total", piece->total);
    archive.derived("text", piece->text);
  });
}

static Language language_of(const Question& question) {
  return language_from_name(parameter_of(question.request, "lang").value_or(""));
}

HttpResponse answer_run_explanation(const Question& question) {
  const auto run = own_run(question);
  if (!run) return run.error();
  if (question.context.judge == nullptr) return no_records();
  const LanguageHere words(language_of(question));
  return json_response(question.context.judge->explanation(run->record));
}

HttpResponse answer_run_report(const Question& question) {
  const auto run = own_run(question);
  if (!run) return run.error();
  if (question.context.judge == nullptr) return no_records();
  const LanguageHere words(language_of(question));
  HttpResponse response;
  response.type = "text/html; charset=utf-8";
  response.headers = {{"content-security-policy",
                       "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                       "form-action 'none'; frame-ancestors 'none'"}};
  response.body = std::make_shared<const std::string>(question.context.judge->report(run->record));
  return response;
}

}  // namespace berth::serve
