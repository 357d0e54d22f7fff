#pragma once
// What root's `berth serve` does for users (lease/planned.h): it has each reservation of `berth
// reserve --at` started as its owner, and has the kernel hold a run's share.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/context.h"
#include "lease/planned.h"
#include "serve/http_loop.h"
#include "serve/request_handler.h"

namespace berth {

/// unsupported: no service would begin it; says what is needed.
[[nodiscard]] Result<void> can_plan(const Context& context);
/// Writes it down, where that can be; its name.
[[nodiscard]] Result<std::string> plan_reservation(const Context& context, PlannedText text);
/// What is planned on this machine. Empty also if there is no such service, or no such directory.
[[nodiscard]] std::vector<Planned> planned_here(Context& context);
/// False: the caller has none of that name.
[[nodiscard]] Result<bool> release_planned(const Context& context, const std::string& name);

/// Becomes the owner of that file, and starts it with the owner's rights. The exit code.
int start_planned(Context& context, const std::string& id);

/// A run's share that root's service has the kernel hold (run/kernel_limit.h). Null: there is no
/// such service.
[[nodiscard]] std::function<Result<void>(const std::map<std::string, Bytes>&)> roots_limit_setter(
    Context& context);
/// In the service, a process of its own for each. The exit code.
int see_to_limit(Context& context, const std::string& id);

/// In `berth serve`: looks each second which are to begin, and for limits of the kernel.
class PlannedStarter {
 public:
  PlannedStarter(Context& context, serve::Loop& loop, serve::RequestHandler& handler)
      : context_(context), loop_(loop), handler_(handler) {}
  void look();

 private:
  /// `berth reserve` with that option and name, as root.
  void begin(const std::string& id, const char* option);
  /// Looks as soon as somebody asks: a run waits for its answer.
  void hear();
  void note(const std::string& text);

  Context& context_;
  serve::Loop& loop_;
  serve::RequestHandler& handler_;  // for its notes
  std::optional<PlannedPlace> place_;
  std::optional<LedgerWatch> watch_;
  std::string not_kept_;  // why, as it was said last
  std::set<std::string> under_way_;
};

}  // namespace berth
