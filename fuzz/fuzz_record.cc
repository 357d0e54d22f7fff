// links: berth_view
// A run's record as read back from disk: manifest, end, samples, marks and events. The job itself
// writes the marks; the rest may have been torn by a crash or a full disk.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "record/record_lines.h"
#include "record/record_writer.h"
#include "view/report/model.h"
#include "view/runs_text.h"

namespace fuzz_record {

namespace {

void check_manifest(std::string_view text, berth::RunRecord& run) {
  auto manifest = berth::manifest_from_json(text);
  if (!manifest) {
    BERTH_CHECK(!manifest.error().message().empty(), "a refusal says why");
    return;
  }
  const std::string written = berth::manifest_to_json(*manifest);
  const auto again = berth::manifest_from_json(written);
  BERTH_CHECK(again.has_value(), "the manifest that we write, we read");
  BERTH_CHECK(berth::manifest_to_json(*again) == written, "writing what was read changes nothing");
  run.manifest = *std::move(manifest);
}

void check_end(std::string_view text, berth::RunRecord& run) {
  auto end = berth::end_from_json(text);
  if (!end) return;
  const std::string written = berth::end_to_json(*end);
  const auto again = berth::end_from_json(written);
  BERTH_CHECK(again.has_value(), "the end that we write, we read");
  BERTH_CHECK(berth::end_to_json(*again) == written, "writing what was read changes nothing");
  run.end = *std::move(end);
}

std::vector<berth::Sample> samples_in(std::string_view text, std::size_t piece,
                                      std::uint64_t& torn) {
  std::vector<berth::Sample> samples;
  berth::SampleReader reader;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    reader.feed(text.substr(at, piece),
                [&](const berth::Sample& sample) { samples.push_back(sample); });
  }
  torn = reader.torn_lines();
  return samples;
}

std::vector<berth::Sample> check_samples(std::string_view text) {
  std::uint64_t torn = 0;
  std::uint64_t torn_in_pieces = 0;
  auto samples = samples_in(text, text.size() + 1, torn);
  BERTH_CHECK(samples_in(text, 7, torn_in_pieces) == samples && torn == torn_in_pieces,
              "how the bytes arrive changes nothing");
  std::string written = berth::samples_header();
  for (const berth::Sample& sample : samples) written += berth::to_line(sample);
  std::uint64_t torn_again = 0;
  const auto again = samples_in(written, written.size(), torn_again);
  BERTH_CHECK(torn_again == 0 && again.size() == samples.size(), "the samples we write, we read");
  return samples;
}

void check_lines(std::string_view text, const std::vector<berth::Sample>& samples,
                 berth::RunDetails& details) {
  berth::MarkTimes times{.seen = {}, .before_all = {}, .after_all = {1'763'690'000'000}};
  for (const berth::Sample& sample : samples) times.seen.push_back({sample.marks_bytes, sample.at});
  details.marks = berth::parse_marks(text, times);
  for (const berth::Mark& mark : details.marks) {
    BERTH_CHECK(mark.text.find('\n') == std::string::npos, "a mark is one line");
  }
  details.events = berth::parse_events(text);
  for (const berth::RunEvent& event : details.events) {
    BERTH_CHECK(event.kind.find(' ') == std::string::npos, "an event's kind is one word");
    BERTH_CHECK(event.text.english().find('\n') == std::string::npos, "an event is one line");
  }
}

/// No byte of the record may command the terminal.
void check_shown(const std::string& text) {
  for (const std::string_view line : berth::split(text, '\n')) {
    for (const char byte : line) {
      const auto value = static_cast<unsigned char>(byte);
      BERTH_CHECK(value >= 0x20 && value != 0x7f, "what is shown holds no control characters");
    }
  }
}

/// Nothing in a record becomes markup of the report.
void check_report(const berth::RunRecord& run, const std::vector<berth::Sample>& samples,
                  const berth::RunDetails& details) {
  berth::ReportSource source{
      .record = run,
      .curves = berth::RunCurves(run.manifest.started, run.manifest.given.devices.size()),
      .marks = details.marks,
      .events = details.events};
  for (const berth::Sample& sample : samples) source.curves.add(sample);
  const berth::Moment now{.wall = {1'763'690'000'000}};
  std::vector<berth::ReportSource> sources = {source, source};
  const auto report = berth::make_report(std::move(sources), {.per_kwh = 0.3}, now);
  const std::string html = berth::report_html(report, {});
  BERTH_CHECK(html.find("<script") == std::string::npos, "a report holds no script");
  check_shown(html);
  check_shown(berth::report_markdown(report, {}));
  BERTH_CHECK(!berth::report_json(report).empty(), "it can be written as JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  berth::RunRecord run;
  check_manifest(text, run);
  check_end(text, run);
  const auto samples = check_samples(text);
  berth::RunDetails details;
  check_lines(text, samples, details);
  berth::Summarizer summarizer;
  for (const berth::Sample& sample : samples) {
    summarizer.add(sample);
    details.series.add(sample);
  }
  details.summary = run.end ? run.end->summary : summarizer.summary();
  const berth::Moment now{.wall = {1'763'690'000'000}};
  check_shown(berth::render_run(run, details, now, {.width = 60}));
  check_shown(berth::render_end_line(run, {}));
  check_report(run, samples, details);
  berth::RunList list;
  list.runs.push_back(std::move(run));
  check_shown(berth::render_runs(list, now, {.width = 60, .utf8 = false}));
  return 0;
}

}  // namespace fuzz_record
