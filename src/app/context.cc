#include "app/context.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "app/output.h"
#include "app/progress.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "config/config_files.h"
#include "health/health.h"
#include "probe/procfs/procfs_probe.h"
#include "probe/replay/replay.h"
#include "run/turn.h"
#include "smi/dump.h"
#include "snapshot/questions.h"

extern char** environ;

namespace berth {

namespace {

bool names_utf8(std::string_view locale) {
  return locale.find("UTF-8") != std::string_view::npos ||
         locale.find("utf8") != std::string_view::npos ||
         locale.find("UTF8") != std::string_view::npos ||
         locale.find("utf-8") != std::string_view::npos;
}

constexpr int width_without_terminal = 80;
constexpr int uncut_width = 10'000;

int terminal_width(int fd, const std::optional<std::string>& columns) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  if (columns) {
    const auto number = parse_unsigned(*columns);
    if (number && *number > 0 && *number < 10000) return static_cast<int>(*number);
  }
  return width_without_terminal;
}

int terminal_height(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 0;
}

}  // namespace

std::chrono::seconds local_offset_at(WallTime time) {
  const std::time_t seconds = time.unix_ms / 1000;
  std::tm local{};
  return std::chrono::seconds(::localtime_r(&seconds, &local) != nullptr ? local.tm_gmtoff : 0);
}

Context::Context() {
  stdout_is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  stderr_is_terminal_ = ::isatty(STDERR_FILENO) == 1;
  config_ = read_config("");
  if (const auto library = config_.text("nvml_library")) sources_.nvml_library = *library;
}

Config Context::read_config(const std::string& working_directory) const {
  ConfigPlaces places{.machine = machine_configuration() + "/config.toml",
                      .working_directory = working_directory};
  if (const auto directory = config_directory()) places.user = *directory + "/config.toml";
  Config config;
  add_files(config, places);
  config.add_variables([this](const char* name) { return variable(name); });
  config.add_flag("language", globals_.lang);
  config.add_flag("simulated", globals_.sim);
  return config;
}

Config Context::config_of_job(uid_t user) const {
  Config config = read_config(read_link("/proc/self/cwd").value_or(""));
  const ConfigValue* const isolate = config.find("request.isolate");
  if (isolate != nullptr && isolate->source == ConfigSource::machine && isolate->text == "true") {
    const auto doubt = doubt_of_isolation(machine_configuration(), policy_places().owner);
    if (!doubt.empty()) {
      const std::string origin = isolate->origin;
      config.pass_over("request.isolate",
                       sentence("{}: isolate = true is not in force: {}", origin, doubt));
    }
  }
  // Where it cannot be read nothing is claimed, and that is told then.
  const auto rules = policy();
  if (rules && *rules) config.add_rules((*rules)->of(user), (*rules)->path);
  return config;
}

std::optional<std::string> Context::variable(const char* name) const {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::vector<std::string> Context::environment() const {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    all.emplace_back(*entry);
  }
  return all;
}

std::vector<std::string> Context::typed_globals() const {
  std::vector<std::string> words;
  if (!globals_.sim.empty()) words.push_back("--sim=" + globals_.sim);
  if (!globals_.replay.empty()) words.push_back("--replay=" + globals_.replay);
  if (!globals_.lang.empty()) words.push_back("--lang=" + globals_.lang);
  return words;
}

void Context::apply(const GlobalOptions& options) {
  // LC_ALL over LC_MESSAGES (words) and LC_CTYPE (characters) over LANG, as in locale(7).
  const auto locale_for = [&](const char* category) {
    for (const char* name : {"LC_ALL", category, "LANG"}) {
      const auto value = variable(name);
      if (value && !value->empty()) return *value;
    }
    return std::string("C");
  };
  globals_ = options;
  config_.add_flag("language", options.lang);
  config_.add_flag("simulated", options.sim);
  std::string language = config_.text("language").value_or("");
  const bool utf8 = names_utf8(locale_for("LC_CTYPE"));
  // A locale that can show English alone gets English, whatever was asked for.
  if (language.empty()) language = locale_for("LC_MESSAGES");
  const Language wanted = language_from_name(language);
  set_language(utf8 && !options.for_programs ? wanted : Language::english);

  // no-color.org and bixense.com/clicolors: NO_COLOR counts most, CLICOLOR_FORCE also in a pipe.
  const auto is_on = [&](const char* name) {
    const std::string value = variable(name).value_or("");
    return !value.empty() && value != "0";
  };
  const bool is_refused =
      !variable("NO_COLOR").value_or("").empty() || variable("CLICOLOR").value_or("") == "0";
  const bool is_forced = variable("NO_COLOR").value_or("").empty() && is_on("CLICOLOR_FORCE");
  const bool wants_colour = !is_refused && variable("TERM").value_or("dumb") != "dumb";
  out_.utf8 = err_.utf8 = utf8;
  out_.colour = is_forced || (stdout_is_terminal_ && wants_colour);
  err_.colour = is_forced || (stderr_is_terminal_ && wants_colour);
  out_.width = terminal_width(STDOUT_FILENO, variable("COLUMNS"));
  out_.offset_at = err_.offset_at = local_offset_at;
  err_.width = terminal_width(STDERR_FILENO, variable("COLUMNS"));

  // A typed option counts for more than the environment.
  const bool is_replay = !options.replay.empty() && options.sim.empty();
  sources_.simulated = is_replay ? std::nullopt : config_.text("simulated");
  const auto work = variable("BERTH_SIM_WORK");
  if (sources_.simulated && work && !work->empty()) sources_.simulated_work = *work;
  if (options.replay.empty()) return;
  replay_ = options.replay;
  piped_ = piped_recording(options.replay);
}

Style Context::out_now() const {
  Style style = out_;
  style.width = terminal_width(STDOUT_FILENO, variable("COLUMNS"));
  return style;
}

Style Context::out_uncut() const {
  Style style = out_;
  if (!stdout_is_terminal_ && variable("COLUMNS").value_or("").empty()) style.width = uncut_width;
  return style;
}

int Context::terminal_rows() const { return terminal_height(STDOUT_FILENO); }

std::optional<std::string> Context::state_directory() const {
  const auto state = variable("XDG_STATE_HOME");
  if (state && state->starts_with('/')) return *state + "/berth";
  const auto home = variable("HOME");
  if (home && home->starts_with('/')) return *home + "/.local/state/berth";
  return std::nullopt;
}

std::optional<std::string> Context::config_directory() const {
  const auto config = variable("XDG_CONFIG_HOME");
  if (config && config->starts_with('/')) return *config + "/berth";
  const auto home = variable("HOME");
  if (home && home->starts_with('/')) return *home + "/.config/berth";
  return std::nullopt;
}

Result<LedgerPlace> Context::ledger_place() const {
  const ConfigValue* said = config_.find("ledger");
  // What is simulated needs no shared one.
  auto place =
      find_ledger(config_.text("ledger"), sources_.simulated ? "/nonexistent" : "/run/berth");
  if (place && said != nullptr) place->named_by = said->origin;
  if (!place || !sources_.simulated) return place;
  return part_for_simulated(*std::move(place), *sources_.simulated);
}

Result<Ledger> Context::open_ledger() {
  auto place = ledger_place();
  if (!place) return std::unexpected(std::move(place).error());
  if (sources_.simulated && place->kind == LedgerPlace::Kind::own) {
    const std::string parent = place->directory.substr(0, place->directory.rfind('/'));
    auto made = make_directories(parent, 0700);
    if (!made) return std::unexpected(std::move(made).error());
  }
  auto ledger = Ledger::open(std::move(*place), clock_);
  // A caller that claims asks again, and is told what is wrong with the policy.
  const auto rules = policy();
  if (ledger && rules) ledger->set_policy(*rules);
  return ledger;
}

std::optional<std::string> Context::other_etc() const {
  auto named = variable("BERTH_ETC");
  if (!named || ::geteuid() == 0) return named;
  struct stat own{};
  struct stat shared{};
  const std::string ledger = variable("BERTH_LEDGER").value_or("");
  if (ledger.empty()) return std::nullopt;
  const bool is_shared = ::stat(ledger.c_str(), &own) == 0 && ::stat("/run/berth", &shared) == 0 &&
                         own.st_ino == shared.st_ino && own.st_dev == shared.st_dev;
  return is_shared ? std::nullopt : std::move(named);
}

std::string Context::machine_configuration() const {
  return other_etc().value_or("/etc") + "/berth";
}

std::string Context::machine_state() const {
  return other_etc() ? machine_configuration() : "/var/lib/berth";
}

PolicyPlaces Context::policy_places() const {
  PolicyPlaces places;
  places.file = machine_configuration() + "/berth.toml";
  places.hours = machine_state() + "/hours";
  places.told = machine_state() + "/told";
  places.now = clock_.wall_now();
  if (other_etc()) places.owner = ::geteuid();  // of a test
  return places;
}

Result<std::shared_ptr<const Policy>> Context::policy() const {
  const PolicyPlaces places = policy_places();
  return policy_.read(places, local_offset_at(*places.now));
}

LedgerView Context::read_ledger() {
  ledger_error_.reset();
  const auto place = ledger_place();
  // Looking must not leave a directory behind: without one there are no leases.
  const bool absent = place && ::access(place->directory.c_str(), F_OK) != 0 && errno == ENOENT;
  if (absent) return {};
  auto ledger = open_ledger();
  auto view = ledger ? ledger->read() : Result<LedgerView>(std::unexpected(ledger.error()));
  if (view) return std::move(*view);
  ledger_error_ = view.error();
  LedgerView empty;
  empty.is_unread = true;
  empty.problems.push_back({.source = "ledger",
                            .device = std::nullopt,
                            .code = std::string(name_of(view.error().code())),
                            .message = view.error().said()});
  return empty;
}

Patience Context::patience() const {
  Patience patience;
  if (!stderr_is_terminal_) return patience;
  patience.tell_slow_start = [] {
    complain(
        tr("the driver is starting its cards. Without persistence mode it does so at each command "
           "(nvidia-smi -pm 1, as root, keeps them awake)"));
  };
  return patience;
}

Result<Recording> Context::recording() const {
  return Recording::open(*replay_, piped_, smi::snapshots_in);
}

Result<Collector> Context::collector(CollectorOptions options) const {
  if (!replay_) return Collector::start(sources_, std::move(options));
  auto played = recording();
  if (!played) return std::unexpected(std::move(played).error());
  return Collector::play(std::move(*played), options.looks);
}

Result<Collector> Context::collector_of_one_look() const {
  return collector({.looks = Looks::once, .patience = patience()});
}

void Context::open_driver() {
  auto started = collector_of_one_look();
  if (!started) return;  // the look says why
  opened_ = std::move(*started);
  opened_->open(clock_);
}

Result<Snapshot> Context::collected(CollectRequest request) {
  auto started =
      opened_ ? Result<Collector>(*std::exchange(opened_, std::nullopt)) : collector_of_one_look();
  if (!started) return std::unexpected(std::move(started).error());
  ending_ = std::move(*started);
  ProgressClock clock(*this, std::string(tr("looking at the GPUs")));
  return ending_->collect(std::move(request), clock);
}

bool Context::needs_leases(const Wanted& wanted) const {
  if (replay_) return false;  // a recording has its own
  // A simulated server shows what the leased jobs would use; a real one is asked.
  if (sources_.simulated || wanted.has(Extra::leases)) return true;
  if (!wanted.has(Extra::process_names) && !wanted.has(Extra::process_owners)) return false;
  // It takes leases to tell which process here is which of the driver's.
  Host host;
  ProcfsProbe({.proc = sources_.proc}).observe_host(host);
  return numbers_are_the_hosts(host);
}

Result<Snapshot> Context::look_without_claims(const Wanted& wanted) {
  const Wanted unclaimed = wanted.without(Wanted().add(Extra::leases));
  // A caller that is about to give a card to a job has sleeping cards woken up.
  CollectRequest request{.wanted = Wanted(wanted).add(Extra::sleepers)};
  if (needs_leases(unclaimed)) {
    const auto ledger = open_ledger();
    auto leases = ledger ? ledger->read_with_tickets({}) : Result<LedgerView>(LedgerView{});
    if (leases) request.claims = std::move(leases->claims);
  }
  auto snapshot = collected(std::move(request));
  if (!snapshot) return snapshot;
  return judged(*std::move(snapshot), unclaimed, {});
}

Result<Snapshot> Context::look(const Wanted& wanted, Relations relations) {
  LedgerView view = needs_leases(wanted) ? read_ledger() : LedgerView{};
  auto snapshot = collected({.wanted = wanted, .relations = relations, .claims = view.claims});
  if (!snapshot) return snapshot;
  return judged(*std::move(snapshot), wanted, std::move(view));
}

Snapshot Context::judged(Snapshot look, const Wanted& wanted, LedgerView view) {
  // First: no failed device is kept for a waiter.
  if (wanted.has(Extra::verdicts)) look.faults = failed_devices(look);
  const bool has_own_leases = replay_.has_value();
  if (!has_own_leases && wanted.has(Extra::leases)) {
    add_ledger(look, std::move(view), clock_.now(), names_, policy());
  }
  return look;
}

}  // namespace berth
