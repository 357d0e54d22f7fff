// `sudo berth setup`: the ledger that all users of this machine share.

#include "app/verb.h"
#include "base/tr.h"
#include "lease/setup.h"

namespace berth {

namespace {
class SetupVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.filled_value("--root", paths_.root, "put everything under this directory (for images)",
                         "DIRECTORY");
  }
  int run(Context& context, const std::vector<std::string>&) override {
    const bool is_not_here = context.sources().simulated || context.replay();
    if (is_not_here && paths_.root.empty()) {
      return report(Error(ErrorCode::invalid,
                          std::string(tr("setup changes this machine, and no simulated or recorded "
                                         "one: leave --sim and --replay out, or see what it makes "
                                         "with --root DIRECTORY"))),
                    exit_code::usage);
    }
    const auto report_of = make_shared_ledger(paths_);
    if (!report_of) return report(report_of.error());
    for (const std::string& line : report_of->done) print("+ " + line + "\n");
    for (const std::string& line : report_of->unchanged) print("= " + line + "\n");
    if (!report_of->next.empty()) {
      print(std::string(tr("Still to be run, unless you already have:")) + "\n");
    }
    for (const std::string& line : report_of->next) print("    " + line + "\n");
    return exit_code::ok;
  }

 private:
  SetupPaths paths_;
};
}  // namespace

std::unique_ptr<Verb> make_setup() { return std::make_unique<SetupVerb>(); }

}  // namespace berth
