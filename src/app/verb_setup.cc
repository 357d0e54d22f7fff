// `sudo berth setup`: the ledger that all users of this machine share.

#include "app/verb.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "lease/setup.h"
#include "run/slurm/site.h"

namespace berth {

namespace {
class SetupVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.filled_value("--root", paths_.root, "put everything under this directory (for images)",
                         "DIRECTORY");
    options.flag("--dry-run", dry_run_, "print what would be written, and do nothing");
    options.flag("--slurm", slurm_, "print what a Slurm site's files need for this node");
    options.filled_value("--node", node_, "with --slurm: its NodeName (that of the machine)",
                         "NAME");
  }
  int run(Context& context, const std::vector<std::string>&) override {
    if (slurm_) return print_for_slurm(context);
    if (dry_run_) {
      print(trf("+ {} would be:", paths_.tmpfiles) + "\n" + tmpfiles_text(paths_.ledger));
      print(trf("+ {} would be:", paths_.mount_unit) + "\n" + mount_unit_text(paths_.ledger));
      return exit_code::ok;
    }
    const bool is_not_here = context.sources().simulated || context.replay();
    if (is_not_here && paths_.root.empty()) {
      return report(Error(ErrorCode::invalid,
                          "setup changes this machine, and no simulated or recorded one. Leave "
                          "--sim and --replay out, or see what it makes with --root DIRECTORY"),
                    exit_code::usage);
    }
    const auto report_of = make_shared_ledger(paths_);
    if (!report_of) return report(report_of.error());
    for (const Sentence& line : report_of->done) print("+ " + line.shown() + "\n");
    for (const Sentence& line : report_of->unchanged) print("= " + line.shown() + "\n");
    if (!report_of->next.empty()) {
      print(std::string(tr("Still to be run, unless you already have:")) + "\n");
    }
    for (const std::string& line : report_of->next) print("    " + line + "\n");
    return exit_code::ok;
  }

 private:
  int print_for_slurm(Context& context) const {
    const auto snapshot = context.look(Depth::details);
    if (!snapshot) return report(snapshot.error());
    const std::string name = snapshot->host.name.get().value_or("NODE");
    const std::string program = own_program().value_or("berth");
    const auto site =
        slurm_site(*snapshot, node_.empty() ? name.substr(0, name.find('.')) : node_, program);
    if (!site) return report(site.error());
    say_simulated(snapshot->simulated);
    if (snapshot->simulated) print("# SIMULATED " + printable(*snapshot->simulated) + "\n");
    if (!is_roots_alone(program)) {
      complain(
          trf("root runs these scripts, and {} is not root's alone: install berth below "
              "/usr/local, and run this by it",
              printable(program)));
    }
    print(slurm_site_text(*site));
    return exit_code::ok;
  }

  SetupPaths paths_;
  bool slurm_ = false;
  bool dry_run_ = false;
  std::string node_;
};
}  // namespace

std::unique_ptr<Verb> make_setup() { return std::make_unique<SetupVerb>(); }

}  // namespace berth
