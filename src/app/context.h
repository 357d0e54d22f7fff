#pragma once
// Context: what the program was started with — environment, terminal, language, sources — read
// once, here, and handed to the verbs. Else only libberth, a guest in programs, reads an
// environment.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "config/config.h"
#include "config/kept_policy.h"
#include "lease/ledger.h"
#include "probe/collector.h"
#include "snapshot/holders.h"
#include "snapshot/snapshot.h"
#include "view/style.h"

namespace berth {

/// Options that every verb takes, before or after its name.
struct GlobalOptions {
  std::string sim;            // --sim NAME|FILE, else BERTH_SIM
  std::string replay;         // --replay FILE
  std::string lang;           // --lang, else BERTH_LANG, else the locale
  std::string incomplete;     // the one that stands without its value
  bool for_programs = false;  // --json: all that is said is English
};

/// How far local time is ahead of UTC at that moment.
[[nodiscard]] std::chrono::seconds local_offset_at(WallTime time);

class Context {
 public:
  /// Reads the environment. Nothing can fail here: what is wrong shows when it is used.
  Context();

  /// Takes --sim, --replay and --lang into account; sets the language of the process. Where
  /// --replay names a pipe, it waits for all that comes through it.
  void apply(const GlobalOptions& options);

  [[nodiscard]] std::optional<std::string> variable(const char* name) const;
  [[nodiscard]] std::string search_path() const {
    return variable("PATH").value_or(default_search_path);
  }
  /// What is in force for every verb: the machine's file, the user's, variables, flags.
  [[nodiscard]] const Config& config() const { return config_; }
  /// The same with the project's file and the policy's rules for a user, for what asks for a job.
  [[nodiscard]] Config config_of_job(uid_t user) const;
  /// The typed options that every verb has, for a command of berth's own that this one starts.
  [[nodiscard]] std::vector<std::string> typed_globals() const;
  /// All of the environment, as NAME=value.
  [[nodiscard]] std::vector<std::string> environment() const;

  /// How to draw on stdout and on stderr.
  [[nodiscard]] const Style& out() const { return out_; }
  [[nodiscard]] const Style& err() const { return err_; }
  [[nodiscard]] bool stdout_is_terminal() const { return stdout_is_terminal_; }
  /// Whether it is one whose cursor can be moved (TERM says so).
  [[nodiscard]] bool stdout_moves() const {
    return stdout_is_terminal_ && variable("TERM").value_or("dumb") != "dumb";
  }
  [[nodiscard]] bool stderr_is_terminal() const { return stderr_is_terminal_; }
  /// stderr has become a file.
  void leave_terminal() { err_.colour = stderr_is_terminal_ = false; }
  /// Draws in ASCII alone from now on, whatever the locale says.
  void use_ascii() { out_.utf8 = err_.utf8 = false; }
  /// Asks the terminal again: its size may have changed.
  [[nodiscard]] Style out_now() const;
  /// For what is read line by line: in a pipe or a file nothing is cut, unless COLUMNS says so.
  [[nodiscard]] Style out_uncut() const;
  /// Rows of the terminal on stdout; 0 where it is none.
  [[nodiscard]] int terminal_rows() const;

  [[nodiscard]] const Sources& sources() const { return sources_; }
  /// The file that --replay names: then no source is asked.
  [[nodiscard]] const std::optional<std::string>& replay() const { return replay_; }
  /// The recording that --replay names, from its first snapshot on. Also what the vendor's tool
  /// printed. invalid: it cannot be read.
  [[nodiscard]] Result<Recording> recording() const;
  /// Looks at what was asked for: a recording, a simulated server or this machine.
  [[nodiscard]] Result<Collector> collector(CollectorOptions options = {}) const;
  [[nodiscard]] Clock& clock() const { return clock_; }

  /// The directory of the records of runs: $XDG_STATE_HOME/berth, else ~/.local/state/berth.
  /// Nothing: neither can be told.
  [[nodiscard]] std::optional<std::string> state_directory() const;

  /// The directory of the user's own configuration: $XDG_CONFIG_HOME/berth, else ~/.config/berth.
  /// Nothing: neither can be told.
  [[nodiscard]] std::optional<std::string> config_directory() const;

  /// The administrator's rules as they are now; null: there are none. An error: they cannot be
  /// read, and nothing is to be claimed.
  [[nodiscard]] Result<std::shared_ptr<const Policy>> policy() const;
  [[nodiscard]] PolicyPlaces policy_places() const;
  /// $BERTH_ETC, for tests, which must not read the machine's own. Nothing: the ledger that all
  /// users share is in use, and the machine's own rules hold.
  [[nodiscard]] std::optional<std::string> other_etc() const;
  /// The machine's configuration, /etc/berth, and what its server keeps, /var/lib/berth. Below
  /// other_etc() where there is one.
  [[nodiscard]] std::string machine_configuration() const;
  [[nodiscard]] std::string machine_state() const;

  [[nodiscard]] Result<LedgerPlace> ledger_place() const;
  /// The ledger of this machine, or the simulated server's own. Creates what it needs.
  [[nodiscard]] Result<Ledger> open_ledger();
  /// What the ledger says; an absent one says nothing. Problems go into the view.
  [[nodiscard]] LedgerView read_ledger();
  /// Why the last look knows of no lease although there may be some. A caller that decides by
  /// leases must not go on. One that only shows them has the error among the problems.
  [[nodiscard]] const std::optional<Error>& ledger_error() const { return ledger_error_; }

  /// Has the driver's library started already: a look is going to follow.
  void open_driver();
  /// Somebody looks in another way.
  void close_driver() { opened_.reset(); }
  /// One look at the machine without the ledger (run/acquire adds it).
  [[nodiscard]] Result<Snapshot> look_without_claims(const Wanted& wanted);
  /// One look at the machine, with claims and waiters where they are wanted.
  [[nodiscard]] Result<Snapshot> look(const Wanted& wanted, Relations relations = Relations::none);
  /// Whether such a look takes what the ledger says: to show it, or to know who is who.
  [[nodiscard]] bool needs_leases(const Wanted& wanted) const;
  /// What each look becomes before the program decides or shows anything by it. Where they are
  /// wanted: devices that have failed, and what the ledger said. A recording has leases of its own.
  [[nodiscard]] Snapshot judged(Snapshot look, const Wanted& wanted, LedgerView view);

 private:
  /// With a word for the user who waits at the terminal.
  [[nodiscard]] Patience patience() const;
  [[nodiscard]] Result<Collector> collector_of_one_look() const;
  [[nodiscard]] Config read_config(const std::string& working_directory) const;
  [[nodiscard]] Result<Snapshot> collected(CollectRequest request);

  mutable SystemClock clock_;
  GlobalOptions globals_;
  Config config_;
  std::optional<Collector> opened_;  // for the look that comes next
  std::optional<Collector> ending_;  // its process is still on its way out
  std::optional<Error> ledger_error_;
  mutable KeptPolicy policy_;
  HolderNames names_;
  Style out_;
  Style err_;
  bool stdout_is_terminal_ = false;
  bool stderr_is_terminal_ = false;
  Sources sources_;
  std::optional<std::string> replay_;
  std::optional<Result<std::string>> piped_;  // what came through a pipe: it can be read once only
};

}  // namespace berth
