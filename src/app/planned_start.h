#pragma once
// Reservations that begin later (lease/planned.h): what `berth reserve --at` writes down, and how
// root's `berth serve` has each started as its owner.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/context.h"
#include "lease/planned.h"
#include "serve/http_loop.h"
#include "serve/request_handler.h"

namespace berth {

/// "18:00" (the next time that it is so), "2h" from now, or a date as `berth history` takes it.
/// invalid: not to come, or further than a year away.
[[nodiscard]] Result<WallTime> parse_start(const std::string& text, WallTime now);

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

/// In `berth serve`: looks each second which are to begin, and for limits of the kernel
/// (app/kernel_cap.h).
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
