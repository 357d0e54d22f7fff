// `berth health`: how well each device is. Its exit codes are those of a monitoring plugin.

#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
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
    // JSON is for programs: its sentences are the same in every language.
    if (json_) set_language(Language::english);
    const auto snapshot = context.look(Depth::details, Relations::all);
    if (!snapshot) return report(snapshot.error(), unknown);
    const std::vector<DeviceHealth> devices = health_of(*snapshot);
    print(json_ ? health_json(devices, *snapshot)
                : render_health(devices, *snapshot, context.out()));
    return code_of(worst_of(devices));
  }

 private:
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
