// `berth config`: the settings in force where nothing is typed, and the source of each.

#include <sys/stat.h>

#include "app/verb.h"
#include "base/text.h"
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
    options.filled_value("--check", check_, "check a policy that is not in force", "FILE");
  }
  [[nodiscard]] bool decides_by_config() const override { return true; }
  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("config takes no word \"{}\"", rest.front()));
      return exit_code::usage;
    }
    if (!install_.empty() || !check_.empty()) {
      if (!json_ && !origin_) return policy(context);
      complain(tr("config: --check and --install take neither --json nor --origin"));
      return exit_code::usage;
    }
    const Config config = context.config_of_job(::geteuid());
    const auto detail = origin_ ? ConfigDetail::origins : ConfigDetail::values;
    print(json_ ? config_json(config) + "\n" : render_config(config, detail, context.out_uncut()));
    return config.mistakes.empty() ? exit_code::ok : exit_code::failed;
  }

 private:
  int policy(Context& context) {
    const PolicyPlaces places = context.policy_places();
    const bool installs = !install_.empty();
    const std::string& file = installs ? install_ : check_;
    struct stat facts{};
    const bool is_pipe = ::stat(file.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode);
    if (is_pipe && context.stderr_is_terminal()) {
      complain(trf("waiting for all that is written into the pipe {}", printable(file)));
    }
    const auto rules = installs ? install_policy(install_, places) : check_policy(check_);
    if (!rules) return report(rules.error(), exit_code::berth_failed);
    say_remarks(context, *rules);
    complain(installs ? trf("{} is in force from now on", places.file)
                      : trf("{} can be installed: `berth config --install` puts it into force",
                            printable(check_)));
    print(render_policy(*rules, context.out()));
    return exit_code::ok;
  }

  std::string check_;
  std::string install_;
  bool origin_ = false;
  bool json_ = false;
};
}  // namespace

std::unique_ptr<Verb> make_config() { return std::make_unique<ConfigVerb>(); }

}  // namespace berth
