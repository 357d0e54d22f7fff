// The members of a job: how each is read from text, typed again, and written into a ticket.

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/text.h"
#include "base/tr.h"
#include "place/job_spec.h"
#include "place/words.h"

namespace berth {

// Found by the namespace of what it puts, hence not in the nameless one.
static void put(Archive& archive, DevicePattern& pattern) { put(archive, pattern.text); }

namespace {

using std::chrono::milliseconds;

std::unexpected<Error> refused(std::string message, std::string_view text) {
  return fail(ErrorCode::invalid, with_typographic_hint(std::move(message), text));
}

/// Keeps in a member what a parser makes of the text.
template <class Value, class Member>
Result<void> keep(Result<Value> parsed, Member& member) {
  if (!parsed) return std::unexpected(std::move(parsed).error());
  member = std::move(*parsed);
  return {};
}

Result<void> parse_switch(std::string_view text, bool& member) {
  if (text != "true" && text != "false") {
    return refused(trf("\"{}\" is neither true nor false", printable(text)), text);
  }
  member = text == "true";
  return {};
}

std::string typed_switch(bool on) { return on ? "true" : ""; }

std::string typed_duration(milliseconds duration) {
  constexpr std::array<std::pair<std::int64_t, char>, 3> units = {
      {{3'600'000, 'h'}, {60'000, 'm'}, {1000, 's'}}};
  const std::int64_t ms = duration.count();
  for (const auto& [unit, letter] : units) {
    if (ms >= unit && ms % unit == 0) return std::to_string(ms / unit) + letter;
  }
  return std::to_string(ms) + "ms";
}

/// Nothing where it is as it is by itself.
std::string typed_duration(milliseconds duration, milliseconds by_itself) {
  return duration == by_itself ? std::string() : typed_duration(duration);
}

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

std::string typed_patterns(const std::vector<DevicePattern>& patterns) {
  std::string list;
  for (const DevicePattern& pattern : patterns) {
    if (!list.empty()) list += ',';
    list += pattern.text;
  }
  return list;
}

// --- how many, how much --------------------------------------------------------------------

Result<void> parse_devices(std::string_view text, JobSpec& job) {
  constexpr int most = 1024;
  const auto devices = parse_unsigned(text);
  if (!devices || *devices < 1 || *devices > most) {
    return refused(trf("\"{}\" is not a number of devices from 1 to {}", printable(text), most),
                   text);
  }
  job.request.devices = static_cast<int>(*devices);
  return {};
}

void walk_devices(Archive& archive, Request& request) {
  constexpr int most_of_others = 4096;
  archive.member("devices", request.devices);
  if (request.devices < 1 || request.devices > most_of_others) {
    archive.mistake("devices is not in range");
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

// --- which --------------------------------------------------------------------------------

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
      return fail(ErrorCode::invalid,
                  trf("\"{}\" is no preference; write best-fit, most-free, spread or devices "
                      "like 3,1,*A100*",
                      printable(pattern.text)));
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
    return archive.mistake("prefer has an unknown value");
  }
  request.prefer = word == listed ? Preference::listed : known->first;
  archive.member("preferred", request.preferred, Form::sparse);
}

Result<void> parse_compute(std::string_view text, JobSpec& job) {
  const auto parts = split(trimmed(text), '.');
  const auto major = parse_unsigned(parts[0]);
  const auto minor = parts.size() > 1 ? parse_unsigned(parts[1]) : std::optional<std::uint64_t>(0);
  if (parts.size() > 2 || !major || !minor || *major == 0 || *major > 49 || *minor > 9) {
    if (const auto complaint = typographic_complaint(text)) {
      return fail(ErrorCode::invalid, *complaint);
    }
    return fail(ErrorCode::invalid,
                trf("\"{}\" is not a compute capability; write 8.0 or 8.6", printable(text)));
  }
  job.request.min_compute = {static_cast<int>(*major), static_cast<int>(*minor)};
  return {};
}

std::string typed_compute(const JobSpec& job) {
  const auto& least = job.request.min_compute;
  return least ? fmt::format("{}.{}", least->major, least->minor) : std::string();
}

void walk_compute(Archive& archive, Request& request) {
  JobSpec job{.request = {.min_compute = request.min_compute}};
  std::optional<std::string> text;
  if (job.request.min_compute) text = typed_compute(job);
  archive.member("min_compute", text, Form::sparse);
  if (!text || !archive.is_reading()) return;
  if (!parse_compute(*text, job)) {
    return archive.mistake("min_compute is not a compute capability");
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
                  complaint ? *complaint
                            : trf("\"{}\" is no feature that can be asked for; write bf16 or fp8",
                                  printable(part)));
    }
    if (std::ranges::find(needs, known->need) == needs.end()) needs.push_back(known->need);
  }
  return needs;
}

std::string typed_needs(const JobSpec& job) {
  std::string list;
  for (const Need need : job.request.needs) {
    if (!list.empty()) list += ',';
    list += facts_of(need).word;
  }
  return list;
}

void walk_needs(Archive& archive, Request& request) {
  std::vector<std::string> words;
  for (const Need need : request.needs) words.emplace_back(facts_of(need).word);
  archive.member("needs", words, Form::sparse);
  if (!archive.is_reading()) return;
  for (const std::string& word : words) {
    const auto known = needs_in(word);
    if (!known) return archive.mistake("needs has an unknown feature");
    request.needs.insert(request.needs.end(), known->begin(), known->end());
  }
}

Result<void> parse_utilization(std::string_view text, JobSpec& job) {
  constexpr double most = 100;
  std::string_view digits = text;
  if (digits.ends_with('%')) digits.remove_suffix(1);
  const auto percent = parse_decimal(digits);
  if (!percent || *percent > most) {
    return refused(trf("\"{}\" is not a percentage from 0 to 100", printable(text)), text);
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
    archive.mistake("max_utilization_percent is not 0 to 100");
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
  return typed_duration(milliseconds(job.request.idle_for->count()));
}

void walk_idle(Archive& archive, Request& request) {
  constexpr Milliseconds longest{366LL * 86'400'000};
  archive.member("idle_for_ms", request.idle_for, Form::sparse);
  const Milliseconds idle = request.idle_for.value_or(Milliseconds(0));
  if (idle < Milliseconds(0) || idle > longest) archive.mistake("idle_for_ms is not in range");
}

// --- when none is free --------------------------------------------------------------------

constexpr std::string_view forever = "forever";
constexpr std::string_view at_once = "0s";

Result<void> parse_wait(std::string_view text, JobSpec& job) {
  if (text == forever) {
    job.wait.reset();
    return {};
  }
  return keep(parse_duration(text), job.wait);
}

std::string typed_wait(const JobSpec& job) {
  if (!job.wait) return std::string(forever);
  return typed_duration(*job.wait, milliseconds(0));
}

Result<void> parse_or_cpu(std::string_view text, JobSpec& job) {
  job.where = RunWhere::gpu_or_cpu;
  return keep(parse_duration(text), job.cpu_after);
}

std::string typed_or_cpu(const JobSpec& job) {
  if (job.where != RunWhere::gpu_or_cpu) return {};
  return job.cpu_after.count() > 0 ? typed_duration(job.cpu_after) : std::string(at_once);
}

Result<void> parse_cpu(std::string_view text, JobSpec& job) {
  bool without_devices = false;
  if (auto parsed = parse_switch(text, without_devices); !parsed) return parsed;
  if (without_devices) job.where = RunWhere::cpu;
  return {};
}

// --- the job's life -----------------------------------------------------------------------

constexpr std::array<std::pair<std::string_view, int>, 6> signal_names = {{{"TERM", SIGTERM},
                                                                           {"INT", SIGINT},
                                                                           {"HUP", SIGHUP},
                                                                           {"USR1", SIGUSR1},
                                                                           {"USR2", SIGUSR2},
                                                                           {"QUIT", SIGQUIT}}};

Result<void> parse_signal(std::string_view text, int& member) {
  std::string_view name = text;
  if (name.starts_with("SIG")) name.remove_prefix(3);
  for (const auto& [known, number] : signal_names) {
    if (!equals_ignoring_case(known, name)) continue;
    member = number;
    return {};
  }
  return fail(
      ErrorCode::invalid,
      trf("there is no signal \"{}\"; write TERM, INT, HUP, USR1 or USR2", printable(text)));
}

std::string typed_signal(int signal, int by_itself) {
  for (const auto& [name, number] : signal_names) {
    if (number == signal && signal != by_itself) return std::string(name);
  }
  return {};
}

Result<void> parse_fault(std::string_view text, JobSpec& job) {
  constexpr std::string_view with_name = "signal=";
  if (text == "warn" || text == "stop") {
    job.on_gpu_fault = text == "warn" ? OnGpuFault::warn : OnGpuFault::stop;
    return {};
  }
  if (text == "signal" || text.starts_with(with_name)) {
    job.on_gpu_fault = OnGpuFault::signal;
    job.fault_signal = SIGUSR1;
    if (text == "signal") return {};
    return parse_signal(text.substr(with_name.size()), job.fault_signal);
  }
  return fail(ErrorCode::invalid,
              trf("\"{}\" is not warn, signal, signal=NAME or stop", printable(text)));
}

std::string typed_fault(const JobSpec& job) {
  if (job.on_gpu_fault == OnGpuFault::warn) return {};
  if (job.on_gpu_fault == OnGpuFault::stop) return "stop";
  const std::string name = typed_signal(job.fault_signal, SIGUSR1);
  return name.empty() ? "signal" : "signal=" + name;
}

Result<void> parse_retry(std::string_view text, JobSpec& job) {
  if (text != "gpu-lost" && text != "gpu-fault") {
    return fail(ErrorCode::invalid, trf("\"{}\" is not gpu-lost or gpu-fault", printable(text)));
  }
  job.retry_on = text == "gpu-lost" ? RetryOn::gpu_lost : RetryOn::gpu_fault;
  return {};
}

std::string typed_retry(const JobSpec& job) {
  if (job.retry_on == RetryOn::never) return {};
  return job.retry_on == RetryOn::gpu_lost ? "gpu-lost" : "gpu-fault";
}

Result<void> parse_retries(std::string_view text, JobSpec& job) {
  const auto retries = parse_unsigned(text);
  if (!retries || *retries < 1 || *retries > 100) {
    return fail(ErrorCode::invalid, trf("\"{}\" is not a number from 1 to 100", printable(text)));
  }
  job.retries = static_cast<int>(*retries);
  return {};
}

std::string typed_retries(const JobSpec& job) {
  return job.retries > 1 ? std::to_string(job.retries) : std::string();
}

// --- the table ----------------------------------------------------------------------------

using Text = std::string_view;

const JobKey job_key_table[] = {
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
     as_key("share: 10G or 50% promised on each; without it the device is whole"),
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
    {JobPart::patience, "wait", "--wait", "[TIME]",
     as_key("wait in the queue, at most so long: --wait=30m"), forever, true, parse_wait,
     typed_wait, nullptr},
    {JobPart::patience, "or_cpu", "--or-cpu", "[TIME]",
     as_key("run on the CPU instead, at once or after so long: --or-cpu=10m, or --wait=10m "
            "--or-cpu"),
     at_once, false, parse_or_cpu, typed_or_cpu, nullptr},
    {JobPart::patience, "cpu", "--cpu", "",
     as_key("use no device, on purpose; where no variable such as OMP_NUM_THREADS chooses a "
            "number of threads, those of libraries are set"),
     "true", false, parse_cpu,
     [](const JobSpec& job) { return typed_switch(job.where == RunWhere::cpu); }, nullptr},
    {JobPart::life,
     "time",
     "--time",
     "TIME",
     as_key("end it after so long: a warning signal, then stop"),
     {},
     true,
     [](Text text, JobSpec& job) { return keep(parse_duration(text), job.time_limit); },
     [](const JobSpec& job) {
       return job.time_limit ? typed_duration(*job.time_limit) : std::string();
     },
     nullptr},
    {JobPart::life,
     "warn_signal",
     "--warn-signal",
     "SIGNAL",
     as_key("the warning: TERM, INT, HUP, USR1, USR2 or QUIT"),
     {},
     true,
     [](Text text, JobSpec& job) { return parse_signal(text, job.warning_signal); },
     [](const JobSpec& job) { return typed_signal(job.warning_signal, SIGTERM); },
     nullptr},
    {JobPart::life,
     "warn_ahead",
     "--warn-ahead",
     "TIME",
     as_key("how long before the limit to warn (60s)"),
     {},
     true,
     [](Text text, JobSpec& job) { return keep(parse_duration(text), job.warning_ahead); },
     [](const JobSpec& job) { return typed_duration(job.warning_ahead, JobSpec().warning_ahead); },
     nullptr},
    {JobPart::life, "hold", "--hold", "",
     as_key("keep the device while any process of the job lives"), "true", true,
     [](Text text, JobSpec& job) { return parse_switch(text, job.hold); },
     [](const JobSpec& job) { return typed_switch(job.hold); }, nullptr},
    {JobPart::life,
     "linger",
     "--linger",
     "TIME",
     as_key("keep the device this long after the job's last process has let go of it (60s)"),
     {},
     true,
     [](Text text, JobSpec& job) { return keep(parse_duration(text), job.linger); },
     [](const JobSpec& job) { return typed_duration(job.linger, JobSpec().linger); },
     nullptr},
    {JobPart::life,
     "on_gpu_fault",
     "--on-gpu-fault",
     "WHAT",
     as_key("when its device fails, what the job feels: warn (nothing), signal (USR1), "
            "signal=TERM, stop"),
     {},
     true,
     parse_fault,
     typed_fault,
     nullptr},
    {JobPart::life,
     "retry_on",
     "--retry-on",
     "WHAT",
     as_key("start it again on another device where it ended badly after gpu-lost or any "
            "gpu-fault"),
     {},
     true,
     parse_retry,
     typed_retry,
     nullptr},
    {JobPart::life,
     "retries",
     "--retries",
     "N",
     as_key("how often at most, with --retry-on (1)"),
     {},
     true,
     parse_retries,
     typed_retries,
     nullptr},
};

/// " --memory 10G"; nothing where it is as it is by itself.
std::string typed_member(const JobKey& key, const JobSpec& job) {
  const std::string value = key.typed(job);
  if (value.empty()) return {};
  const std::string flag = " " + std::string(shown_flag(key));
  if (value == key.alone) return flag;
  const bool may_stand_alone = !key.alone.empty();
  return flag + (may_stand_alone ? "=" : " ") + shell_quoted(value);
}

}  // namespace

std::span<const JobKey> job_keys() { return job_key_table; }

const JobKey* find_job_key(std::string_view name) {
  const auto* found = std::ranges::find(job_key_table, name, &JobKey::name);
  return found == std::end(job_key_table) ? nullptr : found;
}

std::string_view shown_flag(const JobKey& key) {
  const std::string_view flag = key.flag;
  return flag.substr(0, flag.find(','));
}

Result<void> settle(JobSpec& job) {
  if (job.retry_on != RetryOn::never) {
    job.retries = std::max(job.retries, 1);
  } else if (job.retries > 0) {
    return fail(ErrorCode::invalid,
                std::string(tr("--retries is for --retry-on: add --retry-on gpu-lost or "
                               "--retry-on gpu-fault")));
  }
  return {};
}

std::string as_typed(const Request& request) {
  const JobSpec job{.request = request};
  std::string line;
  for (const JobKey& key : job_key_table) {
    if (key.part == JobPart::devices) line += typed_member(key, job);
  }
  return line.substr(1);
}

std::string as_typed(const JobSpec& job) {
  if (job.where == RunWhere::cpu) return "--cpu";
  return as_typed(job.request) + typed_member(*find_job_key("or_cpu"), job);
}

std::string run_line(const JobSpec& job) {
  std::string line = "berth run";
  for (const JobKey& key : job_key_table) line += typed_member(key, job);
  return line + " -- " + (job.command.empty() ? "COMMAND" : shell_joined(job.command));
}

}  // namespace berth
