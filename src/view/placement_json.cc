// A placement for programs.

#include "base/json_archive.h"
#include "snapshot/questions.h"
#include "view/placement_text.h"

namespace berth {

namespace {

void write_device(Archive& archive, const DeviceId& id, std::optional<int> index,
                  const Snapshot& snapshot) {
  const Device* device = find_device(id, snapshot);
  archive.derived("id", id);
  archive.derived("index", index);
  archive.derived("name", device != nullptr ? device->name.get() : std::optional<std::string>());
}

void write_choice(Archive& archive, const Choice& choice, const Snapshot& snapshot) {
  write_device(archive, choice.device, choice.index, snapshot);
  archive.derived("promised_bytes", choice.promised);
  archive.derived("reason", choice.reason, Form::plain);
}

void write_refusal(Archive& archive, const Refusal& refusal, const Snapshot& snapshot) {
  write_device(archive, refusal.device, refusal.index, snapshot);
  archive.derived("rule", std::string(name_of(refusal.rule)));
  archive.derived("text", refusal.text, Form::plain);
  archive.derived("may_change", refusal.may_change);
  archive.derived_list("holders", refusal.holders, [&](const Holder& holder) {
    archive.derived("user", holder.user);
    archive.derived("pid", holder.pid != 0 ? std::optional(holder.pid) : std::nullopt);
    archive.derived("command", holder.command);
    archive.derived("since_unix_ms", holder.since);
  });
}

}  // namespace

void write_placement(Archive& archive, const Placement& placement, std::string_view asked_for,
                     const Snapshot& snapshot,
                     std::span<const std::pair<std::string, std::string>> variables) {
  const auto choice = [&](const Choice& one) { write_choice(archive, one, snapshot); };
  archive.derived("berth_placement", 1);
  archive.derived("simulated", snapshot.simulated);
  archive.derived("asked_for", asked_for);
  archive.derived("satisfied", placement.satisfied());
  archive.derived("possible", placement.possible);
  archive.derived("claimed", false);
  archive.derived("environment", std::vector(variables.begin(), variables.end()));
  archive.derived_list("chosen", placement.chosen, choice);
  archive.derived_list("available", placement.available, choice);
  archive.derived_list("refused", placement.refused,
                       [&](const Refusal& one) { write_refusal(archive, one, snapshot); });
}

std::string placement_json(const Placement& placement, std::string_view asked_for,
                           const Snapshot& snapshot,
                           std::span<const std::pair<std::string, std::string>> variables) {
  return write_json(JsonLayout::indented, [&](Archive& archive) {
    write_placement(archive, placement, asked_for, snapshot, variables);
  });
}

}  // namespace berth
