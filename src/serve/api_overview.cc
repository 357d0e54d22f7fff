// The overview: the machine as the page shows it at a glance, and the lists it is made of.

#include <array>
#include <map>
#include <set>

#include "base/sentence.h"
#include "health/health.h"
#include "place/visible_others.h"
#include "serve/api_json.h"
#include "serve/fleet.h"
#include "smi/smi.h"
#include "snapshot/device_kind.h"
#include "snapshot/heat.h"
#include "snapshot/json.h"
#include "snapshot/process.h"
#include "snapshot/questions.h"
#include "snapshot/snapshot_index.h"
#include "snapshot/walk.h"
#include "view/queue_text.h"

namespace berth::serve {

namespace {

constexpr int overview_version = 1;

std::map<DeviceId, HealthState> health_states(const Snapshot& seen) {
  std::map<DeviceId, HealthState> states;
  for (const DeviceHealth& one : health_of(seen)) states[one.device] = one.state;
  return states;
}

/// Empty: it is not examined (another vendor's).
std::string_view health_word(const Device& device, const std::map<DeviceId, HealthState>& states) {
  const auto found = states.find(device.parent.value_or(device.id));
  return found == states.end() ? std::string_view() : name_of(found->second);
}

std::vector<std::string> lease_ids(const Device& device, const SnapshotIndex& seen) {
  std::vector<std::string> ids;
  for (const Claim* claim : seen.claims_on(device.id)) ids.push_back(claim->id);
  return ids;
}

/// Users whose names may be seen.
std::vector<std::string> user_names(const Device& device, const Snapshot& seen) {
  std::vector<std::string> names = users_of(device, seen);
  std::erase(names, "");
  return names;
}

void write_device(Archive& archive, const Device& device, const SnapshotIndex& seen,
                  const std::map<DeviceId, HealthState>& states) {
  const std::optional<Heat> heat = heat_of(device);
  archive.always_why();
  archive.derived("id", device.id);
  archive.derived("index", device.index);
  archive.derived("kind", facts_of(device.kind).name);
  archive.derived("parent", device.parent);
  archive.derived("mig", device.partition);
  archive.derived("name", device.name);
  archive.derived("state", name_of(state_of(device, seen)));
  archive.derived("health", health_word(device, states), Form::nullable);
  archive.derived("utilization_gpu_percent", load_now(device));
  archive.derived("memory_used_bytes", device.memory_used);
  archive.derived("memory_used_is_bound", is_used_a_bound(device));
  archive.derived("memory_total_bytes", device.memory_total);
  archive.derived("temperature_celsius", device.temperature);
  archive.derived("heat", heat ? name_of(*heat) : std::string_view(), Form::nullable);
  archive.derived("power_draw_milliwatts", device.power_draw);
  archive.derived("power_limit_milliwatts", device.power_limit);
  archive.derived("users", user_names(device, seen.snapshot()));
  archive.derived("reserved_for", users_waiting_for(device, seen.snapshot()));
  archive.derived("leases", lease_ids(device, seen));
}

/// The words with blanks between, unquoted.
Reading<std::string> command_line(const HostProcess& process) {
  if (!process.command.get()) return process.command.why();
  std::string words;
  for (const std::string& word : *process.command.get()) {
    words += (words.empty() ? "" : " ") + word;
  }
  return words;
}

std::string key_of(const GpuProcess& use) {
  return use.device.text() + "/" + std::to_string(use.pid);
}

void write_process(Archive& archive, const GpuProcess& use, const SnapshotIndex& seen) {
  // It has ended since the driver told of it.
  static const HostProcess gone{.user = Absent::failed,
                                .command = Absent::failed,
                                .started = Absent::failed,
                                .container = Absent::failed};
  const HostProcess* found = seen.process(use.pid);
  const HostProcess& process = found != nullptr ? *found : gone;
  const Claim* claim = seen.claim_of(use.pid);
  archive.always_why();
  archive.derived("key", key_of(use));
  archive.derived("device", use.device);
  archive.derived("pid", use.pid);
  archive.derived("start_ticks", process.id.start_ticks != 0 ? std::optional(process.id.start_ticks)
                                                             : std::nullopt);
  archive.derived("user", process.user);
  archive.derived("command", command_line(process));
  archive.derived("type", word_of(use.use));
  archive.derived("memory_used_bytes", use.memory);
  archive.derived("utilization_sm_percent", use.utilization_sm);
  archive.derived("started_unix_ms", process.started);
  archive.derived("container", enclosure_title(process));
  archive.derived("run", claim != nullptr ? claim->run : std::string_view(), Form::nullable);
  archive.derived("lease", claim != nullptr ? std::optional(claim->id) : std::nullopt);
}

/// A member that the policy took away is null.
template <class ClaimOrWaiter>
void write_promise(Archive& archive, ClaimOrWaiter promise) {
  walk(archive, promise, Form::nullable);
}

/// So many places in the queue are foreseen: each costs a placement, and the loop is to go on.
constexpr std::size_t most_foreseen = 32;

/// Worked out on the whole machine, and told with the names that may be seen.
std::vector<QueueRow> queue_seen(const Snapshot& seen, const RequestContext& context) {
  std::set<std::string> names;
  for (const Claim& claim : seen.claims) names.insert(claim.user);
  for (const Waiter& waiter : seen.waiters) names.insert(waiter.user);
  for (const HostProcess& process : seen.processes) {
    if (process.user.get()) names.insert(*process.user.get());
  }
  auto rows = queue_rows(*context.snapshot, {.policy = context.rules.get(),
                                             .is_policy_unread = context.are_rules_unread,
                                             .most = most_foreseen,
                                             .names = &names});
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].waiter = &seen.waiters[i];
  return rows;
}

void write_place(Archive& archive, const QueueRow& row) {
  write_promise(archive, *row.waiter);
  write_outlook(archive, row);
}

std::vector<std::pair<std::string, std::uint64_t>> counts_of(
    const SnapshotIndex& seen, const std::map<DeviceId, HealthState>& states) {
  std::array<std::uint64_t, device_state_count> counts{};
  std::uint64_t failed = 0;
  for (const Device& device : seen.snapshot().devices) {
    ++counts[static_cast<std::size_t>(state_of(device, seen))];
    const auto health = states.find(device.id);
    failed += health != states.end() && health->second == HealthState::failed ? 1 : 0;
  }
  // By their health: a leased one can have failed.
  counts[static_cast<std::size_t>(DeviceState::failed)] = failed;
  std::vector<std::pair<std::string, std::uint64_t>> named;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    named.emplace_back(name_of(static_cast<DeviceState>(i)), counts[i]);
  }
  return named;
}

HostDevice in_short(const Device& device, const Snapshot& seen,
                    const std::map<DeviceId, HealthState>& states) {
  HostDevice shown{.id = device.id.text(),
                   .index = device.index,
                   .kind = std::string(facts_of(device.kind).name),
                   .name = device.name.get(),
                   .state = std::string(name_of(state_of(device, seen))),
                   .memory_used_is_bound = is_used_a_bound(device),
                   .users = user_names(device, seen)};
  if (device.parent) shown.parent = device.parent->text();
  if (const auto word = health_word(device, states); !word.empty()) shown.health = word;
  const Reading<Percent> load = load_now(device);
  if (load.get()) shown.utilization_percent = load.get()->count();
  if (const auto& used = device.memory_used.get()) shown.memory_used_bytes = used->count();
  if (const auto& total = device.memory_total.get()) shown.memory_total_bytes = total->count();
  return shown;
}

void write_lists(Archive& archive, const Principal& principal, const Snapshot& seen,
                 const RequestContext& context) {
  const SnapshotIndex index(seen);
  const auto states = health_states(seen);
  archive.derived_object("counts", true, [&] {
    for (const auto& [state, count] : counts_of(index, states)) archive.derived(state, count);
  });
  archive.derived_list("devices", seen.devices,
                       [&](const Device& device) { write_device(archive, device, index, states); });
  archive.derived_list("processes", seen.gpu_processes,
                       [&](const GpuProcess& use) { write_process(archive, use, index); });
  archive.derived_list("leases", seen.claims,
                       [&](const Claim& claim) { write_promise(archive, claim); });
  archive.derived_list("queue", queue_seen(seen, context),
                       [&](const QueueRow& row) { write_place(archive, row); });
  archive.derived_list("planned", context.planned, [&](const Planned& one) {
    const bool is_named =
        access_level(principal, one.uid, context.visibility, *context.book) >= AccessLevel::names;
    Planned shown = one;
    shown.text.failed = is_named || one.text.failed.empty() ? without_private_paths(one.text.failed)
                                                            : "its owner is told why";
    write_planned_row(archive, shown, is_named);
  });
  archive.derived("problems", seen.problems);
}

void write_overview(Archive& archive, const Principal& principal, const RequestContext& context,
                    const Snapshot& seen) {
  using std::chrono::milliseconds;
  archive.derived("berth_overview", overview_version);
  archive.derived("taken_unix_ms", seen.taken);
  archive.derived("sequence", context.sequence);
  archive.derived("simulated", seen.simulated);
  archive.derived("stale", is_stale(context));
  archive.derived("unanswered_since_unix_ms", context.unanswered_since);
  archive.derived("interval_ms",
                  std::chrono::duration_cast<milliseconds>(context.interval).count());
  archive.derived("version", std::string(BERTH_VERSION));
  archive.derived_object("host", true, [&] {
    archive.derived("name", seen.host.name);
    const VendorSoftware& unnamed = seen.host.software_of(unnamed_vendor);
    archive.derived("driver_version", unnamed.driver);
    archive.derived("cuda_version_supported", unnamed.runtime);
    std::vector<OtherVendor> others = other_vendors(seen.host);
    archive.member("other_vendors", others, Form::sparse);
  });
  archive.derived_object("asker", true, [&] {
    archive.derived("user", principal.user, Form::nullable);
    archive.derived("admin", principal.admin);
    archive.derived("sees", word_for_what_is_seen(principal, context.visibility));
  });
  archive.derived("joined", context.fleet ? context.fleet->hosts.size() : 0);
  write_lists(archive, principal, seen, context);
  write_active_alerts(archive, principal, context);
}

}  // namespace

bool is_stale(const RequestContext& context) {
  if (!context.snapshot) return true;
  const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(context.interval);
  constexpr std::chrono::milliseconds of_a_look{3000};
  return context.now.unix_ms - context.snapshot->taken.unix_ms > (2 * interval + of_a_look).count();
}

std::string overview_json(const Principal& principal, const RequestContext& context) {
  if (!context.snapshot) return {};
  const auto seen = seen_by(principal, context);
  return write_json(JsonLayout::compact,
                    [&](Archive& archive) { write_overview(archive, principal, context, *seen); });
}

HostOverview overview_of(const Snapshot& seen) {
  const auto states = health_states(seen);
  HostOverview overview{.version = BERTH_VERSION,
                        .simulated = seen.simulated,
                        .taken = seen.taken,
                        .counts = counts_of(SnapshotIndex(seen), states),
                        .waiting = seen.waiters.size()};
  for (const Device& device : seen.devices) {
    overview.devices.push_back(in_short(device, seen, states));
  }
  return overview;
}

HttpResponse answer_overview(const Question& question) {
  return json_response(overview_json(question.principal, question.context) + "\n");
}

bool is_called(const Device& device, std::string_view name) {
  return device.id.text() == name ||
         (!device.parent && device.index && std::to_string(*device.index) == name);
}

/// The machine as if it had this device alone; null: it has no such device.
static std::shared_ptr<const Snapshot> alone(const Snapshot& seen, std::string_view name) {
  auto one = std::make_shared<Snapshot>(seen);
  std::erase_if(one->devices, [&](const Device& device) { return !is_called(device, name); });
  if (one->devices.empty()) return nullptr;
  std::erase_if(one->gpu_processes,
                [&](const GpuProcess& use) { return use.device != one->devices.front().id; });
  return one;
}

HttpResponse answer_gpu_status(const Question& question) {
  auto seen = seen_by(question.principal, question.context);
  const auto device = parameter_of(question.request, "device");
  if (device) seen = alone(*seen, *device);
  if (!seen) return no_such("device", *device);
  const std::string_view profile = parameter_of(question.request, "profile").value_or("");
  // As scripts of tutorials have it out of `nvidia-smi -q -x`.
  if (profile == "nvidia_smi_log") return json_response(smi::render_json(*seen, {}, {}));
  if (!profile.empty() && profile != "berth") {
    return error_response(400, "bad_parameter", "there is no such profile",
                          "profile=berth or nvidia_smi_log");
  }
  const bool hides_names = question.context.visibility.others == Visibility::Others::owner;
  return json_response(
      to_json(*seen, JsonLayout::compact, hides_names ? Form::nullable : Form::plain) + "\n");
}

HttpResponse answer_devices(const Question& question) {
  const auto seen = seen_by(question.principal, question.context);
  const SnapshotIndex index(*seen);
  const auto states = health_states(*seen);
  return page_of(
      question, "devices", seen->devices, [](const Device& device) { return device.id.text(); },
      [&](Archive& archive, const Device& device) {
        write_device(archive, device, index, states);
      });
}

/// What a program calls them that has these variables.
HttpResponse answer_visible_devices(const Question& question) {
  const auto seen = seen_by(question.principal, question.context);
  auto told = numbers_in_program(visible_settings_in([&](const char* name) {
                                   const auto value = parameter_of(question.request, name);
                                   return value ? std::optional<std::string>(*value) : std::nullopt;
                                 }),
                                 *seen);
  return json_answer([&](Archive& archive) {
    archive.derived("simulated", simulated_in(question.context));
    archive.derived_object("numbers", true, [&] {
      for (const auto& [device, number] : told.numbers) archive.derived(device.text(), number);
    });
    archive.member("remarks", told.remarks);
  });
}

HttpResponse answer_device(const Question& question) {
  const auto seen = seen_by(question.principal, question.context);
  for (const Device& device : seen->devices) {
    if (!is_called(device, question.id)) continue;
    return json_answer([&](Archive& archive) {
      write_device(archive, device, SnapshotIndex(*seen), health_states(*seen));
      archive.derived("simulated", seen->simulated);
    });
  }
  return no_such("device", question.id);
}

HttpResponse answer_processes(const Question& question) {
  const auto seen = seen_by(question.principal, question.context);
  const auto user = parameter_of(question.request, "user");
  const auto device = parameter_of(question.request, "device");
  const SnapshotIndex index(*seen);
  std::vector<GpuProcess> wanted;
  for (const GpuProcess& use : seen->gpu_processes) {
    const HostProcess* process = index.process(use.pid);
    if (user && (process == nullptr || process->user.get() != *user)) continue;
    if (!device || use.device.text() == *device) wanted.push_back(use);
  }
  return page_of(
      question, "processes", wanted, key_of,
      [&](Archive& archive, const GpuProcess& use) { write_process(archive, use, index); });
}

HttpResponse answer_leases(const Question& question) {
  const auto seen = seen_by(question.principal, question.context);
  return page_of(
      question, "leases", seen->claims, [](const Claim& claim) { return claim.id; },
      write_promise<Claim>);
}

HttpResponse answer_queue(const Question& question) {
  const auto seen = seen_by(question.principal, question.context);
  return page_of(
      question, "queue", queue_seen(*seen, question.context),
      [](const QueueRow& row) { return row.waiter->id; }, write_place);
}

// The other servers that are shown beside this one.

HttpResponse answer_hosts(const Question& question) {
  const RequestContext& context = question.context;
  const bool names_seen = access_level(question.principal, std::nullopt, context.visibility,
                                       *context.book) >= AccessLevel::names;
  std::vector<HostReport> hosts;
  if (context.fleet) {
    for (const FleetView::Host& host : context.fleet->hosts) hosts.push_back(*host.report);
  }
  for (HostReport& host : hosts) {
    if (!question.principal.admin) host.why = Sentence(without_private_paths(host.why.english()));
    if (names_seen || !host.seen) continue;
    for (HostDevice& device : host.seen->devices) device.users.clear();
  }
  return page_of(
      question, "hosts", hosts, [](const HostReport& host) { return host.name; },
      [](Archive& archive, HostReport host) { walk(archive, host); });
}

}  // namespace berth::serve
