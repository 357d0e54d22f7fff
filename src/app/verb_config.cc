// `berth config`: what is in force where nothing is typed, and who said it.

#include "app/verb.h"
#include "base/tr.h"
#include "view/config_text.h"
#include "view/policy_text.h"

namespace berth {

namespace {
class ConfigVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.flag("--origin", origin_,
                 "where each value comes from, and which files were looked for");
    options.flag("--json", json_, "as JSON");
    options.filled_value("--install", install_,
                         "check a policy and put it in the place of the one in force (root)",
                         "FILE");
  }
  [[nodiscard]] bool decides_by_config() const override { return true; }
  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("config takes no word \"{}\"", rest.front()));
      return exit_code::usage;
    }
    if (!install_.empty()) return install(context);
    // JSON is for programs: its sentences are the same in every language.
    if (json_) set_language(Language::english);
    const Config config = context.config_of_job();
    const auto detail = origin_ ? ConfigDetail::origins : ConfigDetail::values;
    print(json_ ? config_json(config) + "\n" : render_config(config, detail, context.out_uncut()));
    return config.mistakes.empty() ? exit_code::ok : exit_code::failed;
  }

 private:
  int install(Context& context) {
    const PolicyPlaces places = context.policy_places();
    const auto installed = install_policy(install_, places);
    if (!installed) return report(installed.error(), exit_code::berth_failed);
    complain(trf("{} is in force from now on", places.file));
    print(render_policy(*installed, context.out()));
    return exit_code::ok;
  }

  std::string install_;
  bool origin_ = false;
  bool json_ = false;
};
}  // namespace

std::unique_ptr<Verb> make_config() { return std::make_unique<ConfigVerb>(); }

}  // namespace berth
