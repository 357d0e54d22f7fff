// `berth config`: what is in force where nothing is typed, and who said it.

#include "app/verb.h"
#include "base/tr.h"
#include "view/config_text.h"

namespace berth {

namespace {
class ConfigVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.flag("--origin", origin_,
                 "where each value comes from, and which files were looked for");
    options.flag("--json", json_, "as JSON");
  }
  [[nodiscard]] bool decides_by_config() const override { return true; }
  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("config takes no word \"{}\"", rest.front()));
      return exit_code::usage;
    }
    // JSON is for programs: its sentences are the same in every language.
    if (json_) set_language(Language::english);
    const Config config = context.config_of_job();
    const auto detail = origin_ ? ConfigDetail::origins : ConfigDetail::values;
    print(json_ ? config_json(config) + "\n" : render_config(config, detail, context.out_uncut()));
    return config.mistakes.empty() ? exit_code::ok : exit_code::failed;
  }

 private:
  bool origin_ = false;
  bool json_ = false;
};
}  // namespace

std::unique_ptr<Verb> make_config() { return std::make_unique<ConfigVerb>(); }

}  // namespace berth
