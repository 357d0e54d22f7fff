// `berth submit`: a job for Slurm, recorded and looked after as any run.

#include "app/run_options.h"
#include "app/slurm_options.h"
#include "app/verb.h"
#include "base/tr.h"

namespace berth {

namespace {
class SubmitVerb final : public Verb {
 public:
  void declare(Options& options) override {
    flags_.declare(options);
    slurm_.declare(options);
  }
  [[nodiscard]] bool decides_by_config() const override { return true; }
  [[nodiscard]] std::vector<OptionalValue> optional_values() const override {
    return RequestOptions::optional_values();
  }
  [[nodiscard]] int usage_code() const override { return exit_code::berth_failed; }
  [[nodiscard]] bool takes_command() const override { return true; }

  int run(Context& context, const std::vector<std::string>& command) override {
    if (command.empty()) {
      complain(tr("submit: no command; write: berth submit -n 2 -- python train.py"));
      return usage_code();
    }
    if (flags_.has("wait")) {
      complain(
          tr("submit: it waits in Slurm's queue as long as it takes; with a time: berth run "
             "--on slurm --wait=TIME"));
      return usage_code();
    }
    const auto options = flags_.options(context, command);
    if (!options) return report(options.error(), usage_code());
    return submit_job(context, flags_, *options, slurm_.settings(), UntilItEnds::no);
  }

 private:
  RunFlags flags_;
  SlurmFlags slurm_;
};
}  // namespace

std::unique_ptr<Verb> make_submit() { return std::make_unique<SubmitVerb>(); }

}  // namespace berth
