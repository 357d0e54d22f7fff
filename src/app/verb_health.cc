// `berth health`: how well each device is. Its exit codes are those of a monitoring plugin.

#include <algorithm>
#include <array>

#include "app/live.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "snapshot/questions.h"
#include "view/health_text.h"

namespace berth {

namespace {

// As Nagios and Icinga read them; a scheduler's node check wants 0 or not.
constexpr int all_well = 0;
constexpr int warning = 1;
constexpr int critical = 2;
constexpr int unknown = 3;

class HealthVerb final : public Verb {
 public:
  void declare(Options& options) override { options.flag("--json", json_, "as JSON"); }
  [[nodiscard]] int usage_code() const override { return unknown; }
  // 1 would say "degraded" of devices of which nothing has been said.
  [[nodiscard]] std::optional<int> unwritten_code() const override { return unknown; }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("health takes no word \"{}\"", printable(rest.front())));
      return unknown;
    }
    auto snapshot = context.look(Wanted(Depth::details).add(Extra::sleepers), Relations::all);
    if (!snapshot) return report(snapshot.error(), unknown);
    if (has_link_errors(*snapshot)) add_link_errors_of_now(context, *snapshot);
    const std::vector<DeviceHealth> devices = health_of(*snapshot);
    print(json_ ? health_json(devices, *snapshot)
                : render_health(devices, *snapshot, context.out()));
    return code_of(worst_of(devices));
  }

 private:
  static constexpr std::array link_errors = {Detail::nvlink_flit_errors, Detail::nvlink_data_errors,
                                             Detail::nvlink_replays, Detail::nvlink_recoveries,
                                             Detail::nvlink_ecc_errors};
  static constexpr std::array link_errors_since = {Detail::window_span,
                                                   Detail::window_nvlink_flit_errors,
                                                   Detail::window_nvlink_data_errors,
                                                   Detail::window_nvlink_replays,
                                                   Detail::window_nvlink_recoveries,
                                                   Detail::window_nvlink_ecc_errors};

  static bool has_link_errors(const Snapshot& snapshot) {
    return std::ranges::any_of(snapshot.devices, [](const Device& device) {
      return std::ranges::any_of(link_errors, [&](Detail count) {
        return device.details.get<std::uint64_t>(count).get().value_or(0) > 0;
      });
    });
  }

  /// One look has the errors since the driver loaded, and so tells nothing of now. If a link had
  /// some, two looks a second apart tell whether it has new ones.
  static void add_link_errors_of_now(Context& context, Snapshot& snapshot) {
    if (context.sources().simulated || context.replay()) return;
    auto live = Live::start(context);
    if (!live) return;  // then the counts alone are told
    Wanted wanted;
    wanted.add(Extra::devices);
    for (const Detail detail : link_errors_since) wanted.add(detail);
    static_cast<void>(live->look(wanted));
    context.clock().wait_until(context.clock().now() + std::chrono::seconds(1));
    const Snapshot later = live->look(wanted);
    for (Device& device : snapshot.devices) {
      const Device* again = find_device(device.id, later);
      if (again == nullptr) continue;
      for (const Detail detail : link_errors_since) {
        device.details.put(detail, again->details.cell(detail));
      }
    }
  }

  static int code_of(std::optional<HealthState> worst) {
    if (!worst) return unknown;
    switch (*worst) {
      case HealthState::ok:
      case HealthState::notice:
        return all_well;
      case HealthState::unknown:
        return unknown;
      case HealthState::degraded:
        return warning;
      case HealthState::failed:
        return critical;
    }
    return unknown;
  }

  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_health() { return std::make_unique<HealthVerb>(); }

}  // namespace berth
