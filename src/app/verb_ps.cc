// `berth ps`: every process on the devices, and what holds a device without showing up.

#include "app/records.h"
#include "app/verb.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/process_list.h"

namespace berth {

namespace {
class PsVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.filled_value("-u,--user", user_, "only this user's (a name or a number)", "USER");
    options.flag("-t,--tree", tree_, "under their parents");
    options.flag("--json", json_, "as JSON");
  }

  int run(Context& context, const std::vector<std::string>& rest) override {
    if (!rest.empty()) {
      complain(trf("ps takes no word \"{}\"; one user: -u {}", printable(rest.front()),
                   printable(rest.front())));
      return exit_code::usage;
    }
    const auto snapshot = context.look(Depth::everything, Relations::all);
    if (!snapshot) return report(snapshot.error());
    ProcessListOptions options{.user = std::nullopt, .tree = tree_};
    if (!user_.empty()) options.user = user_;
    print(json_ ? process_list_json(*snapshot, options)
                : render_process_list(*snapshot, context.out_uncut(), options));
    if (!json_) say_containers_left(context);
    // No device at all is an answer that scripts must notice, as of `berth`.
    return snapshot->devices.empty() ? exit_code::failed : exit_code::ok;
  }

 private:
  std::string user_;
  bool tree_ = false;
  bool json_ = false;
};
}  // namespace

std::unique_ptr<Verb> make_ps() { return std::make_unique<PsVerb>(); }

}  // namespace berth
