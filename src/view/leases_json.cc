// Leases and the queue for programs: the same objects under the same names as in a snapshot.

#include "base/json_archive.h"
#include "snapshot/walk.h"
#include "view/leases_text.h"

namespace berth {

namespace {
std::string_view name_of(LedgerPlace::Kind kind) {
  switch (kind) {
    case LedgerPlace::Kind::shared:
      return "shared";
    case LedgerPlace::Kind::own:
      return "own";
    case LedgerPlace::Kind::named:
      return "named";
  }
  return "own";
}
}  // namespace

std::string leases_json(const Snapshot& snapshot, const std::optional<LedgerPlace>& place) {
  std::optional<std::string> directory;
  std::optional<std::string> kind;
  if (place) directory = place->directory;
  if (place) kind = std::string(name_of(place->kind));
  return write_json(JsonLayout::indented,
                    [&](Archive& archive) {
                      archive.derived("berth_leases", 1);
                      archive.derived("taken_unix_ms", snapshot.taken);
                      archive.derived("simulated", snapshot.simulated);
                      archive.derived("ledger", directory);
                      archive.derived("ledger_kind", kind);
                      archive.derived("leases", snapshot.claims);
                      archive.derived("queue", snapshot.waiters);
                    }) +
         "\n";
}

}  // namespace berth
