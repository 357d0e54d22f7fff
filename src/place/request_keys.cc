// The members of a request: how each is read from text, typed again, and written into a ticket.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "place/key_text.h"
#include "snapshot/device_kind.h"

namespace berth {

std::string typed_size(Bytes size) {
  constexpr std::array<std::pair<int, char>, 4> units = {
      {{40, 'T'}, {30, 'G'}, {20, 'M'}, {10, 'K'}}};
  for (const auto& [shift, letter] : units) {
    const std::uint64_t unit = std::uint64_t{1} << shift;
    if (size.count() >= unit && size.count() % unit == 0) {
      return std::to_string(size.count() / unit) + letter;
    }
  }
  return std::to_string(size.count());
}

// Found by the namespace of what it puts, hence not in the nameless one.
static void put(Archive& archive, DevicePattern& pattern) { put(archive, pattern.text); }

namespace {

std::string typed_patterns(const std::vector<DevicePattern>& patterns) {
  return joined(patterns, ",", &DevicePattern::text);
}

// --- how many, how much --------------------------------------------------------------------

Result<void> parse_devices(std::string_view text, JobSpec& job) {
  constexpr int most = 1024;
  const auto devices = parse_unsigned(text);
  if (!devices || *devices < 1 || *devices > most) {
    return refused(
        sentence("\"{}\" is not a number of devices from 1 to {}", printable(text), most), text);
  }
  job.request.devices = static_cast<int>(*devices);
  return {};
}

void walk_devices(Archive& archive, Request& request) {
  constexpr int most_of_others = 4096;
  archive.member("devices", request.devices);
  if (request.devices < 1 || request.devices > most_of_others) {
    archive.mistake(sentence("devices is not in range"));
  }
}

std::string typed_memory(const JobSpec& job) {
  if (!job.request.memory) return {};
  if (const auto* size = std::get_if<Bytes>(&*job.request.memory)) return typed_size(*size);
  return fmt::format("{}%", std::get<Percent>(*job.request.memory).count());
}

void walk_memory(Archive& archive, Request& request) {
  std::optional<MemoryShare>& memory = request.memory;
  std::optional<Bytes> size;
  std::optional<Percent> percent;
  if (memory && std::holds_alternative<Bytes>(*memory)) size = std::get<Bytes>(*memory);
  if (memory && std::holds_alternative<Percent>(*memory)) percent = std::get<Percent>(*memory);
  archive.member("memory_bytes", size, Form::sparse);
  archive.member("memory_percent", percent, Form::sparse);
  if (size && percent) archive.mistake(sentence("it has two sizes of memory"));
  if (size && (size->count() == 0 || !std::in_range<std::int64_t>(size->count()))) {
    archive.mistake(sentence("memory_bytes is not in range"));
  }
  if (percent && !(percent->count() > 0 && percent->count() <= 100)) {
    archive.mistake(sentence("memory_percent is not more than 0 and up to 100"));
  }
  if (size) memory = *size;
  if (percent) memory = *percent;
}

// --- which --------------------------------------------------------------------------------

Result<std::string> kind_in(std::string_view text) {
  const auto words = kind_words();
  for (const std::string_view word : words) {
    if (equals_ignoring_case(word, trimmed(text))) return std::string(word);
  }
  return refused(sentence("\"{}\" is no kind of device; write one of {}", printable(text),
                          joined(words, ", ")),
                 text);
}

void walk_kind(Archive& archive, Request& request) {
  std::optional<std::string> kind;
  if (!request.kind.empty()) kind = request.kind;
  archive.member("kind", kind, Form::sparse);
  if (!kind || !archive.is_reading()) return;
  const auto known = kind_in(*kind);
  if (!known) return archive.mistake(sentence("kind is not known"));
  request.kind = *known;
}

Result<void> parse_preference(std::string_view text, JobSpec& job) {
  Request& request = job.request;
  for (const auto& [preference, word] : preference_words) {
    if (word == trimmed(text)) {
      request.prefer = preference;
      request.preferred.clear();
      return {};
    }
  }
  auto patterns = parse_patterns(text);
  if (!patterns) return std::unexpected(std::move(patterns).error());
  for (const DevicePattern& pattern : *patterns) {
    // "bestfit" is a slip, not the name of a card.
    if (pattern.text.find_first_of("0123456789*?:-") == std::string::npos) {
      return fail(
          ErrorCode::invalid,
          "\"{}\" is no preference; write best-fit, most-free, spread or devices like 3,1,*A100*",
          printable(pattern.text));
    }
  }
  request.prefer = Preference::listed;
  request.preferred = std::move(*patterns);
  return {};
}

std::string typed_preference(const JobSpec& job) {
  const Request& request = job.request;
  if (request.prefer == Preference::listed) return typed_patterns(request.preferred);
  if (request.prefer == Request{}.prefer) return {};
  for (const auto& [preference, word] : preference_words) {
    if (preference == request.prefer) return std::string(word);
  }
  return {};
}

void walk_preference(Archive& archive, Request& request) {
  constexpr std::string_view listed = "listed";
  std::string word(listed);
  for (const auto& [value, name] : preference_words) {
    if (value == request.prefer) word = name;
  }
  archive.member("prefer", word);
  const auto known =
      std::ranges::find(preference_words, word, [](const auto& one) { return one.second; });
  if (known == preference_words.end() && word != listed) {
    return archive.mistake(sentence("prefer has an unknown value"));
  }
  request.prefer = word == listed ? Preference::listed : known->first;
  archive.member("preferred", request.preferred, Form::sparse);
}

std::string_view word_of(Together together) {
  return together_words[static_cast<std::size_t>(together)].second;
}

Result<void> parse_together(std::string_view text, JobSpec& job) {
  for (const auto& [together, word] : together_words) {
    if (word != trimmed(text)) continue;
    job.request.together = together;
    return {};
  }
  return refused(sentence("\"{}\" is not nvlink, pcie or any", printable(text)), text);
}

void walk_together(Archive& archive, Request& request) {
  std::string word =
      request.together == Together::any ? "" : std::string(word_of(request.together));
  archive.member("together", word, Form::sparse);
  if (word.empty()) return;
  const auto known =
      std::ranges::find(together_words, word, [](const auto& one) { return one.second; });
  if (known == together_words.end())
    return archive.mistake(sentence("together has an unknown value"));
  request.together = known->first;
}

Result<void> parse_compute(std::string_view text, JobSpec& job) {
  const auto parts = split(trimmed(text), '.');
  const auto major = parse_unsigned(parts[0]);
  const auto minor = parts.size() > 1 ? parse_unsigned(parts[1]) : std::optional<std::uint64_t>(0);
  if (parts.size() > 2 || !major || !minor || *major == 0 || *major > 49 || *minor > 9) {
    if (const auto complaint = typographic_complaint(text)) {
      return fail(ErrorCode::invalid, *complaint);
    }
    return fail(ErrorCode::invalid, "\"{}\" is not a compute capability; write 8.0 or 8.6",
                printable(text));
  }
  job.request.min_compute = {static_cast<int>(*major), static_cast<int>(*minor)};
  return {};
}

std::string typed_compute(const JobSpec& job) {
  const auto& least = job.request.min_compute;
  return least ? capability_text(*least) : std::string();
}

void walk_compute(Archive& archive, Request& request) {
  JobSpec job{.request = {.min_compute = request.min_compute}};
  std::optional<std::string> text;
  if (job.request.min_compute) text = typed_compute(job);
  archive.member("min_compute", text, Form::sparse);
  if (!text || !archive.is_reading()) return;
  if (!parse_compute(*text, job)) {
    return archive.mistake(sentence("min_compute is not a compute capability"));
  }
  request.min_compute = job.request.min_compute;
}

Result<std::vector<Need>> needs_in(std::string_view text) {
  std::vector<Need> needs;
  for (const std::string_view part : split(text, ',')) {
    const auto* known = std::ranges::find_if(need_facts, [&](const NeedFacts& facts) {
      return equals_ignoring_case(facts.word, trimmed(part));
    });
    if (known == need_facts.end()) {
      const auto complaint = typographic_complaint(text);
      return fail(ErrorCode::invalid,
                  complaint
                      ? *complaint
                      : sentence("\"{}\" is no feature that can be asked for; write bf16 or fp8",
                                 printable(part)));
    }
    if (std::ranges::find(needs, known->need) == needs.end()) needs.push_back(known->need);
  }
  return needs;
}

std::string typed_needs(const JobSpec& job) {
  return joined(job.request.needs, ",", [](Need need) { return facts_of(need).word; });
}

void walk_needs(Archive& archive, Request& request) {
  std::vector<std::string> words;
  for (const Need need : request.needs) words.emplace_back(facts_of(need).word);
  archive.member("needs", words, Form::sparse);
  if (!archive.is_reading()) return;
  for (const std::string& word : words) {
    const auto known = needs_in(word);
    if (!known) return archive.mistake(sentence("needs has an unknown feature"));
    request.needs.insert(request.needs.end(), known->begin(), known->end());
  }
}

Result<void> parse_utilization(std::string_view text, JobSpec& job) {
  constexpr double most = 100;
  std::string_view digits = text;
  if (digits.ends_with('%')) digits.remove_suffix(1);
  const auto percent = parse_decimal(digits);
  if (!percent || *percent > most) {
    return refused(sentence("\"{}\" is not a percentage from 0 to 100", printable(text)), text);
  }
  job.request.max_utilization = Percent(*percent);
  return {};
}

std::string typed_utilization(const JobSpec& job) {
  const auto& most = job.request.max_utilization;
  return most ? fmt::format("{}", most->count()) : std::string();
}

void walk_utilization(Archive& archive, Request& request) {
  archive.member("max_utilization_percent", request.max_utilization, Form::sparse);
  const double percent = request.max_utilization.value_or(Percent(0)).count();
  if (!(percent >= 0 && percent <= 100)) {
    archive.mistake(sentence("max_utilization_percent is not 0 to 100"));
  }
}

Result<void> parse_idle(std::string_view text, JobSpec& job) {
  const auto duration = parse_duration(text);
  if (!duration) return std::unexpected(duration.error());
  job.request.idle_for = Milliseconds(duration->count());
  return {};
}

std::string typed_idle(const JobSpec& job) {
  if (!job.request.idle_for) return {};
  return typed_duration(std::chrono::milliseconds(job.request.idle_for->count()));
}

void walk_idle(Archive& archive, Request& request) {
  constexpr Milliseconds longest{366LL * 86'400'000};
  archive.member("idle_for_ms", request.idle_for, Form::sparse);
  const Milliseconds idle = request.idle_for.value_or(Milliseconds(0));
  if (idle < Milliseconds(0) || idle > longest)
    archive.mistake(sentence("idle_for_ms is not in range"));
}

// --- the table ----------------------------------------------------------------------------

using Text = std::string_view;

constexpr JobKey request_key_table[] = {
    {JobPart::devices,
     "devices",
     "-n,--devices",
     "N",
     as_key("how many devices"),
     {},
     true,
     parse_devices,
     [](const JobSpec& job) { return std::to_string(job.request.devices); },
     walk_devices},
    {JobPart::devices,
     "memory",
     "--memory",
     "SIZE",
     as_key("share: 10G or 50% promised on each, with run and sweep also auto: as its last run. "
            "Without it the device is whole"),
     {},
     true,
     [](Text text, JobSpec& job) { return keep(parse_share(text), job.request.memory); },
     typed_memory,
     walk_memory},
    {JobPart::devices,
     "only",
     "--only",
     "LIST",
     as_key("among these: index, UUID, PCI address or name glob, comma-separated"),
     {},
     true,
     [](Text text, JobSpec& job) { return keep(parse_patterns(text), job.request.only); },
     [](const JobSpec& job) { return typed_patterns(job.request.only); },
     [](Archive& archive, Request& request) {
       archive.member("only", request.only, Form::sparse);
     }},
    {JobPart::devices,
     "except",
     "--except",
     "LIST",
     as_key("none of these"),
     {},
     true,
     [](Text text, JobSpec& job) { return keep(parse_patterns(text), job.request.except); },
     [](const JobSpec& job) { return typed_patterns(job.request.except); },
     [](Archive& archive, Request& request) {
       archive.member("except", request.except, Form::sparse);
     }},
    {JobPart::devices,
     "kind",
     "--kind",
     "MAKER",
     as_key("of this maker (a wrong word lists all); needed where there are several"),
     {},
     true,
     [](Text text, JobSpec& job) { return keep(kind_in(text), job.request.kind); },
     [](const JobSpec& job) { return job.request.kind; },
     walk_kind},
    {JobPart::devices,
     "prefer",
     "--prefer",
     "HOW",
     as_key("best-fit, most-free, spread, or a list to be tried in order"),
     {},
     true,
     parse_preference,
     typed_preference,
     walk_preference},
    {JobPart::devices,
     "min_compute",
     "--min-compute",
     "VERSION",
     as_key("least compute capability, such as 8.0"),
     {},
     true,
     parse_compute,
     typed_compute,
     walk_compute},
    {JobPart::devices,
     "need",
     "--need",
     "FEATURES",
     as_key("features the job cannot do without: bf16, fp8"),
     {},
     true,
     [](Text text, JobSpec& job) { return keep(needs_in(text), job.request.needs); },
     typed_needs,
     walk_needs},
    {JobPart::devices,
     "max_utilization",
     "--max-utilization",
     "PERCENT",
     as_key("busiest that a device may be, in percent"),
     {},
     true,
     parse_utilization,
     typed_utilization,
     walk_utilization},
    {JobPart::devices,
     "idle_for",
     "--idle-for",
     "TIME",
     as_key("how long it must have been idle, such as 5s"),
     {},
     true,
     parse_idle,
     typed_idle,
     walk_idle},
    {JobPart::devices, "allow_failed", "--allow-failed", "",
     as_key("also a device that `berth health` calls failed or could not judge"), "true", true,
     [](Text text, JobSpec& job) { return parse_switch(text, job.request.allow_failed); },
     [](const JobSpec& job) { return typed_switch(job.request.allow_failed); },
     [](Archive& archive, Request& request) {
       archive.member("allow_failed", request.allow_failed, Form::sparse);
     }},
    {JobPart::devices,
     "together",
     "--together",
     "HOW",
     as_key("how close several have to be: nvlink, pcie (below one host bridge) or any"),
     {},
     true,
     parse_together,
     [](const JobSpec& job) {
       return job.request.together == Together::any ? std::string()
                                                    : std::string(word_of(job.request.together));
     },
     walk_together},
};

}  // namespace

std::span<const JobKey> request_keys() { return request_key_table; }

}  // namespace berth
