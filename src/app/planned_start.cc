#include "app/planned_start.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "app/output.h"
#include "app/run_options.h"
#include "base/control_group.h"
#include "base/fd.h"
#include "base/owned_file.h"
#include "base/process.h"
#include "base/sentence.h"
#include "base/text.h"
#include "base/tr.h"
#include "base/user_name.h"
#include "probe/nvml/memory_limits.h"
#include "run/device_scope.h"
#include "run/kernel_limit.h"
#include "serve/alert_command.h"

namespace berth {

namespace {

/// A look at a busy driver may take a while.
constexpr Duration patience_to_start = std::chrono::minutes(4);
constexpr std::size_t most_at_once = 8;
constexpr uid_t root = 0;

Result<PlannedPlace> open_place(const Context& context) {
  const auto ledger = context.ledger_place();
  if (!ledger) return std::unexpected(ledger.error());
  return PlannedPlace::open(*ledger, context.policy_places().owner);
}

/// What is needed of the environment: the owner's homes, the machine's places, no word of others.
std::vector<std::string> environment_of(const Context& context, const Planned& planned) {
  std::vector<std::string> variables = planned.text.homes;
  for (const std::string& one : context.environment()) {
    if (one.starts_with("BERTH_") && !one.starts_with("BERTH_LEASE=")) variables.push_back(one);
  }
  variables.push_back("PATH=" + std::string(default_search_path));
  variables.push_back("LANG=C.UTF-8");
  variables.push_back("USER=" + planned.user);
  variables.push_back("LOGNAME=" + planned.user);
  return variables;
}

Result<void> become_owner(const Planned& planned) {
  if (planned.uid == ::geteuid()) return {};
  const FileOwner owner{.uid = planned.uid,
                        .gid = local_group_of(planned.uid).value_or(FileOwner::nobodys)};
  const bool is_known = owner.gid != FileOwner::nobodys;
  if (become_user(owner, is_known ? std::optional(planned.user) : std::nullopt)) return {};
  return fail_system(errno, "become the user {}", planned.user);
}

/// Its id; the error is what is written down of it.
Result<std::string> start_as_owner(Context& context, const Planned& planned) {
  const std::int64_t left_s =
      (planned.text.end().unix_ms - context.clock().wall_now().unix_ms) / 1000;
  if (left_s < 1) return fail(ErrorCode::timeout, "its time was over when it could begin");
  // What is no part of a request never reaches a command line.
  RequestOptions request;
  if (auto taken = request.add(planned.text.words); !taken) return std::unexpected(taken.error());
  for (const JobKey& key : job_keys()) {
    const bool is_reserves =
        key.part == JobPart::devices || key.part == JobPart::patience || key.part == JobPart::label;
    if (is_reserves || !request.has(key.name)) continue;
    return fail(ErrorCode::invalid, "{} is no part of a reservation", key.flag);
  }
  std::vector<std::string> words = {own_program().value_or(link_to_program), "reserve",
                                    "--for=" + std::to_string(left_s) + "s"};
  bool says_wait = false;
  for (std::string& word : request.words()) {
    says_wait = says_wait || word.starts_with("--wait");
    words.push_back(std::move(word));
  }
  if (!says_wait) words.push_back("--wait=" + std::to_string(left_s) + "s");
  const auto answer = answer_of(words, environment_of(context, planned), default_search_path,
                                context.clock(), patience_to_start);
  if (!answer) return std::unexpected(answer.error());
  if (answer->exit == Exit{}) return std::string(trimmed(answer->out));
  constexpr std::size_t longest = 500;
  const std::string said(trimmed(answer->err));
  return fail(ErrorCode::io, said.empty() ? sentence("it ended without a word")
                                          : Sentence(said.substr(0, longest)));
}

}  // namespace

Result<void> can_plan(const Context& context) {
  const auto place = open_place(context);
  if (place && place->is_kept()) return {};
  return fail(ErrorCode::unsupported,
              "--at takes a `berth serve` of root's on this machine, which starts it when it is "
              "time. It also takes one ledger of all users: `sudo berth setup`, `sudo berth "
              "service install`. Without them write `berth reserve` at that time");
}

Result<std::string> plan_reservation(const Context& context, PlannedText text) {
  for (const char* name : {"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"}) {
    const auto value = context.variable(name);
    if (value && value->starts_with('/')) text.homes.push_back(std::string(name) + "=" + *value);
  }
  if (const auto able = can_plan(context); !able) return std::unexpected(able.error());
  const auto place = open_place(context);
  if (!place) return std::unexpected(place.error());
  const auto all = place->all();
  if (!all) return std::unexpected(all.error());
  const auto own = std::ranges::count(*all, ::geteuid(), &Planned::uid);
  if (static_cast<std::size_t>(own) >= most_planned_each) {
    return fail(ErrorCode::busy,
                "{} reservations of yours are to begin already: `berth queue` lists them, `berth "
                "release` takes one back",
                own);
  }
  return place->add(text);
}

std::vector<Planned> planned_here(Context& context) {
  const auto place = open_place(context);
  auto all = place ? place->all() : Result<std::vector<Planned>>(std::vector<Planned>());
  if (!all) return {};
  const WallTime now = context.clock().wall_now();
  std::erase_if(*all, [&](const Planned& one) { return one.text.end() <= now; });
  // Nobody starts them: that is not to look as if somebody did.
  if (place && !place->is_kept()) {
    for (Planned& one : *all) {
      if (one.text.failed.empty()) one.text.failed = as_key("root's `berth serve` does not run");
    }
  }
  return *std::move(all);
}

Result<bool> release_planned(const Context& context, const std::string& name) {
  const auto place = open_place(context);
  const auto all = place ? place->all() : Result<std::vector<Planned>>(std::vector<Planned>());
  if (!all) return std::unexpected(all.error());
  for (const Planned& one : *all) {
    if (one.id != name || one.uid != ::geteuid()) continue;
    if (auto removed = place->remove(one.id); !removed) return std::unexpected(removed.error());
    return true;
  }
  return false;
}

int start_planned(Context& context, const std::string& id) {
  const auto place = open_place(context);
  if (!place) return report(place.error(), exit_code::berth_failed);
  const auto all = place->all();
  if (!all) return report(all.error(), exit_code::berth_failed);
  const auto found = std::ranges::find(*all, id, &Planned::id);
  if (found == all->end() || !found->text.is_due(context.clock().wall_now())) {
    return report(Error(ErrorCode::not_found, "nothing called {} is to begin now", printable(id)),
                  exit_code::berth_failed);
  }
  // From here on all is done with the rights of whose file it is.
  if (const auto become = become_owner(*found); !become) {
    return report(become.error(), exit_code::berth_failed);
  }
  PlannedText text = found->text;
  text.begun = true;
  // This comes first, so that the job is started once at most, whatever is killed.
  if (const auto noted = place->change(id, text); !noted) {
    return report(noted.error(), exit_code::berth_failed);
  }
  (void)!::chdir("/");
  const auto run = start_as_owner(context, *found);
  if (run) return place->remove(id) ? exit_code::ok : exit_code::berth_failed;
  text.failed = run.error().message();
  (void)place->change(id, text);
  return report(run.error(), exit_code::berth_failed);
}

std::function<Result<void>(const std::map<std::string, Bytes>&)> roots_limit_setter(
    Context& context) {
  const auto ledger = context.ledger_place();
  if (!ledger) return nullptr;
  return kernel_limit_setter(*ledger, root, context.clock());
}

int see_to_limit(Context& context, const std::string& id) {
  const auto ledger = context.ledger_place();
  const auto place = ledger ? PlannedPlace::open(*ledger, root)
                            : Result<PlannedPlace>(std::unexpected(ledger.error()));
  if (!place) return report(place.error(), exit_code::berth_failed);
  const Sources& sources = context.sources();
  const LimitDriver driver{
      .groups_of =
          [](pid_t pid) {
            const auto text = read_proc_file("/proc/" + std::to_string(pid) + "/cgroup");
            return group_folders(text ? *text : "", "", std::string(nvml::cgroups));
          },
      .limits_of =
          [&](const std::vector<std::string>& groups) {
            return nvml::memory_limits_of(sources, groups);
          },
      .set =
          [&](const std::string& group, const LimitDriver::NewLimits& limits) {
            return nvml::set_memory_limits(sources, group, limits);
          }};
  const auto done = see_to_limit(*place, id, driver);
  return done ? exit_code::ok : report(done.error(), exit_code::berth_failed);
}

void PlannedStarter::note(const std::string& text) {
  handler_.note("reservations", text, context_.clock().now());
}

void PlannedStarter::look() {
  if (!place_) {
    const auto ledger = context_.open_ledger();
    auto kept = ledger ? PlannedPlace::keep(ledger->place())
                       : Result<PlannedPlace>(std::unexpected(ledger.error()));
    if (!kept) {
      if (std::exchange(not_kept_, kept.error().message()) != not_kept_) note(not_kept_);
      return;
    }
    place_ = *std::move(kept);
    if (auto watch = place_->watch()) {  // else each second has to do
      watch_ = *std::move(watch);
      hear();
    }
  }
  const auto all = place_->all();
  const WallTime now = context_.clock().wall_now();
  for (const Planned& one : all ? *all : std::vector<Planned>()) {
    if (under_way_.contains(one.id)) continue;
    if (one.text.end() <= now) {
      (void)place_->remove(one.id);
    } else if (one.text.is_due(now) && under_way_.size() < most_at_once) {
      begin(one.id, "--begin");
    }
  }
  for (const std::string& id : limits_to_see_to(*place_)) {
    if (!under_way_.contains(id) && under_way_.size() < most_at_once) begin(id, "--limit");
  }
}

void PlannedStarter::hear() {
  static constexpr Duration least_between_looks =
      std::chrono::milliseconds(50);  // however much is written
  loop_.when_readable(watch_->descriptor(), std::chrono::hours(1), [this] {
    watch_->drain();
    look();
    loop_.after(least_between_looks, [this] { hear(); });
  });
}

void PlannedStarter::begin(const std::string& id, const char* option) {
  std::vector<std::string> environment;
  for (const std::string& one : context_.environment()) {
    if (one.starts_with("BERTH_")) environment.push_back(one);
  }
  std::vector<std::string> command;
  // A unit of its own: a restart of the service ends what is in the service's.
  if (const std::string systemd_run = systemd_run_in(""); !systemd_run.empty()) {
    command = {systemd_run,
               "--quiet",
               "--collect",
               "-p",
               "KillMode=process",
               "--service-type=oneshot",
               "--unit=berth-reserve-" + id};
    for (const std::string& one : environment) command.push_back("--setenv=" + one);
  }
  const std::string program = own_program().value_or(link_to_program);
  command.insert(command.end(), {program, "reserve", option, id});
  environment.push_back("PATH=" + std::string(default_search_path));
  under_way_.insert(id);
  serve::run_alert_command(loop_, context_.clock(),
                           {.command = std::move(command),
                            .environment = std::move(environment),
                            .search_path = default_search_path,
                            .patience = patience_to_start + std::chrono::minutes(1)},
                           [this, id](const Result<void>& done) {
                             under_way_.erase(id);
                             if (!done) note(id + ": " + done.error().message());
                           });
}

}  // namespace berth
